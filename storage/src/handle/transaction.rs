//! Transactions: several operations that others see all at once or not at all.
//!
//! ```text
//! begin: locks of the keys -> operations on the transaction's handle -> commit: one batch
//!            ^                        |
//!            +---- begin_again -------+ a lock was missing and could not be had at once
//! ```
//!
//! Operations read what the transaction itself has written, and write nothing. A crash finds all
//! of it or nothing. A change of databases is the exception: what was written before it is
//! published first, as a batch of its own.

use std::rc::Rc;

use crate::database::Db;
use crate::error::StoreError;
use crate::handle::Handle;
use crate::lock::Mode;
use crate::overlay::{Conflict, Overlay};
use crate::write::Outcome;

/// Operations that are committed together. Dropped without a commit it has done nothing.
pub struct Transaction {
    handle: Handle,
    overlay: Rc<Overlay>,
}

impl Handle {
    /// Begins a transaction that will read and write these keys: waits for their locks, all in one
    /// fixed order. It may come to others; see [`Transaction::conflict`].
    pub async fn begin(&self, keys: &[(Db, &[u8])]) -> Transaction {
        self.begin_again(keys, Conflict::default()).await
    }

    /// Begins a transaction once more that met a conflict, with the locks that it lacked.
    pub async fn begin_again(&self, keys: &[(Db, &[u8])], conflict: Conflict) -> Transaction {
        let databases = self.store().databases().resolve_all();
        let identities = keys
            .iter()
            .map(|(db, key)| self.worker.identify(databases[usize::from(db.0)], key));
        let wanted = identities.chain(conflict.wanted.iter().copied());
        let locks = self.store().locks().acquire(wanted, Mode::Exclusive).await;
        let overlay = Rc::new(Overlay::new(databases, locks, conflict));
        Transaction {
            handle: Self {
                worker: Rc::clone(&self.worker),
                overlay: Some(Rc::clone(&overlay)),
            },
            overlay,
        }
    }
}

impl Transaction {
    /// The handle whose operations are the transaction's. After its end they answer
    /// [`StoreError::Conflict`].
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// The keys that an operation wanted and could not have at once. Operations answer
    /// [`StoreError::Conflict`] from then on: the transaction is to be dropped and run again from
    /// [`Handle::begin_again`].
    pub fn conflict(&self) -> Option<Conflict> {
        self.overlay.conflict()
    }

    /// Writes everything as one batch, and gives the locks back. [`StoreError::Conflict`]: a
    /// database was flushed or exchanged meanwhile, and the transaction is to be run again.
    pub async fn commit(self) -> Result<Outcome, StoreError> {
        self.overlay.publish(&self.handle.worker).await
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.overlay.end();
    }
}
