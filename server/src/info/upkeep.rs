//! What the scrub tells: INFO's section of that name, and CELLAR's replies.
//!
//! Owns the fields' names; the figures are the store's.

use std::fmt;

use cellar_storage::{ScrubState, ScrubStatus};

use super::lines::Lines;
use crate::command::Cx;

/// The value of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum Figure {
    /// A count or a number of bytes.
    Count(u64),
    /// A word or a text; it may be empty.
    Text(String),
}

impl fmt::Display for Figure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(formatter),
            Self::Text(text) => formatter.write_str(text),
        }
    }
}

/// Fields with their values, in the order in which they are told.
pub type Figures = Vec<(&'static str, Figure)>;

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
