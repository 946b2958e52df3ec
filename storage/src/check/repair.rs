//! The repair of a damaged store: what cannot be read any more is given up by name, and what can is
//! moved out of the damaged places. Owns the order of the steps; must never give up what can be
//! read, and never do anything that it has not told before.
//!
//! Each step is one of the running store: a start, tombstones in the log, the cleaner's moves and
//! free marks. So a crash at any moment leaves a store like any other, and the repair can be begun
//! again.

use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;

use cellar_index::{Identity, VALUE_TYPE_PAGE};

use crate::check::{
    CheckError, Inspection, PER_TURN, Scope, entries, is_broken, lost_entries, open,
    sealed_segments,
};
use crate::cleaner;
use crate::clock::Clock;
use crate::damage::Loss;
use crate::device::Device;
use crate::error::StoreError;
use crate::format::{EntryDetail, SummaryEntry};
use crate::handle::Handle;
use crate::place;
use crate::store::Store;
use crate::units::SegmentNumber;
use crate::upkeep;
use crate::worker::Worker;

/// Something that a repair is about to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// To start the store: the superblocks of the next epoch are written, both copies on each
    /// device, and headers, footers and summaries that the records can tell.
    Start,
    /// To remove a key whose value cannot be read.
    Remove(Loss),
    /// To move what is live out of a damaged segment, and free it.
    Empty {
        /// The segment's number.
        segment: u32,
    },
    /// To free a segment whose header and footer are lost: nobody can tell what it held.
    GiveUp {
        /// The segment's number.
        segment: u32,
    },
    /// Not to do one of the above, for want of room or because it failed.
    Leave {
        /// The segment's number.
        segment: u32,
        /// Why.
        reason: String,
    },
    /// To close the store in order.
    Close,
}

/// What a repair did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// Keys that were removed.
    pub keys_removed: u64,
    /// Segments that were emptied and freed.
    pub segments_emptied: u64,
    /// Segments that nothing could be told of.
    pub segments_given_up: u64,
    /// Segments that stay as they are.
    pub segments_left: u64,
}

/// Mends the store on `devices`, which nobody else uses. `tell` gets every step before it is taken.
pub async fn repair(
    devices: Vec<Arc<dyn Device>>,
    clock: Arc<dyn Clock>,
    tell: &mut dyn FnMut(&Step),
) -> Result<Repair, CheckError> {
    tell(&Step::Start);
    let store = open(devices, clock).await?;
    let handle = store.attach(0)?;
    let mut mending = Mending {
        worker: Rc::clone(handle.worker()),
        tell,
        done: Repair::default(),
    };
    tokio::select! {
        biased;
        mended = mending.mend(&store, &handle) => mended?,
        () = upkeep::run_for_repair(handle.worker()) => {}
    }
    Ok(mending.done)
}

struct Mending<'a> {
    worker: Rc<Worker>,
    tell: &'a mut dyn FnMut(&Step),
    done: Repair,
}

impl Mending<'_> {
    async fn mend(&mut self, store: &Store, handle: &Handle) -> Result<(), StoreError> {
        let damaged = self.remove_damaged().await?;
        self.remove_lost().await?;
        self.remove_broken().await?;
        upkeep::sweep_all(&self.worker).await;
        self.worker.wait_durable(store.log().tail()).await?;
        for segment in damaged {
            self.empty(segment).await?;
        }
        self.free_lost().await?;
        (self.tell)(&Step::Close);
        store.close(handle).await
    }

    /// Removes the keys whose records do not verify: the segments in which something does not.
    async fn remove_damaged(&mut self) -> Result<Vec<SegmentNumber>, StoreError> {
        let mut damaged = Vec::new();
        for segment in sealed_segments(self.worker.store()) {
            let mut inspection = Inspection::new(&self.worker, segment, Scope::Everything);
            while inspection.step().await? {}
            if inspection.tally().damaged == 0 {
                continue;
            }
            damaged.push(segment);
            for (entry, loss) in inspection.take_lost() {
                self.remove_entry(segment, &entry, loss).await?;
            }
        }
        Ok(damaged)
    }

    /// Removes the key that a damaged record belongs to.
    async fn remove_entry(
        &mut self,
        segment: SegmentNumber,
        entry: &SummaryEntry,
        loss: Loss,
    ) -> Result<(), StoreError> {
        let Some(identity) = Identity::from_bytes(*entry.identity.get()) else {
            return Ok(());
        };
        match entry.detail {
            EntryDetail::Put { .. } => {
                let store = self.worker.store();
                let here = store.location(segment, entry.offset);
                let found = store.index().lookup(identity);
                if found.is_some_and(|found| place::of(&found) == here) {
                    self.remove(identity, loss).await?;
                }
                Ok(())
            }
            EntryDetail::Page { collection, .. } => {
                let root = self.worker.store().collections().root_of(collection);
                match root {
                    Some(root) => self.remove(root, Loss::Hash(root.to_bytes())).await,
                    None => Ok(()),
                }
            }
            EntryDetail::Tombstone | EntryDetail::Batch | EntryDetail::Map => Ok(()),
        }
    }

    /// Removes the keys that lead into segments without a header.
    async fn remove_lost(&mut self) -> Result<(), StoreError> {
        let mut roots: HashSet<Identity> = HashSet::new();
        let lost = lost_entries(&self.worker).await;
        for (identity, entry) in &lost {
            if entry.value_type != VALUE_TYPE_PAGE {
                self.remove(*identity, Loss::Hash(identity.to_bytes()))
                    .await?;
            }
        }
        if lost
            .iter()
            .any(|(_, entry)| entry.value_type == VALUE_TYPE_PAGE)
        {
            for (root, _) in entries(&self.worker, place::is_root).await {
                if leads_to_lost(&self.worker, root) {
                    roots.insert(root);
                }
            }
        }
        for root in roots {
            self.remove(root, Loss::Hash(root.to_bytes())).await?;
        }
        Ok(())
    }

    /// Removes large values with pages that are missing.
    async fn remove_broken(&mut self) -> Result<(), StoreError> {
        for (turn, (root, _)) in entries(&self.worker, place::is_root)
            .await
            .iter()
            .enumerate()
        {
            if is_broken(&self.worker, *root).await? {
                self.remove(*root, Loss::Hash(root.to_bytes())).await?;
            }
            if turn % PER_TURN == PER_TURN - 1 {
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    async fn remove(&mut self, identity: Identity, loss: Loss) -> Result<(), StoreError> {
        let Some(entry) = self.worker.store().index().lookup(identity) else {
            return Ok(());
        };
        (self.tell)(&Step::Remove(loss));
        let at = place::of(&entry);
        self.worker
            .wait_removed((identity, at), entry.database, None)
            .await?;
        self.done.keys_removed += 1;
        Ok(())
    }

    /// Moves what is live out of a segment, and frees it.
    async fn empty(&mut self, segment: SegmentNumber) -> Result<(), StoreError> {
        let number = segment.get();
        (self.tell)(&Step::Empty { segment: number });
        match cleaner::empty(&self.worker, segment).await {
            Ok(()) => self.done.segments_emptied += 1,
            Err(error @ (StoreError::OutOfSpace | StoreError::Corrupt { .. })) => {
                let reason = error.to_string();
                (self.tell)(&Step::Leave {
                    segment: number,
                    reason,
                });
                self.done.segments_left += 1;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Empties the segments without a header of which the footer tells what they hold, and frees
    /// the others.
    async fn free_lost(&mut self) -> Result<(), StoreError> {
        let store = Arc::clone(self.worker.store());
        let segments = store.segments();
        for segment in segments
            .numbers()
            .filter(|segment| segments.is_lost(*segment))
        {
            if segments.is_told(segment) {
                self.empty(segment).await?;
                continue;
            }
            (self.tell)(&Step::GiveUp {
                segment: segment.get(),
            });
            cleaner::give_up(&self.worker, segment).await?;
            self.done.segments_given_up += 1;
        }
        Ok(())
    }
}

/// Whether a page of the large value lies in a segment without a header.
fn leads_to_lost(worker: &Worker, root: Identity) -> bool {
    let store = worker.store();
    let Some(collection) = store.collections().of_root(root) else {
        return false;
    };
    (0..collection.page_count).any(|number| {
        let page = store.hasher().page(collection.id.get(), number);
        store.index().lookup(page).is_some_and(|entry| {
            let (segment, _) = store.split(place::of(&entry));
            store.segments().is_lost(segment)
        })
    })
}
