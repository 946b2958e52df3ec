//! What is durable, and waiting for it.

use crate::database::Db;
use crate::error::StoreError;
use crate::handle::Handle;
use crate::lock::LockTable;
use crate::log::DurableWait;
use crate::units::Lsn;

impl Handle {
    /// The end of the log.
    pub fn published_lsn(&self) -> Lsn {
        self.worker.log().tail()
    }

    /// Everything below survives any crash.
    pub fn durable_lsn(&self) -> Lsn {
        self.worker.log().durable_lsn()
    }

    /// The LSN at which everything that a command on this key wrote or showed is durable.
    pub fn key_lsn(&self, db: Db, key: &[u8]) -> Lsn {
        let identity = self.identify(db, key);
        let of_key = self
            .store()
            .locks()
            .last_lsn(LockTable::stripe_of(identity));
        of_key.max(self.store().map_lsn())
    }

    /// Waits until the log is durable up to `lsn`, starting a round of group commit if there is
    /// none.
    pub async fn wait_durable(&self, lsn: Lsn) -> Result<(), StoreError> {
        DurableWait::new(&self.worker, lsn).await
    }

    /// A connection's turn ends: operations that waited long enough are submitted, and those that
    /// have ended are seen to.
    pub fn end_of_turn(&self) {
        for channel in self.worker.channels() {
            channel.end_of_turn();
        }
    }
}
