//! A stored value that is sent part by part.
//!
//! Owns the one part that is in memory. Must never hold the value whole.

use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use cellar_storage::{Snapshot, StoreError};

use super::Closed;

/// Bytes of a stored value that are read for one write.
const VALUE_PART_BYTES: u64 = 256 * 1024;

type Reading = Pin<Box<dyn Future<Output = Result<Bytes, StoreError>>>>;

/// A value on its way to the socket.
pub(super) struct SentValue {
    snapshot: Rc<Snapshot>,
    /// What is not read yet.
    range: Range<u64>,
    /// What is read and not written.
    part: Bytes,
    reading: Option<Reading>,
}

impl SentValue {
    /// Sends this range of a value.
    pub(super) fn new(snapshot: Box<Snapshot>, range: Range<u64>) -> Self {
        Self {
            snapshot: Rc::from(snapshot),
            range,
            part: Bytes::new(),
            reading: None,
        }
    }

    /// Reads the next part where none waits to be written.
    pub(super) fn poll_part(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Closed>> {
        if !self.part.is_empty() {
            return Poll::Ready(Ok(()));
        }
        let end = self.range.end.min(self.range.start + VALUE_PART_BYTES);
        let wanted = self.range.start..end;
        let reading = self.reading.get_or_insert_with(|| {
            let (snapshot, range) = (Rc::clone(&self.snapshot), wanted.clone());
            Box::pin(async move { snapshot.read(range).await })
        });
        let part = ready!(reading.as_mut().poll(context));
        self.reading = None;
        let part = part.map_err(|error| {
            tracing::error!("reading a value failed: {error}");
            Closed::ValueLost
        })?;
        if part.len() as u64 != wanted.end - wanted.start {
            return Poll::Ready(Err(Closed::ValueLost));
        }
        self.range.start = wanted.end;
        self.part = part;
        Poll::Ready(Ok(()))
    }

    /// What the next write may take.
    pub(super) fn part(&self) -> &[u8] {
        &self.part
    }

    /// Bytes in memory that wait for the socket.
    pub(super) fn part_bytes(&self) -> usize {
        self.part.len()
    }

    /// Whether a part is being read.
    pub(super) fn is_reading(&self) -> bool {
        self.reading.is_some()
    }

    /// Steps over bytes of the part that were written.
    pub(super) fn advance(&mut self, byte_count: usize) {
        self.part.advance(byte_count);
    }

    /// Whether all of it was written.
    pub(super) fn is_sent(&self) -> bool {
        self.part.is_empty() && self.range.is_empty()
    }
}
