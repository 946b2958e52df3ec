//! One client, as every worker may see it.
//!
//! Owns its identity, its labels and its gauges. The gauges are written by its own worker only.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

use bytes::Bytes;
use cellar_storage::Db;
use parking_lot::Mutex;

use super::{ClientFlag, ClientFlags, Event, Excess, Inbox, Signal};
use crate::command::CommandEntry;
use crate::config::OutputLimit;
use crate::pubsub::{Kind, Subscriptions};
use crate::resp::Protocol;

/// Bytes that a connection takes beside its buffers: its coroutine and what is here.
const BASE_BYTES: u64 = 4096;

/// The value of `last_command` before the first one.
const NO_COMMAND: u16 = u16::MAX;

/// Both ends of a connection, and where it is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The client's end, such as `127.0.0.1:50000`, or the unix socket's path with `:0`.
    pub peer: String,
    /// The server's end.
    pub local: String,
    /// Whether it is the unix socket.
    pub is_unix: bool,
    /// The file descriptor.
    pub descriptor: i32,
    /// The worker that serves it.
    pub worker: usize,
}

/// What a client calls itself.
#[derive(Debug, Clone, Default)]
pub struct Labels {
    /// CLIENT SETNAME.
    pub name: Bytes,
    /// CLIENT SETINFO LIB-NAME.
    pub lib_name: Bytes,
    /// CLIENT SETINFO LIB-VER.
    pub lib_version: Bytes,
}

/// One client.
#[derive(Debug)]
pub struct Client {
    id: u64,
    address: Address,
    connected_us: u64,
    labels: Mutex<Labels>,
    flags: ClientFlags,
    signal: Signal,
    inbox: Mutex<Inbox>,
    subscription_counts: [AtomicU32; 3],
    subscription_bytes: AtomicU64,
    /// The client that is told of changes in its place, 0 for none, -1 while it does not track.
    redirect: AtomicI64,
    db: AtomicU8,
    protocol: AtomicU8,
    last_command: AtomicU16,
    last_active_us: AtomicU64,
    /// Replies that wait against their bound.
    reply_excess: Excess,
    /// Messages that wait against theirs.
    inbox_excess: Excess,
    query_bytes: AtomicU64,
    query_room_bytes: AtomicU64,
    argument_bytes: AtomicU64,
    reply_bytes: AtomicU64,
    reply_room_bytes: AtomicU64,
    /// Commands queued since MULTI, -1 without one.
    queued_count: AtomicI64,
    transaction_bytes: AtomicU64,
}

/// The sizes of a connection's buffers, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct BufferSizes {
    /// Unread requests.
    pub query: usize,
    /// Room beyond them.
    pub query_room: usize,
    /// Arguments of an unfinished request.
    pub arguments: usize,
    /// Replies that wait.
    pub reply: usize,
    /// Room that replies are encoded in.
    pub reply_room: usize,
}

impl Client {
    /// A client that connected at `now_us` of the monotonic clock.
    pub fn new(id: u64, address: Address, now_us: u64) -> Self {
        let flags = ClientFlags::default();
        flags.set(ClientFlag::UnixSocket, address.is_unix);
        Self {
            id,
            address,
            connected_us: now_us,
            labels: Mutex::default(),
            flags,
            signal: Signal::default(),
            inbox: Mutex::default(),
            subscription_counts: Default::default(),
            subscription_bytes: AtomicU64::new(0),
            redirect: AtomicI64::new(-1),
            db: AtomicU8::new(0),
            protocol: AtomicU8::new(Protocol::Resp2.version()),
            last_command: AtomicU16::new(NO_COMMAND),
            last_active_us: AtomicU64::new(now_us),
            reply_excess: Excess::default(),
            inbox_excess: Excess::default(),
            query_bytes: AtomicU64::new(0),
            query_room_bytes: AtomicU64::new(0),
            argument_bytes: AtomicU64::new(0),
            reply_bytes: AtomicU64::new(0),
            reply_room_bytes: AtomicU64::new(0),
            queued_count: AtomicI64::new(-1),
            transaction_bytes: AtomicU64::new(0),
        }
    }

    /// Its id, unique for the life of the server and rising.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Both ends of its connection.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// What it is at the moment.
    pub fn flags(&self) -> &ClientFlags {
        &self.flags
    }

    /// How to reach its connection.
    pub fn signal(&self) -> &Signal {
        &self.signal
    }

    /// What it calls itself.
    pub fn labels(&self) -> Labels {
        self.labels.lock().clone()
    }

    /// Changes what it calls itself.
    pub fn set_labels(&self, change: impl FnOnce(&mut Labels)) {
        change(&mut self.labels.lock());
    }

    /// Ends its blocking command; false where it is in none.
    pub fn unblock(&self, event: Event) -> bool {
        let is_blocked = self.flags.has(ClientFlag::Unblockable);
        if is_blocked {
            self.signal.raise(event);
        }
        is_blocked
    }

    /// Closes its connection.
    pub fn kill(&self) {
        self.flags.set(ClientFlag::CloseAsap, true);
        self.signal.raise(Event::Kill);
    }

    /// Closes its connection because it does not take what it is sent.
    pub fn kill_for_output(&self) {
        self.inbox.lock().clear();
        self.flags.set(ClientFlag::OverOutputLimit, true);
        self.kill();
    }

    /// Puts an encoded message into its inbox. Above its bound the client is closed. Returns
    /// whether the connection has to be told: where messages waited before, it knows.
    pub(super) fn put(&self, message: Bytes, limit: OutputLimit, now_us: u64) -> bool {
        if self.flags.has(ClientFlag::CloseAsap) {
            return false;
        }
        let (was_empty, inbox_bytes) = {
            let mut inbox = self.inbox.lock();
            (inbox.is_empty(), inbox.push(message) as u64)
        };
        let waiting = inbox_bytes + self.reply_bytes.load(Relaxed);
        if self.inbox_excess.exceeds(waiting, limit, now_us) {
            self.kill_for_output();
            return false;
        }
        was_empty
    }

    /// Puts an encoded message into its inbox, from its own connection, which takes it soon.
    pub fn put_own(&self, message: Bytes) {
        self.inbox.lock().push(message);
    }

    /// Takes the oldest messages of the inbox: of so many bytes together, or one more.
    pub fn receive(&self, bytes_max: usize) -> VecDeque<Bytes> {
        self.inbox.lock().take(bytes_max)
    }

    /// Whether messages wait.
    pub fn has_messages(&self) -> bool {
        !self.inbox.lock().is_empty()
    }

    /// Whether so many bytes of waiting replies are too many.
    pub fn exceeds(&self, waiting_bytes: u64, limit: OutputLimit, now_us: u64) -> bool {
        self.reply_excess.exceeds(waiting_bytes, limit, now_us)
    }

    /// Whether too many messages wait, those on their way to the socket included.
    pub fn inbox_exceeds(&self, limit: OutputLimit, now_us: u64) -> bool {
        let inbox_bytes = self.inbox.lock().byte_count();
        if inbox_bytes == 0 {
            return false;
        }
        self.inbox_excess
            .exceeds(self.output_bytes(), limit, now_us)
    }

    /// The protocol version that it speaks.
    pub fn protocol(&self) -> Protocol {
        if self.protocol.load(Relaxed) == Protocol::Resp3.version() {
            Protocol::Resp3
        } else {
            Protocol::Resp2
        }
    }

    /// Notes what it is subscribed to.
    pub fn note_subscriptions(&self, subscriptions: &Subscriptions) {
        for (place, kind) in self.subscription_counts.iter().zip(Kind::ALL) {
            place.store(subscriptions.count(kind) as u32, Relaxed);
        }
        let bytes = subscriptions.byte_count() as u64;
        self.subscription_bytes.store(bytes, Relaxed);
    }

    /// Notes the command that it runs now, and when.
    pub fn note_command(&self, entry: &CommandEntry, now_us: u64) {
        self.last_command.store(entry.id, Relaxed);
        self.last_active_us.store(now_us, Relaxed);
    }

    /// Notes that it sent something.
    pub fn note_active(&self, now_us: u64) {
        self.last_active_us.store(now_us, Relaxed);
    }

    /// Notes what SELECT and HELLO changed.
    pub fn note_session(&self, db: Db, protocol: Protocol) {
        self.db.store(db.0, Relaxed);
        self.protocol.store(protocol.version(), Relaxed);
    }

    /// Notes the sizes of its buffers.
    pub fn note_buffers(&self, sizes: BufferSizes) {
        self.query_bytes.store(sizes.query as u64, Relaxed);
        self.query_room_bytes
            .store(sizes.query_room as u64, Relaxed);
        self.argument_bytes.store(sizes.arguments as u64, Relaxed);
        self.reply_bytes.store(sizes.reply as u64, Relaxed);
        self.reply_room_bytes
            .store(sizes.reply_room as u64, Relaxed);
    }

    /// Notes how many bytes of requests it has sent ahead, the present one included.
    pub fn note_query(&self, bytes: usize) {
        self.query_bytes.store(bytes as u64, Relaxed);
    }

    /// Notes how many bytes of replies wait because the client does not take them.
    pub fn note_output(&self, bytes: usize) {
        self.reply_bytes.store(bytes as u64, Relaxed);
    }

    /// Notes how many commands wait for EXEC, if it called MULTI, and the bytes that they and the
    /// watched keys take.
    pub fn note_transaction(&self, queued_count: Option<usize>, bytes: usize) {
        let count = queued_count.map_or(-1, |count| count.cast_signed() as i64);
        self.queued_count.store(count, Relaxed);
        self.transaction_bytes.store(bytes as u64, Relaxed);
    }

    /// Microseconds since it sent something.
    pub fn idle_us(&self, now_us: u64) -> u64 {
        now_us.saturating_sub(self.last_active_us.load(Relaxed))
    }

    /// Bytes of DRAM that it takes.
    pub fn memory_bytes(&self) -> u64 {
        BASE_BYTES
            + self.query_bytes.load(Relaxed)
            + self.query_room_bytes.load(Relaxed)
            + self.reply_bytes.load(Relaxed)
            + self.reply_room_bytes.load(Relaxed)
            + self.transaction_bytes.load(Relaxed)
            + self.inbox.lock().byte_count() as u64
            + self.subscription_bytes.load(Relaxed)
    }

    /// Bytes of unread requests.
    pub fn query_bytes(&self) -> u64 {
        self.query_bytes.load(Relaxed)
    }

    /// Bytes of replies and messages that wait.
    pub fn output_bytes(&self) -> u64 {
        self.reply_bytes.load(Relaxed) + self.inbox.lock().byte_count() as u64
    }

    /// Notes who is told of changes in its place: 0 for nobody, nothing where it does not track.
    pub fn note_redirect(&self, id: Option<u64>) {
        let id = id.map_or(-1, u64::cast_signed);
        self.redirect.store(id, Relaxed);
    }

    fn subscription_count(&self, kind: Kind) -> String {
        let count = &self.subscription_counts[kind as usize];
        count.load(Relaxed).to_string()
    }

    /// Its line of CLIENT LIST, without the end.
    pub fn describe(&self, now_us: u64) -> String {
        let labels = self.labels();
        let command = CommandEntry::by_id(self.last_command.load(Relaxed));
        let output_bytes = self.output_bytes();
        let fields = [
            ("id", self.id.to_string()),
            ("addr", self.address.peer.clone()),
            ("laddr", self.address.local.clone()),
            ("fd", self.address.descriptor.to_string()),
            ("name", text(&labels.name)),
            (
                "age",
                (now_us.saturating_sub(self.connected_us) / 1_000_000).to_string(),
            ),
            ("idle", (self.idle_us(now_us) / 1_000_000).to_string()),
            ("flags", self.flags.letters()),
            ("db", self.db.load(Relaxed).to_string()),
            ("sub", self.subscription_count(Kind::Channel)),
            ("psub", self.subscription_count(Kind::Pattern)),
            ("ssub", self.subscription_count(Kind::Shard)),
            ("multi", self.queued_count.load(Relaxed).to_string()),
            ("qbuf", self.query_bytes().to_string()),
            ("qbuf-free", self.query_room_bytes.load(Relaxed).to_string()),
            ("argv-mem", self.argument_bytes.load(Relaxed).to_string()),
            (
                "multi-mem",
                self.transaction_bytes.load(Relaxed).to_string(),
            ),
            ("rbs", self.reply_room_bytes.load(Relaxed).to_string()),
            ("rbp", self.reply_bytes.load(Relaxed).to_string()),
            ("obl", "0".into()),
            ("oll", "0".into()),
            ("omem", output_bytes.to_string()),
            ("tot-mem", self.memory_bytes().to_string()),
            (
                "events",
                if output_bytes > 0 {
                    "rw".into()
                } else {
                    "r".to_owned()
                },
            ),
            (
                "cmd",
                command.map_or("NULL", |entry| &entry.full_name).to_owned(),
            ),
            ("user", "default".into()),
            ("redir", self.redirect.load(Relaxed).to_string()),
            ("resp", self.protocol.load(Relaxed).to_string()),
            ("lib-name", text(&labels.lib_name)),
            ("lib-ver", text(&labels.lib_version)),
        ];
        fields
            .map(|(name, value)| format!("{name}={value}"))
            .join(" ")
    }
}

fn text(bytes: &Bytes) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
