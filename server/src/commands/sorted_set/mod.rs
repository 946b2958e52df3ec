//! The commands on sorted sets, by what they do.
//!
//! Owns how they reach the set of a key and write it back. Work on many elements is done in
//! bounded portions, between which others get a turn.

pub(crate) mod add;
pub(crate) mod aggregate;
pub(crate) mod blocking;
mod bounds;
pub(super) mod combine;
pub(crate) mod pop;
pub(crate) mod random;
pub(crate) mod range;
pub(crate) mod read;
pub(crate) mod remove;
pub(crate) mod scan;
pub(crate) mod store;

use bytes::Bytes;
use cellar_storage::{KeyLocks, Snapshot, WriteBatch};

use super::access::Locked;

use crate::collections::pace;
use crate::collections::sorted_set::{Element, ListpackLimits, SortedSet};
use crate::command::{CommandError, Cx};
use crate::config::Threshold;
use crate::events::EventClass;
use crate::resp::{Protocol, ReplyBuf};

/// Elements that a command goes over before others get a turn: less than a microsecond each, but
/// for device reads, which are waited for.
pub(crate) const ELEMENTS_PER_PORTION: usize = 128;

/// Elements that a command changes before it looks whether to write what it has. A change rewrites
/// three pages of some 3 KiB.
pub(super) const CHANGES_PER_PORTION: usize = 16;

/// A command that has changed more bytes of pages than three quarters of a batch's bound writes
/// what it has and goes on, under the same lock. What a batch cannot hold would be written by
/// copying the whole set, which is worse: one ZADD of a thousand members to a set of a million
/// changes 5 MiB of its 80. So a command is atomic for everybody who looks, of any size; a crash
/// amid one that changes more than this can leave a part of it, before it was answered.
const BATCH_SHARE: (u64, u64) = (3, 4);

/// What a set's encoding turns on.
pub(super) fn limits(cx: &Cx) -> ListpackLimits {
    let threshold = |which| cx.shared.config.fast.threshold(which).max(0).unsigned_abs();
    ListpackLimits {
        entries: threshold(Threshold::ZsetEntries),
        member_bytes: threshold(Threshold::ZsetValue),
    }
}

/// The set that a key holds.
pub(crate) fn open(cx: &Cx, found: Option<Snapshot>) -> Result<Option<SortedSet>, CommandError> {
    found
        .map(|found| SortedSet::open(found, limits(cx)))
        .transpose()
}

/// A key that is locked, and the set that it holds.
pub(crate) struct LockedSet<'l> {
    locks: &'l KeyLocks,
    key: Bytes,
    pub(crate) set: Option<SortedSet>,
    expiry_ms: Option<u64>,
}

impl<'l> LockedSet<'l> {
    /// The set of a key that was found.
    pub(crate) fn of(cx: &Cx, locked: Locked<'l>, key: &Bytes) -> Result<Self, CommandError> {
        let expiry_ms = locked.found.as_ref().and_then(Snapshot::expiry_ms);
        Ok(Self {
            locks: locked.locks,
            key: key.clone(),
            set: open(cx, locked.found)?,
            expiry_ms,
        })
    }

    /// The set of a key that `locks` covers.
    pub(crate) async fn find(
        cx: &Cx,
        locks: &'l KeyLocks,
        key: &Bytes,
    ) -> Result<Self, CommandError> {
        let found = cx.store.get_locked(locks, cx.db(), key).await?;
        Self::of(cx, Locked { locks, found }, key)
    }

    /// Between two portions: writes a set that has changed much, and opens it again.
    pub(super) async fn go_on(self, cx: &Cx) -> Result<Self, CommandError> {
        tokio::task::yield_now().await;
        let (part, whole) = BATCH_SHARE;
        let bytes_max = cx.store.store().batch_bytes_max() / whole * part;
        match self.set {
            Some(set) if set.changed_bytes() >= bytes_max => {
                save(cx, self.locks, (&self.key, self.expiry_ms), set).await?;
                Self::find(cx, self.locks, &self.key).await
            }
            Some(_) | None => Ok(self),
        }
    }

    /// Removes the key, all of its elements at once, and tells of it as `event`.
    pub(super) async fn remove(self, cx: &Cx, event: &'static str) -> Result<(), CommandError> {
        let mut batch = WriteBatch::new();
        batch.remove(cx.db(), self.key.clone());
        cx.store.commit_locked(self.locks, batch).await?;
        notify(cx, event, &self.key);
        cx.notify_gone(&self.key);
        Ok(())
    }

    /// Writes the set back, without elements removes the key, and tells of it as `event`.
    pub(super) async fn save(self, cx: &Cx, event: &'static str) -> Result<(), CommandError> {
        let Some(set) = self.set else {
            return Ok(());
        };
        let is_gone = save(cx, self.locks, (&self.key, self.expiry_ms), set).await?;
        notify(cx, event, &self.key);
        if is_gone {
            cx.notify_gone(&self.key);
        }
        Ok(())
    }
}

/// Writes a set under a key that is locked. True: it is empty, and the key is gone.
pub(super) async fn save(
    cx: &Cx,
    locks: &KeyLocks,
    (key, expiry_ms): (&Bytes, Option<u64>),
    set: SortedSet,
) -> Result<bool, CommandError> {
    let mut batch = WriteBatch::new();
    let is_empty = set.count() == 0;
    let target = (cx.db(), key, expiry_ms);
    set.put(&mut batch, &cx.store, target).await?;
    cx.store.commit_locked(locks, batch).await?;
    Ok(is_empty)
}

/// Tells of a change of a sorted set.
pub(super) fn notify(cx: &Cx, event: &'static str, key: &[u8]) {
    cx.notify(EventClass::SortedSet, event, cx.db(), key);
}

/// The head of an array of `count` elements, with their scores or without.
pub(super) fn elements_head(reply: &mut ReplyBuf, count: u64, has_scores: bool) {
    let is_flat = has_scores && reply.protocol() == Protocol::Resp2;
    reply.array(count as usize * if is_flat { 2 } else { 1 });
}

/// An array of elements, with their scores or without.
pub(super) async fn answer_elements(reply: &mut ReplyBuf, elements: &[Element], has_scores: bool) {
    elements_head(reply, elements.len() as u64, has_scores);
    for (index, found) in elements.iter().enumerate() {
        element(reply, found, has_scores);
        let_others_run(index).await;
    }
}

/// Lets others run after every so many elements.
pub(crate) async fn let_others_run(index: usize) {
    pace::every(ELEMENTS_PER_PORTION, index).await;
}

/// One element of such an array: RESP3 has pairs where there are scores.
pub(super) fn element(reply: &mut ReplyBuf, element: &Element, has_scores: bool) {
    if has_scores && reply.protocol() == Protocol::Resp3 {
        reply.array(2);
    }
    reply.bulk(&element.member);
    if has_scores {
        reply.double(element.score);
    }
}
