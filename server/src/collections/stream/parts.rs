//! Building a stream from its parts, as something else has told them.
//!
//! Entries come first, in order, and are packed into pages as they come. Groups, consumers and what
//! is pending are added to the stream that they make: [`Stream::create_group`],
//! [`Stream::create_consumer`], [`Stream::deliver`]. The way out is [`Stream::entries`],
//! [`Stream::groups`], [`Stream::consumers`], [`Stream::walk_pending`].
//!
//! Owns that ids rise and that what is said of all entries fits them.

use bytes::Bytes;

use super::entry::encode_entry;
use super::run::Run;
use super::{EntryId, NodeLimits, Stream};
use crate::collections::packed::item_bytes;
use crate::collections::tree::{Builder, Order};
use crate::collections::{COMPACT_BYTES_MAX, Malformed};
use crate::command::CommandError;

/// What a stream remembers beside its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Summary {
    /// The last id that an entry got or that was set: not below any entry's.
    pub(crate) last_id: EntryId,
    /// The greatest id of an entry that was removed by its id, zeros for none.
    pub(crate) max_deleted_id: EntryId,
    /// How many entries were ever added: not fewer than there are.
    pub(crate) entries_added: u64,
}

/// A stream that is being built.
pub(crate) struct StreamBuilder {
    stream: Stream,
    limits: NodeLimits,
    /// The entries that came last, while all of them may fit one record.
    items: Vec<Bytes>,
    item_bytes: usize,
    tree: Option<Builder>,
}

impl StreamBuilder {
    /// A stream without entries; `limits` say which of them count as one node.
    pub(crate) fn new(limits: NodeLimits) -> Self {
        Self {
            stream: Stream::new(),
            limits,
            items: Vec::new(),
            item_bytes: 0,
            tree: None,
        }
    }

    /// Adds an entry behind all others; `parts` are its fields and values in turn.
    pub(crate) async fn push(&mut self, id: EntryId, parts: &[Bytes]) -> Result<(), CommandError> {
        let head = &mut self.stream.head;
        if id <= head.last_id || parts.is_empty() || parts.len() % 2 == 1 {
            return Err(Malformed("the order or the fields of a stream's entries").into());
        }
        if head.entries_added == 0 {
            head.first_id = id;
        }
        head.last_id = id;
        head.entries_added += 1;
        let bytes = parts.iter().map(|part| part.len() as u64).sum();
        let node = head.last_node.admit(bytes, self.limits);
        let item = encode_entry(id, node, parts);
        self.item_bytes += item_bytes(item.len());
        if self.tree.is_none() && self.item_bytes > COMPACT_BYTES_MAX {
            let mut tree = Builder::new(Order::Bytes);
            for item in std::mem::take(&mut self.items) {
                tree.push(&mut self.stream.pages, &item).await?;
            }
            self.tree = Some(tree);
        }
        match &mut self.tree {
            Some(tree) => tree.push(&mut self.stream.pages, &item).await?,
            None => self.items.push(item.into()),
        }
        Ok(())
    }

    /// The stream of all entries, which remembers this.
    pub(crate) async fn finish(mut self, summary: Summary) -> Result<Stream, CommandError> {
        let head = &mut self.stream.head;
        if summary.last_id < head.last_id || summary.entries_added < head.entries_added {
            return Err(Malformed("the last id or the count of a stream").into());
        }
        head.last_id = summary.last_id;
        head.max_deleted_id = summary.max_deleted_id;
        head.entries_added = summary.entries_added;
        let mut stream = self.stream;
        match self.tree {
            Some(tree) => {
                stream.entries = Run::Tree(tree.finish(&mut stream.pages).await?);
                stream.spread().await?;
            }
            None => stream.entries = Run::Memory(self.items),
        }
        Ok(stream)
    }
}
