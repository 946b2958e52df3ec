//! The machine's CPU time that its hypervisor gave to others.

use std::fs;

use crate::error::BenchError;

/// Ticks of all cores since the machine started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ticks {
    all: u64,
    stolen: u64,
}

impl Ticks {
    /// As of now.
    pub(crate) fn now() -> Result<Self, BenchError> {
        let text =
            fs::read_to_string("/proc/stat").map_err(BenchError::system("read /proc/stat"))?;
        Ok(Self::parse(&text))
    }

    /// Of the first line, `cpu user nice system idle iowait irq softirq steal guest guest_nice`:
    /// guests are part of user and nice already.
    fn parse(text: &str) -> Self {
        let line = text.lines().next().unwrap_or_default();
        let ticks: Vec<u64> = line
            .split_whitespace()
            .skip(1)
            .take(8)
            .filter_map(|word| word.parse().ok())
            .collect();
        let all = ticks.iter().sum();
        let stolen = ticks.get(7).copied().unwrap_or_default();
        Self { all, stolen }
    }

    /// The share of the time since `before` that was taken away, 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "ticks are far below 2^52")]
    pub(crate) fn stolen_share_since(self, before: Self) -> f64 {
        let all = self.all.saturating_sub(before.all);
        let stolen = self.stolen.saturating_sub(before.stolen);
        if all == 0 {
            return 0.0;
        }
        stolen as f64 / all as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_the_eighth_column() {
        let before = Ticks::parse("cpu  1388920 2010241 417318 911105 15087 0 20222 4028 7 7\n");
        assert_eq!(before.stolen, 4028);
        let after = Ticks::parse("cpu  1389000 2010241 417318 911105 15087 0 20222 4048 7 7\n");
        assert!((after.stolen_share_since(before) - 0.2).abs() < 1e-9);
        assert!(before.stolen_share_since(before).abs() < 1e-9);
    }
}
