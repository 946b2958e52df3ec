//! The state of one connection that its commands read and change.
//!
//! Owns what belongs to one client on its own worker. What other workers may see of a client is
//! in the client registry. Must never be sent to another thread.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use bytes::Bytes;
use cellar_storage::Db;

use crate::client::{Client, ClientFlag};
use crate::pubsub::Subscriptions;
use crate::resp::Protocol;
use crate::stats::{Metric, WorkerStats};
use crate::tracking::Tracker;
use crate::transaction::Transaction;

/// What CLIENT REPLY asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReplyMode {
    /// Every command is answered.
    #[default]
    On,
    /// No command is answered.
    Off,
    /// The next command is not answered.
    SkipNext,
    /// The command that runs now is not answered.
    Skip,
}

/// One connection's state.
pub struct Session {
    client: Arc<Client>,
    stats: Arc<WorkerStats>,
    db: Cell<Db>,
    protocol: Cell<Protocol>,
    authenticated: Cell<bool>,
    reply_mode: Cell<ReplyMode>,
    closing: Cell<bool>,
    /// The number of the command that last said that its lookups are done.
    linearized: Cell<u64>,
    subscriptions: RefCell<Subscriptions>,
    tracker: RefCell<Option<Arc<Tracker>>>,
    /// Whether CLIENT CACHING chose the command behind it.
    is_caching: Cell<bool>,
    /// Whether the keys of the present script are tracked once it reads.
    tracks_script: Cell<bool>,
    /// Whether the present command's error is one that a command of its script has answered.
    is_error_counted: Cell<bool>,
    /// Whether the present command put something into the client's own inbox.
    has_pushed: Cell<bool>,
    /// Microseconds that the present command was blocked.
    blocked_us: Cell<u64>,
    transaction: RefCell<Transaction>,
    /// Whether it is a script's, of which CLIENT LIST shows nothing.
    is_inner: bool,
}

impl Session {
    /// The state of a fresh connection.
    pub fn new(client: Arc<Client>, stats: Arc<WorkerStats>, authenticated: bool) -> Self {
        Self {
            client,
            stats,
            db: Cell::new(Db(0)),
            protocol: Cell::default(),
            authenticated: Cell::new(authenticated),
            reply_mode: Cell::default(),
            closing: Cell::new(false),
            linearized: Cell::new(0),
            subscriptions: RefCell::default(),
            tracker: RefCell::default(),
            is_caching: Cell::new(false),
            tracks_script: Cell::new(false),
            is_error_counted: Cell::new(false),
            has_pushed: Cell::new(false),
            blocked_us: Cell::new(0),
            transaction: RefCell::default(),
            is_inner: false,
        }
    }

    /// The state of the commands of a script of this client: their database and protocol version
    /// are their own.
    pub(crate) fn inner(&self) -> Self {
        let client = Arc::clone(&self.client);
        let inner = Self::new(client, Arc::clone(&self.stats), self.is_authenticated());
        inner.db.set(self.db());
        Self {
            is_inner: true,
            ..inner
        }
    }

    /// Whether it is that of a script's commands.
    pub(crate) fn is_inner(&self) -> bool {
        self.is_inner
    }

    /// The client's id, unique for the life of the server.
    pub fn id(&self) -> u64 {
        self.client.id()
    }

    /// The client, as other workers see it.
    pub fn client(&self) -> &Arc<Client> {
        &self.client
    }

    /// The counters of this connection's worker.
    pub fn stats(&self) -> &WorkerStats {
        &self.stats
    }

    /// Adds to a metric of this connection's worker.
    pub fn count(&self, metric: Metric, amount: u64) {
        self.stats.add(metric, amount);
    }

    /// The selected database.
    pub fn db(&self) -> Db {
        self.db.get()
    }

    /// Selects a database; the caller has checked that it exists.
    pub fn select(&self, db: Db) {
        self.db.set(db);
        self.note();
    }

    /// The protocol version of replies.
    pub fn protocol(&self) -> Protocol {
        self.protocol.get()
    }

    /// Changes the protocol version of replies.
    pub fn set_protocol(&self, protocol: Protocol) {
        self.protocol.set(protocol);
        self.note();
    }

    /// Shows what SELECT and HELLO changed to others.
    fn note(&self) {
        if !self.is_inner {
            self.client.note_session(self.db(), self.protocol());
        }
    }

    /// Whether the client has shown the password, or none is needed.
    pub fn is_authenticated(&self) -> bool {
        self.authenticated.get()
    }

    /// Remembers whether the client has shown the password.
    pub fn set_authenticated(&self, authenticated: bool) {
        self.authenticated.set(authenticated);
    }

    /// Which commands are answered.
    pub fn reply_mode(&self) -> ReplyMode {
        self.reply_mode.get()
    }

    /// Changes which commands are answered.
    pub fn set_reply_mode(&self, mode: ReplyMode) {
        self.reply_mode.set(mode);
    }

    /// Whether the connection closes once its replies are written.
    pub fn is_closing(&self) -> bool {
        self.closing.get()
    }

    /// Closes the connection once its replies are written.
    pub fn close_after_reply(&self) {
        self.closing.set(true);
    }

    /// What the client is subscribed to.
    pub fn subscriptions(&self) -> &RefCell<Subscriptions> {
        &self.subscriptions
    }

    /// How the client tracks what it has read, if it does.
    pub fn tracker(&self) -> Option<Arc<Tracker>> {
        self.tracker.borrow().clone()
    }

    /// Whether it tracks.
    pub fn is_tracking(&self) -> bool {
        self.tracker.borrow().is_some()
    }

    /// Begins, changes or ends that.
    pub fn set_tracker(&self, tracker: Option<Arc<Tracker>>) {
        self.tracker.replace(tracker);
        self.is_caching.set(false);
        self.tracks_script.set(false);
    }

    /// Whether CLIENT CACHING chose the next command.
    pub fn is_caching(&self) -> bool {
        self.is_caching.get()
    }

    /// Chooses the next command, or none; returns whether it was chosen.
    pub fn set_caching(&self, is_caching: bool) -> bool {
        self.is_caching.replace(is_caching)
    }

    /// Whether the keys of the present script are tracked once it reads.
    pub(crate) fn tracks_script(&self) -> bool {
        self.tracks_script.get()
    }

    /// Chooses that for the script that is about to run.
    pub(crate) fn set_tracks_script(&self, is_tracked: bool) {
        self.tracks_script.set(is_tracked);
    }

    /// Whether only the commands for subscribers may run: in RESP2 a message looks like a reply.
    pub fn is_confined(&self) -> bool {
        self.protocol() == Protocol::Resp2 && self.client.flags().has(ClientFlag::Pubsub)
    }

    /// The present command is about to answer an error that was counted already.
    pub(crate) fn note_error_counted(&self) {
        self.is_error_counted.set(true);
    }

    /// Whether that was noted; for the next command it begins anew.
    pub(crate) fn take_error_counted(&self) -> bool {
        self.is_error_counted.take()
    }

    /// Sends the client an encoded message behind what waits in its inbox. CLIENT REPLY does not
    /// keep it back.
    pub fn push(&self, message: Bytes) {
        self.client.put_own(message);
        self.has_pushed.set(true);
    }

    /// Whether messages were pushed since the last time that this was asked.
    pub(crate) fn take_has_pushed(&self) -> bool {
        self.has_pushed.replace(false)
    }

    /// Notes how long the present command was blocked: that is not its own time.
    pub(crate) fn note_blocked(&self, us: u64) {
        self.blocked_us.set(self.blocked_us.get() + us);
    }

    /// Takes how many microseconds the command that has just ended was blocked.
    pub(crate) fn take_blocked_us(&self) -> u64 {
        self.blocked_us.take()
    }

    /// What it has queued since MULTI, and what it watches.
    pub(crate) fn transaction(&self) -> &RefCell<Transaction> {
        &self.transaction
    }

    /// The number of the last command that said that its lookups are done.
    pub(crate) fn linearized(&self) -> u64 {
        self.linearized.get()
    }

    pub(crate) fn set_linearized(&self, command_number: u64) {
        self.linearized.set(command_number);
    }
}
