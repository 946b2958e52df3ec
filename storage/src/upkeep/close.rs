//! Closing a store: everything durable, the open segments sealed, the clean mark written.

use crate::device::{DeviceError, WriteSync};
use crate::error::StoreError;
use crate::handle::Handle;
use crate::store::Store;
use crate::worker::Worker;

impl Store {
    /// Makes everything durable and marks the store as closed in order. Writes are refused from
    /// here on; reads go on. Called once, on any worker, while the upkeep runs. After a failed
    /// write it is refused, and the store stays as it is: acknowledged writes can still be read.
    pub async fn close(&self, handle: &Handle) -> Result<(), StoreError> {
        self.log().check_latch()?;
        self.set_closing();
        let worker = handle.worker();
        // Whoever waits for room finds the store closing.
        self.log().room().notify_waiters();
        self.log().seal_current();
        worker.wait_durable(self.log().tail()).await?;
        // A store that was closed in order holds nothing that is half written: what does not verify
        // at the next start is damage.
        self.cleaner().wait_idle().await;
        self.flush_devices(worker).await?;
        // Everything may be durable although a write failed: one of the cleaner's.
        self.log().check_latch()?;
        let marked = self.write_superblocks(worker, true).await;
        marked.map_err(|error| {
            self.log().latch(&error);
            StoreError::Latched
        })
    }

    /// Writes the next copy of every superblock. Durable when it ends.
    pub(super) async fn write_superblocks(
        &self,
        worker: &Worker,
        clean: bool,
    ) -> Result<(), DeviceError> {
        let superblocks = self.next_superblocks(clean);
        for (superblock, channel) in superblocks.iter().zip(worker.channels()) {
            let bytes = superblock.encode();
            let mut buffer = channel.buffer(bytes.len());
            buffer.copy_from_slice(&bytes);
            channel
                .write_buffer(superblock.offset(), buffer, WriteSync::Durable)
                .await?;
        }
        for channel in worker.channels() {
            channel.flush().await?;
        }
        Ok(())
    }

    /// Makes durable whatever was written.
    async fn flush_devices(&self, worker: &Worker) -> Result<(), StoreError> {
        for channel in worker.channels() {
            let flushed = channel.flush().await;
            flushed.map_err(|error| {
                self.log().latch(&error);
                StoreError::Latched
            })?;
        }
        Ok(())
    }
}
