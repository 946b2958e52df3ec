//! Scores as bytes that sort as the numbers do.
//!
//! Owns that form: the bits of the double, all of them inverted where it is negative, else the sign
//! alone. Both zeros keep their bits; who compares treats them as one.

use bytes::Bytes;

use super::Element;
use crate::collections::Malformed;

/// Bytes of a score.
pub(super) const SCORE_BYTES: usize = 8;

const SIGN: u64 = 1 << 63;

/// The bytes of a score, which is a number.
pub(super) fn encode(score: f64) -> [u8; SCORE_BYTES] {
    ordered_bits(score).to_be_bytes()
}

fn ordered_bits(score: f64) -> u64 {
    let bits = score.to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

/// A number that sorts as the score does; both zeros have the same.
pub(crate) fn order_of_score(score: f64) -> u64 {
    // adding zero makes minus zero the plain one
    ordered_bits(score + 0.0)
}

/// The bytes that sort right after all items with this score. There always are some: no score has
/// the largest bits.
pub(super) fn encode_above(score: f64) -> [u8; SCORE_BYTES] {
    (order_of_score(score) + 1).to_be_bytes()
}

/// The score of these bytes.
pub(super) fn decode(bytes: [u8; SCORE_BYTES]) -> Result<f64, Malformed> {
    let bits = u64::from_be_bytes(bytes);
    let bits = if bits & SIGN == 0 { !bits } else { bits ^ SIGN };
    let score = f64::from_bits(bits);
    if score.is_nan() {
        return Err(Malformed("the score of a sorted set"));
    }
    Ok(score)
}

/// An element as it stands in the order: its score, then its member.
pub(super) fn encode_item(score: f64, member: &[u8]) -> Vec<u8> {
    [&encode(score), member].concat()
}

/// The element of an item.
pub(super) fn decode_item(item: &Bytes) -> Result<Element, Malformed> {
    let score = item
        .first_chunk()
        .ok_or(Malformed("an item of a sorted set"))?;
    Ok(Element {
        score: decode(*score)?,
        member: item.slice(SCORE_BYTES..),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_sort_as_numbers() {
        let scores = [
            f64::NEG_INFINITY,
            f64::MIN,
            -1.5,
            -f64::MIN_POSITIVE,
            -5e-324,
            -0.0,
            0.0,
            5e-324,
            1.0,
            1.5,
            f64::MAX,
            f64::INFINITY,
        ];
        for pair in scores.windows(2) {
            assert!(encode(pair[0]) < encode(pair[1]), "{pair:?}");
            assert!(encode_above(pair[0]) <= encode_above(pair[1]));
        }
        for score in scores {
            assert_eq!(decode(encode(score)).unwrap().to_bits(), score.to_bits());
            assert!(encode(score) < encode_above(score));
        }
        assert_eq!(encode_above(-0.0), encode_above(0.0));
        assert_eq!(encode(1.0), [0xbf, 0xf0, 0, 0, 0, 0, 0, 0]);
        assert!(decode([0xff; 8]).is_err());
        assert!(decode([0; 8]).is_err());
    }
}
