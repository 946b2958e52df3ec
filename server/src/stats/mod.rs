//! What workers count, without sharing a cache line on the way.
//!
//! Every counter belongs to one thread, which adds by a plain load and store; readers sum over the
//! threads. CONFIG RESETSTAT remembers the sums and later ones are told from there.

mod counter;
mod histogram;
mod totals;

pub use counter::{CommandStats, Counter, Metric, WorkerStats};
pub use histogram::{Histogram, HistogramTotals};
pub use totals::{CommandTotals, Totals};
