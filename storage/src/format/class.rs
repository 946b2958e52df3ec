//! Length classes: an index entry tells in seven bits how much to read for a record. Owns the
//! rounding; a class is never smaller than the record.

use super::record::RECORD_BYTES_MAX;
use crate::units::UNIT_BYTES;

/// Up to this many bytes there is a class for each unit.
const FINE_BYTES_MAX: u32 = 1024;
/// Classes up to [`FINE_BYTES_MAX`].
const FINE_CLASS_COUNT: u32 = FINE_BYTES_MAX / UNIT_BYTES;
/// Classes a doubling above: a read is at most a sixteenth longer than the record.
const CLASSES_PER_DOUBLING: u32 = 16;
/// All classes.
pub const CLASS_COUNT: u32 =
    FINE_CLASS_COUNT + CLASSES_PER_DOUBLING * (RECORD_BYTES_MAX / FINE_BYTES_MAX).ilog2();

const _: () = assert!(
    CLASS_COUNT == 128,
    "a class takes seven bits of an index entry"
);

/// The class of a record of `bytes` padded bytes, from 1 to [`RECORD_BYTES_MAX`].
pub const fn class_of(bytes: u32) -> u8 {
    assert!(bytes >= 1 && bytes <= RECORD_BYTES_MAX);
    let last = bytes - 1;
    if last < FINE_BYTES_MAX {
        return (last / UNIT_BYTES) as u8;
    }
    let doubling = last.ilog2();
    let step = (1 << doubling) / CLASSES_PER_DOUBLING;
    let in_doubling = (last - (1 << doubling)) / step;
    let doublings = doubling - FINE_BYTES_MAX.ilog2();
    (FINE_CLASS_COUNT + CLASSES_PER_DOUBLING * doublings + in_doubling) as u8
}

/// The longest record of `class`, which is below [`CLASS_COUNT`], in padded bytes.
pub const fn class_bytes(class: u8) -> u32 {
    let class = class as u32;
    assert!(class < CLASS_COUNT);
    if class < FINE_CLASS_COUNT {
        return (class + 1) * UNIT_BYTES;
    }
    let above = class - FINE_CLASS_COUNT;
    let start = FINE_BYTES_MAX << (above / CLASSES_PER_DOUBLING);
    start + (above % CLASSES_PER_DOUBLING + 1) * (start / CLASSES_PER_DOUBLING)
}

/// What a live record of `class` takes of a segment, its summary entry included, in bytes.
pub const fn live_bytes(class: u8) -> u32 {
    class_bytes(class) + super::summary::ENTRY_BYTES as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_has_the_smallest_class_that_holds_it() {
        for bytes in 1..=RECORD_BYTES_MAX {
            let class = class_of(bytes);
            assert!(class_bytes(class) >= bytes, "{bytes} bytes");
            assert!(
                class == 0 || class_bytes(class - 1) < bytes,
                "{bytes} bytes"
            );
        }
    }

    #[test]
    fn every_class_is_the_class_of_its_longest_record() {
        for class in 0..CLASS_COUNT as u8 {
            assert_eq!(class_of(class_bytes(class)), class);
            assert!(class_bytes(class).is_multiple_of(UNIT_BYTES));
        }
    }

    #[test]
    fn the_classes_are_frozen() {
        let check = |class, bytes| assert_eq!(class_bytes(class), bytes, "class {class}");
        check(0, 32);
        check(31, 1024);
        check(32, 1088);
        check(47, 2048);
        check(48, 2176);
        check(126, 63_488);
        check(127, 65_536);
    }
}
