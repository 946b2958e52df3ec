//! A device that takes writes and keeps them in memory, over one that is only read: what recovery
//! and the log would do to a store, without doing it. Owns what was written; must never write to
//! the device below, flush it, or give its room back.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::device::operation::{Operations, Payload};
use crate::device::{
    BufferSlice, Channel, Device, DeviceCounters, DeviceError, Geometry, Io, IoBuffer, Operation,
    SharedBuffer, WriteSync,
};
use crate::units::Extent;

/// Bytes that are kept at most: a start writes a summary for each segment that was not sealed, and
/// for each whose summary is damaged. Beyond it the device is too damaged to be looked at like
/// this.
const KEPT_BYTES_MAX: usize = 1 << 30;

/// The blocks that were written, by their number.
type Written = Arc<Mutex<BTreeMap<u64, Box<[u8]>>>>;

/// The device.
pub(super) struct Overlay {
    below: Arc<dyn Device>,
    written: Written,
}

impl Overlay {
    pub(super) fn new(below: Arc<dyn Device>) -> Arc<Self> {
        let written = Written::default();
        Arc::new(Self { below, written })
    }
}

impl Device for Overlay {
    fn geometry(&self) -> &Geometry {
        self.below.geometry()
    }

    fn attach(&self) -> Result<Rc<dyn Channel>, DeviceError> {
        Ok(Rc::new(OverlayChannel {
            below: self.below.attach()?,
            geometry: self.below.geometry().clone(),
            written: Arc::clone(&self.written),
            operations: Operations::new(),
        }))
    }

    fn shared_buffer(&self, bytes: usize) -> Arc<SharedBuffer> {
        self.below.shared_buffer(bytes)
    }

    fn counters(&self) -> DeviceCounters {
        self.below.counters()
    }
}

struct OverlayChannel {
    below: Rc<dyn Channel>,
    geometry: Geometry,
    written: Written,
    operations: Rc<Operations>,
}

impl OverlayChannel {
    fn keep(&self, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        let length = bytes.len() as u64;
        self.geometry.check(Operation::Write, offset, length)?;
        let block_bytes = self.geometry.block_bytes as usize;
        let mut written = self.written.lock();
        if (written.len() + bytes.len() / block_bytes) * block_bytes > KEPT_BYTES_MAX {
            return Err(DeviceError::NoSpace {
                device: Arc::clone(&self.geometry.name),
                operation: Operation::Write,
                extent: Extent {
                    offset,
                    bytes: length,
                },
            });
        }
        let first = offset / block_bytes as u64;
        for (number, block) in (first..).zip(bytes.chunks_exact(block_bytes)) {
            written.insert(number, block.into());
        }
        Ok(())
    }
}

/// Lays over what was read what was written.
fn lay_over(written: &Written, block_bytes: usize, offset: u64, target: &mut [u8]) {
    let first = offset / block_bytes as u64;
    let end = first + (target.len() / block_bytes) as u64;
    for (number, block) in written.lock().range(first..end) {
        let at = (number - first) as usize * block_bytes;
        target[at..at + block_bytes].copy_from_slice(block);
    }
}

impl Channel for OverlayChannel {
    fn buffer(&self, bytes: usize) -> IoBuffer {
        self.below.buffer(bytes)
    }

    fn read(&self, offset: u64, buffer: IoBuffer) -> Io<IoBuffer> {
        let (slot, read) = self.operations.start(Payload::None);
        let (operations, written) = (Rc::clone(&self.operations), Arc::clone(&self.written));
        let block_bytes = self.geometry.block_bytes as usize;
        self.below.read(offset, buffer).on_done(move |result| {
            let result = result.map(|mut buffer| {
                lay_over(&written, block_bytes, offset, &mut buffer);
                operations.with_payload(slot, |payload| *payload = Payload::Buffer(buffer));
            });
            operations.complete(slot, result);
        });
        read
    }

    fn write(&self, offset: u64, source: BufferSlice, _: WriteSync) -> Io<()> {
        Io::answered(self.keep(offset, &source.copy()))
    }

    fn write_buffer(&self, offset: u64, buffer: IoBuffer, _: WriteSync) -> Io<IoBuffer> {
        Io::answered(self.keep(offset, &buffer).map(|()| buffer))
    }

    fn flush(&self) -> Io<()> {
        Io::answered(Ok(()))
    }

    fn allocate(&self, _: u64, _: u64) -> Io<()> {
        Io::answered(Ok(()))
    }

    fn discard(&self, _: u64, _: u64) -> Io<()> {
        Io::answered(Ok(()))
    }

    fn end_of_turn(&self) {
        self.below.end_of_turn();
    }

    fn submit(&self) {
        self.below.submit();
    }
}
