//! Operations that are done several at a time, measured as if one by one.
//!
//! Owns the arithmetic.

use std::time::Duration;

/// The cost of `operations` operations, which `run` does in whole batches: it gets their number and
/// returns their cost.
#[expect(
    clippy::cast_precision_loss,
    reason = "operations are far fewer than 2^52"
)]
pub(crate) fn in_batches(
    operations: u64,
    batch: u64,
    run: impl FnOnce(u64) -> Duration,
) -> Duration {
    let batches = operations.div_ceil(batch);
    run(batches).mul_f64(operations as f64 / (batches * batch) as f64)
}
