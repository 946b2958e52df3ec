//! Registers as runs of equal ones.
//!
//! | bits | run |
//! |---|---|
//! | `00nnnnnn` | n + 1 registers of 0 |
//! | `01nnnnnn nnnnnnnn` | n + 1 registers of 0, the higher bits first |
//! | `1vvvvvnn` | n + 1 registers of v + 1 |

use super::REGISTER_COUNT;

const ZEROS_MAX: usize = 1 << 6;
const MANY_ZEROS: u8 = 1 << 6;
const VALUE: u8 = 1 << 7;
/// The largest register that a run can have.
const VALUE_MAX: u8 = 1 << 5;
const VALUES_MAX: usize = 1 << 2;

/// The registers that `runs` tell; `None` where they are more or fewer than all.
pub(super) fn decode(runs: &[u8]) -> Option<Box<[u8; REGISTER_COUNT]>> {
    let mut registers = Box::new([0; REGISTER_COUNT]);
    let mut at = 0;
    let mut bytes = runs.iter();
    while let Some(&byte) = bytes.next() {
        let (value, length) = if byte & VALUE != 0 {
            ((byte >> 2 & (VALUE_MAX - 1)) + 1, usize::from(byte & 3) + 1)
        } else if byte & MANY_ZEROS != 0 {
            let high = usize::from(byte & (MANY_ZEROS - 1));
            (0, (high << 8 | usize::from(*bytes.next()?)) + 1)
        } else {
            (0, usize::from(byte) + 1)
        };
        registers.get_mut(at..at + length)?.fill(value);
        at += length;
    }
    (at == REGISTER_COUNT).then_some(registers)
}

/// The runs of registers; `None` where one is too large for a run.
pub(super) fn encode(registers: &[u8; REGISTER_COUNT]) -> Option<Vec<u8>> {
    let mut runs = Vec::new();
    for run in registers.chunk_by(|a, b| a == b) {
        match run[0] {
            0 => push_zeros(&mut runs, run.len()),
            value @ 1..=VALUE_MAX => {
                for part in run.chunks(VALUES_MAX) {
                    let length = part.len() as u8 - 1;
                    runs.push(VALUE | (value - 1) << 2 | length);
                }
            }
            _ => return None,
        }
    }
    Some(runs)
}

fn push_zeros(runs: &mut Vec<u8>, length: usize) {
    let stored = length - 1;
    if length > ZEROS_MAX {
        let [low, high, ..] = stored.to_le_bytes();
        runs.extend_from_slice(&[MANY_ZEROS | high, low]);
    } else {
        runs.push(stored as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(filled: &[(usize, usize, u8)]) {
        let mut registers = Box::new([0; REGISTER_COUNT]);
        for &(start, length, value) in filled {
            registers[start..start + length].fill(value);
        }
        let runs = encode(&registers).unwrap();
        assert_eq!(decode(&runs), Some(registers), "{filled:?}");
    }

    #[test]
    fn runs_come_back() {
        check(&[]);
        check(&[(0, REGISTER_COUNT, 32)]);
        check(&[(0, 1, 1), (65, 64, 7), (200, 1, 2), (201, 1, 3)]);
        check(&[(64, 1, 1), (REGISTER_COUNT - 1, 1, 32)]);
    }

    #[test]
    fn a_large_register_has_no_run_and_broken_runs_are_refused() {
        let mut registers = Box::new([0; REGISTER_COUNT]);
        registers[9] = VALUE_MAX + 1;
        assert_eq!(encode(&registers), None);
        for runs in [&b""[..], b"\x7f", b"\x7f\xfe", b"\x7f\xff\x00", b"\x80"] {
            assert_eq!(decode(runs), None, "{runs:?}");
        }
    }
}
