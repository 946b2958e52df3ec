//! How far a group is behind its stream, as far as that is known without counting.
//!
//! Owns that arithmetic, which is Redis's.

use super::{EntryId, Group, Stream};

impl Stream {
    /// Whether an entry was removed by its id from `start` on, behind the first one.
    fn has_gaps_from(&self, start: EntryId) -> bool {
        let deleted = self.max_deleted_id();
        self.len() > 0 && deleted != EntryId::ZERO && self.first_id() <= deleted && start <= deleted
    }

    /// How many entries were added up to one with this id, if that follows from what is kept.
    pub(crate) fn entries_up_to(&self, id: EntryId) -> Option<u64> {
        let added = self.entries_added();
        if added == 0 {
            return Some(0);
        }
        if id > self.last_id() {
            return None;
        }
        if id == self.last_id() || self.len() == 0 {
            return Some(added);
        }
        let deleted = self.max_deleted_id();
        if deleted != EntryId::ZERO && deleted >= self.first_id() {
            return None;
        }
        let before = added.saturating_sub(self.len());
        if id < self.first_id() {
            Some(before)
        } else {
            (id == self.first_id()).then_some(before + 1)
        }
    }

    /// How many entries a group's consumers have not been offered yet.
    pub(crate) fn lag(&self, group: &Group) -> Option<u64> {
        let added = self.entries_added();
        if added == 0 || self.len() == 0 {
            return Some(0);
        }
        let first = self.first_id();
        if group.last_id < first && self.max_deleted_id() < first {
            return Some(self.len());
        }
        let read = group
            .entries_read
            .filter(|_| !self.has_gaps_from(group.last_id))
            .or_else(|| self.entries_up_to(group.last_id))?;
        // XGROUP SETID may have claimed more than was ever added
        Some(added.wrapping_sub(read))
    }

    /// Notes that an entry is delivered to a group: its last id, and how many were read.
    pub(crate) fn note_delivered(&self, group: &mut Group, id: EntryId) {
        if id <= group.last_id {
            return;
        }
        let is_counted = group.last_id >= self.first_id() && !self.has_gaps_from(group.last_id);
        match group.entries_read {
            Some(count) if is_counted => group.entries_read = Some(count + 1),
            Some(_) | None if self.entries_added() > 0 => {
                group.entries_read = self.entries_up_to(id);
            }
            Some(_) | None => {}
        }
        group.last_id = id;
    }
}
