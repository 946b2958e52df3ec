//! What the cleaner and the scrub tell: INFO's sections of these names, and CELLAR's replies.
//!
//! Owns the fields' names; the figures are the store's.

use std::fmt;

use cellar_storage::{CleanerStats, ScrubState, ScrubStatus};

use super::lines::Lines;
use crate::command::Cx;

/// The value of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum Figure {
    /// A count or a number of bytes.
    Count(u64),
    /// A number of either sign.
    Signed(i64),
    /// A ratio.
    Ratio(f64),
    /// A word or a text; it may be empty.
    Text(String),
}

impl fmt::Display for Figure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(formatter),
            Self::Signed(number) => number.fmt(formatter),
            Self::Ratio(ratio) => write!(formatter, "{ratio:.2}"),
            Self::Text(text) => formatter.write_str(text),
        }
    }
}

/// Fields with their values, in the order in which they are told.
pub type Figures = Vec<(&'static str, Figure)>;

/// What the cleaner tells.
pub fn cleaner_figures(stats: CleanerStats) -> Figures {
    let CleanerStats {
        state,
        turns,
        segments_cleaned,
        segments_freed,
        segments_damaged,
        read_bytes,
        written_bytes,
        relocated_bytes,
        dropped_bytes,
        write_amplification,
        tombstones_carried,
        tombstones_dropped,
        credit_bytes,
        emergencies,
        writes_refused,
        last_error,
    } = stats;
    vec![
        ("state", Figure::Text(state.name().into())),
        ("turns", Figure::Count(turns)),
        ("segments_cleaned", Figure::Count(segments_cleaned)),
        ("segments_freed", Figure::Count(segments_freed)),
        ("segments_damaged", Figure::Count(segments_damaged)),
        ("read_bytes", Figure::Count(read_bytes)),
        ("written_bytes", Figure::Count(written_bytes)),
        ("relocated_bytes", Figure::Count(relocated_bytes)),
        ("dropped_bytes", Figure::Count(dropped_bytes)),
        ("write_amplification", Figure::Ratio(write_amplification)),
        ("tombstones_carried", Figure::Count(tombstones_carried)),
        ("tombstones_dropped", Figure::Count(tombstones_dropped)),
        ("credit_bytes", Figure::Signed(credit_bytes)),
        ("emergencies", Figure::Count(emergencies)),
        ("writes_refused", Figure::Count(writes_refused)),
        ("last_error", Figure::Text(last_error.unwrap_or_default())),
    ]
}

/// What the scrub tells; the damaged places that it names are left out.
pub fn scrub_figures(status: &ScrubStatus) -> Figures {
    let ScrubStatus {
        state,
        segments_done,
        segments_total,
        percent,
        records,
        bytes,
        damaged,
        started_unix_ms,
        finished_unix_ms,
        last_damage: _,
    } = status;
    let state = match state {
        ScrubState::Idle => "idle",
        ScrubState::Running => "running",
        ScrubState::Finished => "finished",
        ScrubState::Stopped => "stopped",
    };
    vec![
        ("state", Figure::Text(state.into())),
        ("segments_done", Figure::Count(*segments_done)),
        ("segments_total", Figure::Count(*segments_total)),
        ("percent", Figure::Count(*percent)),
        ("records", Figure::Count(*records)),
        ("bytes", Figure::Count(*bytes)),
        ("damaged", Figure::Count(*damaged)),
        ("start_time", Figure::Count(started_unix_ms / 1000)),
        ("end_time", Figure::Count(finished_unix_ms / 1000)),
    ]
}

pub(super) fn cleaner(cx: &Cx, lines: &mut Lines) {
    if let Some(store) = cx.shared.store() {
        write(lines, "cleaner", &cleaner_figures(store.cleaner_stats()));
    }
}

pub(super) fn scrub(cx: &Cx, lines: &mut Lines) {
    if let Some(store) = cx.shared.store() {
        write(lines, "scrub", &scrub_figures(&store.scrub_status()));
    }
}

fn write(lines: &mut Lines, prefix: &str, figures: &Figures) {
    for (name, value) in figures {
        lines.field(&format!("{prefix}_{name}"), value);
    }
}
