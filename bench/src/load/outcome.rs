//! What a load found.
//!
//! Owns the figures and their summaries. Must never mix what was counted with what was warm-up.

use hdrhistogram::Histogram;

/// Latencies told apart, in nanoseconds: three digits, from this one on ...
const LATENCY_NS_MIN: u64 = 100;
/// ... to this one; a longer wait counts as this long.
const LATENCY_NS_MAX: u64 = 100_000_000_000;
const LATENCY_DIGITS: u8 = 3;

/// The figures of a load after its warm-up.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// From the end of the warm-up to the last reply counted.
    pub(crate) seconds: f64,
    /// Operations answered without an error; a read-modify-write is one.
    pub(crate) operations: u64,
    /// Replies that were errors, in the warm-up too.
    pub(crate) errors: u64,
    pub(crate) first_error: Option<String>,
    /// Reads that found a value.
    pub(crate) hits: u64,
    /// Reads that found none.
    pub(crate) misses: u64,
    /// Values that were not what was written, in the warm-up too.
    pub(crate) mismatches: u64,
    pub(crate) first_mismatch: Option<String>,
    pub(crate) latencies: Latencies,
    /// Nothing unless the plan has an interval.
    pub(crate) series: Vec<Interval>,
    /// User and system time of the client's thread.
    pub(crate) client_cpu_s: f64,
    /// Keys and values of writes that were acknowledged.
    pub(crate) user_bytes_written: u64,
    /// Values read.
    pub(crate) user_bytes_read: u64,
    /// How the schedule was kept; None in a closed loop, which has none.
    pub(crate) punctuality: Option<Punctuality>,
    /// Whether it was cut short by its caller.
    pub(crate) is_cancelled: bool,
}

/// A histogram of nanoseconds for each kind of operation.
#[derive(Clone, Debug)]
pub(crate) struct Latencies {
    pub(crate) get: Histogram<u64>,
    /// Overwrites and inserts.
    pub(crate) set: Histogram<u64>,
    pub(crate) rmw: Histogram<u64>,
}

/// One interval of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    /// The interval's end, from the end of the warm-up.
    pub(crate) at_s: f64,
    /// Answered in this interval.
    pub(crate) operations: u64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) max_us: f64,
}

/// How an open loop kept its schedule. All of it is in the latencies; this says whose doing it was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Punctuality {
    /// Operations that were sent while a connection was free, and how late: the client's doing.
    pub(crate) lateness_p99_us: f64,
    pub(crate) lateness_max_us: f64,
    /// Operations that waited until a connection was free: the server's doing.
    pub(crate) held_back: u64,
    /// Operations due that were never sent; they count in the latencies as waiting until the end.
    pub(crate) unsent: u64,
}

/// The usual figures of a histogram, in microseconds.
#[expect(clippy::struct_field_names, reason = "units stand in the names")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) p50_us: f64,
    pub(crate) p90_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) p999_us: f64,
    pub(crate) max_us: f64,
    pub(crate) mean_us: f64,
}

/// A histogram of nanoseconds in the bounds of every load.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(LATENCY_NS_MIN, LATENCY_NS_MAX, LATENCY_DIGITS)
        .expect("the bounds are constants that the crate takes")
}

/// The value below which `share` of the entries are, in microseconds.
pub(crate) fn quantile_us(histogram: &Histogram<u64>, share: f64) -> f64 {
    us(histogram.value_at_quantile(share))
}

#[expect(clippy::cast_precision_loss, reason = "at most LATENCY_NS_MAX")]
pub(crate) fn us(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

impl Outcome {
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    pub(crate) fn operations_per_s(&self) -> f64 {
        if self.seconds > 0.0 {
            self.operations as f64 / self.seconds
        } else {
            0.0
        }
    }
}

impl Latencies {
    pub(crate) fn new() -> Self {
        Self {
            get: histogram(),
            set: histogram(),
            rmw: histogram(),
        }
    }

    /// All kinds together.
    pub(crate) fn all(&self) -> Histogram<u64> {
        let mut all = self.get.clone();
        for other in [&self.set, &self.rmw] {
            all.add(other).expect("all have the same bounds");
        }
        all
    }
}

impl Summary {
    /// None of an empty histogram.
    pub(crate) fn of(histogram: &Histogram<u64>) -> Option<Self> {
        (!histogram.is_empty()).then(|| Self {
            p50_us: quantile_us(histogram, 0.5),
            p90_us: quantile_us(histogram, 0.9),
            p99_us: quantile_us(histogram, 0.99),
            p999_us: quantile_us(histogram, 0.999),
            max_us: us(histogram.max()),
            mean_us: histogram.mean() / 1000.0,
        })
    }
}
