//! The room that requests are read into.
//!
//! Owns its size: an idle connection holds none, a large argument gets room as it arrives, so that
//! a length line alone takes no memory and no byte is copied more than once or twice.

use super::Connection;

/// Bytes of room for a read.
pub(crate) const READ_BYTES: usize = 64 * 1024;

impl Connection {
    /// Makes room for the next read.
    pub(super) fn prepare_input(&mut self) {
        if self.input.capacity() == 0 {
            self.input = self.worker.take_input();
        }
        let missing = self.parser.missing_bytes(&self.input);
        let room = if missing > READ_BYTES {
            // doubling what has arrived keeps the copies of a growing buffer below its size
            missing.min(self.input.len().max(READ_BYTES))
        } else {
            missing.max(READ_BYTES / 4)
        };
        if self.input.capacity() - self.input.len() < room {
            self.input.reserve(room);
        }
    }

    /// Gives the room back while nothing of a request is in it.
    pub(super) fn release_input(&mut self) {
        if self.input.is_empty() && self.input.capacity() > 0 {
            self.worker.give_input(std::mem::take(&mut self.input));
        }
    }
}
