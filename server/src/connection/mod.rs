//! One client's connection: a coroutine that reads requests, runs commands and writes replies.
//!
//! ```text
//!  wait: read --> input --parse--> args --execute--> replies --flush--> socket
//!          ^                                            |
//!          +--- in flight: reads of the device ---------+
//! ```
//!
//! Owns the order of replies and the bounds of a turn. Must never hold its worker longer than a
//! turn, and never take more from a client than its bounds allow.

mod accounts;
mod drive;
mod execute;
mod input;
mod outgoing;
mod output;
mod replies;
mod sent_body;
mod settle;
mod socket;
mod wait;

use std::rc::Rc;
use std::sync::Arc;

use bytes::BytesMut;

use crate::blocking::Ripple;
use crate::client::{BufferSizes, Client, ClientFlag, Event};
use crate::command::Cx;
use crate::commands::{pubsub, tracking};
use crate::resp::{Args, KeysAhead, Parsed, RequestLimits, RequestParser};
use crate::session::Session;
use crate::stats::Metric;
use crate::worker::Worker;

pub use socket::Socket;

use accounts::Unmeasured;
use outgoing::Outgoing;
use output::Stall;
use replies::Replies;

/// Commands of one turn at most.
const TURN_COMMAND_COUNT_MAX: usize = 32;
/// Requests of a pipeline whose index entries are fetched together: two cache lines each, of some
/// five hundred that the first level holds.
const AHEAD_COUNT_MAX: usize = 32;
/// Bytes of requests and replies of one turn at most.
const TURN_BYTES_MAX: usize = 64 * 1024;
/// Microseconds after which a turn starts no further command.
const TURN_US_MAX: u64 = 50;
/// Bytes of replies that go out at once: below it the syscall's own cost shows, above it the
/// client waits for a buffer that is full.
const OUTPUT_BYTES: usize = 64 * 1024;

/// Why a connection ends.
#[derive(Debug)]
enum Closed {
    /// The client closed it, or the kernel did.
    ByClient,
    /// QUIT, a protocol error, or CLIENT KILL of itself: all replies were written.
    AfterReply,
    /// Somebody asked for it: CLIENT KILL, `timeout`, an output bound.
    Killed,
    /// The server stops.
    Stopping,
    /// More unread requests than `client-query-buffer-limit`.
    QueryLimit,
    /// More waiting replies than `client-output-buffer-limit`, or none taken for too long.
    OutputLimit,
    /// A reply was begun and its value cannot be read: framing is lost.
    ValueLost,
}

/// How a turn ended.
enum Turn {
    /// There may be more to do at once.
    More,
    /// There is more to do once the client takes some of its replies.
    Held,
    /// Nothing to do until something arrives.
    Idle,
}

/// One connection.
pub struct Connection {
    socket: Socket,
    worker: Rc<Worker>,
    client: Arc<Client>,
    cx: Cx,
    parser: RequestParser,
    input: BytesMut,
    args: Args,
    replies: Replies,
    /// Replies that are being written.
    outgoing: Outgoing,
    /// Runs while the client takes little and must take more.
    stall: Option<Stall>,
    /// The monotonic clock as of the last look.
    now_us: u64,
    /// Commands that ended since then.
    unmeasured: Unmeasured,
    /// When the present poll of the coroutine began its work, if it did.
    poll_started_us: Option<u64>,
    /// Whether the client will send nothing more.
    is_input_closed: bool,
    /// Requests in `input` whose index entries were asked for.
    ahead_count: usize,
    /// Chances of waiting clients that the present command has opened.
    ripples: Vec<Ripple>,
}

impl Connection {
    /// A connection that was just accepted.
    pub fn new(socket: Socket, client: Arc<Client>, worker: Rc<Worker>) -> Self {
        let shared = Arc::clone(&worker.shared);
        let is_open = !shared.config.fast.needs_password();
        let stats = Arc::clone(&worker.stats);
        let session = Rc::new(Session::new(Arc::clone(&client), stats, is_open));
        let now_us = shared.clock.monotonic_us();
        let cx = Cx::new(session, worker.store.clone(), shared);
        Self {
            socket,
            worker,
            client,
            cx,
            parser: RequestParser::default(),
            input: BytesMut::new(),
            args: Args::new(),
            replies: Replies::default(),
            outgoing: Outgoing::default(),
            stall: None,
            now_us,
            unmeasured: Unmeasured::new(),
            poll_started_us: None,
            is_input_closed: false,
            ahead_count: 0,
            ripples: Vec::new(),
        }
    }

    /// Serves the client until the connection ends.
    pub async fn run(mut self) {
        let closed = loop {
            if let Err(closed) = self.step().await {
                break closed;
            }
        };
        if matches!(closed, Closed::Stopping) {
            // a client that is gone by now needs no replies
            drop(self.wind_down().await);
        }
        self.close(&closed);
    }

    /// One turn, and the wait for what comes next.
    async fn step(&mut self) -> Result<(), Closed> {
        let turn = self.turn().await?;
        if !matches!(turn, Turn::More) || self.replies.memory_bytes() >= OUTPUT_BYTES {
            self.flush().await?;
        }
        let goes_on = match turn {
            Turn::More => true,
            Turn::Held => !self.is_output_full(),
            Turn::Idle => false,
        };
        if !goes_on {
            if self.cx.session.is_closing() && self.is_settled() {
                return Err(Closed::AfterReply);
            }
            self.wait().await?;
        }
        if goes_on || self.is_poll_over() {
            self.give_way().await;
        }
        Ok(())
    }

    /// Whether every reply is written.
    fn is_settled(&self) -> bool {
        self.replies.is_settled() && self.outgoing.is_empty()
    }

    /// Whether the present poll of the coroutine has taken its time.
    fn is_poll_over(&self) -> bool {
        self.poll_started_us
            .is_some_and(|started_us| self.now_us - started_us >= TURN_US_MAX)
    }

    /// Lets the worker's other coroutines run.
    async fn give_way(&mut self) {
        self.cx.store.end_of_turn();
        self.poll_started_us = None;
        tokio::task::yield_now().await;
    }

    /// Runs commands up to the bounds of a turn.
    async fn turn(&mut self) -> Result<Turn, Closed> {
        self.check_signal()?;
        self.replies.open(&self.worker);
        self.now_us = self.cx.shared.clock.monotonic_us();
        self.poll_started_us.get_or_insert(self.now_us);
        let (mut byte_count, waited_before) = (0, self.waiting_bytes());
        for _ in 0..TURN_COMMAND_COUNT_MAX {
            if self.is_stopped() || self.is_output_full() {
                break;
            }
            let before = self.input.len();
            self.client.note_query(before);
            if !self.parse() {
                self.measure();
                return Ok(Turn::Idle);
            }
            byte_count += before - self.input.len();
            if !self.args.is_empty() {
                if let Some(step) = self.execute() {
                    self.go_on(step).await?;
                }
                self.settle().await?;
            }
            self.follow_up();
            let waiting = self.waiting_bytes();
            self.check_output_limit(waiting)?;
            self.look_ahead();
            if self.is_poll_over()
                || byte_count + waiting.saturating_sub(waited_before) >= TURN_BYTES_MAX
            {
                break;
            }
        }
        self.measure();
        Ok(if self.input.is_empty() || self.is_stopped() {
            Turn::Idle
        } else if self.is_output_full() {
            Turn::Held
        } else {
            Turn::More
        })
    }

    /// Has the index entries at hand that the next requests of a pipeline will look up: their
    /// memory is fetched at the same time and not one after the other. A request is behind us.
    fn look_ahead(&mut self) {
        self.ahead_count = self.ahead_count.saturating_sub(1);
        if self.ahead_count > 0 || self.input.is_empty() {
            return;
        }
        let Some(store) = self.cx.store.attached() else {
            return;
        };
        let keys = KeysAhead::new(&self.input).take(AHEAD_COUNT_MAX);
        let asked_count = &mut self.ahead_count;
        let keys = keys.inspect(|_| *asked_count += 1);
        store.prefetch(self.cx.db(), keys);
    }

    /// Whether no command may start before others have ended.
    fn is_stopped(&self) -> bool {
        self.cx.session.is_closing() || self.replies.is_full()
    }

    /// Takes the next request into `args`; false where none is whole. What loses framing is
    /// answered and closes the connection.
    fn parse(&mut self) -> bool {
        let limits = RequestLimits {
            bulk_bytes_max: self.cx.shared.config.fast.bulk_bytes_max(),
            is_authenticated: self.cx.session.is_authenticated(),
        };
        match self.parser.parse(&mut self.input, &limits, &mut self.args) {
            Ok(Parsed::Request) => true,
            Ok(Parsed::Incomplete) => false,
            Err(error) => {
                let text = format!("ERR Protocol error: {error}");
                self.count_error(&text);
                tracing::debug!(client = self.client.id(), "protocol error: {error}");
                self.replies.tail(self.cx.session.protocol()).error(&text);
                self.client.flags().set(ClientFlag::CloseAfterReply, true);
                self.cx.session.close_after_reply();
                false
            }
        }
    }

    /// Obeys what others asked of this connection.
    fn check_signal(&mut self) -> Result<(), Closed> {
        let signal = self.client.signal();
        if signal.has(Event::Kill) {
            return Err(Closed::Killed);
        }
        if signal.has(Event::Stop) {
            return Err(Closed::Stopping);
        }
        // a client that takes nothing gets its messages later: the inbox has a bound
        if self.outgoing.is_empty() && signal.has(Event::Inbox) {
            self.take_inbox(OUTPUT_BYTES);
        }
        Ok(())
    }

    /// Sends the messages behind the reply that the present command owes its client: those that it
    /// caused itself, and confirmations, which are its replies.
    fn follow_up(&mut self) {
        if self.cx.shared.tracking.has_changes() {
            tracking::tell_changes(&self.cx);
        }
        if self.cx.session.take_has_pushed() {
            self.take_inbox(usize::MAX);
        } else if self.outgoing.is_empty() && self.client.signal().has(Event::Inbox) {
            self.take_inbox(OUTPUT_BYTES);
        }
    }

    /// Whether there is something to obey.
    fn is_signalled(&self) -> bool {
        let signal = self.client.signal();
        signal.has(Event::Kill)
            || signal.has(Event::Stop)
            || (signal.has(Event::Inbox) && self.outgoing.is_empty())
    }

    /// Takes the oldest messages, of so many bytes together or one more.
    fn take_inbox(&mut self, bytes_max: usize) {
        let signal = self.client.signal();
        signal.take(Event::Inbox);
        let messages = self.client.receive(bytes_max);
        if self.client.has_messages() {
            signal.mark(Event::Inbox);
        }
        let reply = self.replies.tail(self.cx.session.protocol());
        for message in messages {
            reply.message(&message);
        }
    }

    fn check_output_limit(&self, waiting_bytes: usize) -> Result<(), Closed> {
        let fast = &self.cx.shared.config.fast;
        let limit = if self.client.flags().has(ClientFlag::Pubsub) {
            fast.inbox_limit()
        } else {
            fast.output_limit()
        };
        if limit.is_none()
            || !self
                .client
                .exceeds(waiting_bytes as u64, limit, self.now_us)
        {
            return Ok(());
        }
        Err(Closed::OutputLimit)
    }

    /// Tells the registry how much this connection holds.
    fn note_buffers(&self) {
        self.client.note_buffers(BufferSizes {
            query: self.input.len(),
            query_room: self.input.capacity() - self.input.len(),
            arguments: self.parser.argument_count() * size_of::<bytes::Bytes>(),
            reply: self.waiting_bytes(),
            reply_room: self.replies.room_bytes(),
        });
    }

    fn close(self, closed: &Closed) {
        let id = self.client.id();
        let closed = if self.client.flags().has(ClientFlag::OverOutputLimit) {
            &Closed::OutputLimit
        } else {
            closed
        };
        match closed {
            Closed::ByClient | Closed::AfterReply | Closed::Killed | Closed::Stopping => {
                tracing::debug!(client = id, reason = ?closed, "connection closed");
            }
            Closed::QueryLimit => {
                self.worker.stats.add(Metric::QueryLimitDisconnects, 1);
                tracing::warn!(
                    client = id,
                    "Closing client that reached max query buffer length"
                );
            }
            Closed::OutputLimit => {
                self.worker.stats.add(Metric::OutputLimitDisconnects, 1);
                tracing::warn!(client = id, "closed: client-output-buffer-limit reached");
            }
            Closed::ValueLost => {
                tracing::error!(
                    client = id,
                    "closed: a value broke off in the middle of a reply"
                );
            }
        }
        pubsub::leave(&self.cx);
        tracking::end(&self.cx);
        self.cx.shared.monitors.remove(id);
        self.cx.shared.clients.disconnect(id);
    }
}
