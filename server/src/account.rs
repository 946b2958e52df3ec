//! The account of one command that ran: statistics, slow log, latency history, MONITOR.
//!
//! Owns what each of them is told. How time is measured is the caller's business.

use cellar_storage::Db;

use crate::command::{CommandEntry, Cx, Flag, visible_arguments};
use crate::latency::Sample;
use crate::resp::Args;
use crate::slowlog::{SlowEntry, cut_arguments};
use crate::stats::Metric;

/// A command that ran.
pub(crate) struct Ran<'a> {
    /// What it is.
    pub(crate) entry: &'static CommandEntry,
    /// Its arguments, the name included.
    pub(crate) args: &'a Args,
    /// The database that was selected when it began.
    pub(crate) db: Db,
}

impl Ran<'_> {
    /// Settles the account of a command that took `us` microseconds.
    pub(crate) fn settle(&self, cx: &Cx, us: u64, error: Option<&str>) {
        self.count(cx, error);
        self.tell_monitors(cx);
        cx.session.stats().command(self.entry.id).record(us);
        self.note_if_slow(cx, us);
    }

    /// Counts it.
    pub(crate) fn count(&self, cx: &Cx, error: Option<&str>) {
        cx.session.count(Metric::Commands, 1);
        if let Some(text) = error {
            cx.session.stats().command(self.entry.id).failed.add(1);
            if !cx.session.take_error_counted() {
                count_error(cx, text);
            }
        }
    }

    /// Shows it to the clients that run MONITOR, if any.
    pub(crate) fn tell_monitors(&self, cx: &Cx) {
        let flags = self.entry.spec.flags;
        if cx.shared.monitors.is_any() && !flags.has(Flag::SkipMonitor) && !flags.has(Flag::Admin) {
            cx.show(&visible_arguments(self.entry, self.args), self.db);
        }
    }

    /// Notes it where its time calls for that.
    pub(crate) fn note_if_slow(&self, cx: &Cx, us: u64) {
        let fast = &cx.shared.config.fast;
        if fast.is_slow(us) && !self.entry.spec.flags.has(Flag::SkipSlowlog) {
            self.note_slow(cx, us);
        }
        if fast.is_latency_event(us) {
            let is_fast = self.entry.spec.flags.has(Flag::Fast);
            let event = if is_fast { "fast-command" } else { "command" };
            let unix_seconds = cx.shared.clock.unix_ms() / 1000;
            let sample = Sample {
                unix_seconds,
                ms: us / 1000,
            };
            cx.shared.latency.lock().add(event, sample);
        }
    }

    fn note_slow(&self, cx: &Cx, us: u64) {
        let shared = &cx.shared;
        let client = cx.session.client();
        let count_max = shared
            .config
            .read(|config| config.monitoring.slowlog_max_len.get());
        let slow = SlowEntry {
            id: 0,
            unix_seconds: shared.clock.unix_ms() / 1000,
            us,
            args: cut_arguments(&visible_arguments(self.entry, self.args)),
            peer: client.address().peer.clone(),
            client_name: client.labels().name,
        };
        shared
            .slowlog
            .lock()
            .push(slow, count_max.unsigned_abs() as usize);
    }
}

/// Counts an error reply.
pub(crate) fn count_error(cx: &Cx, text: &str) {
    cx.session.count(Metric::ErrorReplies, 1);
    cx.shared.errors.add(text);
}
