//! Registers of six bits each, lowest bits first.

use super::REGISTER_COUNT;

const BITS: usize = 6;
/// Bytes of all registers.
pub(super) const BYTES: usize = REGISTER_COUNT * BITS / 8;
/// Registers that fill whole bytes, and the bytes that they fill.
const GROUP: usize = 4;
const GROUP_BYTES: usize = GROUP * BITS / 8;
const MASK: u32 = (1 << BITS) - 1;

/// The registers that `body`, of [`BYTES`] bytes, holds.
pub(super) fn decode(body: &[u8]) -> Box<[u8; REGISTER_COUNT]> {
    let mut registers = Box::new([0; REGISTER_COUNT]);
    let (groups, _) = registers.as_chunks_mut::<GROUP>();
    let (stored, _) = body.as_chunks::<GROUP_BYTES>();
    for (group, [low, middle, high]) in groups.iter_mut().zip(stored) {
        let bits = u32::from_le_bytes([*low, *middle, *high, 0]);
        for (place, register) in group.iter_mut().enumerate() {
            *register = (bits >> (place * BITS) & MASK) as u8;
        }
    }
    registers
}

/// The bytes of registers.
pub(super) fn encode(registers: &[u8; REGISTER_COUNT]) -> Vec<u8> {
    let mut body = Vec::with_capacity(BYTES);
    let (groups, _) = registers.as_chunks::<GROUP>();
    for group in groups {
        let bits = group
            .iter()
            .rev()
            .fold(0, |bits, register| bits << BITS | u32::from(*register));
        body.extend_from_slice(&bits.to_le_bytes()[..GROUP_BYTES]);
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_lie_where_redis_has_them() {
        let mut registers = Box::new([0; REGISTER_COUNT]);
        registers[0] = 0b11_0001;
        registers[1] = 0b10_0010;
        registers[REGISTER_COUNT - 1] = 51;
        let body = encode(&registers);
        assert_eq!(body.len(), BYTES);
        assert_eq!(body[..2], [0b1011_0001, 0b1000]);
        assert_eq!(decode(&body), registers);
    }
}
