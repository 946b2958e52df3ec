//! The accounts of commands: statistics, slow log, latency history, MONITOR.
//!
//! Owns how time is measured: short commands that need no waiting are timed together, a few at a
//! time, because reading the clock would be a tenth of their cost.

use cellar_storage::Db;
use smallvec::SmallVec;

use super::Connection;
use crate::command::{CommandEntry, Flag, Handler, visible_arguments};
use crate::latency::Sample;
use crate::monitor;
use crate::slowlog::{SlowEntry, cut_arguments};
use crate::stats::Metric;

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
        self.count(entry, error);
        if self.cx.shared.monitors.is_any() {
            self.tell_monitors(entry, self.cx.db());
        }
        self.unmeasured.push(entry.id);
        if self.is_short(entry) && !self.cx.shared.config.fast.measures_each() {
            if self.unmeasured.len() == TOGETHER_COUNT_MAX {
                self.measure();
            }
            return;
        }
        // short commands before it add next to nothing
        let us = self.measure();
        self.note_if_slow(entry, us);
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
        self.count(entry, error);
        if self.cx.shared.monitors.is_any() {
            self.tell_monitors(entry, db);
        }
        let us = self.now_us.saturating_sub(started_us);
        self.worker.stats.command(entry.id).record(us);
        self.note_if_slow(entry, us);
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

    fn count(&self, entry: &CommandEntry, error: Option<&str>) {
        self.worker.stats.add(Metric::Commands, 1);
        if let Some(text) = error {
            self.worker.stats.command(entry.id).failed.add(1);
            self.count_error(text);
        }
    }

    /// Counts an error reply.
    pub(super) fn count_error(&self, text: &str) {
        self.worker.stats.add(Metric::ErrorReplies, 1);
        self.cx.shared.errors.add(text);
    }

    fn note_if_slow(&self, entry: &CommandEntry, us: u64) {
        let fast = &self.cx.shared.config.fast;
        if fast.is_slow(us) && !entry.spec.flags.has(Flag::SkipSlowlog) {
            self.note_slow(entry, us);
        }
        if fast.is_latency_event(us) {
            let is_fast = entry.spec.flags.has(Flag::Fast);
            let event = if is_fast { "fast-command" } else { "command" };
            let unix_seconds = self.cx.shared.clock.unix_ms() / 1000;
            let sample = Sample {
                unix_seconds,
                ms: us / 1000,
            };
            self.cx.shared.latency.lock().add(event, sample);
        }
    }

    fn note_slow(&self, entry: &CommandEntry, us: u64) {
        let shared = &self.cx.shared;
        let count_max = shared
            .config
            .read(|config| config.monitoring.slowlog_max_len.get());
        let slow = SlowEntry {
            id: 0,
            unix_seconds: shared.clock.unix_ms() / 1000,
            us,
            args: cut_arguments(&visible_arguments(entry, &self.args)),
            peer: self.client.address().peer.clone(),
            client_name: self.client.labels().name,
        };
        shared
            .slowlog
            .lock()
            .push(slow, count_max.unsigned_abs() as usize);
    }

    fn tell_monitors(&self, entry: &CommandEntry, db: Db) {
        let flags = entry.spec.flags;
        if flags.has(Flag::SkipMonitor) || flags.has(Flag::Admin) {
            return;
        }
        let shared = &self.cx.shared;
        let unix_us = shared.clock.unix_ms() * 1000;
        let args = visible_arguments(entry, &self.args);
        let line = monitor::line(unix_us, db, self.client.address(), &args);
        shared.monitors.send(&line, &mut self.cx.delivery());
    }
}
