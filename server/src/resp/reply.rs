//! Encodes replies for the protocol version of a connection.
//!
//! Owns the bytes that wait for the socket and the large bodies spliced between them. The forms of
//! RESP3 fall back to their RESP2 shape by themselves. Must never write to a socket.

use std::future::{Future, poll_fn};
use std::ops::Range;

use bytes::Bytes;
use cellar_storage::{Snapshot, StoreError};

use super::{Broken, Outlet, Portions, Protocol, SPLICE_BYTES_MIN, format_double};

/// What stands around a string at most: a letter, 20 digits, two line ends.
const BULK_FRAME_BYTES_MAX: usize = 25;

/// A large body that stands between the encoded bytes and is never copied into them.
pub enum Body {
    /// A buffer that is in memory already.
    Bytes(Bytes),
    /// A range of a stored value, to be read page by page while it is written.
    Snapshot(Box<Snapshot>, Range<u64>),
    /// Replies that are encoded while they are written. They hold no lock.
    Portions(Portions),
}

impl Body {
    /// Bytes of DRAM that it holds.
    pub fn memory_bytes(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Snapshot(..) | Self::Portions(_) => 0,
        }
    }

    /// Whether it is a stored value, which holds the place that it lies in.
    pub fn is_value(&self) -> bool {
        match self {
            Self::Bytes(_) => false,
            Self::Snapshot(..) | Self::Portions(_) => true,
        }
    }

    /// Appends what it puts on the wire; false where that would be more than `bytes_max` in all.
    async fn append_to(self, flat: &mut Vec<u8>, bytes_max: usize) -> Result<bool, Broken> {
        match self {
            Self::Bytes(bytes) => flat.extend_from_slice(&bytes),
            Self::Snapshot(_, range) if range.end - range.start > bytes_max as u64 => {
                return Ok(false);
            }
            Self::Snapshot(snapshot, range) => {
                flat.extend_from_slice(&snapshot.read(range).await?);
            }
            Self::Portions(mut portions) => {
                while let Some(portion) = poll_fn(|cx| portions.poll_next(cx)).await? {
                    for chunk in portion.into_chunks() {
                        flat.extend_from_slice(&chunk);
                    }
                    if flat.len() > bytes_max {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(flat.len() <= bytes_max)
    }

    /// Whether it holds its key's lock until it is pinned.
    fn is_lockable(&self) -> bool {
        matches!(self, Self::Snapshot(..))
    }
}

/// A body and the place in [`ReplyBuf::bytes`] before which it goes out.
pub struct Splice {
    /// Offset in the encoded bytes.
    pub at: usize,
    /// What goes out there.
    pub body: Body,
}

/// A place in a reply buffer to which [`ReplyBuf::truncate`] returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyMark {
    bytes: usize,
    splices: usize,
}

/// Encoded replies, in order.
#[derive(Default)]
pub struct ReplyBuf {
    protocol: Protocol,
    bytes: Vec<u8>,
    splices: Vec<Splice>,
    /// Splices at the front whose values no longer hold their keys' locks.
    pinned_count: usize,
    /// Bytes of the spliced buffers.
    spliced_bytes: usize,
    /// Stored values among the splices.
    value_count: usize,
}

impl ReplyBuf {
    /// An empty buffer that encodes for `protocol`.
    pub const fn new(protocol: Protocol) -> Self {
        Self {
            protocol,
            bytes: Vec::new(),
            splices: Vec::new(),
            pinned_count: 0,
            spliced_bytes: 0,
            value_count: 0,
        }
    }

    /// The protocol version that later calls encode for.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Changes the version for what is encoded from here on.
    pub fn set_protocol(&mut self, protocol: Protocol) {
        self.protocol = protocol;
    }

    /// `+OK`
    pub fn ok(&mut self) {
        self.bytes.extend_from_slice(b"+OK\r\n");
    }

    /// A simple string. Line breaks in it are written as spaces, as Redis does.
    pub fn simple(&mut self, text: &str) {
        self.line(b'+', text.as_bytes());
    }

    /// An error; `text` is all of it but the leading `-`, such as `ERR syntax error`.
    pub fn error(&mut self, text: &str) {
        self.line(b'-', text.as_bytes());
    }

    /// A whole number.
    pub fn integer(&mut self, value: i64) {
        self.bytes.push(b':');
        self.bytes
            .extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
        self.end_line();
    }

    /// A binary-safe string, copied.
    pub fn bulk(&mut self, bytes: &[u8]) {
        self.bytes.reserve(bytes.len() + BULK_FRAME_BYTES_MAX);
        self.header(b'$', bytes.len());
        self.bytes.extend_from_slice(bytes);
        self.end_line();
    }

    /// A binary-safe string; a large one is not copied.
    pub fn bulk_bytes(&mut self, bytes: Bytes) {
        if bytes.len() < SPLICE_BYTES_MIN {
            return self.bulk(&bytes);
        }
        self.header(b'$', bytes.len());
        self.push_splice(Body::Bytes(bytes));
        self.end_line();
    }

    /// A bulk string of a whole stored value. A large one is read page by page while the
    /// connection writes it and is never held whole.
    pub fn snapshot(&mut self, snapshot: Snapshot) {
        let range = 0..snapshot.len();
        self.snapshot_range(snapshot, range);
    }

    /// Like [`Self::snapshot`], for a range of the value; the part beyond its end is left out.
    pub fn snapshot_range(&mut self, snapshot: Snapshot, range: Range<u64>) {
        let end = range.end.min(snapshot.len());
        let range = range.start.min(end)..end;
        let is_small = range.end - range.start < SPLICE_BYTES_MIN as u64;
        if let Some(whole) = snapshot.inline().filter(|_| is_small) {
            return self.bulk(&whole[range.start as usize..range.end as usize]);
        }
        if let Some(bytes) = snapshot.share(range.clone()) {
            return self.bulk_bytes(bytes);
        }
        self.header(b'$', (range.end - range.start) as usize);
        let body = Body::Snapshot(Box::new(snapshot), range);
        self.push_splice(body);
        self.end_line();
    }

    /// No value (`$-1` in RESP2).
    pub fn null(&mut self) {
        self.bytes.extend_from_slice(match self.protocol {
            Protocol::Resp2 => b"$-1\r\n",
            Protocol::Resp3 => b"_\r\n",
        });
    }

    /// No array (`*-1` in RESP2).
    pub fn null_array(&mut self) {
        self.bytes.extend_from_slice(match self.protocol {
            Protocol::Resp2 => b"*-1\r\n",
            Protocol::Resp3 => b"_\r\n",
        });
    }

    /// The head of an array; `len` replies follow.
    pub fn array(&mut self, len: usize) {
        self.header(b'*', len);
    }

    /// An array of binary-safe strings, copied.
    pub fn bulk_array(&mut self, items: &[impl AsRef<[u8]>]) {
        self.array(items.len());
        for item in items {
            self.bulk(item.as_ref());
        }
    }

    /// An array of simple strings.
    pub fn simple_array(&mut self, lines: &[impl AsRef<str>]) {
        self.array(lines.len());
        for line in lines {
            self.simple(line.as_ref());
        }
    }

    /// A set of simple strings.
    pub fn simple_set(&mut self, words: &[impl AsRef<str>]) {
        self.set(words.len());
        for word in words {
            self.simple(word.as_ref());
        }
    }

    /// The head of a map; `len` pairs follow.
    pub fn map(&mut self, len: usize) {
        match self.protocol {
            Protocol::Resp2 => self.header(b'*', len * 2),
            Protocol::Resp3 => self.header(b'%', len),
        }
    }

    /// The head of a set; `len` replies follow.
    pub fn set(&mut self, len: usize) {
        match self.protocol {
            Protocol::Resp2 => self.header(b'*', len),
            Protocol::Resp3 => self.header(b'~', len),
        }
    }

    /// The head of an out-of-band push; `len` replies follow.
    pub fn push(&mut self, len: usize) {
        match self.protocol {
            Protocol::Resp2 => self.header(b'*', len),
            Protocol::Resp3 => self.header(b'>', len),
        }
    }

    /// A double (a bulk string in RESP2).
    pub fn double(&mut self, value: f64) {
        let text = format_double(value);
        match self.protocol {
            Protocol::Resp2 => self.bulk(text.as_bytes()),
            Protocol::Resp3 => self.line(b',', text.as_bytes()),
        }
    }

    /// A truth value (0 or 1 in RESP2).
    pub fn boolean(&mut self, value: bool) {
        match self.protocol {
            Protocol::Resp2 => self.integer(i64::from(value)),
            Protocol::Resp3 => self.line(b'#', if value { b"t" } else { b"f" }),
        }
    }

    /// A text with its format, three letters such as `txt` (a bulk string in RESP2).
    pub fn verbatim(&mut self, format: &str, text: &str) {
        debug_assert_eq!(format.len(), 3);
        match self.protocol {
            Protocol::Resp2 => self.bulk(text.as_bytes()),
            Protocol::Resp3 => {
                self.header(b'=', text.len() + 4);
                self.bytes.extend_from_slice(format.as_bytes());
                self.bytes.push(b':');
                self.bytes.extend_from_slice(text.as_bytes());
                self.end_line();
            }
        }
    }

    /// A number of any size in decimal digits (a bulk string in RESP2).
    pub fn big_number(&mut self, digits: &str) {
        match self.protocol {
            Protocol::Resp2 => self.bulk(digits.as_bytes()),
            Protocol::Resp3 => self.line(b'(', digits.as_bytes()),
        }
    }

    /// The head of an attribute of the next reply; `len` pairs follow. RESP3 only: the caller
    /// leaves the attribute out in RESP2.
    pub fn attribute(&mut self, len: usize) {
        self.header(b'|', len);
    }

    /// Whether no value in it holds its key's lock.
    pub(crate) fn is_pinned(&self) -> bool {
        self.pinned_count == self.splices.len()
    }

    /// Lets go of the locks that large values hold until their pages are pinned: no lock may wait
    /// for a socket, or for a later command of the same connection.
    pub(crate) async fn pin_values(&mut self) -> Result<(), StoreError> {
        while let Some(splice) = self.splices.get_mut(self.pinned_count) {
            if let Body::Snapshot(snapshot, range) = &mut splice.body {
                snapshot.pin(range.clone()).await?;
            }
            self.pinned_count += 1;
        }
        Ok(())
    }

    /// Replies that `make` goes on to encode while those before are written. Whatever it reads is
    /// pinned: it holds no lock.
    pub(crate) fn portions<F>(&mut self, make: impl FnOnce(Outlet) -> F)
    where
        F: Future<Output = Result<(), Broken>> + 'static,
    {
        let portions = Portions::new(self.protocol, make);
        self.push_splice(Body::Portions(portions));
    }

    /// What it puts on the wire, as one buffer; nothing where that is more than `bytes_max`.
    pub(crate) async fn flatten(mut self, bytes_max: usize) -> Result<Option<Bytes>, Broken> {
        let mut flat = Vec::new();
        let mut from = 0;
        for splice in self.take_splices() {
            flat.extend_from_slice(&self.bytes[from..splice.at]);
            from = splice.at;
            if !splice.body.append_to(&mut flat, bytes_max).await? {
                return Ok(None);
            }
        }
        if flat.is_empty() {
            return Ok((self.bytes.len() <= bytes_max).then(|| self.bytes.into()));
        }
        flat.extend_from_slice(&self.bytes[from..]);
        Ok((flat.len() <= bytes_max).then(|| flat.into()))
    }

    /// Appends bytes that are encoded already.
    pub fn raw(&mut self, encoded: &[u8]) {
        self.bytes.extend_from_slice(encoded);
    }

    /// Appends a message that is encoded already; a large one is not copied.
    pub(crate) fn message(&mut self, encoded: &Bytes) {
        if encoded.len() < SPLICE_BYTES_MIN {
            self.raw(encoded);
        } else {
            // a buffer with splices alone would count as empty
            self.raw(&encoded[..1]);
            self.push_splice(Body::Bytes(encoded.slice(1..)));
        }
    }

    /// What was encoded, cut where large bodies lie between; it must hold no stored values.
    pub(crate) fn into_chunks(mut self) -> impl Iterator<Item = Bytes> {
        let splices = self.take_splices();
        let (mut bytes, mut at) = (Bytes::from(self.bytes), 0);
        let mut chunks = Vec::with_capacity(2 * splices.len() + 1);
        for splice in splices {
            chunks.push(bytes.split_to(splice.at - at));
            at = splice.at;
            match splice.body {
                Body::Bytes(body) => chunks.push(body),
                Body::Snapshot(..) | Body::Portions(_) => {
                    unreachable!("a portion is encoded whole")
                }
            }
        }
        chunks.push(bytes);
        chunks.into_iter().filter(|chunk| !chunk.is_empty())
    }

    /// What was encoded, as one buffer to share; it must hold no large bodies beside it.
    pub(crate) fn into_bytes(self) -> Bytes {
        debug_assert!(self.splices.is_empty());
        self.bytes.into()
    }

    /// Appends what another buffer holds, after what this one holds.
    pub fn append(&mut self, mut other: ReplyBuf) {
        if self.is_empty() {
            let protocol = self.protocol;
            // keeps the larger allocation: the connection's buffer is used again and again
            if other.bytes.capacity() > self.bytes.capacity() {
                *self = other;
                self.protocol = protocol;
                return;
            }
        }
        let base = self.bytes.len();
        if self.is_pinned() {
            self.pinned_count += other.pinned_count;
        }
        self.spliced_bytes += other.spliced_bytes;
        self.value_count += other.value_count;
        self.bytes.extend_from_slice(&other.bytes);
        self.splices
            .extend(other.splices.drain(..).map(|mut splice| {
                splice.at += base;
                splice
            }));
    }

    /// The encoded bytes, without the spliced bodies.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bodies that go out between the encoded bytes, by rising offset.
    pub fn splices(&self) -> &[Splice] {
        &self.splices
    }

    /// Takes the bodies out, to be written between the encoded bytes.
    pub(crate) fn take_splices(&mut self) -> Vec<Splice> {
        self.pinned_count = 0;
        self.spliced_bytes = 0;
        self.value_count = 0;
        std::mem::take(&mut self.splices)
    }

    /// Bytes that can be encoded without growing.
    pub(crate) fn room_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// Encodes into this room from here on; the buffer must be empty.
    pub(crate) fn set_room(&mut self, room: Vec<u8>) {
        debug_assert!(self.bytes.is_empty() && room.is_empty());
        self.bytes = room;
    }

    /// Takes the room away; the buffer must be empty.
    pub(crate) fn take_room(&mut self) -> Vec<u8> {
        debug_assert!(self.bytes.is_empty());
        std::mem::take(&mut self.bytes)
    }

    /// Bytes of DRAM held: the encoded ones and the spliced buffers.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.len() + self.spliced_bytes
    }

    /// Stored values among the bodies.
    pub(crate) fn value_count(&self) -> usize {
        self.value_count
    }

    /// Whether nothing was encoded.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The present end, for [`Self::truncate`].
    pub fn mark(&self) -> ReplyMark {
        ReplyMark {
            bytes: self.bytes.len(),
            splices: self.splices.len(),
        }
    }

    /// Forgets what was encoded after `mark`.
    pub fn truncate(&mut self, mark: ReplyMark) {
        self.bytes.truncate(mark.bytes);
        if mark.splices < self.splices.len() {
            for splice in self.splices.drain(mark.splices..) {
                self.spliced_bytes -= splice.body.memory_bytes();
                self.value_count -= usize::from(splice.body.is_value());
            }
            self.pinned_count = self.pinned_count.min(mark.splices);
        }
    }

    /// Forgets everything and keeps the room.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.splices.clear();
        self.pinned_count = 0;
        self.spliced_bytes = 0;
        self.value_count = 0;
    }

    fn push_splice(&mut self, body: Body) {
        if self.is_pinned() && !body.is_lockable() {
            self.pinned_count += 1;
        }
        self.spliced_bytes += body.memory_bytes();
        self.value_count += usize::from(body.is_value());
        self.splices.push(Splice {
            at: self.bytes.len(),
            body,
        });
    }

    fn header(&mut self, kind: u8, len: usize) {
        self.bytes.push(kind);
        self.bytes
            .extend_from_slice(itoa::Buffer::new().format(len).as_bytes());
        self.end_line();
    }

    fn line(&mut self, kind: u8, text: &[u8]) {
        self.bytes.push(kind);
        let start = self.bytes.len();
        self.bytes.extend_from_slice(text);
        for byte in &mut self.bytes[start..] {
            if matches!(*byte, b'\r' | b'\n') {
                *byte = b' ';
            }
        }
        self.end_line();
    }

    fn end_line(&mut self) {
        self.bytes.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(encode: impl Fn(&mut ReplyBuf), resp2: &str, resp3: &str) {
        for (protocol, expected) in [(Protocol::Resp2, resp2), (Protocol::Resp3, resp3)] {
            let mut reply = ReplyBuf::new(protocol);
            encode(&mut reply);
            assert_eq!(
                String::from_utf8_lossy(reply.bytes()),
                expected,
                "{protocol:?}"
            );
        }
    }

    #[test]
    fn falls_back_to_resp2() {
        check(ReplyBuf::ok, "+OK\r\n", "+OK\r\n");
        check(ReplyBuf::null, "$-1\r\n", "_\r\n");
        check(ReplyBuf::null_array, "*-1\r\n", "_\r\n");
        check(|r| r.integer(-7), ":-7\r\n", ":-7\r\n");
        check(
            |r| r.bulk(b"a\r\nb"),
            "$4\r\na\r\nb\r\n",
            "$4\r\na\r\nb\r\n",
        );
        check(|r| r.map(2), "*4\r\n", "%2\r\n");
        check(|r| r.set(2), "*2\r\n", "~2\r\n");
        check(|r| r.push(3), "*3\r\n", ">3\r\n");
        check(|r| r.double(1.5), "$3\r\n1.5\r\n", ",1.5\r\n");
        check(|r| r.boolean(true), ":1\r\n", "#t\r\n");
        check(
            |r| r.verbatim("txt", "hi"),
            "$2\r\nhi\r\n",
            "=6\r\ntxt:hi\r\n",
        );
        check(|r| r.big_number("123"), "$3\r\n123\r\n", "(123\r\n");
    }

    #[test]
    fn keeps_errors_on_one_line() {
        check(|r| r.error("ERR a\r\nb"), "-ERR a  b\r\n", "-ERR a  b\r\n");
    }

    #[test]
    fn splices_large_bulks() {
        let mut reply = ReplyBuf::new(Protocol::Resp2);
        let large = Bytes::from(vec![b'x'; SPLICE_BYTES_MIN]);
        reply.ok();
        reply.bulk_bytes(large.clone());
        let mut all = ReplyBuf::new(Protocol::Resp2);
        all.integer(1);
        all.append(reply);
        assert_eq!(all.bytes(), b":1\r\n+OK\r\n$16384\r\n\r\n");
        assert_eq!(all.splices().len(), 1);
        assert_eq!(all.splices()[0].at, 17);
        assert_eq!(all.memory_bytes(), 19 + large.len());
    }

    #[test]
    fn truncates_to_a_mark() {
        let mut reply = ReplyBuf::new(Protocol::Resp2);
        reply.ok();
        let mark = reply.mark();
        reply.bulk_bytes(Bytes::from(vec![b'x'; SPLICE_BYTES_MIN]));
        reply.truncate(mark);
        assert_eq!(reply.bytes(), b"+OK\r\n");
        assert!(reply.splices().is_empty());
    }
}
