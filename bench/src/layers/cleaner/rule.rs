//! The policies that are compared: how a victim is chosen, and where its survivors go.
//!
//! Owns the formulas that are not the engine's. Must never see a record.

use cellar_storage::cleaning;

/// A rule and a separation that are measured together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Policy {
    /// Most dead bytes first.
    Greedy,
    /// Benefit times age by cost, a victim read whole (Rosenblum and Ousterhout, SOSP 1991).
    CostBenefit,
    /// Minimum declining cost (Lomet and Luo, ICDE 2021), without its sorting of clients' writes.
    Mdc,
    /// The engine's formula, one cold stream.
    Flash,
    /// The engine's formula, survivors of hot and of cold segments in two open segments.
    TwoCold,
    /// The engine's formula, survivors in three open segments by their age, as in SepBIT (Wang et
    /// al., FAST 2022), which separates clients' writes too.
    ByAge,
    /// What the engine does: its formula, and one open segment that takes the two kinds in turn.
    Cellar,
}

impl Policy {
    pub(crate) const ALL: [Self; 7] = [
        Self::Greedy,
        Self::CostBenefit,
        Self::Mdc,
        Self::Flash,
        Self::TwoCold,
        Self::ByAge,
        Self::Cellar,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Greedy => "greedy",
            Self::CostBenefit => "cost-benefit",
            Self::Mdc => "mdc",
            Self::Flash => "flash",
            Self::TwoCold => "two-cold",
            Self::ByAge => "by-age",
            Self::Cellar => "cellar",
        }
    }

    /// Cold segments that are open at once.
    pub(crate) fn cold_streams(self) -> usize {
        match self {
            Self::Greedy | Self::CostBenefit | Self::Mdc | Self::Flash | Self::Cellar => 1,
            Self::TwoCold => 2,
            Self::ByAge => 3,
        }
    }

    /// What a victim is worth; the highest goes first.
    pub(crate) fn worth(self, facts: &Facts) -> f64 {
        let live = f64::from(facts.live_bytes) / f64::from(facts.segment_bytes);
        match self {
            Self::Greedy => 1.0 - live,
            Self::CostBenefit => (1.0 - live) * as_f64(facts.age) / (1.0 + live),
            // The fall of the cost `1 / (1 - live)` with time is least where this is most.
            Self::Mdc => (1.0 - live).powi(2) * facts.overwrite_age / live.max(1e-9),
            Self::Flash | Self::TwoCold | Self::ByAge | Self::Cellar => {
                cleaning::worth(u64::from(facts.live_bytes), facts.segment_bytes, facts.age)
            }
        }
    }
}

/// What is known of a sealed segment; ages in bytes of hot log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) live_bytes: u32,
    pub(crate) segment_bytes: u32,
    /// Since it was sealed, or opened if it is a cold one.
    pub(crate) age: u64,
    /// Since its records were overwritten the last time but one, on average, estimated by halving
    /// as in MDC: `up2`.
    pub(crate) overwrite_age: f64,
}

/// Exact up to 2^52.
#[expect(
    clippy::cast_precision_loss,
    reason = "bytes of log are far below 2^52"
)]
pub(crate) fn as_f64(bytes: u64) -> f64 {
    bytes as f64
}
