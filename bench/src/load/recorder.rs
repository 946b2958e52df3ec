//! Counts what came back.
//!
//! Owns the figures while they grow. Must never count in the result what began in the warm-up,
//! errors and mismatches excepted.

use std::time::Duration;

use hdrhistogram::Histogram;

use super::connection::{InFlight, Step};
use super::outcome::{Interval, Latencies, Outcome, histogram, quantile_us, us};
use super::plan::{Plan, SERIES_POINTS_MAX};

/// Characters of a first error or mismatch that are kept.
const TEXT_CHARS_MAX: usize = 200;

/// The figures of a load that is going on. Times are nanoseconds from its start.
#[derive(Debug)]
pub(super) struct Recorder {
    counted_from_ns: u64,
    last_counted_ns: u64,
    key_bytes: u64,
    operations: u64,
    errors: u64,
    first_error: Option<String>,
    hits: u64,
    misses: u64,
    mismatches: u64,
    first_mismatch: Option<String>,
    user_bytes_written: u64,
    user_bytes_read: u64,
    latencies: Latencies,
    series: Option<Series>,
}

impl Recorder {
    pub(super) fn new(plan: &Plan, key_bytes: usize) -> Self {
        let counted_from_ns = nanoseconds(plan.warm_up);
        Self {
            counted_from_ns,
            last_counted_ns: counted_from_ns,
            key_bytes: key_bytes as u64,
            operations: 0,
            errors: 0,
            first_error: None,
            hits: 0,
            misses: 0,
            mismatches: 0,
            first_mismatch: None,
            user_bytes_written: 0,
            user_bytes_read: 0,
            latencies: Latencies::new(),
            series: (!plan.interval.is_zero())
                .then(|| Series::new(nanoseconds(plan.interval), counted_from_ns)),
        }
    }

    /// Whether an operation that starts at this time counts.
    pub(super) fn is_counted(&self, start_ns: u64) -> bool {
        start_ns >= self.counted_from_ns
    }

    pub(super) fn error(&mut self, text: &[u8]) {
        self.errors += 1;
        self.first_error.get_or_insert_with(|| excerpt(text));
    }

    /// The first error that the server answered, or that there was none.
    pub(super) fn said(&self) -> String {
        let nothing = || "nothing (see its log)".to_owned();
        self.first_error.clone().unwrap_or_else(nothing)
    }

    pub(super) fn mismatch(&mut self, key: u64, value: &[u8]) {
        self.mismatches += 1;
        self.first_mismatch.get_or_insert_with(|| {
            let head = excerpt(&value[..value.len().min(32)]);
            format!("key {key}: {} bytes, \"{head}\"", value.len())
        });
    }

    /// A read found a value of this size, or none.
    pub(super) fn read(&mut self, operation: &InFlight, found_bytes: Option<usize>) {
        if !self.is_counted(operation.start_ns) {
            return;
        }
        match found_bytes {
            Some(bytes) => {
                self.hits += 1;
                self.user_bytes_read += bytes as u64;
            }
            None => self.misses += 1,
        }
    }

    /// An operation is done; of a read-modify-write, its write.
    pub(super) fn done(&mut self, operation: &InFlight, now_ns: u64) {
        if !self.is_counted(operation.start_ns) {
            return;
        }
        let latency_ns = now_ns.saturating_sub(operation.start_ns);
        let histogram = match operation.step {
            Step::Get => &mut self.latencies.get,
            Step::Set | Step::Insert => &mut self.latencies.set,
            Step::RmwRead | Step::RmwWrite => &mut self.latencies.rmw,
        };
        histogram.saturating_record(latency_ns);
        match operation.step {
            Step::Set | Step::Insert | Step::RmwWrite => {
                self.user_bytes_written += self.key_bytes + u64::from(operation.value_bytes);
            }
            Step::Get | Step::RmwRead => {}
        }
        self.operations += 1;
        self.last_counted_ns = now_ns;
        if let Some(series) = &mut self.series {
            series.record(now_ns, latency_ns);
        }
    }

    /// An operation of this kind that was due is given up at the end, unsent.
    pub(super) fn unsent(&mut self, step: Step, due_ns: u64, end_ns: u64) {
        if !self.is_counted(due_ns) {
            return;
        }
        let histogram = match step {
            Step::Get => &mut self.latencies.get,
            Step::Set | Step::Insert => &mut self.latencies.set,
            Step::RmwRead | Step::RmwWrite => &mut self.latencies.rmw,
        };
        histogram.saturating_record(end_ns - due_ns);
    }

    /// What was found. A load of a given time lasts until `end_ns` at least, though its last reply
    /// came before. The thread's CPU time and the schedule's figures are the driver's to add.
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds are far below 2^52")]
    pub(super) fn finish(self, end_ns: Option<u64>) -> Outcome {
        let last_ns = self.last_counted_ns.max(end_ns.unwrap_or(0));
        let counted_ns = last_ns - self.counted_from_ns;
        Outcome {
            seconds: counted_ns as f64 / 1e9,
            operations: self.operations,
            errors: self.errors,
            first_error: self.first_error,
            hits: self.hits,
            misses: self.misses,
            mismatches: self.mismatches,
            first_mismatch: self.first_mismatch,
            latencies: self.latencies,
            series: self
                .series
                .map_or_else(Vec::new, |series| series.finish(last_ns)),
            client_cpu_s: 0.0,
            user_bytes_written: self.user_bytes_written,
            user_bytes_read: self.user_bytes_read,
            punctuality: None,
            is_cancelled: false,
        }
    }
}

pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn excerpt(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.escape_debug().take(TEXT_CHARS_MAX).collect()
}

/// The interval that is going on, and those before it.
#[derive(Debug)]
struct Series {
    interval_ns: u64,
    origin_ns: u64,
    begun_ns: u64,
    current: Histogram<u64>,
    intervals: Vec<Interval>,
}

impl Series {
    fn new(interval_ns: u64, origin_ns: u64) -> Self {
        Self {
            interval_ns,
            origin_ns,
            begun_ns: origin_ns,
            current: histogram(),
            intervals: Vec::new(),
        }
    }

    fn record(&mut self, now_ns: u64, latency_ns: u64) {
        while now_ns >= self.begun_ns + self.interval_ns {
            self.close();
        }
        self.current.saturating_record(latency_ns);
    }

    #[expect(clippy::cast_precision_loss, reason = "nanoseconds are far below 2^52")]
    fn close(&mut self) {
        if (self.intervals.len() as u64) < SERIES_POINTS_MAX {
            self.intervals.push(Interval {
                at_s: (self.begun_ns + self.interval_ns - self.origin_ns) as f64 / 1e9,
                operations: self.current.len(),
                p50_us: quantile_us(&self.current, 0.5),
                p99_us: quantile_us(&self.current, 0.99),
                max_us: us(self.current.max()),
            });
        }
        self.current.reset();
        self.begun_ns += self.interval_ns;
    }

    /// All intervals, those without a reply too; the last one only if it is whole, for its count
    /// would be too low.
    fn finish(mut self, last_ns: u64) -> Vec<Interval> {
        while last_ns >= self.begun_ns + self.interval_ns || self.intervals.is_empty() {
            self.close();
        }
        self.intervals
    }
}
