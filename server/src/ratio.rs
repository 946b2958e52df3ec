//! Ratios of large numbers, for people to read.
//!
//! Owns the loss of precision that this takes: the sixteenth digit.

/// `part / whole`, 0 where there is no whole.
#[expect(
    clippy::cast_precision_loss,
    reason = "a figure for people has three digits"
)]
pub(crate) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}
