//! A stream: entries in the order of their ids, and groups of consumers that read it.
//!
//! ```text
//!   compact   one record: head | entries | members | pending            stored
//!   paged     root: header of the pages | the same, of which entries    stored
//!             and pending are trees, and members where they are many
//!   entries   id, node, fields and values                               entry
//!   members   groups, and their consumers by name and by number         member
//!   pending   what was delivered and not acknowledged, by group and     member
//!             by consumer
//! ```
//!
//! All three are items in the order of their bytes ([`run`]). The trees of a paged stream lie in
//! the pages of one collection. How much a group or consumer has pending is not kept, the trees
//! count it.
//!
//! Owns that they agree. Must never know a command's options.

mod cut;
mod entries;
mod entry;
mod groups;
mod head;
mod id;
mod lag;
mod member;
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "what a dumped stream is built with")
)]
mod parts;
mod pending;
mod run;
mod stored;
mod trim;

pub(crate) use entry::Entry;
pub(crate) use head::NodeLimits;
pub(crate) use id::EntryId;
pub(crate) use member::{Consumer, Group, Pending};
#[cfg_attr(
    not(test),
    expect(unused_imports, reason = "what a dumped stream is built with")
)]
pub(crate) use parts::{StreamBuilder, Summary};
pub(crate) use trim::{Trim, TrimTo};

#[cfg(test)]
mod tests;

use self::head::Head;
use self::run::Run;
use super::pages::Pages;

/// A stream while a command works on it.
pub(crate) struct Stream {
    head: Head,
    entries: Run,
    members: Run,
    pending: Run,
    pages: Pages,
    expiry_ms: Option<u64>,
}

impl Stream {
    /// A stream without entries.
    pub(crate) fn new() -> Self {
        Self {
            head: Head::default(),
            entries: Run::EMPTY,
            members: Run::EMPTY,
            pending: Run::EMPTY,
            pages: Pages::in_memory(),
            expiry_ms: None,
        }
    }

    /// How many entries there are.
    pub(crate) fn len(&self) -> u64 {
        self.entries.count()
    }

    /// The last id that an entry got or that was set.
    pub(crate) fn last_id(&self) -> EntryId {
        self.head.last_id
    }

    /// The id of the first entry, zeros for none.
    pub(crate) fn first_id(&self) -> EntryId {
        self.head.first_id
    }

    /// The greatest id of an entry that was removed by its id.
    pub(crate) fn max_deleted_id(&self) -> EntryId {
        self.head.max_deleted_id
    }

    /// How many entries were ever added.
    pub(crate) fn entries_added(&self) -> u64 {
        self.head.entries_added
    }

    /// Sets what XSETID sets; the last id is not below any entry's.
    pub(crate) fn set_last_id(
        &mut self,
        last_id: EntryId,
        entries_added: Option<u64>,
        max_deleted_id: EntryId,
    ) {
        self.head.last_id = last_id;
        if let Some(count) = entries_added {
            self.head.entries_added = count;
        }
        if max_deleted_id != EntryId::ZERO {
            self.head.max_deleted_id = max_deleted_id;
        }
    }
}
