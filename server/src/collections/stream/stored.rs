//! A stream as it is stored: in one record, or as a root and pages.
//!
//! ```text
//! form (1) | head | packed: entries, members, pending
//! ```
//!
//! | form | entries, pending | members |
//! |---|---|---|
//! | 0, one record | packed items | packed items |
//! | 1, root | top of a tree | packed items |
//! | 2, root | top of a tree | top of a tree |
//!
//! Owns which form a stream has: it never goes back to an earlier one.

use bytes::Bytes;
use cellar_storage::{Db, Encoding, Handle, Snapshot, StoreError, ValueType, WriteBatch};

use super::Stream;
use super::head::Head;
use super::run::Run;
use crate::collections::commit::{self, Parts, Target};
use crate::collections::packed::{Packed, PackedBuilder, PackedBytes};
use crate::collections::pages::{Pages, PagesHeader};
use crate::collections::tree::{Order, TOP_BYTES_MAX, Tree};
use crate::collections::{COMPACT_BYTES_MAX, Malformed};
use crate::command::CommandError;

/// Bytes of the members in a root at most, packed or as the top of their tree: what is left of a
/// root beside two other trees. Some forty consumers take no page of their own.
const MEMBERS_BYTES_MAX: usize = 1536;

/// Items in memory at most while a command adds to them: none is shorter than ten bytes.
const ITEMS_MAX: u64 = (COMPACT_BYTES_MAX / 10) as u64;

/// Bytes of a root's detail at most: what the store takes.
const DETAIL_BYTES_MAX: usize = 8192;
const _: () = assert!(
    PagesHeader::BYTES + 1 + Head::BYTES + 2 * TOP_BYTES_MAX + MEMBERS_BYTES_MAX + 3 * 5
        <= DETAIL_BYTES_MAX
);

/// What was stored and is no stream.
const BAD: Malformed = Malformed("the root of a stream");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Compact,
    PackedMembers,
    AllTrees,
}

impl Form {
    fn of(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Compact),
            1 => Some(Self::PackedMembers),
            2 => Some(Self::AllTrees),
            _ => None,
        }
    }
}

impl Stream {
    /// The stream that a key holds, or that it holds another type.
    pub(crate) fn open(found: Snapshot) -> Result<Self, CommandError> {
        if found.value_type() != ValueType::Stream {
            return Err(CommandError::WrongType);
        }
        let expiry_ms = found.expiry_ms();
        let mut stream = if let Some(record) = found.share(0..u64::MAX) {
            Self::decode(&record, None)?
        } else {
            let (pages, structure) = Pages::open(found, BAD)?;
            Self::decode(&structure, Some(pages))?
        };
        stream.expiry_ms = expiry_ms;
        Ok(stream)
    }

    /// What a record holds; of one in pages, what the root keeps behind their header.
    pub(super) fn decode(stored: &Bytes, pages: Option<Pages>) -> Result<Self, CommandError> {
        let form = stored.first().copied().and_then(Form::of).ok_or(BAD)?;
        if (form == Form::Compact) != pages.is_none() {
            return Err(BAD.into());
        }
        let (head, rest) = Head::decode(&stored.slice(1..))?;
        let parts = PackedBytes::decode(rest)?;
        let parts: Vec<Bytes> = parts.view().iter().map(|part| parts.share(&part)).collect();
        let [entries, members, pending] = &parts[..] else {
            return Err(BAD.into());
        };
        let is_tree = form != Form::Compact;
        let members_top = (form == Form::AllTrees).then_some(MEMBERS_BYTES_MAX);
        let stream = Self {
            head,
            entries: decode_run(entries, is_tree.then_some(TOP_BYTES_MAX))?,
            members: decode_run(members, members_top)?,
            pending: decode_run(pending, is_tree.then_some(TOP_BYTES_MAX))?,
            pages: pages.unwrap_or_else(Pages::in_memory),
            expiry_ms: None,
        };
        let live_count = u64::from(stream.head.last_node.live_count);
        if live_count > stream.len() || u64::from(stream.head.first_node_count) > stream.len() {
            return Err(Malformed("the nodes of a stream").into());
        }
        Ok(stream)
    }

    fn encode(&self, form: Form) -> Bytes {
        let mut stored = vec![form as u8];
        stored.extend_from_slice(&self.head.encode());
        let parts = [&self.entries, &self.members, &self.pending];
        let parts: PackedBuilder = parts.map(encode_run).into_iter().collect();
        stored.extend_from_slice(&parts.finish());
        stored.into()
    }

    /// Adds to a batch what makes this stream the value of a key. A stream without entries is one.
    pub(crate) async fn put(
        mut self,
        store: &Handle,
        batch: &mut WriteBatch,
        (db, key): (Db, &Bytes),
    ) -> Result<(), StoreError> {
        let target = Target {
            db,
            key,
            value_type: ValueType::Stream,
            encoding: Encoding::Stream,
            expiry_ms: self.expiry_ms,
        };
        let structure = self.settle().await?;
        let parts = if self.is_compact() {
            Parts::Compact(structure)
        } else {
            Parts::Paged {
                pages: Box::new(self.pages),
                structure: structure.to_vec(),
            }
        };
        commit::put(store, batch, target, parts).await
    }

    /// Whether all of it is to be one record.
    pub(super) fn is_compact(&self) -> bool {
        matches!(self.entries, Run::Memory(_))
    }

    /// Takes on the form that its size asks for; the record, or what the root keeps.
    pub(super) async fn settle(&mut self) -> Result<Bytes, StoreError> {
        if self.is_compact() {
            let runs = [&self.entries, &self.members, &self.pending];
            let bytes: usize = runs.map(Run::packed_bytes).iter().sum();
            if bytes <= COMPACT_BYTES_MAX {
                let record = self.encode(Form::Compact);
                if record.len() <= COMPACT_BYTES_MAX {
                    return Ok(record);
                }
            }
            self.spread().await?;
        }
        if self.members.packed_bytes() > MEMBERS_BYTES_MAX {
            self.members
                .spread(&mut self.pages, MEMBERS_BYTES_MAX)
                .await?;
        }
        let form = match self.members {
            Run::Memory(_) => Form::PackedMembers,
            Run::Tree(_) => Form::AllTrees,
        };
        Ok(self.encode(form))
    }

    /// Takes on pages where there are far more groups, consumers or pending entries than a record
    /// takes: what is in memory is moved with every one that is added.
    pub(super) async fn relieve(&mut self) -> Result<(), StoreError> {
        let is_large = |run: &Run| matches!(run, Run::Memory(_)) && run.count() > ITEMS_MAX;
        if is_large(&self.pending) || is_large(&self.members) {
            self.spread().await?;
        }
        if is_large(&self.members) {
            self.members
                .spread(&mut self.pages, MEMBERS_BYTES_MAX)
                .await?;
        }
        Ok(())
    }

    /// Moves entries and what is pending into pages.
    pub(super) async fn spread(&mut self) -> Result<(), StoreError> {
        self.entries.spread(&mut self.pages, TOP_BYTES_MAX).await?;
        self.pending.spread(&mut self.pages, TOP_BYTES_MAX).await
    }
}

/// Items, or a tree whose top has at most so many bytes.
fn decode_run(stored: &Bytes, top_bytes_max: Option<usize>) -> Result<Run, CommandError> {
    if let Some(bytes_max) = top_bytes_max {
        let tree = Tree::decode(Order::Bytes, stored)?;
        return Ok(Run::Tree(tree.with_top_bytes_max(bytes_max)));
    }
    let items = Packed::decode(stored)?.iter();
    let items: Vec<Bytes> = items.map(|item| stored.slice_ref(item.bytes)).collect();
    if !items.is_sorted_by(|a, b| a < b) {
        return Err(Malformed("the order of a stream's items").into());
    }
    Ok(Run::Memory(items))
}

fn encode_run(run: &Run) -> Bytes {
    match run {
        Run::Memory(items) => items.iter().collect::<PackedBuilder>().finish(),
        Run::Tree(tree) => tree.encode().into(),
    }
}
