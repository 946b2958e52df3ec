//! The scripts that run now, for SCRIPT KILL, FUNCTION KILL, FUNCTION STATS and BUSY.
//!
//! Owns their list, and whether one of them has run for so long that others are told. Costs one
//! short lock at the beginning and the end of a run, and one load a command of anybody.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;

use crate::command::CommandError;
use crate::resp::Args;

/// Nothing has run for long.
const IDLE: u8 = 0;
/// A script has.
const BUSY_SCRIPT: u8 = 1;
/// A function has.
const BUSY_FUNCTION: u8 = 2;

/// A script or function that runs.
#[derive(Debug)]
pub struct Running {
    /// The function's name; of a script none.
    pub function: Option<String>,
    /// The command that runs it.
    pub command: Args,
    /// When it began to run, its first locks held, by the monotonic clock; 0 before that.
    started_us: AtomicU64,
    is_busy: AtomicBool,
    is_killed: AtomicBool,
    has_written: AtomicBool,
}

impl Running {
    /// When it began, by the monotonic clock.
    pub fn started_us(&self) -> u64 {
        self.started_us.load(Relaxed)
    }

    /// It begins to run, perhaps again: what it waited for before the first time does not count.
    pub fn begin(&self, now_us: u64) {
        if self.started_us() == 0 {
            self.started_us.store(now_us, Relaxed);
        }
    }

    /// Whether others are told that it has run for long.
    pub fn is_busy(&self) -> bool {
        self.is_busy.load(Relaxed)
    }

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
    /// What has run for long is of the other kind.
    Other,
}

/// All that run now.
#[derive(Debug, Default)]
pub struct RunningList {
    all: Mutex<Vec<Arc<Running>>>,
    /// What the oldest is of those that have run for long. Changed under the lock.
    busy: AtomicU8,
}

impl RunningList {
    /// Adds one that begins.
    pub fn enter(&self, function: Option<String>, command: &Args) -> Arc<Running> {
        let running = Arc::new(Running {
            function,
            command: command.clone(),
            started_us: AtomicU64::new(0),
            is_busy: AtomicBool::new(false),
            is_killed: AtomicBool::new(false),
            has_written: AtomicBool::new(false),
        });
        self.all.lock().push(Arc::clone(&running));
        running
    }

    /// Removes one that has ended.
    pub fn leave(&self, running: &Arc<Running>) {
        let mut all = self.all.lock();
        all.retain(|other| !Arc::ptr_eq(other, running));
        self.note(&all);
    }

    /// Notes that one has run for long: others are told from here on, until it has ended.
    pub fn note_busy(&self, running: &Running) {
        let all = self.all.lock();
        running.is_busy.store(true, Relaxed);
        self.note(&all);
    }

    fn note(&self, all: &[Arc<Running>]) {
        let busy = match oldest(all) {
            None => IDLE,
            Some(running) if running.function.is_some() => BUSY_FUNCTION,
            Some(_) => BUSY_SCRIPT,
        };
        self.busy.store(busy, Relaxed);
    }

    /// What others are answered while something has run for long, except to the few commands that
    /// help against it.
    pub fn refuse(&self) -> Result<(), CommandError> {
        let command = match self.busy.load(Relaxed) {
            IDLE => return Ok(()),
            BUSY_SCRIPT => "SCRIPT",
            _ => "FUNCTION",
        };
        Err(CommandError::other(format!(
            "BUSY Redis is busy running a script. You can only call {command} KILL or SHUTDOWN \
             NOSAVE."
        )))
    }

    /// The one that has run for the longest time, if others are told of it.
    pub fn oldest_busy(&self) -> Option<Arc<Running>> {
        oldest(&self.all.lock()).map(Arc::clone)
    }

    /// Ends the scripts, or the functions, that have run for long and have not written.
    pub fn kill(&self, is_function: bool) -> Kill {
        let mut outcome = Kill::Idle;
        for running in self.all.lock().iter().filter(|running| running.is_busy()) {
            if running.function.is_some() != is_function {
                if outcome == Kill::Idle {
                    outcome = Kill::Other;
                }
            } else if !running.has_written.load(Relaxed) {
                running.is_killed.store(true, Relaxed);
                outcome = Kill::Done;
            } else if outcome != Kill::Done {
                outcome = Kill::Refused;
            }
        }
        outcome
    }
}

fn oldest(all: &[Arc<Running>]) -> Option<&Arc<Running>> {
    let busy = all.iter().filter(|running| running.is_busy());
    busy.min_by_key(|running| running.started_us())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(list: &RunningList) -> String {
        list.refuse()
            .map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn only_what_has_run_for_long_and_has_not_written_is_killed() {
        let list = RunningList::default();
        let command: Args = ["eval"].into_iter().collect();
        assert_eq!(list.kill(false), Kill::Idle);
        let young = list.enter(None, &command);
        assert_eq!(list.kill(false), Kill::Idle);
        let writer = list.enter(None, &command);
        writer.begin(90);
        writer.begin(99);
        writer.note_write();
        list.note_busy(&writer);
        assert_eq!(list.kill(false), Kill::Refused);
        assert_eq!(list.kill(true), Kill::Other);
        let reader = list.enter(None, &command);
        reader.begin(95);
        list.note_busy(&reader);
        assert_eq!(list.kill(false), Kill::Done);
        assert!(reader.is_killed() && !writer.is_killed() && !young.is_killed());
        assert_eq!(list.oldest_busy().unwrap().started_us(), 90);
        for running in [&young, &writer, &reader] {
            list.leave(running);
        }
        assert!(list.oldest_busy().is_none());
    }

    #[test]
    fn others_are_told_while_something_has_run_for_long() {
        let list = RunningList::default();
        let command: Args = ["eval"].into_iter().collect();
        let script = list.enter(None, &command);
        assert_eq!(told(&list), "");
        list.note_busy(&script);
        assert!(told(&list).contains("only call SCRIPT KILL or SHUTDOWN NOSAVE."));
        let function = list.enter(Some("f".into()), &command);
        function.begin(1);
        list.note_busy(&function);
        list.leave(&script);
        assert!(told(&list).starts_with("BUSY Redis is busy running a script."));
        assert!(told(&list).contains("only call FUNCTION KILL"));
        list.leave(&function);
        assert_eq!(told(&list), "");
    }
}
