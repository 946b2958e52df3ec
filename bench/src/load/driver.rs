//! The loop of one load: sends what is due, reads what has come, until the plan is done.
//!
//! Owns the connections and the order of things. Must never wait for one connection while another
//! could go on.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

use super::connection::{Connection, InFlight, Step};
use super::error::LoadError;
use super::operations::Operations;
use super::outcome::Outcome;
use super::plan::{Length, Pace, Plan};
use super::poller::Poller;
use super::recorder::{Recorder, nanoseconds};
use super::schedule::Schedule;
use super::wire::{Malformed, Reply};

/// A server that answers nothing for so long is given up: an fsync of seconds is not, yet.
const STALL_MAX: Duration = Duration::from_secs(30);
/// What is read at once: a pipeline of 64 values of 4 KB; it grows for longer replies.
const INBOX_BYTES: usize = 256 * 1024;
/// Bytes of a malformed reply that are told.
const EXCERPT_BYTES: usize = 80;

pub(super) struct Driver<'a> {
    plan: &'a Plan,
    cancel: &'a AtomicBool,
    started: Instant,
    poller: Poller,
    connections: Vec<Connection>,
    operations: Operations,
    /// None in a closed loop.
    schedule: Option<Schedule>,
    /// Connections with room, of an open loop; each is listed once.
    ready: VecDeque<usize>,
    recorder: Recorder,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
    /// When a load of a given time ends, in nanoseconds from its start.
    end_ns: Option<u64>,
    counted_left: Option<u64>,
    in_flight: usize,
    is_issuing: bool,
    last_reply_ns: u64,
    /// The thread's CPU time when counting began.
    cpu_before: Option<Duration>,
}

impl<'a> Driver<'a> {
    pub(super) fn new(plan: &'a Plan, cancel: &'a AtomicBool) -> Result<Self, LoadError> {
        let poller = Poller::new().map_err(|source| LoadError::Wait { source })?;
        let connections = (0..plan.connections as usize)
            .map(|_| connect(plan))
            .collect::<Result<Vec<_>, _>>()?;
        for (index, connection) in connections.iter().enumerate() {
            poller
                .add(index, connection)
                .map_err(|source| LoadError::Wait { source })?;
        }
        let operations = Operations::new(plan);
        let started = Instant::now();
        Ok(Self {
            recorder: Recorder::new(plan, operations.key_bytes()),
            plan,
            cancel,
            started,
            poller,
            connections,
            operations,
            schedule: match plan.pace {
                Pace::Closed => None,
                Pace::OpenPerSecond(rate) => Some(Schedule::new(rate)),
            },
            ready: VecDeque::new(),
            inbox: vec![0; INBOX_BYTES],
            outbox: Vec::new(),
            end_ns: match plan.length {
                Length::Time(time) => Some(nanoseconds(plan.warm_up.saturating_add(time))),
                Length::Operations(_) => None,
            },
            counted_left: match plan.length {
                Length::Time(_) => None,
                Length::Operations(count) => Some(count),
            },
            in_flight: 0,
            is_issuing: true,
            last_reply_ns: 0,
            cpu_before: None,
        })
    }

    pub(super) fn run(mut self) -> Result<Outcome, LoadError> {
        for index in 0..self.connections.len() {
            self.go_on(index, self.now_ns())?;
        }
        loop {
            let now_ns = self.now_ns();
            if self.cancel.load(Ordering::Relaxed) {
                self.give_up(now_ns);
                return Ok(self.finish(true));
            }
            self.send_due(now_ns)?;
            self.look_at_time(now_ns)?;
            if !self.is_issuing && self.in_flight == 0 {
                return Ok(self.finish(false));
            }
            self.wait()?;
        }
    }

    fn now_ns(&self) -> u64 {
        nanoseconds(self.started.elapsed())
    }

    /// What the clock alone brings about: counting begins, the load ends, the server has stalled.
    fn look_at_time(&mut self, now_ns: u64) -> Result<(), LoadError> {
        if self.cpu_before.is_none() && self.recorder.is_counted(now_ns) {
            self.cpu_before = Some(thread_cpu());
        }
        if self.is_issuing && self.end_ns.is_some_and(|end_ns| now_ns >= end_ns) {
            self.give_up(self.end_ns.unwrap_or(now_ns));
        }
        let silent_ns = now_ns.saturating_sub(self.last_reply_ns);
        if self.in_flight == 0 {
            self.last_reply_ns = now_ns;
        } else if silent_ns > nanoseconds(STALL_MAX) {
            return Err(LoadError::Stalled {
                seconds: STALL_MAX.as_secs(),
                in_flight: self.in_flight,
            });
        }
        Ok(())
    }

    /// Sends nothing more; what an open loop had due before `end_ns` counts as waiting until then.
    fn give_up(&mut self, end_ns: u64) {
        self.is_issuing = false;
        let Some(schedule) = &mut self.schedule else {
            return;
        };
        while let Some(due_ns) = schedule.give_up(end_ns) {
            let step = self.operations.draw_step();
            self.recorder.unsent(step, due_ns, end_ns);
        }
    }

    /// Sends what an open loop has due, as far as connections have room.
    fn send_due(&mut self, now_ns: u64) -> Result<(), LoadError> {
        while self.is_issuing {
            let Some(schedule) = &mut self.schedule else {
                return Ok(());
            };
            let due_ns = schedule.due_ns();
            if due_ns > now_ns || self.end_ns.is_some_and(|end_ns| due_ns >= end_ns) {
                schedule.is_caught_up();
                return Ok(());
            }
            let Some(index) = self.ready.pop_front() else {
                schedule.hold_back();
                return Ok(());
            };
            let is_counted = self.recorder.is_counted(due_ns);
            schedule.take(now_ns, is_counted);
            self.connections[index].is_listed = false;
            self.issue(index, due_ns);
            self.flush(index)?;
            self.list(index);
        }
        Ok(())
    }

    /// Lists a connection of an open loop as ready if it has room.
    fn list(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        let has_room = connection.in_flight.len() < self.plan.pipeline as usize;
        if has_room && !connection.is_listed {
            connection.is_listed = true;
            self.ready.push_back(index);
        }
    }

    fn wait(&mut self) -> Result<(), LoadError> {
        let wait_ns = match &self.schedule {
            Some(schedule) if self.is_issuing && !self.ready.is_empty() => {
                Some(schedule.due_ns().saturating_sub(self.now_ns()))
            }
            Some(_) | None => None,
        };
        let count = self
            .poller
            .wait(wait_ns)
            .map_err(|source| LoadError::Wait { source })?;
        for index in 0..count {
            let Some(event) = self.poller.event(index) else {
                continue;
            };
            if event.is_writable {
                self.flush(event.connection)?;
            }
            if event.is_readable {
                self.receive(event.connection)?;
            }
        }
        Ok(())
    }

    /// Reads a connection and takes every whole reply.
    fn receive(&mut self, index: usize) -> Result<(), LoadError> {
        let connection = &mut self.connections[index];
        let length = match connection.read(&mut self.inbox) {
            Ok(Some(length)) => length,
            Ok(None) => return Ok(()),
            Err(error) => return Err(self.broken(index, "read", error)),
        };
        let now_ns = self.now_ns();
        let inbox = std::mem::take(&mut self.inbox);
        let mut rest = &inbox[..length];
        while !rest.is_empty() {
            match Reply::decode(rest) {
                Ok(Some((reply, reply_bytes))) => {
                    self.answer(index, reply, now_ns)?;
                    rest = &rest[reply_bytes..];
                }
                Ok(None) => break,
                Err(Malformed) => return Err(protocol(index, rest)),
            }
        }
        self.connections[index].keep(rest);
        self.inbox = inbox;
        self.go_on(index, now_ns)
    }

    /// Takes the reply to the oldest command in flight on a connection.
    fn answer(&mut self, index: usize, reply: Reply<'_>, now_ns: u64) -> Result<(), LoadError> {
        let Some(command) = self.connections[index].in_flight.pop_front() else {
            return Err(protocol(index, unasked(&reply)));
        };
        self.in_flight -= 1;
        self.last_reply_ns = now_ns;
        match (command.step, reply) {
            (_, Reply::Error(text)) => self.recorder.error(text),
            (Step::Get | Step::RmwRead, Reply::Value(value)) => {
                if self.plan.verify && !self.operations.is_value_of(command.key, value) {
                    self.recorder.mismatch(command.key, value);
                }
                self.recorder.read(&command, Some(value.len()));
                self.read_done(index, &command, now_ns);
            }
            (Step::Get | Step::RmwRead, Reply::Absent) => {
                self.recorder.read(&command, None);
                self.read_done(index, &command, now_ns);
            }
            (Step::Set | Step::Insert | Step::RmwWrite, Reply::Done) => {
                self.recorder.done(&command, now_ns);
            }
            (Step::Get | Step::RmwRead, Reply::Done) => return Err(protocol(index, b"+")),
            (Step::Set | Step::Insert | Step::RmwWrite, Reply::Value(_) | Reply::Absent) => {
                return Err(protocol(index, b"$"));
            }
        }
        if command.step == Step::Insert {
            self.operations.inserted(command.key);
        }
        Ok(())
    }

    /// A read is an operation, or the first half of one whose write goes out with the next flush.
    fn read_done(&mut self, index: usize, command: &InFlight, now_ns: u64) {
        if command.step == Step::RmwRead {
            let write = (Step::RmwWrite, command.key);
            self.push(index, write, command.start_ns);
        } else {
            self.recorder.done(command, now_ns);
        }
    }

    /// After replies: sends the writes that follow from them, and in a closed loop new operations.
    fn go_on(&mut self, index: usize, now_ns: u64) -> Result<(), LoadError> {
        let pipeline = self.plan.pipeline as usize;
        if self.schedule.is_some() {
            self.flush(index)?;
            self.list(index);
            return Ok(());
        }
        // Half a pipeline at least, so that a reply that comes alone does not shrink it for good.
        if self.connections[index].in_flight.len() <= pipeline / 2 {
            if self.end_ns.is_some_and(|end_ns| now_ns >= end_ns) {
                self.is_issuing = false;
            }
            while self.is_issuing && self.connections[index].in_flight.len() < pipeline {
                self.issue(index, now_ns);
            }
        }
        self.flush(index)
    }

    /// Writes the next operation into the outbox.
    fn issue(&mut self, index: usize, start_ns: u64) {
        let drawn = self.operations.draw();
        self.push(index, drawn, start_ns);
        if let Some(left) = &mut self.counted_left
            && self.recorder.is_counted(start_ns)
        {
            *left -= 1;
            self.is_issuing = *left > 0;
        }
    }

    fn push(&mut self, index: usize, command: (Step, u64), start_ns: u64) {
        let in_flight = self.operations.write(command, start_ns, &mut self.outbox);
        self.connections[index].in_flight.push_back(in_flight);
        self.in_flight += 1;
    }

    /// Sends the outbox on a connection.
    fn flush(&mut self, index: usize) -> Result<(), LoadError> {
        let connection = &mut self.connections[index];
        let sent = connection.send(&self.outbox);
        self.outbox.clear();
        let has_unsent = connection.has_unsent();
        if let Err(error) = sent {
            return Err(self.broken(index, "write", error));
        }
        if has_unsent != connection.is_write_awaited {
            connection.is_write_awaited = has_unsent;
            self.poller
                .await_write(index, connection, has_unsent)
                .map_err(|source| LoadError::Wait { source })?;
        }
        Ok(())
    }

    fn broken(&self, connection: usize, action: &'static str, source: io::Error) -> LoadError {
        match source.kind() {
            ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
                LoadError::Closed {
                    connection,
                    in_flight: self.connections[connection].in_flight.len(),
                    said: self.recorder.said(),
                }
            }
            _ => LoadError::Socket {
                connection,
                action,
                source,
            },
        }
    }

    fn finish(self, is_cancelled: bool) -> Outcome {
        let cpu = thread_cpu().saturating_sub(self.cpu_before.unwrap_or_else(thread_cpu));
        let end_ns = self.end_ns.filter(|_| !is_cancelled);
        Outcome {
            client_cpu_s: cpu.as_secs_f64(),
            punctuality: self.schedule.as_ref().map(Schedule::punctuality),
            is_cancelled,
            ..self.recorder.finish(end_ns)
        }
    }
}

fn connect(plan: &Plan) -> Result<Connection, LoadError> {
    Connection::open(&plan.address).map_err(|source| LoadError::Connect {
        address: plan.address.to_string(),
        source,
    })
}

fn protocol(connection: usize, bytes: &[u8]) -> LoadError {
    let excerpt = &bytes[..bytes.len().min(EXCERPT_BYTES)];
    LoadError::Protocol {
        connection,
        bytes: excerpt.escape_ascii().to_string(),
    }
}

/// What a reply without a command says: too many clients, a password wanted.
fn unasked<'a>(reply: &Reply<'a>) -> &'a [u8] {
    match reply {
        Reply::Error(text) | Reply::Value(text) => text,
        Reply::Absent | Reply::Done => b"a reply that nothing asked for",
    }
}

/// User and system time of this thread.
fn thread_cpu() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).expect("a thread may ask for its own usage");
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Duration::from_micros(micros.unsigned_abs())
}
