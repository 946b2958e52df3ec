//! A stored value, read in pieces.
//!
//! Owns the size of a piece. Lets other commands of the worker run between pieces.

use bytes::Bytes;
use cellar_storage::Snapshot;

use crate::command::CommandError;

/// Bytes of a piece: large enough for the device, small enough that counting, searching or
/// combining it takes about 30 µs.
pub(super) const CHUNK_BYTES: u64 = 256 * 1024;

/// The pieces of a range of a value, in order.
pub(super) struct Chunks<'a> {
    value: &'a Snapshot,
    next: u64,
    end: u64,
    is_first: bool,
}

impl<'a> Chunks<'a> {
    /// The pieces from `start` to before `end`, both in bytes and within the value.
    pub(super) fn new(value: &'a Snapshot, start: u64, end: u64) -> Self {
        Self {
            value,
            next: start,
            end,
            is_first: true,
        }
    }

    /// The next piece and its offset.
    pub(super) async fn next(&mut self) -> Result<Option<(u64, Bytes)>, CommandError> {
        if self.next >= self.end {
            return Ok(None);
        }
        if !self.is_first {
            tokio::task::yield_now().await;
        }
        self.is_first = false;
        let start = self.next;
        self.next = self.end.min(start + CHUNK_BYTES);
        let bytes = read_range(self.value, start, self.next).await?;
        Ok(Some((start, bytes)))
    }
}

/// The bytes from `start` to before `end`, or to the value's end.
pub(super) async fn read_range(
    value: &Snapshot,
    start: u64,
    end: u64,
) -> Result<Bytes, CommandError> {
    Ok(value.read(start..end).await?)
}
