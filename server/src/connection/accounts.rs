//! The accounts of a connection's commands.
//!
//! Owns how time is measured: short commands that need no waiting are timed together, a few at a
//! time, because reading the clock would be a tenth of their cost.

use cellar_storage::Db;
use smallvec::SmallVec;

use super::Connection;
use crate::account::{self, Ran};
use crate::command::{CommandEntry, Flag, Handler};

/// Commands that are timed together at most: at a microsecond or less each, a turn still ends on
/// time.
const TOGETHER_COUNT_MAX: usize = 8;
/// Arguments of a command that counts as short.
const SHORT_ARGUMENT_COUNT_MAX: usize = 6;

/// Bytes of all arguments of a command that counts as short.
const SHORT_BYTES_MAX: usize = 8 * 1024;

/// Commands that ended and whose time is not known yet, by number.
pub(super) type Unmeasured = SmallVec<[u16; TOGETHER_COUNT_MAX]>;

/// What is known of a command that waits from its start.
#[derive(Clone, Copy)]
pub(super) struct Account {
    pub(super) entry: &'static CommandEntry,
    pub(super) started_us: u64,
    pub(super) db: Db,
    pub(super) is_answered: bool,
}

impl Connection {
    /// Opens the account of a command that waits.
    pub(super) fn open_account(
        &mut self,
        entry: &'static CommandEntry,
        is_answered: bool,
    ) -> Account {
        self.measure();
        Account {
            entry,
            started_us: self.now_us,
            db: self.cx.db(),
            is_answered,
        }
    }

    /// Counts a command that ended without waiting.
    pub(super) fn settle_now(&mut self, entry: &'static CommandEntry, error: Option<&str>) {
        let ran = self.ran(entry, self.cx.db());
        ran.count(&self.cx, error);
        ran.tell_monitors(&self.cx);
        self.unmeasured.push(entry.id);
        if self.is_short(entry) && !self.cx.shared.config.fast.measures_each() {
            if self.unmeasured.len() == TOGETHER_COUNT_MAX {
                self.measure();
            }
            return;
        }
        // short commands before it add next to nothing
        let us = self.measure();
        self.ran(entry, self.cx.db()).note_if_slow(&self.cx, us);
    }

    /// Whether the present command cannot take long by itself.
    fn is_short(&self, entry: &CommandEntry) -> bool {
        let is_direct =
            matches!(entry.spec.handler, Handler::Try(..)) || entry.spec.flags.has(Flag::Fast);
        is_direct
            && self.args.len() <= SHORT_ARGUMENT_COUNT_MAX
            && self.args.iter().map(bytes::Bytes::len).sum::<usize>() <= SHORT_BYTES_MAX
    }

    /// Counts a command that waited and has ended just now.
    pub(super) fn settle_waited(&mut self, account: Account, error: Option<&str>) {
        let Account {
            entry,
            started_us,
            db,
            ..
        } = account;
        let us = self.now_us.saturating_sub(started_us);
        self.ran(entry, db).settle(&self.cx, us, error);
    }

    /// Looks at the clock and shares the time since the last look out among the commands that
    /// ended in it; returns that time in microseconds.
    pub(super) fn measure(&mut self) -> u64 {
        let before_us = self.now_us;
        self.now_us = self.cx.shared.clock.monotonic_us();
        let us = self.now_us.saturating_sub(before_us);
        let count = self.unmeasured.len() as u64;
        let mut told_us = 0;
        for (index, id) in self.unmeasured.drain(..).enumerate() {
            let until_us = us * (index as u64 + 1) / count;
            self.worker.stats.command(id).record(until_us - told_us);
            told_us = until_us;
        }
        us
    }

    /// Shows the present command to the clients that run MONITOR, if any.
    pub(super) fn show(&self, entry: &'static CommandEntry) {
        let ran = self.ran(entry, self.cx.session.db());
        ran.tell_monitors(&self.cx);
    }

    /// Counts an error reply.
    pub(super) fn count_error(&self, text: &str) {
        account::count_error(&self.cx, text);
    }

    fn ran(&self, entry: &'static CommandEntry, db: Db) -> Ran<'_> {
        Ran {
            entry,
            args: &self.args,
            db,
        }
    }
}
