//! Devices that join a store, and a last one that grows: with what is there kept, after any crash.

use std::sync::Arc;

use super::Bench;
use super::builder::{
    SEGMENT_BYTES, SEGMENTS, blank, clock, content, open_all, open_seeded, run_for, write,
};
use crate::device::sim::{Latency, SimDevice};
use crate::error::OpenError;
use crate::format::RESERVED_BYTES;
use crate::recovery::Recovered;

/// A store on one device that holds a key.
fn one() -> Bench {
    let bench = Bench::new();
    bench.hot(1, bench.start()).put("a", "1").write();
    bench
}

fn check(bench: &Bench, recovered: &Recovered, segments: u64) {
    assert_eq!(u64::from(recovered.segments.count()), segments);
    assert_eq!(bench.value(recovered, "a").as_deref(), Some("1"));
    let free = recovered.segments.free_count();
    assert_eq!(free, segments - 1);
    let devices = &recovered.superblocks[0].devices;
    assert_eq!(devices.len(), recovered.superblocks.len());
    for superblock in &recovered.superblocks {
        assert_eq!(&superblock.devices, devices);
        assert_eq!(superblock.epoch, recovered.epoch);
    }
}

/// A device of this many segments, timed, with this content at its beginning.
fn timed(content: &[u8], segments: u64, seed: u64) -> Arc<SimDevice> {
    let capacity = RESERVED_BYTES + segments * u64::from(SEGMENT_BYTES);
    let device = SimDevice::timed(512, capacity, seed, clock(), Latency::default());
    for (step, bytes) in content.chunks(1 << 20).enumerate() {
        if bytes.iter().any(|byte| *byte != 0) {
            write(&device, (step as u64) << 20, bytes);
        }
    }
    device
}

#[test]
fn a_blank_device_joins() {
    let mut bench = one();
    bench.devices.push(blank(2));
    let recovered = bench.open();
    check(&bench, &recovered, 2 * SEGMENTS);
    // In any order, and a third one.
    bench.devices.swap(0, 1);
    bench.devices.insert(0, blank(3));
    let recovered = open_all(&bench.devices).unwrap();
    assert_eq!(recovered.device_order, [2, 1, 0]);
    bench.devices = recovered
        .device_order
        .iter()
        .map(|at| Arc::clone(&bench.devices[*at]))
        .collect();
    check(&bench, &recovered, 3 * SEGMENTS);
    // From now on none of them may be missing.
    let error = open_all(&bench.devices[..2]).err().unwrap();
    assert!(matches!(error, OpenError::Incomplete { .. }), "{error}");
}

#[test]
fn a_blank_device_takes_no_missing_ones_place() {
    let mut bench = one();
    bench.devices.push(blank(2));
    bench.open();
    let other = blank(3);
    let devices = [Arc::clone(&bench.devices[0]), Arc::clone(&other)];
    let error = open_all(&devices).err().unwrap();
    assert!(matches!(error, OpenError::Incomplete { .. }), "{error}");
    assert!(content(&other).iter().all(|byte| *byte == 0));
}

#[test]
fn a_device_too_small_does_not_join() {
    let mut bench = one();
    let small = SimDevice::instant(512, RESERVED_BYTES + u64::from(SEGMENT_BYTES), 2);
    bench.devices.push(Arc::clone(&small));
    let error = open_all(&bench.devices).err().unwrap();
    assert!(matches!(error, OpenError::TooSmall { .. }), "{error}");
    assert!(content(&small).iter().all(|byte| *byte == 0));
}

#[test]
fn the_last_device_grows_and_no_other() {
    let mut bench = one();
    let bytes = content(&bench.devices[0]);
    bench.devices = vec![timed(&bytes, SEGMENTS + 5, 1)];
    let recovered = bench.open();
    check(&bench, &recovered, SEGMENTS + 5);
    // With a device that joins after it, it grows once more; then it is not the last one.
    let bytes = content(&bench.devices[0]);
    bench.devices = vec![timed(&bytes, SEGMENTS + 7, 1), blank(2)];
    let recovered = bench.open();
    check(&bench, &recovered, 2 * SEGMENTS + 7);
    let bytes = content(&bench.devices[0]);
    bench.devices[0] = timed(&bytes, SEGMENTS + 9, 1);
    let recovered = bench.open();
    check(&bench, &recovered, 2 * SEGMENTS + 7);
}

#[test]
fn an_extension_that_crashes_at_any_step_can_be_tried_again() {
    let reference = one();
    let before = content(&reference.devices[0]);
    let (mut alone, mut together) = (0, 0);
    for steps in 1.. {
        let joins = timed(&[], SEGMENTS, steps);
        let devices = vec![timed(&before, SEGMENTS + 2, steps), joins];
        let is_done = run_for(open_seeded(&devices, 7), steps).is_some();
        let after: Vec<_> = devices.iter().map(|device| device.crash(steps)).collect();
        let mut bench = Bench {
            devices: after,
            superblock: reference.superblock.clone(),
            hasher: reference.hasher.clone(),
        };
        // The old device opens alone as long as it was not told; then both are asked for.
        if steps % 2 == 0 && open_all(&bench.devices[..1]).is_ok() {
            alone += 1;
        }
        let recovered = bench.open();
        check(&bench, &recovered, 2 * SEGMENTS + 2);
        together += 1;
        if is_done {
            break;
        }
    }
    assert!(alone > 5 && together > 2 * alone, "{alone} {together}");
}
