//! The map record: which internal database each number means, written at every flush and swap.

use std::pin::pin;
use std::rc::Rc;

use tokio::sync::MutexGuard;

use crate::database::{DbRef, MapChange, NoHandle};
use crate::error::StoreError;
use crate::expiry::{Deadline, deadline};
use crate::format::{EntryDetail, Identity, Kind, RecordDraft, SummaryEntry, class_of, live_bytes};
use crate::log::Reservation;
use crate::units::DatabaseId;
use crate::worker::Worker;

impl Worker {
    /// Writes a map and makes it the current one. It is planned anew whenever the log had no room,
    /// as databases fill meanwhile; `None`: there is nothing to change. The guard keeps other plans
    /// away.
    pub(crate) async fn commit_map(
        self: &Rc<Self>,
        plan: impl Fn() -> Result<Option<MapChange>, NoHandle>,
        _guard: &MutexGuard<'_, ()>,
    ) -> Result<(), StoreError> {
        loop {
            let swept = self.store().handle_swept().notified();
            let mut room = pin!(self.log().room().notified());
            room.as_mut().enable();
            match plan() {
                Ok(None) => return Ok(()),
                Ok(Some(change)) => {
                    self.store().check_writable()?;
                    if self.try_commit_map(&change) {
                        self.tell_moved().await;
                        return Ok(());
                    }
                    self.store().want_room();
                    self.store().check_room_comes()?;
                    room.await;
                }
                Err(NoHandle) => swept.await,
            }
        }
    }

    /// Tells those who watch keys of databases that were flushed or exchanged.
    async fn tell_moved(&self) {
        let store = self.store();
        let exists = |database: DbRef, key: &[u8]| {
            let found = store.index().lookup(self.identify(database, key));
            let now = store.moment();
            found.is_some_and(|entry| deadline(&entry, &now) != Deadline::Passed)
        };
        let resolve = |db| store.databases().resolve(db);
        store.watches().tell_moved(resolve, exists).await;
    }

    /// False: the log has no room.
    fn try_commit_map(self: &Rc<Self>, change: &MapChange) -> bool {
        let payload = change.map().encode();
        let draft = RecordDraft::new(Kind::Map, &[], &payload);
        let Ok(reservation) = self.log().reserve(self.number(), 1, draft.bytes()) else {
            return false;
        };
        self.copy_map(&draft, reservation);
        self.store()
            .note_map_lsn(reservation.lsn.plus(u64::from(draft.bytes())));
        self.store().databases().apply(change);
        self.log().publish(self.number());
        self.submit_full_units();
        self.store().sweep_wanted().notify_one();
        true
    }

    fn copy_map(&self, draft: &RecordDraft<'_>, at: Reservation) {
        let store = self.store();
        let image = self.log().image(at.image);
        let offset = at.place.offset;
        let entry = SummaryEntry {
            identity: Identity::default(),
            database: DatabaseId::default(),
            lsn: at.lsn,
            offset,
            bytes: draft.bytes(),
            detail: EntryDetail::Map,
        };
        image.write_record(draft, &entry, at.place.slot);
        image.note_map(offset);
        let bytes = live_bytes(class_of(draft.bytes()));
        store.segments().add_live(image.segment(), i64::from(bytes));
        let before = store.set_map_location(Some(store.location(image.segment(), offset)));
        if let Some(before) = before {
            store
                .segments()
                .add_live(store.split(before).0, -i64::from(bytes));
        }
    }
}
