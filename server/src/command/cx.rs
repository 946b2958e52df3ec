//! What every handler gets: its connection, the store, and what all workers share.
//!
//! Owns references only.

use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use cellar_storage::Db;

use crate::client::Delivery;
use crate::events::{self, EventClass, HeldEvent};
use crate::monitor;
use crate::resp::{Args, Protocol, ReplyBuf};
use crate::session::Session;
use crate::shared::Shared;
use crate::stats::Metric;
use crate::store_slot::StoreSlot;
use crate::transaction::{Effects, Posted};

/// A command's surroundings. A clone for a command that waits costs three reference counts.
#[derive(Clone)]
pub struct Cx {
    /// This connection.
    pub session: Rc<Session>,
    /// The store, as this worker reaches it.
    pub store: StoreSlot,
    /// What all workers share.
    pub shared: Arc<Shared>,
    db: Db,
    command_number: u64,
    /// In a transaction, where what its commands tell others waits for the commit.
    effects: Option<Rc<Effects>>,
}

impl Cx {
    /// The surroundings of a connection's commands.
    pub fn new(session: Rc<Session>, store: impl Into<StoreSlot>, shared: Arc<Shared>) -> Self {
        let db = session.db();
        Self {
            session,
            store: store.into(),
            shared,
            db,
            command_number: 0,
            effects: None,
        }
    }

    /// The surroundings of a transaction's commands: the store shows them what they wrote.
    pub(crate) fn within(&self, store: StoreSlot, effects: &Rc<Effects>) -> Self {
        Self {
            store,
            effects: Some(Rc::clone(effects)),
            ..self.clone()
        }
    }

    /// Whether a command may wait until a key holds something: in a transaction none may.
    pub(crate) fn may_block(&self) -> bool {
        self.effects.is_none()
    }

    /// Prepares for the connection's next command.
    pub fn next_command(&mut self) {
        self.command_number += 1;
        self.db = self.session.db();
    }

    /// The database that was selected when the command began.
    pub fn db(&self) -> Db {
        self.db
    }

    /// The protocol version of replies.
    pub fn protocol(&self) -> Protocol {
        self.session.protocol()
    }

    /// An empty reply for a handler that waits.
    pub fn reply(&self) -> ReplyBuf {
        ReplyBuf::new(self.protocol())
    }

    /// A read-only command says that its lookups are done: the next command of the pipeline may
    /// start while this one waits for its device reads.
    pub fn linearized(&self) {
        if let Some(effects) = &self.effects {
            return effects.note_linearized();
        }
        self.session.set_linearized(self.command_number);
    }

    /// Whether the present command has said that its lookups are done.
    pub fn is_linearized(&self) -> bool {
        self.session.linearized() == self.command_number
    }

    /// Hands out messages to clients.
    pub fn delivery(&self) -> Delivery<'_> {
        let worker = self.session.client().address().worker;
        self.shared.delivery(Some(worker))
    }

    /// Tells those who asked for keyspace events of one. To be called after the change, with
    /// Redis's name of the event; costs two loads where nobody asked.
    pub fn notify(&self, class: EventClass, event: &'static str, db: Db, key: &[u8]) {
        if !self.tells(class) {
            return;
        }
        if let Some(effects) = &self.effects {
            let key = Bytes::copy_from_slice(key);
            effects.events.push(HeldEvent {
                class,
                event,
                db,
                key,
            });
            return;
        }
        self.tell(class, event, (db, key));
    }

    fn tell(&self, class: EventClass, event: &'static str, (db, key): (Db, &[u8])) {
        let classes = self.shared.config.fast.event_classes();
        if self.shared.tracking.is_broadcasting() && class.is_change() {
            self.shared
                .tracking
                .note_change(key, Some(self.session.id()));
        }
        if classes.has(class) {
            events::announce(
                &self.shared.channels,
                classes,
                (event, db, key),
                &mut self.delivery(),
            );
        }
    }

    /// Sends a message to a channel; in a transaction, once that is committed.
    pub(crate) fn post(&self, posted: Posted) {
        if let Some(effects) = &self.effects {
            return effects.post(posted);
        }
        let (channels, mut delivery) = (&self.shared.channels, self.delivery());
        if posted.is_shard {
            channels.publish_shard(&posted.channel, &posted.payload, &mut delivery);
        } else {
            channels.publish(&posted.channel, &posted.payload, &mut delivery);
        }
    }

    /// Shows a command to the clients that run MONITOR; in a transaction, once that is committed.
    pub(crate) fn show(&self, args: &Args, db: Db) {
        if !self.shared.monitors.is_any() {
            return;
        }
        let unix_us = self.shared.clock.unix_ms() * 1000;
        let source = if self.session.is_inner() {
            "lua".into()
        } else {
            monitor::source(self.session.client().address())
        };
        self.show_line(monitor::line(unix_us, db, &source, args));
    }

    /// Shows an encoded line, as [`Self::show`] does.
    pub(crate) fn show_line(&self, line: Bytes) {
        match &self.effects {
            Some(effects) => effects.show(line),
            None => self.shared.monitors.send(&line, &mut self.delivery()),
        }
    }

    /// Tells of a write to a key of the selected database, and before it that the key came to be.
    pub fn notify_write(&self, class: EventClass, event: &'static str, key: &[u8], is_new: bool) {
        if is_new {
            self.notify(EventClass::New, "new", self.db, key);
        }
        self.notify(class, event, self.db, key);
    }

    /// Tells that a key of the selected database is gone.
    pub fn notify_gone(&self, key: &[u8]) {
        self.notify(EventClass::Generic, "del", self.db, key);
    }

    /// Whether anybody asked for events of this class: a command may have to find out more then.
    pub fn tells(&self, class: EventClass) -> bool {
        self.shared.config.fast.event_classes().has(class)
            || (class.is_change() && self.shared.tracking.is_broadcasting())
    }

    /// Notes that a command read a key that was there or was not.
    pub fn note_lookup(&self, key: &[u8], found: bool) {
        self.count_lookup(found);
        if !found {
            self.notify(EventClass::KeyMiss, "keymiss", self.db, key);
        }
    }

    /// Counts a read of a key that was there (`keyspace_hits`) or was not (`keyspace_misses`).
    pub fn count_lookup(&self, found: bool) {
        let metric = if found {
            Metric::KeyspaceHits
        } else {
            Metric::KeyspaceMisses
        };
        self.session.count(metric, 1);
    }
}
