//! Replies on their way to the socket, which takes as much at a time as the client reads.
//!
//! Owns the place in them that the socket has reached. Must never copy a large body, nor wait for
//! anything but the socket and the part of a body that it sends.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::task::{Context, Poll, ready};

use bytes::Buf;
use smallvec::SmallVec;

use super::Closed;
use super::sent_body::SentBody;
use super::socket::Socket;
use crate::resp::{Body, ReplyBuf, Splice};
use crate::stats::{Metric, WorkerStats};

/// Pieces of one write at most: more than these hardly gain.
const PIECE_COUNT_MAX: usize = 32;

type Pieces<'a> = SmallVec<[IoSlice<'a>; PIECE_COUNT_MAX]>;

/// Replies that are being written.
#[derive(Default)]
pub(super) struct Outgoing {
    reply: ReplyBuf,
    /// Bytes of `reply` that were written.
    at: usize,
    /// The body that is sent part by part now; it stands before the rest of `reply`.
    sent: Option<SentBody>,
    /// The bodies behind it.
    splices: VecDeque<Splice>,
    /// Bytes of DRAM that wait, the part of `sent` left out.
    waiting_bytes: usize,
    /// Stored values among the splices.
    value_count: usize,
    /// Bytes written since the start of the connection.
    written_bytes: u64,
}

impl Outgoing {
    /// Takes replies to be written; what it had before must be written.
    pub(super) fn load(&mut self, mut reply: ReplyBuf) {
        debug_assert!(self.is_empty());
        self.at = 0;
        self.waiting_bytes = reply.memory_bytes();
        self.value_count = reply.value_count();
        self.splices = reply.take_splices().into();
        self.reply = reply;
        self.advance(0);
    }

    /// Whether everything is written.
    pub(super) fn is_empty(&self) -> bool {
        self.at == self.reply.bytes().len() && self.sent.is_none() && self.splices.is_empty()
    }

    /// Takes the room of replies that are written.
    pub(super) fn take_room(&mut self) -> Vec<u8> {
        debug_assert!(self.is_empty());
        self.at = 0;
        self.reply.clear();
        self.reply.take_room()
    }

    /// Bytes of DRAM that wait for the socket.
    pub(super) fn memory_bytes(&self) -> usize {
        self.waiting_bytes + self.sent.as_ref().map_or(0, SentBody::part_bytes)
    }

    /// Whether it holds the place of a stored value.
    pub(super) fn holds_values(&self) -> bool {
        self.value_count > 0 || self.sent.is_some()
    }

    /// Whether it waits for a part of a value, and not for the client.
    pub(super) fn is_reading(&self) -> bool {
        self.sent.as_ref().is_some_and(SentBody::is_reading)
    }

    /// Bytes written since the start of the connection.
    pub(super) fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Writes as much as the socket takes; ready when everything is written.
    pub(super) fn poll_write(
        &mut self,
        socket: &mut Socket,
        stats: &WorkerStats,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Closed>> {
        while !self.is_empty() {
            if let Some(sent) = &mut self.sent {
                ready!(sent.poll_part(context))?;
                if sent.is_sent() {
                    self.advance(0);
                    continue;
                }
            }
            let written = ready!(socket.poll_write(context, &self.pieces()));
            let byte_count = written.map_err(|_| Closed::ByClient)?;
            if byte_count == 0 {
                return Poll::Ready(Err(Closed::ByClient));
            }
            stats.add(Metric::NetOutputBytes, byte_count as u64);
            stats.add(Metric::SocketWrites, 1);
            self.written_bytes += byte_count as u64;
            self.advance(byte_count);
        }
        Poll::Ready(Ok(()))
    }

    /// What the next write may take.
    fn pieces(&self) -> Pieces<'_> {
        let mut pieces = Pieces::new();
        if let Some(sent) = &self.sent {
            pieces.push(IoSlice::new(sent.part()));
            return pieces;
        }
        let bytes = self.reply.bytes();
        let mut at = self.at;
        for splice in &self.splices {
            pieces.push(IoSlice::new(&bytes[at..splice.at]));
            at = splice.at;
            match &splice.body {
                Body::Bytes(body) => pieces.push(IoSlice::new(body)),
                Body::Snapshot(..) | Body::Portions(_) => return pieces,
            }
            if pieces.len() + 2 > PIECE_COUNT_MAX {
                return pieces;
            }
        }
        pieces.push(IoSlice::new(&bytes[at..]));
        pieces
    }

    /// Steps over what was written, and over bodies that are empty.
    fn advance(&mut self, mut byte_count: usize) {
        if let Some(sent) = &mut self.sent {
            sent.advance(byte_count);
            if !sent.is_sent() {
                return;
            }
            self.sent = None;
            byte_count = 0;
        }
        loop {
            let end = self.splices.front().map(|splice| splice.at);
            let end = end.unwrap_or(self.reply.bytes().len());
            let step = byte_count.min(end - self.at);
            self.at += step;
            self.waiting_bytes -= step;
            byte_count -= step;
            if self.at < end || !self.advance_body(&mut byte_count) {
                return;
            }
        }
    }

    /// Steps over the body that comes next; false where the socket has not reached its end.
    fn advance_body(&mut self, byte_count: &mut usize) -> bool {
        if let Some(Body::Bytes(body)) = self.splices.front_mut().map(|splice| &mut splice.body) {
            let step = body.len().min(*byte_count);
            body.advance(step);
            self.waiting_bytes -= step;
            *byte_count -= step;
            if !body.is_empty() {
                return false;
            }
        }
        match self.splices.pop_front().map(|splice| splice.body) {
            Some(Body::Bytes(_)) => true,
            Some(Body::Snapshot(_, range)) if range.is_empty() => {
                self.value_count -= 1;
                true
            }
            Some(Body::Snapshot(value, range)) => {
                self.value_count -= 1;
                self.sent = Some(SentBody::value(value, range));
                false
            }
            Some(Body::Portions(portions)) => {
                self.value_count -= 1;
                self.sent = Some(SentBody::portions(portions));
                false
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resp::{Protocol, SPLICE_BYTES_MIN};
    use bytes::Bytes;

    fn reply() -> (ReplyBuf, Vec<u8>) {
        let mut reply = ReplyBuf::new(Protocol::Resp2);
        let mut expected = Vec::new();
        for round in 0..3_u8 {
            let body = vec![b'a' + round; SPLICE_BYTES_MIN + usize::from(round)];
            reply.ok();
            reply.bulk_bytes(Bytes::from(body.clone()));
            reply.bulk_bytes(Bytes::from(body.clone()));
            expected.extend_from_slice(b"+OK\r\n");
            for _ in 0..2 {
                expected.extend_from_slice(format!("${}\r\n", body.len()).as_bytes());
                expected.extend_from_slice(&body);
                expected.extend_from_slice(b"\r\n");
            }
        }
        (reply, expected)
    }

    /// What arrives at a socket that takes at most `byte_count` bytes at a time.
    fn written(mut outgoing: Outgoing, byte_count: usize) -> Vec<u8> {
        let mut written = Vec::new();
        while !outgoing.is_empty() {
            let before = written.len();
            let pieces = outgoing.pieces();
            let offered = pieces.iter().flat_map(|piece| piece.iter());
            written.extend(offered.take(byte_count));
            drop(pieces);
            outgoing.advance(written.len() - before);
        }
        assert_eq!(outgoing.memory_bytes(), 0);
        written
    }

    #[test]
    fn whatever_the_socket_takes_all_bytes_arrive_in_order() {
        for byte_count in [
            1,
            2,
            3,
            7,
            SPLICE_BYTES_MIN,
            SPLICE_BYTES_MIN + 5,
            usize::MAX,
        ] {
            let (reply, expected) = reply();
            let mut outgoing = Outgoing::default();
            outgoing.load(reply);
            assert_eq!(outgoing.memory_bytes(), expected.len());
            assert!(written(outgoing, byte_count) == expected, "{byte_count}");
        }
    }
}
