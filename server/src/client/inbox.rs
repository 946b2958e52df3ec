//! What others send to a client beside its replies: messages of channels, lines of MONITOR,
//! invalidations.
//!
//! Owns their order, and what they count for.

use std::collections::VecDeque;

use bytes::Bytes;

/// Bytes that a waiting message counts for beside its own, which it may share with other inboxes.
const FRAME_BYTES: usize = size_of::<Bytes>();

/// Messages that wait for one client, oldest first.
#[derive(Debug, Default)]
pub struct Inbox {
    messages: VecDeque<Bytes>,
    byte_count: usize,
}

impl Inbox {
    /// Adds a message, which stays encoded as it is; returns the bytes that wait now.
    pub fn push(&mut self, message: Bytes) -> usize {
        self.byte_count += message.len() + FRAME_BYTES;
        self.messages.push_back(message);
        self.byte_count
    }

    /// Takes the oldest messages, of so many bytes together and the one that crosses that bound.
    pub fn take(&mut self, bytes_max: usize) -> VecDeque<Bytes> {
        if self.byte_count <= bytes_max {
            self.byte_count = 0;
            return std::mem::take(&mut self.messages);
        }
        let mut byte_count = 0;
        let mut taken = VecDeque::new();
        while byte_count < bytes_max
            && let Some(message) = self.messages.pop_front()
        {
            byte_count += message.len() + FRAME_BYTES;
            taken.push_back(message);
        }
        self.byte_count -= byte_count;
        taken
    }

    /// Forgets all of them.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Bytes that wait.
    pub fn byte_count(&self) -> usize {
        self.byte_count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_taken_in_order_and_in_parts() {
        let mut inbox = Inbox::default();
        let messages: Vec<Bytes> = (0..5_u8).map(|byte| Bytes::from(vec![byte; 100])).collect();
        for message in &messages {
            inbox.push(message.clone());
        }
        assert_eq!(inbox.byte_count(), 5 * (100 + FRAME_BYTES));
        let mut taken: Vec<Bytes> = inbox.take(150).into();
        assert_eq!(taken, messages[..2]);
        taken.extend(inbox.take(usize::MAX));
        assert_eq!(taken, messages);
        assert!(inbox.is_empty() && inbox.byte_count() == 0);
    }
}
