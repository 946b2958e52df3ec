//! A view: what one reader sees, its own pending writes first.

use std::rc::Rc;

use cellar_index::{Entry, Identity};

use crate::error::StoreError;
use crate::overlay::{Overlay, Own};
use crate::read::{Located, Source, StoredRecord};
use crate::store::Store;
use crate::units::SegmentNumber;
use crate::worker::Worker;

/// Where a reader looks.
#[derive(Clone)]
pub(crate) struct View {
    worker: Rc<Worker>,
    /// The transaction that the reader belongs to.
    overlay: Option<Rc<Overlay>>,
}

/// Where an identity leads.
pub(crate) enum Found {
    /// To a record that the transaction itself wrote.
    Own(StoredRecord),
    /// To a record in the log, whose segment is pinned.
    Stored(Located),
}

impl View {
    pub(crate) fn new(worker: &Rc<Worker>, overlay: Option<&Rc<Overlay>>) -> Self {
        Self {
            worker: Rc::clone(worker),
            overlay: overlay.map(Rc::clone),
        }
    }

    pub(crate) fn store(&self) -> &Store {
        self.worker.store()
    }

    /// Finds an identity, and pins where it leads.
    pub(crate) fn find(&self, identity: Identity) -> Option<Found> {
        match self.overlay.as_ref().map(|overlay| overlay.own(identity)) {
            Some(Own::Record(record)) => Some(Found::Own(record)),
            Some(Own::Removed) => None,
            Some(Own::Silent) | None => self.worker.locate(identity).map(Found::Stored),
        }
    }

    /// Where the bytes of something found come from; a device read is submitted.
    pub(crate) fn source(&self, found: Found) -> Source {
        match found {
            Found::Own(record) => Source::Memory(record),
            Found::Stored(located) => self.worker.source(located),
        }
    }

    /// The same once more, with a pin of its own.
    pub(crate) fn again(&self, found: &Found) -> Found {
        match found {
            Found::Own(record) => Found::Own(record.clone()),
            Found::Stored(located) => self.again_at(located.entry),
        }
    }

    /// What an entry points to whose segment the caller has pinned, with a pin of its own.
    pub(crate) fn again_at(&self, entry: Entry) -> Found {
        Found::Stored(self.worker.pin_again(entry))
    }

    /// The segment that an entry points into.
    pub(crate) fn segment_of(&self, entry: &Entry) -> SegmentNumber {
        self.worker.segment_of(entry)
    }

    /// Reads the record that an identity leads to, expired or not.
    pub(crate) async fn read(
        &self,
        identity: Identity,
    ) -> Result<Option<StoredRecord>, StoreError> {
        match self.find(identity) {
            None => Ok(None),
            Some(found) => self.source(found).record().await.map(Some),
        }
    }
}
