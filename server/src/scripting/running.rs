//! The scripts that run now, for SCRIPT KILL, FUNCTION KILL and FUNCTION STATS.
//!
//! Owns their list. Costs one short lock at the beginning and the end of a run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use parking_lot::Mutex;

use crate::resp::Args;

/// A script or function that runs.
#[derive(Debug)]
pub struct Running {
    /// The function's name; of a script none.
    pub function: Option<String>,
    /// The command that runs it.
    pub command: Args,
    /// When it began, by the monotonic clock.
    pub started_us: u64,
    is_killed: AtomicBool,
    has_written: AtomicBool,
}

impl Running {
    /// Whether it is to stop.
    pub fn is_killed(&self) -> bool {
        self.is_killed.load(Relaxed)
    }

    /// Notes that it has called a command that writes.
    pub fn note_write(&self) {
        self.has_written.store(true, Relaxed);
    }
}

/// What KILL came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kill {
    /// What could be ended will end.
    Done,
    /// Nothing has run for long.
    Idle,
    /// What has run for long has written.
    Refused,
}

/// All that run now.
#[derive(Debug, Default)]
pub struct RunningList(Mutex<Vec<Arc<Running>>>);

impl RunningList {
    /// Adds one that begins.
    pub fn enter(&self, function: Option<String>, command: &Args, started_us: u64) -> Arc<Running> {
        let running = Arc::new(Running {
            function,
            command: command.clone(),
            started_us,
            is_killed: AtomicBool::new(false),
            has_written: AtomicBool::new(false),
        });
        self.0.lock().push(Arc::clone(&running));
        running
    }

    /// Removes one that has ended.
    pub fn leave(&self, running: &Arc<Running>) {
        self.0.lock().retain(|other| !Arc::ptr_eq(other, running));
    }

    /// The one that runs for the longest time, if it began before this moment.
    pub fn oldest_since(&self, before_us: u64) -> Option<Arc<Running>> {
        let running = self.0.lock();
        let old = running.iter().filter(|one| one.started_us <= before_us);
        old.min_by_key(|one| one.started_us).map(Arc::clone)
    }

    /// Ends the scripts, or the functions, that began before this moment and have not written.
    pub fn kill(&self, is_function: bool, before_us: u64) -> Kill {
        let mut outcome = Kill::Idle;
        for running in self.0.lock().iter() {
            if running.function.is_some() != is_function || running.started_us > before_us {
                continue;
            }
            if !running.has_written.load(Relaxed) {
                running.is_killed.store(true, Relaxed);
                outcome = Kill::Done;
            } else if outcome == Kill::Idle {
                outcome = Kill::Refused;
            }
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_old_and_has_not_written_is_killed() {
        let list = RunningList::default();
        let command: Args = ["eval"].into_iter().collect();
        assert_eq!(list.kill(false, 100), Kill::Idle);
        let young = list.enter(None, &command, 101);
        assert_eq!(list.kill(false, 100), Kill::Idle);
        let writer = list.enter(None, &command, 90);
        writer.note_write();
        assert_eq!(list.kill(false, 100), Kill::Refused);
        assert_eq!(list.kill(true, 100), Kill::Idle);
        let reader = list.enter(None, &command, 95);
        assert_eq!(list.kill(false, 100), Kill::Done);
        assert!(reader.is_killed() && !writer.is_killed() && !young.is_killed());
        assert_eq!(list.oldest_since(100).unwrap().started_us, 90);
        for running in [&young, &writer, &reader] {
            list.leave(running);
        }
        assert!(list.oldest_since(1000).is_none());
    }
}
