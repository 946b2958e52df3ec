//! What others send to a client beside its replies: lines of MONITOR.
//!
//! Owns the bound of what may wait there.

use std::collections::VecDeque;

use bytes::Bytes;

/// Messages that wait for one client, oldest first.
#[derive(Debug, Default)]
pub struct Inbox {
    messages: VecDeque<Bytes>,
    byte_count: usize,
}

impl Inbox {
    /// Adds a message, which stays encoded as it is; returns the bytes that wait now.
    pub fn push(&mut self, message: Bytes) -> usize {
        self.byte_count += message.len();
        self.messages.push_back(message);
        self.byte_count
    }

    /// Takes the oldest message.
    pub fn pop(&mut self) -> Option<Bytes> {
        let message = self.messages.pop_front()?;
        self.byte_count -= message.len();
        Some(message)
    }

    /// Bytes that wait.
    pub fn byte_count(&self) -> usize {
        self.byte_count
    }
}
