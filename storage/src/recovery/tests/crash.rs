//! Crashes and failures while a start is at work: whatever it did, the next one comes to the same.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Bench;
use super::builder::{SEGMENT_BYTES, clock, content, open_all, open_seeded, run, run_for, write};
use crate::device::sim::{Effect, Fault, Latency, SimDevice};
use crate::device::{Device, Operation};
use crate::error::OpenError;
use crate::format::{DatabaseMap, SegmentState};
use crate::recovery::Recovered;
use crate::units::Lsn;

const KEYS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

/// A store with everything that a start has to see to: a sealed segment, one without its footer,
/// one that is cut in a batch, two above the cut, and cold segments, one of them torn.
fn messy() -> Bench {
    let mut bench = Bench::new();
    let start = bench.start();
    bench
        .hot(0, start)
        .put("a", "first life")
        .put("b", "first life")
        .write();
    bench.open();
    let start = bench.start();
    let second = bench
        .hot(1, start)
        .put("c", "1")
        .put("d", "1")
        .remove("b")
        .seal(start);
    let third = bench.hot(2, second).put("c", "2").put("e", "1").seal(start);
    bench.write(2, SEGMENT_BYTES - 4096, &[0; 4096]);
    let mut cut = bench.hot(3, third);
    cut.put("f", "1")
        .map(&DatabaseMap::default())
        .batch(128, 2)
        .put("a", "void");
    let torn = cut.at();
    let fourth = cut.put("b", "void").put("c", "void").seal(second);
    let fifth = bench.hot(4, fourth).put("d", "void").seal(second);
    bench.hot(5, fifth).put("e", "void").write();
    bench
        .cold(6, second)
        .moved_from(start)
        .put("d", "moved")
        .seal(second);
    let mut cold = bench.cold(7, second);
    cold.moved_from(start).put("a", "moved").pad(512, second);
    let cold_torn = cold.at();
    cold.moved_from(start).put("c", "torn").write();
    bench.rot(3, torn);
    bench.rot(7, cold_torn);
    bench
}

/// A device whose operations take their time, with this content.
fn timed(content: &[u8], seed: u64) -> Arc<SimDevice> {
    let device = SimDevice::timed(512, content.len() as u64, seed, clock(), Latency::default());
    for (step, bytes) in content.chunks(1 << 20).enumerate() {
        if bytes.iter().any(|byte| *byte != 0) {
            write(&device, (step as u64) << 20, bytes);
        }
    }
    device
}

fn values(bench: &Bench, recovered: &Recovered) -> BTreeMap<&'static str, String> {
    let value = |key: &&'static str| Some((*key, bench.value(recovered, key)?));
    KEYS.iter().filter_map(value).collect()
}

/// The live bytes of each segment, and where it was sealed.
fn segments(recovered: &Recovered) -> Vec<(u64, Lsn)> {
    let table = &recovered.segments;
    table
        .numbers()
        .map(|n| (table.get(n).live_bytes(), table.get(n).sealed_lsn()))
        .collect()
}

#[test]
fn a_start_that_crashes_at_any_step_changes_nothing() {
    let mut reference = messy();
    let before = content(&reference.devices[0]);
    let recovered = reference.open();
    let (expected, sealed) = (values(&reference, &recovered), segments(&recovered));
    assert_eq!(expected.get("a").map(String::as_str), Some("moved"));
    assert_eq!((expected.len(), recovered.damage.count()), (5, 0));
    let cut = recovered.superblocks[0].cut_lsn;
    let mut survived = 0;
    for steps in (1..).step_by(3) {
        let device = timed(&before, steps);
        if run_for(open_seeded(&[Arc::clone(&device)], 7), steps).is_some() {
            break;
        }
        let mut bench = Bench {
            devices: vec![device.crash(steps)],
            ..messy_parts(&reference)
        };
        let recovered = bench.open();
        assert_eq!(values(&bench, &recovered), expected, "after {steps} steps");
        assert_eq!(segments(&recovered), sealed, "after {steps} steps");
        let is_later = recovered.epoch == 4;
        assert!(
            is_later || recovered.superblocks[0].cut_lsn == cut,
            "after {steps} steps"
        );
        survived += 1;
    }
    assert!(survived > 25, "only {survived} crashes were tried");
}

/// A bench for the same store.
fn messy_parts(bench: &Bench) -> Bench {
    let (superblock, hasher) = (bench.superblock.clone(), bench.hasher.clone());
    Bench {
        devices: Vec::new(),
        superblock,
        hasher,
    }
}

#[test]
fn a_creation_that_crashes_at_any_step_can_be_tried_again() {
    let capacity = content(&Bench::new().devices[0]).len();
    for steps in 1.. {
        let blank = || timed(&vec![0; capacity], steps);
        let devices = [blank(), blank()];
        let created = run_for(open_seeded(&devices, 1), steps);
        let after = devices.each_ref().map(|device| device.crash(steps));
        let opened = run(open_seeded(&after, 2)).unwrap();
        assert!(opened.index.is_empty() && opened.epoch <= 2);
        if created.is_some() {
            assert_eq!(opened.epoch, 2);
            break;
        }
    }
}

/// Fails each operation of a start in turn, and then starts again. How many there were.
fn check_failures(operation: Operation) -> u64 {
    for skip in 0.. {
        let bench = messy();
        let effect = Effect::Errno(5);
        bench.devices[0].inject(Fault {
            operation,
            extent: None,
            skip,
            times: 1,
            effect,
        });
        match open_all(&bench.devices) {
            Ok(_) => return skip,
            Err(error) => assert!(matches!(error, OpenError::Device(_)), "{operation} {skip}"),
        }
        let recovered = open_all(&bench.devices).unwrap();
        assert_eq!(values(&bench, &recovered).len(), 5, "{operation} {skip}");
    }
    unreachable!("a start has an end")
}

#[test]
fn a_segment_that_was_freed_out_of_the_chain_does_not_break_it() {
    let bench = Bench::new();
    let start = bench.start();
    let second = bench.hot(1, start).put("a", "1").seal(start);
    let third = bench.hot(0, second).pad(512, start).seal(start);
    bench.write(0, SEGMENT_BYTES - 4096, &[0; 4096]);
    bench.hot(2, third).put("b", "2").write();
    // After two writes of entries, the third one frees the segment that holds nothing but pads;
    // the start gets no further.
    let (operation, effect) = (Operation::Write, Effect::Errno(5));
    bench.devices[0].inject(Fault {
        operation,
        extent: None,
        skip: 3,
        times: 1,
        effect,
    });
    assert!(open_all(&bench.devices).is_err());
    assert_eq!(bench.header(0).state, SegmentState::Free);
    let recovered = open_all(&bench.devices).unwrap();
    assert_eq!(bench.value(&recovered, "b").as_deref(), Some("2"));
}

/// A sector that cannot be read just once: whether the start goes on without what lies there or
/// not, the next one finds all of it.
#[test]
fn a_read_that_fails_ends_the_start_or_costs_the_next_one_nothing() {
    let mut reference = messy();
    let recovered = reference.open();
    let expected = values(&reference, &recovered);
    let (mut ended, mut went_on) = (0, 0);
    for skip in 0.. {
        let mut bench = messy();
        bench.devices[0].inject(Fault {
            operation: Operation::Read,
            extent: None,
            skip,
            times: 1,
            effect: Effect::Errno(5),
        });
        let opened = open_all(&bench.devices);
        if bench.devices[0].counters().read_errors == 0 {
            break;
        }
        match opened {
            Ok(_) => went_on += 1,
            Err(error) => {
                assert!(matches!(error, OpenError::Device(_)), "{skip}");
                ended += 1;
            }
        }
        let recovered = bench.open();
        assert_eq!(values(&bench, &recovered), expected, "{skip}");
        assert_eq!(recovered.damage.count(), 0, "{skip}");
    }
    // The headers and footers of all segments; the young records.
    assert!(went_on >= 2 * 16 && ended > 0, "{went_on}, {ended}");
}

#[test]
fn a_write_that_fails_ends_the_start() {
    // Segments 2, 3 and 7 get entries and footers, 3 is cut, 4 and 5 are freed; two superblocks.
    assert_eq!(check_failures(Operation::Write), 11);
}

#[test]
fn a_flush_that_fails_ends_the_start() {
    // At the beginning, twice in settling, after the replay, after each copy of the superblock.
    assert_eq!(check_failures(Operation::Flush), 6);
}
