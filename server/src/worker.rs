//! One worker: a thread with one runtime, its connections, and the room they share.
//!
//! Owns the pools of buffers. Must never be sent to another thread.

use std::cell::RefCell;
use std::sync::Arc;

use bytes::BytesMut;

use crate::shared::Shared;
use crate::stats::WorkerStats;
use crate::store_slot::StoreSlot;

/// Buffers of each kind that a worker keeps for its connections: as many as are busy at the same
/// time on one thread, with some to spare.
const POOL_COUNT_MAX: usize = 32;
/// Bytes of a buffer above which it is not kept: it served an unusual request.
const POOL_BUFFER_BYTES_MAX: usize = 256 * 1024;
/// Bytes that a fresh buffer has room for.
const BUFFER_BYTES: usize = 64 * 1024;

/// What the connections of one worker share.
pub struct Worker {
    /// The store, as this worker reaches it.
    pub store: StoreSlot,
    /// What all workers share.
    pub shared: Arc<Shared>,
    /// This worker's counters.
    pub stats: Arc<WorkerStats>,
    inputs: RefCell<Vec<BytesMut>>,
    reply_rooms: RefCell<Vec<Vec<u8>>>,
}

impl Worker {
    /// The worker with this number.
    pub fn new(index: usize, shared: Arc<Shared>) -> Self {
        let stats = Arc::clone(shared.worker_stats(index));
        let (inputs, reply_rooms) = (RefCell::default(), RefCell::default());
        Self {
            store: StoreSlot::new(),
            shared,
            stats,
            inputs,
            reply_rooms,
        }
    }

    /// A buffer to read requests into.
    pub(crate) fn take_input(&self) -> BytesMut {
        self.inputs
            .borrow_mut()
            .pop()
            .unwrap_or_else(|| BytesMut::with_capacity(BUFFER_BYTES))
    }

    /// Takes a buffer back.
    pub(crate) fn give_input(&self, buffer: BytesMut) {
        let mut inputs = self.inputs.borrow_mut();
        if inputs.len() < POOL_COUNT_MAX && buffer.capacity() <= POOL_BUFFER_BYTES_MAX {
            inputs.push(buffer);
        }
    }

    /// Room to encode replies in.
    pub(crate) fn take_reply_room(&self) -> Vec<u8> {
        self.reply_rooms
            .borrow_mut()
            .pop()
            .unwrap_or_else(|| Vec::with_capacity(BUFFER_BYTES))
    }

    /// Takes the room back.
    pub(crate) fn give_reply_room(&self, room: Vec<u8>) {
        let mut rooms = self.reply_rooms.borrow_mut();
        if rooms.len() < POOL_COUNT_MAX && room.capacity() <= POOL_BUFFER_BYTES_MAX {
            rooms.push(room);
        }
    }
}
