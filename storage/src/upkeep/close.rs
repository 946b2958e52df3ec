//! Closing a store: everything durable, the open segments sealed, the clean mark written.

use crate::device::{DeviceError, WriteSync};
use crate::error::StoreError;
use crate::handle::Handle;
use crate::store::Store;

impl Store {
    /// Makes everything durable and marks the store as closed in order. Writes are refused from
    /// here on; reads go on. Called once, on any worker.
    pub async fn close(&self, handle: &Handle) -> Result<(), StoreError> {
        self.set_closing();
        let worker = handle.worker();
        // Whoever waits for room finds the store closing.
        self.log().room().notify_waiters();
        self.log().seal_current();
        worker.wait_durable(self.log().tail()).await?;
        // Everything may be durable although a write failed: one of the cleaner's.
        self.log().check_latch()?;
        let marked = self.write_clean_mark(handle).await;
        marked.map_err(|error| {
            self.log().latch(&error);
            StoreError::Latched
        })
    }

    async fn write_clean_mark(&self, handle: &Handle) -> Result<(), DeviceError> {
        let superblocks = self.next_superblocks(true);
        for (superblock, channel) in superblocks.iter().zip(handle.worker().channels()) {
            let bytes = superblock.encode();
            let mut buffer = channel.buffer(bytes.len());
            buffer.copy_from_slice(&bytes);
            channel
                .write_buffer(superblock.offset(), buffer, WriteSync::Durable)
                .await?;
        }
        for channel in handle.worker().channels() {
            channel.flush().await?;
        }
        Ok(())
    }
}
