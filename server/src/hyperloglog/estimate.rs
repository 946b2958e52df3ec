//! How many elements a sketch has seen: Otmar Ertl, "New cardinality estimation algorithms for
//! HyperLogLog sketches" (2017), algorithm 6, which needs no tables and no correction.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    reason = "counts of registers are small, estimates positive, and sums end when they stand still"
)]

use super::{RANK_BITS, REGISTER_COUNT};

/// 1 / (2 ln 2), to the digits that Redis has.
const ALPHA: f64 = 0.721_347_520_444_481_7;

/// The estimate for these registers, to the nearest whole number.
pub(super) fn cardinality(registers: &[u8; REGISTER_COUNT]) -> u64 {
    let mut counts = [0_u32; 1 << 6];
    for register in registers {
        counts[usize::from(*register & 63)] += 1;
    }
    let of_all = |count: u32| f64::from(count) / REGISTER_COUNT as f64;
    let all = REGISTER_COUNT as f64;
    let largest = RANK_BITS as usize + 1;
    let mut sum = all * tau(1.0 - of_all(counts[largest]));
    for count in counts[1..largest].iter().rev() {
        sum = (sum + f64::from(*count)) * 0.5;
    }
    sum += all * sigma(of_all(counts[0]));
    (ALPHA * all * all / sum).round() as u64
}

/// The sum over registers that are full.
fn tau(share: f64) -> f64 {
    if share == 0.0 || share == 1.0 {
        return 0.0;
    }
    let (mut root, mut weight, mut sum) = (share, 1.0, 1.0 - share);
    loop {
        root = root.sqrt();
        weight *= 0.5;
        let before = sum;
        sum -= (1.0 - root).powi(2) * weight;
        if before == sum {
            return sum / 3.0;
        }
    }
}

/// The sum over registers that are empty.
fn sigma(share: f64) -> f64 {
    if share == 1.0 {
        return f64::INFINITY;
    }
    let (mut power, mut weight, mut sum) = (share, 1.0, share);
    loop {
        power *= power;
        let before = sum;
        sum += power * weight;
        weight += weight;
        if before == sum {
            return sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_registers_have_seen_nothing_and_full_ones_more_than_can_be_told() {
        assert_eq!(cardinality(&[0; REGISTER_COUNT]), 0);
        assert_eq!(
            cardinality(&[RANK_BITS as u8 + 1; REGISTER_COUNT]),
            u64::MAX
        );
    }
}
