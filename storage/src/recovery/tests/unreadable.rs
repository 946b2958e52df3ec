//! Sectors that cannot be read at a start: what a structure lost there is damage, as long as it is
//! little; what may have been the end of the log is not guessed.

use super::Bench;
use super::builder::{SEGMENT_BYTES, blank, open_all};
use crate::device::sim::{Effect, Fault, SimDevice};
use crate::device::{Device, DeviceError, Operation};
use crate::error::OpenError;
use crate::format::{
    ENTRY_BYTES, FOOTER_BYTES, RESERVED_BYTES, SEGMENT_HEADER_BYTES, SUPERBLOCK_BYTES,
    SUPERBLOCK_OFFSETS, SegmentHeader,
};
use crate::units::Extent;

/// Reads of these bytes fail from now on.
fn lose(device: &SimDevice, offset: u64, bytes: u64) {
    device.inject(Fault {
        operation: Operation::Read,
        extent: Some(Extent { offset, bytes }),
        skip: 0,
        times: u64::MAX,
        effect: Effect::Errno(libc::EIO),
    });
}

fn lose_in_segment(bench: &Bench, number: u32, offset: u32, bytes: usize) {
    let start = RESERVED_BYTES + u64::from(number) * u64::from(SEGMENT_BYTES);
    lose(&bench.devices[0], start + u64::from(offset), bytes as u64);
}

/// Three segments: two sealed and durable, and one that is being filled.
fn filled() -> Bench {
    let bench = Bench::new();
    let start = bench.start();
    let mut first = bench.hot(0, start);
    // A summary of several blocks: the one before the footer holds nothing else.
    for number in 0..200 {
        first.put(&format!("other-{number}"), "0");
    }
    let second = first.put("a", "1").put("b", "2").seal(start);
    let third = bench.hot(1, second).put("c", "3").seal(second);
    let mut open = bench.hot(2, third);
    open.durable(third).put("d", "4").pad(4096, third);
    open.put("e", "5").write();
    bench
}

const KEYS: [(&str, &str); 5] = [("a", "1"), ("b", "2"), ("c", "3"), ("d", "4"), ("e", "5")];

/// The store is started, reports so many places, and leads to every value.
fn check_started(bench: &mut Bench, damaged: u64) {
    let recovered = bench.open();
    assert_eq!(recovered.damage.count(), damaged);
    for (key, _) in KEYS {
        let identity = bench.hasher.key(0, key.as_bytes());
        assert!(recovered.index.lookup(identity).is_some(), "{key}");
    }
}

fn is_read_error(error: &OpenError) -> bool {
    matches!(
        error,
        OpenError::Device(DeviceError::Io {
            operation: Operation::Read,
            ..
        })
    )
}

/// The start is refused for what cannot be read, and nothing is written.
fn check_refused(bench: &Bench) {
    let contents = || -> Vec<_> {
        let devices = bench.devices.iter();
        devices.map(|device| whole(device)).collect()
    };
    let before = contents();
    let error = open_all(&bench.devices).err().expect("it is refused");
    assert!(is_read_error(&error), "{error}");
    assert!(contents() == before, "a refused device was written to");
}

/// All bytes of a device, whatever of them a start can read.
fn whole(device: &SimDevice) -> Vec<u8> {
    device.content(0, device.geometry().capacity_bytes as usize)
}

#[test]
fn an_unreadable_header_is_made_anew() {
    for number in [1, 2] {
        let mut bench = filled();
        lose_in_segment(&bench, number, 0, SEGMENT_HEADER_BYTES);
        check_started(&mut bench, 1);
        let start = number as usize * SEGMENT_BYTES as usize + RESERVED_BYTES as usize;
        let written = &whole(&bench.devices[0])[start..];
        let header = SegmentHeader::decode(written, bench.superblock.store).unwrap();
        assert_eq!(header.generation.segment.get(), number);
    }
}

#[test]
fn an_unreadable_footer_or_summary_is_made_anew() {
    let footer_at = SEGMENT_BYTES - FOOTER_BYTES as u32;
    for (offset, bytes) in [
        (footer_at, FOOTER_BYTES),
        (footer_at - ENTRY_BYTES as u32, ENTRY_BYTES),
    ] {
        let mut bench = filled();
        lose_in_segment(&bench, 0, offset, bytes);
        check_started(&mut bench, 1);
    }
}

#[test]
fn the_header_of_a_segment_that_was_never_used_costs_that_segment() {
    let mut bench = filled();
    lose_in_segment(&bench, 9, 0, 512);
    check_started(&mut bench, 1);
}

#[test]
fn one_unreadable_copy_of_a_superblock_is_made_up_for_by_the_other() {
    for offset in SUPERBLOCK_OFFSETS {
        let mut bench = filled();
        lose(&bench.devices[0], offset, 512);
        check_started(&mut bench, 1);
    }
    let mut bench = filled();
    lose(&bench.devices[0], SUPERBLOCK_BYTES as u64, 4096);
    check_started(&mut bench, 0);
}

#[test]
fn without_a_superblock_that_can_be_read_nothing_is_started_or_created() {
    let bench = filled();
    for offset in SUPERBLOCK_OFFSETS {
        lose(&bench.devices[0], offset, 512);
    }
    check_refused(&bench);
    let blank_bench = Bench {
        devices: vec![blank(5)],
        ..filled()
    };
    lose(&blank_bench.devices[0], 0, 512);
    check_refused(&blank_bench);
}

#[test]
fn records_that_may_be_the_end_of_the_log_are_not_guessed() {
    let bench = filled();
    lose_in_segment(&bench, 2, 8192, 512);
    check_refused(&bench);
}

#[test]
fn a_device_that_shows_nothing_is_not_started_without() {
    let bench = Bench::on(vec![blank(1), blank(2), blank(3)]);
    for device in &bench.devices {
        let bytes = device.geometry().capacity_bytes - RESERVED_BYTES;
        lose(device, RESERVED_BYTES, bytes);
    }
    check_refused(&bench);
}
