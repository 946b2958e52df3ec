//! The journal of a life: the last things that happened in it, told with a violation. Owns a bounded
//! list of them; costs little while nothing is wrong.

use std::collections::VecDeque;
use std::fmt::{self, Display, Formatter};

use cellar_storage::{Db, Lsn};

use crate::model::Effect;

/// Lines that a violation shows.
const LINES_MAX: usize = 40;

/// One thing that happened.
#[derive(Clone, Debug)]
pub(crate) enum Line {
    Begins(&'static str),
    /// It ended, well or not.
    Ends(bool),
    Commits(Lsn, Vec<Effect>),
    Flushes(Lsn, Vec<Db>),
    Swaps(Lsn, Db, Db),
}

impl Line {
    /// A number that tells lines apart.
    pub(crate) fn mark(&self) -> u64 {
        match self {
            Self::Begins(name) => name.bytes().fold(1_u64, |mark, byte| {
                mark.wrapping_mul(31).wrapping_add(u64::from(byte))
            }),
            Self::Ends(is_ok) => 2 + u64::from(*is_ok),
            Self::Commits(lsn, _) | Self::Flushes(lsn, _) | Self::Swaps(lsn, ..) => lsn.get() << 4,
        }
    }
}

impl Display for Line {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begins(name) => write!(out, "{name}"),
            Self::Ends(true) => write!(out, "done"),
            Self::Ends(false) => write!(out, "refused"),
            Self::Commits(lsn, effects) => {
                let keys: Vec<_> = effects
                    .iter()
                    .map(|(db, key, held)| (db.0, key, held))
                    .collect();
                write!(out, "commit {lsn}: {keys:?}")
            }
            Self::Flushes(lsn, dbs) => write!(out, "flushed {dbs:?}: {lsn}"),
            Self::Swaps(lsn, a, b) => write!(out, "swapped {a:?} and {b:?}: {lsn}"),
        }
    }
}

/// The last lines, each with its time in microseconds and its client.
#[derive(Debug, Default)]
pub(crate) struct Journal(VecDeque<(u64, u64, Line)>);

impl Journal {
    /// Adds a line; the oldest goes.
    pub(crate) fn add(&mut self, now_us: u64, client: u64, line: Line) {
        if self.0.len() == LINES_MAX {
            self.0.pop_front();
        }
        self.0.push_back((now_us, client, line));
    }
}

impl Display for Journal {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        for (now_us, client, line) in &self.0 {
            writeln!(out, "  {now_us} us, client {client}: {line}")?;
        }
        Ok(())
    }
}
