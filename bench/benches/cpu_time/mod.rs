//! What the benchmarks measure: CPU time of this process, as the suites count a server's.
//!
//! Owns the measurement, its settings, and the allocator, which is the server's too. On a machine
//! that others use as well, CPU time tells of the code and wall time of the neighbours. Must never
//! count what a benchmark prepares.

use std::time::Duration;

use criterion::Criterion;
use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use mimalloc::MiMalloc;
use nix::time::{ClockId, clock_gettime};

/// The server's.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Before each benchmark, not counted: caches and branch predictors are as they stay.
const WARM_UP: Duration = Duration::from_secs(1);
/// Length of each benchmark.
const MEASUREMENT: Duration = Duration::from_secs(3);
/// Samples of each benchmark: enough for an interval of the median.
const SAMPLE_COUNT: usize = 50;

/// CPU time of all threads of this process, user and system.
pub(crate) struct CpuTime;

impl Measurement for CpuTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        now()
    }

    fn end(&self, started: Duration) -> Duration {
        since(started)
    }

    fn add(&self, one: &Duration, other: &Duration) -> Duration {
        *one + *other
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        WallTime.to_f64(value)
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        const { &WallTime }.formatter()
    }
}

/// CPU time of this process so far.
pub(crate) fn now() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)
        .expect("every Linux counts a process's CPU time")
        .into()
}

/// CPU time of this process since it was `earlier`.
pub(crate) fn since(earlier: Duration) -> Duration {
    now().saturating_sub(earlier)
}

/// The settings of all benchmarks; the command line overrides them.
pub(crate) fn criterion() -> Criterion<CpuTime> {
    Criterion::default()
        .warm_up_time(WARM_UP)
        .measurement_time(MEASUREMENT)
        .sample_size(SAMPLE_COUNT)
        .with_measurement(CpuTime)
        .configure_from_args()
}
