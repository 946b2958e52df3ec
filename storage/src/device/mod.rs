//! The device seam: where the engine's bytes leave for something that keeps them. Owns the traits,
//! the buffers and the operations in flight; must never know what the bytes mean.
//!
//! ```text
//!   Device   one a device, shared by all workers
//!     attach() -> Channel   one a worker and device, on the worker's thread
//!                   read, write, flush ... -> Io   one operation in flight, with its buffer
//! ```
//!
//! Three devices stand behind it: [`uring`] (files and block devices), [`sim`] (memory, seeded),
//! and the SPDK one of its own crate. [`conformance`] says what all of them must do.

pub mod buffer;
#[doc(hidden)]
pub mod conformance;
pub mod counters;
pub mod error;
pub mod memory;
pub mod operation;
pub mod shared;
pub mod sim;
// Its reactor is not in a runtime built for loom, which also could not follow a kernel.
#[cfg(not(loom))]
pub mod uring;
#[cfg(loom)]
mod words_loom;
#[cfg(all(not(loom), feature = "plain-words"))]
mod words_plain;

use std::rc::Rc;
use std::sync::Arc;

pub use buffer::IoBuffer;
pub use counters::DeviceCounters;
pub use error::{DeviceError, OpenDeviceError, Operation, Refusal};
pub use operation::Io;
pub use shared::{BufferSlice, SharedBuffer};

use crate::units::Extent;

/// The least block of a device, in bytes.
pub const BLOCK_BYTES_MIN: u32 = 512;
/// The largest block of a device, in bytes: structures that are written whole are no smaller.
pub const BLOCK_BYTES_MAX: u32 = 4096;
/// An operation without an answer for this long, in microseconds, counts as failed. The kernel's
/// own bound for a request to a disk is 30 s, so this is reached only when that machinery fails
/// too.
pub const TIMEOUT_US: u64 = 30_000_000;

/// What a device looks like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// The logical block in bytes, a power of two: offsets and lengths are multiples of it.
    pub block_bytes: u32,
    /// What it can hold, in bytes: the configured maximum of a file, the size of a block device.
    pub capacity_bytes: u64,
    /// Whether a flush makes anything durable. Memory has no such point.
    pub has_durability_point: bool,
    /// Its name in messages: the path.
    pub name: Arc<str>,
}

impl Geometry {
    /// Checks that an operation is made of whole blocks and lies within the capacity. An allocation
    /// beyond it finds no space; anything else there is refused.
    pub fn check(&self, operation: Operation, offset: u64, bytes: u64) -> Result<(), DeviceError> {
        let extent = Extent { offset, bytes };
        let device = Arc::clone(&self.name);
        let block = u64::from(self.block_bytes);
        if bytes == 0 || !offset.is_multiple_of(block) || !bytes.is_multiple_of(block) {
            let refusal = Refusal::Misaligned;
            return Err(DeviceError::Refused {
                device,
                operation,
                extent,
                refusal,
            });
        }
        if extent.end().is_some_and(|end| end <= self.capacity_bytes) {
            return Ok(());
        }
        if operation == Operation::Allocate {
            return Err(DeviceError::NoSpace {
                device,
                operation,
                extent,
            });
        }
        let refusal = Refusal::OutOfBounds;
        Err(DeviceError::Refused {
            device,
            operation,
            extent,
            refusal,
        })
    }
}

/// Whether a write is durable when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteSync {
    /// After the next flush that starts after the write's end.
    None,
    /// When it ends. It says nothing of earlier writes.
    Durable,
}

/// Something that keeps bytes. Shared by all workers.
pub trait Device: Send + Sync {
    /// What it looks like. Never changes.
    fn geometry(&self) -> &Geometry;

    /// A worker's own access, made on the worker's thread.
    fn attach(&self) -> Result<Rc<dyn Channel>, DeviceError>;

    /// Zeroed memory that this device can transfer, for many threads; at least `bytes` bytes.
    fn shared_buffer(&self, bytes: usize) -> Arc<SharedBuffer>;

    /// What it did so far.
    fn counters(&self) -> DeviceCounters;
}

/// One worker's access to one device. An operation starts when its function is called, at the
/// latest when the running task yields; it runs to its end whether or not its future is kept.
/// Operations in flight at the same time are not ordered.
pub trait Channel {
    /// A buffer of `bytes` rounded up to whole blocks, from the thread's free list. Its content is
    /// arbitrary.
    fn buffer(&self, bytes: usize) -> IoBuffer;

    /// Fills the whole buffer from `offset` on. What was never written reads as zeros on a file, as
    /// anything on a block device.
    fn read(&self, offset: u64, buffer: IoBuffer) -> Io<IoBuffer>;

    /// Writes a part of a shared buffer, which nobody may change until the write ended.
    fn write(&self, offset: u64, source: BufferSlice, sync: WriteSync) -> Io<()>;

    /// Writes a whole owned buffer, and gives it back.
    fn write_buffer(&self, offset: u64, buffer: IoBuffer, sync: WriteSync) -> Io<IoBuffer>;

    /// Makes durable every write of any channel that ended before this call.
    fn flush(&self) -> Io<()>;

    /// Obtains room, so that later writes to the extent cannot lack it. [`DeviceError::NoSpace`]
    /// when there is none. What the extent held stays.
    fn allocate(&self, offset: u64, bytes: u64) -> Io<()>;

    /// Says that the extent's content is not needed; it is arbitrary afterwards. Gives room back
    /// where the device can, else does nothing.
    fn discard(&self, offset: u64, bytes: u64) -> Io<()>;

    /// A task of this worker ends its poll: submits what has waited long enough, and ends the
    /// operations whose results are already there.
    fn end_of_turn(&self);

    /// Submits everything now.
    fn submit(&self);
}
