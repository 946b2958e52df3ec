//! Which devices are taken, which are refused, and what a new store is.

use std::sync::Arc;

use super::builder::{SEGMENT_BYTES, blank, content, open_all, open_seeded, read, run, write};
use tokio::task::LocalSet;

use super::*;
use crate::clock::{Clock, SystemClock};
use crate::device::Operation;
use crate::device::sim::{Effect, Fault, SimDevice};
use crate::device::uring::{OpenMode, UringDevice};
use crate::error::OpenError;
use crate::format::{RESERVED_BYTES, SUPERBLOCK_BYTES, SUPERBLOCK_OFFSETS, Superblock};
use crate::recovery::superblocks::UNFINISHED_EPOCH;
use crate::segment::State;
use crate::units::{Lsn, SegmentNumber};

/// Opening fails as `is_expected` says, and nothing is written.
fn check_refused(devices: &[Arc<SimDevice>], is_expected: impl Fn(&OpenError) -> bool) {
    let before: Vec<_> = devices.iter().map(|device| content(device)).collect();
    let error = open_all(devices).err().expect("it is refused");
    assert!(is_expected(&error), "{error}");
    for (device, before) in devices.iter().zip(&before) {
        assert!(
            content(device) == *before,
            "a refused device was written to"
        );
    }
}

fn is_foreign(error: &OpenError) -> bool {
    matches!(error, OpenError::Foreign { .. })
}

fn is_incomplete(error: &OpenError) -> bool {
    matches!(error, OpenError::Incomplete { .. })
}

#[test]
fn a_store_is_created_on_blank_devices_and_found_again() {
    let devices = vec![blank(1), blank(2)];
    let created = open_all(&devices).unwrap();
    assert_eq!((created.epoch, created.start), (1, Lsn::new(4096)));
    assert_eq!((created.was_clean, created.segments.count()), (true, 32));
    assert_eq!(created.segments.free_count(), 32);
    let opened = open_all(&devices).unwrap();
    assert_eq!((opened.epoch, opened.was_clean), (2, false));
    assert_eq!(opened.superblocks[0].store, created.superblocks[0].store);
    assert!(opened.start >= created.start && opened.index.is_empty());
    assert_eq!(opened.segments.free_count(), 32);
}

#[test]
fn ids_and_seed_of_a_new_store_differ() {
    let created = open_all(&[blank(1), blank(2)]).unwrap();
    let superblock = &created.superblocks[1];
    let mut drawn = vec![*superblock.store.get(), superblock.hash_seed];
    drawn.extend(superblock.devices.iter().map(|id| *id.get()));
    drawn.sort_unstable();
    drawn.dedup();
    assert_eq!(drawn.len(), 4);
    assert!(
        drawn
            .iter()
            .all(|id| id[..8] != id[8..] && id[..8] != [0; 8])
    );
}

#[test]
fn devices_are_put_into_their_order() {
    let devices = [blank(1), blank(2), blank(3)];
    open_all(&devices).unwrap();
    let turned = [2, 0, 1].map(|at: usize| Arc::clone(&devices[at]));
    let opened = open_all(&turned).unwrap();
    assert_eq!(opened.device_order, [1, 2, 0]);
    let numbers: Vec<_> = opened.superblocks.iter().map(|s| s.device.get()).collect();
    assert_eq!(numbers, [0, 1, 2]);
}

#[test]
fn foreign_content_is_refused_wherever_it_lies_in_the_first_mib() {
    for offset in [0, 1024, 64 << 10, RESERVED_BYTES - 512] {
        let device = blank(1);
        let block = offset - offset % 512;
        write(&device, block, &[0x5a; 512]);
        check_refused(&[device], is_foreign);
    }
}

#[test]
fn a_damaged_superblock_is_not_taken_for_blank() {
    let device = blank(1);
    open_all(&[Arc::clone(&device)]).unwrap();
    for offset in SUPERBLOCK_OFFSETS {
        device.rot(offset + 100, 1);
    }
    check_refused(&[device], is_foreign);
}

#[test]
fn one_copy_of_the_superblock_is_enough() {
    for lost in SUPERBLOCK_OFFSETS {
        let mut bench = Bench::new();
        let start = bench.start();
        bench.hot(0, start).put("a", "1").write();
        bench.open();
        bench.devices[0].rot(lost + 100, 1);
        let recovered = bench.open();
        assert_eq!((recovered.epoch, recovered.index.len()), (3, 1));
    }
}

#[test]
fn a_later_version_is_refused() {
    let device = blank(1);
    open_all(&[Arc::clone(&device)]).unwrap();
    let mut copy = read(&device, 0, SUPERBLOCK_BYTES);
    copy[12] += 1;
    let crc = crc32c::crc32c(&copy[12..]);
    copy[8..12].copy_from_slice(&crc.to_le_bytes());
    write(&device, 0, &copy);
    check_refused(&[device], is_foreign);
}

#[test]
fn the_devices_of_one_store_are_named_all_and_once() {
    let (ours, other) = ([blank(1), blank(2)], blank(3));
    open_all(&ours).unwrap();
    let [first, second] = ours;
    check_refused(&[Arc::clone(&first)], is_incomplete);
    check_refused(&[Arc::clone(&first), Arc::clone(&first)], is_incomplete);
    check_refused(&[Arc::clone(&first), other], is_incomplete);
    let others = [blank(5), blank(6)];
    run(open_seeded(&others, 2)).unwrap();
    let [other, _] = others;
    check_refused(&[Arc::clone(&first), second, other], is_incomplete);
    let alone = blank(4);
    write(&alone, 0, &read(&first, 0, RESERVED_BYTES as usize));
    check_refused(&[first, alone], is_incomplete);
}

#[test]
fn devices_of_two_stores_do_not_make_one() {
    let (first, second) = ([blank(1), blank(2)], [blank(3), blank(4)]);
    run(open_seeded(&first, 1)).unwrap();
    run(open_seeded(&second, 2)).unwrap();
    let ([first, _], [_, second]) = (first, second);
    check_refused(&[first, second], is_incomplete);
}

#[test]
fn an_old_copy_of_a_device_is_refused() {
    let mut bench = Bench::on(vec![blank(1), blank(2)]);
    let old = read(&bench.devices[1], 0, RESERVED_BYTES as usize);
    bench.open();
    bench.hot(0, bench.start()).put("a", "1").write();
    write(&bench.devices[1], 0, &old);
    check_refused(&bench.devices, is_incomplete);
    write(
        &bench.devices[1],
        0,
        &read(&bench.devices[1], 0, RESERVED_BYTES as usize),
    );
    check_refused(&bench.devices, is_incomplete);
}

#[test]
fn a_start_that_reached_only_some_devices_is_finished() {
    let mut bench = Bench::on(vec![blank(1), blank(2)]);
    bench.hot(0, bench.start()).put("a", "1").write();
    let old = read(&bench.devices[1], 0, RESERVED_BYTES as usize);
    bench.open();
    write(&bench.devices[1], 0, &old);
    let recovered = bench.open();
    assert_eq!((recovered.epoch, recovered.index.len()), (3, 1));
    assert_eq!(recovered.superblocks[1].epoch, 3);
}

/// Two starts in a row that reached the first device only made the second one look like an old
/// copy, and the store could not be opened any more.
#[test]
fn starts_that_reach_only_some_devices_are_finished_however_often() {
    let mut bench = Bench::on(vec![blank(1), blank(2)]);
    bench.hot(0, bench.start()).put("a", "1").write();
    let old = read(&bench.devices[1], 0, RESERVED_BYTES as usize);
    for _ in 0..3 {
        bench.devices[1].inject(Fault {
            operation: Operation::Write,
            extent: None,
            skip: 0,
            times: 1,
            effect: Effect::Errno(5),
        });
        assert!(open_all(&bench.devices).is_err());
        write(&bench.devices[1], 0, &old);
    }
    let recovered = bench.open();
    assert_eq!((recovered.epoch, recovered.index.len()), (3, 1));
    assert_eq!(recovered.superblocks[1].epoch, 3);
}

#[test]
fn a_creation_that_broke_off_is_started_over() {
    let devices = [blank(1), blank(2)];
    open_all(&devices).unwrap();
    let copy = read(&devices[0], 0, SUPERBLOCK_BYTES);
    let unfinished = Superblock {
        epoch: UNFINISHED_EPOCH,
        ..Superblock::decode(&copy).unwrap()
    };
    for device in &devices {
        write(device, 0, &vec![0; RESERVED_BYTES as usize]);
    }
    write(&devices[0], unfinished.offset(), &unfinished.encode());
    let created = open_all(&devices).unwrap();
    assert_eq!((created.epoch, created.superblocks.len()), (1, 2));
}

#[test]
fn a_store_that_was_closed_in_order_says_so() {
    let mut bench = Bench::new();
    let mut closed = bench.superblock.clone();
    closed.clean = true;
    closed.sequence += 1;
    write(&bench.devices[0], closed.offset(), &closed.encode());
    assert!(bench.open().was_clean);
    assert!(!bench.open().was_clean);
}

#[test]
fn a_device_that_shrank_is_refused() {
    let device = blank(1);
    open_all(&[Arc::clone(&device)]).unwrap();
    let smaller = SimDevice::instant(512, RESERVED_BYTES + 4 * u64::from(SEGMENT_BYTES), 1);
    write(&smaller, 0, &read(&device, 0, RESERVED_BYTES as usize));
    check_refused(&[smaller], |error| {
        matches!(error, OpenError::Shrunk { .. })
    });
}

#[test]
fn a_file_is_a_device_like_any_other() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data");
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let bytes = RESERVED_BYTES + 16 * u64::from(SEGMENT_BYTES);
    for epoch in 1..3 {
        let device =
            UringDevice::open_file(&path, bytes, OpenMode::Create, Arc::clone(&clock)).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let recovered = LocalSet::new()
            .block_on(&runtime, open_seeded(&[device], 1))
            .unwrap();
        assert_eq!(
            (recovered.epoch, recovered.segments.free_count()),
            (epoch, 16)
        );
    }
}

#[test]
fn too_small_devices_are_refused() {
    let bytes = RESERVED_BYTES + 15 * u64::from(SEGMENT_BYTES);
    let device = SimDevice::instant(512, bytes, 1);
    check_refused(&[device], |error| {
        matches!(error, OpenError::TooSmall { segments: 15, .. })
    });
}

#[test]
fn a_lost_header_is_reported_and_its_segment_is_neither_used_nor_served() {
    let mut bench = Bench::new();
    let start = bench.start();
    let next = bench.hot(0, start).put("a", "1").seal(start);
    let third = bench.hot(1, next).put("b", "2").seal(next);
    bench.hot(2, third).put("c", "3").durable(third).write();
    bench.rot(0, 40);
    bench.rot(1, 0);
    let recovered = bench.open();
    assert_eq!((recovered.damage.count(), recovered.index.len()), (2, 3));
    assert_eq!(bench.value(&recovered, "c").as_deref(), Some("3"));
    for number in [0, 1] {
        let life = recovered.segments.get(SegmentNumber::new(number));
        assert_eq!(life.state(), State::Cleaning);
        assert!(recovered.segments.is_lost(SegmentNumber::new(number)));
    }
    assert_eq!(recovered.segments.free_count(), 13);
}

#[test]
fn a_lost_header_of_a_segment_that_was_being_filled_is_made_anew() {
    for (rotten, is_hot) in [(0, true), (40, true), (0, false), (14, false)] {
        let mut bench = Bench::new();
        let start = bench.start();
        let next = bench.hot(0, start).put("a", "1").put("b", "2").seal(start);
        if is_hot {
            bench.hot(1, next).put("c", "3").write();
        } else {
            let mut cold = bench.cold(1, next);
            cold.moved_from(start).put("a", "1").pad(512, next).write();
        }
        bench.rot(1, rotten);
        let recovered = bench.open();
        assert_eq!(recovered.damage.count(), 1);
        let (key, value) = if is_hot { ("c", "3") } else { ("a", "1") };
        assert_eq!(bench.value(&recovered, key).as_deref(), Some(value));
        let life = recovered.segments.get(SegmentNumber::new(1));
        assert_eq!((life.state(), life.live_bytes() > 0), (State::Sealed, true));
        assert_eq!(bench.open().damage.count(), 0);
    }
}

#[test]
fn what_follows_a_break_in_a_cold_segment_counts_once_it_was_durable() {
    let mut bench = Bench::new();
    let start = bench.start();
    let mut hot = bench.hot(0, start);
    let next = hot.put("a", "1").put("b", "2").put("c", "3").seal(start);
    let mut cold = bench.cold(1, next);
    cold.moved_from(start).put("a", "1");
    let broken = cold.at();
    cold.moved_from(start.plus(64)).put("b", "2").pad(512, next);
    cold.moved_from(start.plus(128))
        .put("c", "3")
        .pad(512, next);
    cold.write();
    bench.rot(1, broken + 5);
    let recovered = bench.open();
    assert_eq!(recovered.damage.count(), 1);
    let location = recovered.index.lookup(bench.hasher.key(0, b"c")).unwrap();
    let (segment, _) = crate::place::of(&location).split(SEGMENT_BYTES);
    assert_eq!(segment, SegmentNumber::new(1));
    // What was under it may be gone: a read tells of the damage.
    let lost = recovered.damage.last()[0].loss.clone();
    assert_eq!(
        lost,
        crate::damage::Loss::Key(bytes::Bytes::from_static(b"b"))
    );
}

#[test]
fn what_somebody_left_where_no_segment_was_is_nothing() {
    let mut bench = Bench::new();
    bench.write(5, 0, &[0x77; 8192]);
    let recovered = bench.open();
    assert_eq!(
        (recovered.damage.count(), recovered.segments.free_count()),
        (0, 16)
    );
}
