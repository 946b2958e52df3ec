//! Sums over all threads, since the start or since CONFIG RESETSTAT.
//!
//! Owns the summing.

use super::counter::METRIC_COUNT;
use super::{HistogramTotals, Metric, WorkerStats};

/// One command's sums.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandTotals {
    /// Runs.
    pub calls: u64,
    /// Microseconds in them.
    pub us: u64,
    /// Requests refused before they ran.
    pub rejected: u64,
    /// Runs that answered an error.
    pub failed: u64,
    /// How long runs took, where there was one.
    pub histogram: Option<HistogramTotals>,
}

/// The sums over all threads.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    metrics: [u64; METRIC_COUNT],
    commands: Vec<CommandTotals>,
}

impl Totals {
    /// Sums up.
    pub fn sum(threads: &[std::sync::Arc<WorkerStats>]) -> Self {
        let mut totals = Self::default();
        let command_count = threads.first().map_or(0, |stats| stats.commands().len());
        totals
            .commands
            .resize(command_count, CommandTotals::default());
        for thread in threads {
            totals.add(thread);
        }
        totals
    }

    fn add(&mut self, thread: &WorkerStats) {
        self.metrics = sum_metrics(&self.metrics, thread);
        for (sum, command) in self.commands.iter_mut().zip(thread.commands()) {
            sum.calls += command.calls.get();
            sum.us += command.us.get();
            sum.rejected += command.rejected.get();
            sum.failed += command.failed.get();
            if let Some(histogram) = command.histogram() {
                sum.histogram.get_or_insert_default().add(histogram);
            }
        }
    }

    /// What was counted since `earlier`.
    #[must_use]
    pub fn since(mut self, earlier: &Self) -> Self {
        for (sum, before) in self.metrics.iter_mut().zip(&earlier.metrics) {
            *sum = sum.saturating_sub(*before);
        }
        for (sum, before) in self.commands.iter_mut().zip(&earlier.commands) {
            sum.calls = sum.calls.saturating_sub(before.calls);
            sum.us = sum.us.saturating_sub(before.us);
            sum.rejected = sum.rejected.saturating_sub(before.rejected);
            sum.failed = sum.failed.saturating_sub(before.failed);
            if let (Some(sum), Some(before)) = (&mut sum.histogram, &before.histogram) {
                sum.subtract(before);
            }
        }
        self
    }

    /// A metric's sum.
    pub fn get(&self, metric: Metric) -> u64 {
        self.metrics[metric as usize]
    }

    /// The sums of commands, by id.
    pub fn commands(&self) -> &[CommandTotals] {
        &self.commands
    }
}

fn sum_metrics(sums: &[u64; METRIC_COUNT], thread: &WorkerStats) -> [u64; METRIC_COUNT] {
    let counts = thread.metrics();
    std::array::from_fn(|index| sums[index] + counts[index].get())
}
