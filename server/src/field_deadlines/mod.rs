//! Which hashes have fields that expire, and when: what the removal of such fields works from.
//!
//! ```text
//!   HEXPIRE, RENAME ... --note--> agenda <--note-- pass over all hashes with deadlines
//!                                   |              (at the start, and when the agenda overflowed)
//!                                   v
//!                          removal: late fields of one hash after another
//! ```
//!
//! Owns the agenda: the earliest deadlines, up to a bound. What is later than the latest of a full
//! agenda is forgotten, and found again by the next pass when that moment comes. Nothing of it is
//! stored. Must never be asked whether a field is there: its hash says that.

mod removal;

use std::collections::BTreeSet;

use bytes::Bytes;
use cellar_storage::Db;
use parking_lot::Mutex;

pub(crate) use removal::run;

/// Entries of the agenda at most: some 10 MiB with names of 100 bytes.
const ENTRY_COUNT_MAX: usize = 64 * 1024;

/// Bytes of all names in the agenda at most.
const NAME_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The hash that is worked on, in one or several turns.
struct Current {
    key: (u8, Bytes),
    /// The earliest deadline that it got meanwhile.
    noted_ms: u64,
}

#[derive(Default)]
struct Agenda {
    entries: BTreeSet<(u64, u8, Bytes)>,
    name_bytes: usize,
    /// All hashes with an earlier deadline than this are entered: milliseconds since the epoch.
    horizon_ms: u64,
    current: Option<Current>,
}

/// The agenda, shared by all workers.
#[derive(Default)]
pub struct FieldDeadlines(Mutex<Agenda>);

impl FieldDeadlines {
    /// Notes that a hash has a field with this deadline, or may have: then 0. To be called under
    /// the key's lock.
    pub(crate) fn note(&self, deadline_ms: u64, db: Db, key: &[u8]) {
        let mut agenda = self.0.lock();
        if let Some(current) = &mut agenda.current
            && current.key.0 == db.0
            && current.key.1 == key
        {
            current.noted_ms = current.noted_ms.min(deadline_ms);
        }
        if deadline_ms < agenda.horizon_ms {
            agenda.enter((deadline_ms, db.0, Bytes::copy_from_slice(key)));
        }
    }

    /// Forgets everything: databases have changed their numbers.
    pub(crate) fn forget(&self) {
        let mut agenda = self.0.lock();
        agenda.entries.clear();
        (agenda.name_bytes, agenda.horizon_ms) = (0, 0);
    }

    /// Whether a pass is needed: there are hashes that are not entered, and their time has come.
    fn wants_pass(&self, now_ms: u64) -> bool {
        self.0.lock().horizon_ms <= now_ms
    }

    /// A pass begins: what is noted from here on is entered.
    fn begin_pass(&self) {
        self.0.lock().horizon_ms = u64::MAX;
    }

    /// The next hash whose time has come; it is the current one from here on.
    fn take(&self, now_ms: u64) -> Option<(Db, Bytes)> {
        let mut agenda = self.0.lock();
        let is_due = |entry: &&(u64, u8, Bytes)| entry.0 <= now_ms;
        let entry = agenda.entries.first().filter(is_due)?.clone();
        agenda.entries.remove(&entry);
        let (_, db, key) = entry;
        agenda.name_bytes -= key.len();
        agenda.current = Some(Current {
            key: (db, key.clone()),
            noted_ms: u64::MAX,
        });
        Some((Db(db), key))
    }

    /// The earliest deadline that the current hash got since it was taken.
    fn noted_ms(&self) -> u64 {
        let agenda = self.0.lock();
        let noted = agenda.current.as_ref();
        noted.map_or(u64::MAX, |current| current.noted_ms)
    }
}

impl Agenda {
    fn enter(&mut self, entry: (u64, u8, Bytes)) {
        self.name_bytes += entry.2.len();
        if let Some(twin) = self.entries.replace(entry) {
            self.name_bytes -= twin.2.len();
        }
        while self.entries.len() > ENTRY_COUNT_MAX || self.name_bytes > NAME_BYTES_MAX {
            let Some((deadline_ms, _, key)) = self.entries.pop_last() else {
                return;
            };
            self.name_bytes -= key.len();
            self.horizon_ms = deadline_ms;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_come_when_their_time_has_come() {
        let deadlines = FieldDeadlines::default();
        assert!(deadlines.wants_pass(0));
        deadlines.note(5, Db(0), b"before the pass");
        deadlines.begin_pass();
        assert!(!deadlines.wants_pass(1 << 60));
        for (deadline_ms, key) in [(7, "b"), (5, "a"), (7, "b"), (9, "c")] {
            deadlines.note(deadline_ms, Db(1), key.as_bytes());
        }
        assert_eq!(deadlines.take(4), None);
        assert_eq!(deadlines.take(8), Some((Db(1), Bytes::from("a"))));
        deadlines.note(3, Db(1), b"a");
        deadlines.note(2, Db(0), b"a");
        assert_eq!(deadlines.noted_ms(), 3);
        assert_eq!(deadlines.take(2), Some((Db(0), Bytes::from("a"))));
        assert_eq!(deadlines.take(8), Some((Db(1), Bytes::from("a"))));
        assert_eq!(deadlines.take(8), Some((Db(1), Bytes::from("b"))));
        assert_eq!(deadlines.take(8), None);
        deadlines.forget();
        assert!(deadlines.wants_pass(0) && deadlines.take(9).is_none());
    }

    #[test]
    fn a_full_agenda_keeps_the_earliest_and_tells_up_to_where_it_knows() {
        let deadlines = FieldDeadlines::default();
        deadlines.begin_pass();
        for index in 0..ENTRY_COUNT_MAX as u64 + 10 {
            deadlines.note(100 + index, Db(0), &index.to_le_bytes());
        }
        assert_eq!(deadlines.0.lock().entries.len(), ENTRY_COUNT_MAX);
        let horizon_ms = 100 + ENTRY_COUNT_MAX as u64;
        assert!(deadlines.wants_pass(horizon_ms) && !deadlines.wants_pass(horizon_ms - 1));
        deadlines.note(horizon_ms, Db(0), b"beyond");
        assert_eq!(deadlines.0.lock().entries.len(), ENTRY_COUNT_MAX);
    }
}
