//! A body of a reply that is sent part by part: a stored value, or replies that are encoded
//! meanwhile.
//!
//! Owns the one part that is in memory. Must never hold the body whole.

use std::collections::VecDeque;
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use cellar_storage::{Snapshot, StoreError};

use super::Closed;
use crate::resp::{Portions, ReplyBuf};

/// Bytes of a stored value that are read for one write.
const VALUE_PART_BYTES: u64 = 256 * 1024;

/// A body on its way to the socket.
pub(super) struct SentBody {
    source: Source,
    /// What is in memory and not written.
    part: VecDeque<Bytes>,
    part_bytes: usize,
    /// Whether the next part is being read.
    is_reading: bool,
}

enum Source {
    Value(Value),
    Portions(Portions),
    /// All of it was taken.
    Ended,
}

impl SentBody {
    /// Sends this range of a value.
    pub(super) fn value(snapshot: Box<Snapshot>, range: Range<u64>) -> Self {
        Self::new(Source::Value(Value {
            snapshot: Rc::from(snapshot),
            range,
            reading: None,
        }))
    }

    /// Sends what is encoded.
    pub(super) fn portions(portions: Portions) -> Self {
        Self::new(Source::Portions(portions))
    }

    fn new(source: Source) -> Self {
        Self {
            source,
            part: VecDeque::new(),
            part_bytes: 0,
            is_reading: false,
        }
    }

    /// Gets the next part where none waits to be written. Without one the body has ended.
    pub(super) fn poll_part(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Closed>> {
        if !self.part.is_empty() {
            return Poll::Ready(Ok(()));
        }
        self.is_reading = true;
        let is_last = match &mut self.source {
            Source::Value(value) => {
                self.part.extend(ready!(value.poll_next(context))?);
                value.range.is_empty()
            }
            Source::Portions(portions) => {
                let portion = ready!(portions.poll_next(context)).map_err(|error| {
                    tracing::error!("a reply broke off: {error}");
                    Closed::ValueLost
                })?;
                let is_last = portion.is_none();
                let chunks = portion.into_iter().flat_map(ReplyBuf::into_chunks);
                self.part.extend(chunks);
                is_last
            }
            Source::Ended => true,
        };
        self.is_reading = false;
        self.part_bytes = self.part.iter().map(Bytes::len).sum();
        if is_last {
            // what it has pinned is let go
            self.source = Source::Ended;
        }
        Poll::Ready(Ok(()))
    }

    /// What the next write may take.
    pub(super) fn part(&self) -> &[u8] {
        self.part.front().map_or(&[], |chunk| &chunk[..])
    }

    /// Bytes in memory that wait for the socket.
    pub(super) fn part_bytes(&self) -> usize {
        self.part_bytes
    }

    /// Whether a part is being read.
    pub(super) fn is_reading(&self) -> bool {
        self.is_reading
    }

    /// Steps over bytes of the part that were written.
    pub(super) fn advance(&mut self, byte_count: usize) {
        self.part_bytes -= byte_count;
        if let Some(chunk) = self.part.front_mut() {
            chunk.advance(byte_count);
            if chunk.is_empty() {
                self.part.pop_front();
            }
        }
    }

    /// Whether all of it was written.
    pub(super) fn is_sent(&self) -> bool {
        self.part.is_empty() && matches!(self.source, Source::Ended)
    }
}

type Reading = Pin<Box<dyn Future<Output = Result<Bytes, StoreError>>>>;

/// A stored value.
struct Value {
    snapshot: Rc<Snapshot>,
    /// What is not read yet.
    range: Range<u64>,
    reading: Option<Reading>,
}

impl Value {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, Closed>> {
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
        Poll::Ready(Ok((!part.is_empty()).then_some(part)))
    }
}
