//! Files and block devices by io_uring and direct I/O. Owns one ring a worker thread, under the
//! thread's tokio runtime; must never let the page cache see a byte.
//!
//! An operation is queued in the ring when it starts and submitted by whichever comes first: 16
//! operations are queued, a turn ends after 50 us or as the eighth, or the tasks that are runnable
//! now had their poll and the driver task has its own. So the kernel is entered once for many
//! operations, and a task that never rests cannot hold them back.

mod channel;
mod driver;
mod open;
mod request;
mod ring;
mod statx;

use std::fs::File;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use super::counters::CounterSet;
use super::memory::HEAP;
use super::{
    Channel, Device, DeviceCounters, DeviceError, Geometry, OpenDeviceError, Operation,
    SharedBuffer,
};
use crate::clock::Clock;
use crate::units::Extent;
use channel::UringChannel;
pub use open::OpenMode;
use open::Opened;
use request::Target;

/// What stands behind the descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File,
    Block,
}

/// A file or block device. Its channels work under a tokio current-thread runtime with I/O and time
/// enabled, inside a `LocalSet`.
pub struct UringDevice {
    /// Holds the device for this process, as long as a channel works on it.
    file: Arc<File>,
    kind: Kind,
    mode: OpenMode,
    geometry: Geometry,
    counters: CounterSet,
    clock: Arc<dyn Clock>,
}

impl UringDevice {
    /// Opens a regular file that may grow to `bytes_max` bytes (rounded down to 4,096), for this
    /// process alone. Blocks the thread: call it before serving.
    pub fn open_file(
        path: &Path,
        bytes_max: u64,
        mode: OpenMode,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<Self>, OpenDeviceError> {
        let opened = open::open_file(path, bytes_max, mode)?;
        Ok(Self::new(path, opened, Kind::File, mode, clock))
    }

    /// Opens a whole block device for this process alone. Never creates one, whatever the mode.
    /// Blocks the thread: call it before serving.
    pub fn open_block(
        path: &Path,
        mode: OpenMode,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<Self>, OpenDeviceError> {
        let opened = open::open_block(path, mode)?;
        Ok(Self::new(path, opened, Kind::Block, mode, clock))
    }

    fn new(
        path: &Path,
        opened: Opened,
        kind: Kind,
        mode: OpenMode,
        clock: Arc<dyn Clock>,
    ) -> Arc<Self> {
        let geometry = Geometry {
            block_bytes: opened.block_bytes,
            capacity_bytes: opened.capacity_bytes,
            has_durability_point: true,
            name: Arc::from(path.display().to_string()),
        };
        let (file, counters) = (Arc::new(opened.file), CounterSet::default());
        Arc::new(Self {
            file,
            kind,
            mode,
            geometry,
            counters,
            clock,
        })
    }

    fn attach_error(&self, error: &std::io::Error) -> DeviceError {
        DeviceError::Io {
            device: Arc::clone(&self.geometry.name),
            operation: Operation::Attach,
            extent: Extent {
                offset: 0,
                bytes: self.geometry.capacity_bytes,
            },
            errno: error.raw_os_error().unwrap_or(libc::EIO),
        }
    }
}

impl Device for UringDevice {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn attach(&self) -> Result<Rc<dyn Channel>, DeviceError> {
        let ring = driver::thread_ring(&self.clock).map_err(|error| self.attach_error(&error))?;
        let file = open::reopen(&self.file, self.mode != OpenMode::ReadOnly)
            .map_err(|error| self.attach_error(&error))?;
        let target = Rc::new(Target {
            file,
            _held: Arc::clone(&self.file),
            name: Arc::clone(&self.geometry.name),
            block_bytes: self.geometry.block_bytes,
            counters: self.counters.attach(),
        });
        Ok(Rc::new(UringChannel {
            ring,
            target,
            geometry: self.geometry.clone(),
            kind: self.kind,
        }))
    }

    fn shared_buffer(&self, bytes: usize) -> Arc<SharedBuffer> {
        SharedBuffer::new(&HEAP, bytes)
    }

    fn counters(&self) -> DeviceCounters {
        self.counters.sum()
    }
}

#[cfg(test)]
mod tests;
