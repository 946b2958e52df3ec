//! Cuts the byte stream of a client into requests.
//!
//! Owns the place up to which the stream was looked at, so that no byte is looked at twice however
//! it arrives. Must never hold bytes itself: they stay in the caller's buffer until a request is
//! whole, and its arguments are slices of it.

use std::ops::Range;

use bytes::{Buf, Bytes, BytesMut};
use smallvec::SmallVec;

use super::inline::split_line;
use super::{Args, ProtocolError};
use crate::number::parse_i64;

/// Bytes of an inline request, of a count line or of a length line at most (Redis's limit).
pub const LINE_BYTES_MAX: usize = 64 * 1024;
/// Arguments of one request at most (Redis's limit).
const ARGUMENT_COUNT_MAX: i64 = i32::MAX as i64;
/// Arguments of one request at most before authentication (Redis's limit).
const UNAUTHENTICATED_COUNT_MAX: i64 = 10;
/// Bytes of one argument at most before authentication (Redis's limit).
const UNAUTHENTICATED_BULK_BYTES_MAX: i64 = 16 * 1024;
/// Digits of a number that the short way reads: all counts and lengths that are common.
const SHORT_DIGIT_COUNT_MAX: usize = 6;
/// Argument positions kept without a heap allocation.
const RANGE_COUNT_INLINE: usize = 8;

/// What bounds a client's requests at the moment.
#[derive(Debug, Clone, Copy)]
pub struct RequestLimits {
    /// Bytes of one argument at most (`proto-max-bulk-len`).
    pub bulk_bytes_max: u64,
    /// Whether the client has shown the password, or none is needed.
    pub is_authenticated: bool,
}

/// What a look at the buffer brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parsed {
    /// A request was taken from the buffer; it may have no arguments (an empty line).
    Request,
    /// The buffer holds no whole request.
    Incomplete,
}

/// The state of a request that has not arrived in full.
#[derive(Debug, Default)]
pub struct RequestParser {
    /// Bytes at the buffer's front that were understood.
    understood: usize,
    /// Bytes after `understood` in which no line end was found.
    searched: usize,
    /// Arguments still to come; 0 between requests.
    arguments_left: usize,
    /// Length of the argument whose length line was read.
    bulk_bytes: Option<usize>,
    /// Where the arguments stand in the buffer.
    ranges: SmallVec<[Range<usize>; RANGE_COUNT_INLINE]>,
}

impl RequestParser {
    /// Takes the next whole request from the buffer's front into `args`, which is cleared before.
    pub fn parse(
        &mut self,
        buffer: &mut BytesMut,
        limits: &RequestLimits,
        args: &mut Args,
    ) -> Result<Parsed, ProtocolError> {
        args.clear();
        if self.arguments_left == 0 {
            match buffer.first() {
                None => return Ok(Parsed::Incomplete),
                Some(b'*') => {
                    let Some(count) = self.read_count(buffer, limits)? else {
                        return Ok(Parsed::Incomplete);
                    };
                    if count == 0 {
                        drop(self.take(buffer));
                        return Ok(Parsed::Request);
                    }
                    self.arguments_left = count;
                }
                Some(_) => return self.parse_inline(buffer, args),
            }
        }
        while self.arguments_left > 0 {
            if !self.read_argument(buffer, limits)? {
                return Ok(Parsed::Incomplete);
            }
        }
        self.take_arguments(buffer, args);
        Ok(Parsed::Request)
    }

    /// Bytes that must still arrive before the argument being read is whole: a hint of how much
    /// room to make.
    pub fn missing_bytes(&self, buffer: &BytesMut) -> usize {
        let wanted = self
            .bulk_bytes
            .map_or(0, |bytes| self.understood + bytes + 2);
        wanted.saturating_sub(buffer.len())
    }

    /// Arguments that the request being read has so far: what CLIENT LIST shows of it.
    pub fn argument_count(&self) -> usize {
        self.ranges.len()
    }

    fn read_count(
        &mut self,
        buffer: &BytesMut,
        limits: &RequestLimits,
    ) -> Result<Option<usize>, ProtocolError> {
        if let Some((count, line_bytes)) = short_number(buffer)
            && (count <= UNAUTHENTICATED_COUNT_MAX as usize || limits.is_authenticated)
        {
            self.understood = line_bytes;
            self.searched = 0;
            return Ok(Some(count));
        }
        let Some(line) = self.read_line(buffer, ProtocolError::CountTooBig)? else {
            return Ok(None);
        };
        let count = parse_i64(&buffer[line.start + 1..line.end])
            .filter(|count| *count <= ARGUMENT_COUNT_MAX)
            .ok_or(ProtocolError::MultibulkLength)?;
        if count > UNAUTHENTICATED_COUNT_MAX && !limits.is_authenticated {
            return Err(ProtocolError::UnauthenticatedMultibulk);
        }
        Ok(Some(usize::try_from(count).unwrap_or(0)))
    }

    /// Reads one argument; false where it has not arrived in full.
    fn read_argument(
        &mut self,
        buffer: &BytesMut,
        limits: &RequestLimits,
    ) -> Result<bool, ProtocolError> {
        let bytes = match self.bulk_bytes {
            Some(bytes) => bytes,
            None => match self.read_length(buffer, limits)? {
                Some(bytes) => bytes,
                None => return Ok(false),
            },
        };
        if buffer.len() < self.understood + bytes + 2 {
            self.bulk_bytes = Some(bytes);
            return Ok(false);
        }
        self.ranges.push(self.understood..self.understood + bytes);
        self.understood += bytes + 2;
        self.bulk_bytes = None;
        self.arguments_left -= 1;
        Ok(true)
    }

    fn read_length(
        &mut self,
        buffer: &BytesMut,
        limits: &RequestLimits,
    ) -> Result<Option<usize>, ProtocolError> {
        let rest = &buffer[self.understood..];
        if let Some((bytes, line_bytes)) = short_number(rest)
            && rest[0] == b'$'
            && bytes <= UNAUTHENTICATED_BULK_BYTES_MAX as usize
        {
            self.understood += line_bytes;
            self.searched = 0;
            return Ok(Some(bytes));
        }
        let Some(line) = self.read_line(buffer, ProtocolError::LengthTooBig)? else {
            return Ok(None);
        };
        let first = buffer[line.start];
        if first != b'$' {
            return Err(ProtocolError::ExpectedBulk(first));
        }
        let bytes_max = limits.bulk_bytes_max.cast_signed();
        let bytes = parse_i64(&buffer[line.start + 1..line.end])
            .filter(|bytes| (0..=bytes_max).contains(bytes))
            .ok_or(ProtocolError::BulkLength)?;
        if bytes > UNAUTHENTICATED_BULK_BYTES_MAX && !limits.is_authenticated {
            return Err(ProtocolError::UnauthenticatedBulk);
        }
        Ok(Some(bytes.cast_unsigned() as usize))
    }

    /// The next line (without its end) where it has arrived in full.
    fn read_line(
        &mut self,
        buffer: &BytesMut,
        too_big: ProtocolError,
    ) -> Result<Option<Range<usize>>, ProtocolError> {
        let rest = &buffer[self.understood..];
        let Some(length) = find(&rest[self.searched..], b'\r') else {
            self.searched = rest.len();
            return if rest.len() > LINE_BYTES_MAX {
                Err(too_big)
            } else {
                Ok(None)
            };
        };
        let length = self.searched + length;
        if rest.len() < length + 2 {
            self.searched = length;
            return Ok(None);
        }
        let start = self.understood;
        self.understood += length + 2;
        self.searched = 0;
        Ok(Some(start..start + length))
    }

    fn parse_inline(
        &mut self,
        buffer: &mut BytesMut,
        args: &mut Args,
    ) -> Result<Parsed, ProtocolError> {
        let Some(length) = find(&buffer[self.searched..], b'\n') else {
            self.searched = buffer.len();
            if self.searched > LINE_BYTES_MAX {
                return Err(ProtocolError::InlineTooBig);
            }
            return Ok(Parsed::Incomplete);
        };
        let length = self.searched + length;
        self.understood = length + 1;
        let mut line = self.take(buffer);
        line.truncate(length);
        if line.ends_with(b"\r") {
            line.truncate(length - 1);
        }
        split_line(&line, args)?;
        Ok(Parsed::Request)
    }

    fn take_arguments(&mut self, buffer: &mut BytesMut, args: &mut Args) {
        let mut request = self.take(buffer);
        let Some(last) = self.ranges.pop() else {
            return;
        };
        for range in self.ranges.drain(..) {
            args.push(request.slice(range));
        }
        // the last argument takes the request's own reference
        request.truncate(last.end);
        request.advance(last.start);
        args.push(request);
    }

    /// Takes what was understood from the buffer.
    fn take(&mut self, buffer: &mut BytesMut) -> Bytes {
        self.searched = 0;
        buffer
            .split_to(std::mem::take(&mut self.understood))
            .freeze()
    }
}

/// The number of a line such as `$12` that has arrived in full, and the bytes that the line takes:
/// the usual case, in one look at each byte. Nothing for every other line, whatever is wrong or
/// unusual about it.
pub(super) fn short_number(line: &[u8]) -> Option<(usize, usize)> {
    let mut number = 0;
    for (index, byte) in line
        .iter()
        .enumerate()
        .skip(1)
        .take(SHORT_DIGIT_COUNT_MAX + 1)
    {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            // a leading zero is for the other path to judge
            if number == 0 && index > 1 {
                return None;
            }
            number = number * 10 + usize::from(digit);
        } else {
            let is_whole = *byte == b'\r' && index > 1 && line.len() > index + 1;
            return is_whole.then_some((number, index + 2));
        }
    }
    None
}

/// Where `byte` first stands. Lines of a request are a few bytes long: a plain loop is faster
/// there than a vectored search.
fn find(bytes: &[u8], byte: u8) -> Option<usize> {
    bytes.iter().position(|other| *other == byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: RequestLimits = RequestLimits {
        bulk_bytes_max: 1 << 20,
        is_authenticated: true,
    };

    /// All requests of `stream`, which arrives in pieces that end at the given offsets.
    fn parse_all(
        stream: &[u8],
        cuts: &[usize],
        limits: &RequestLimits,
    ) -> (Vec<Vec<Vec<u8>>>, Option<ProtocolError>) {
        let mut parser = RequestParser::default();
        let mut buffer = BytesMut::new();
        let mut args = Args::new();
        let mut requests = Vec::new();
        let mut start = 0;
        for end in cuts.iter().copied().chain([stream.len()]) {
            buffer.extend_from_slice(&stream[start..end]);
            start = end;
            loop {
                match parser.parse(&mut buffer, limits, &mut args) {
                    Ok(Parsed::Request) => {
                        requests.push(args.iter().map(|arg| arg.to_vec()).collect());
                    }
                    Ok(Parsed::Incomplete) => break,
                    Err(error) => return (requests, Some(error)),
                }
            }
        }
        (requests, None)
    }

    fn check(stream: &[u8], expected: &[&[&str]]) {
        let (requests, error) = parse_all(stream, &[], &LIMITS);
        assert_eq!(error, None);
        let expected: Vec<Vec<Vec<u8>>> = expected
            .iter()
            .map(|request| request.iter().map(|arg| arg.as_bytes().to_vec()).collect())
            .collect();
        assert_eq!(requests, expected);
    }

    fn check_error(stream: &[u8], limits: &RequestLimits, expected: &str) {
        let (_, error) = parse_all(stream, &[], limits);
        assert_eq!(error.expect("an error").to_string(), expected);
    }

    #[test]
    fn reads_requests() {
        check(b"*1\r\n$4\r\nPING\r\n", &[&["PING"]]);
        check(b"*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", &[&["ECHO", ""]]);
        check(
            b"PING\r\n*1\r\n$4\r\nPING\r\nping\n",
            &[&["PING"], &["PING"], &["ping"]],
        );
        check(b"*0\r\n*-1\r\n\r\nPING\r\n", &[&[], &[], &[], &["PING"]]);
        check(b"*1\r\n$4\r\nPI", &[]);
    }

    #[test]
    fn refuses_as_redis_does() {
        let guest = RequestLimits {
            is_authenticated: false,
            ..LIMITS
        };
        check_error(b"*x\r\n", &LIMITS, "invalid multibulk length");
        check_error(b"*\r\n", &LIMITS, "invalid multibulk length");
        check_error(b"*2147483648\r\n", &LIMITS, "invalid multibulk length");
        check_error(b"*1\r\n:4\r\n", &LIMITS, "expected '$', got ':'");
        check_error(b"*1\r\n$-1\r\n", &LIMITS, "invalid bulk length");
        check_error(b"*1\r\n$01\r\n", &LIMITS, "invalid bulk length");
        check_error(b"*1\r\n$1048577\r\n", &LIMITS, "invalid bulk length");
        check_error(b"*11\r\n", &guest, "unauthenticated multibulk length");
        check_error(b"*1\r\n$16385\r\n", &guest, "unauthenticated bulk length");
        check_error(b"get \"a\r\n", &LIMITS, "unbalanced quotes in request");
        let long = vec![b'1'; LINE_BYTES_MAX + 1];
        check_error(&long, &LIMITS, "too big inline request");
        check_error(
            &[b"*", &long[..]].concat(),
            &LIMITS,
            "too big mbulk count string",
        );
        check_error(
            &[b"*1\r\n$", &long[..]].concat(),
            &LIMITS,
            "too big bulk count string",
        );
    }

    #[test]
    fn any_split_gives_the_same_requests() {
        let stream =
            b"*3\r\n$3\r\nSET\r\n$2\r\n\r\n\r\n$10\r\n0123456789\r\nGET 'a b' \"\\x00\"\r\n\
                       *1\r\n$4\r\nPING\r\n*0\r\n\n*2\r\n$3\r\nGET\r\n$0\r\n\r\nPING\r\n*1\r\n!";
        let whole = parse_all(stream, &[], &LIMITS);
        assert_eq!(whole.0.len(), 7);
        assert_eq!(whole.1, None);
        for first in 0..=stream.len() {
            for second in first..=stream.len() {
                assert_eq!(
                    parse_all(stream, &[first, second], &LIMITS),
                    whole,
                    "{first} {second}"
                );
            }
        }
        let every: Vec<usize> = (1..stream.len()).collect();
        assert_eq!(parse_all(stream, &every, &LIMITS), whole);
    }

    #[test]
    fn foreign_bytes_give_the_same_in_any_split() {
        let mut random = 0x2545_f491_4f6c_dd1d_u64;
        let mut next = |bound: usize| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random % bound as u64) as usize
        };
        let pieces: [&[u8]; 12] = [
            b"*1\r\n", b"*2\r\n", b"$4\r\n", b"PING", b"\r\n", b"\n", b"*", b"$", b"-1", b"0",
            b"\"", b" ",
        ];
        for _ in 0..2000 {
            let stream: Vec<u8> = (0..next(12))
                .flat_map(|_| pieces[next(pieces.len())].iter().copied())
                .collect();
            let whole = parse_all(&stream, &[], &LIMITS);
            let every: Vec<usize> = (1..stream.len()).collect();
            assert_eq!(parse_all(&stream, &every, &LIMITS), whole, "{stream:?}");
        }
    }

    #[test]
    fn tells_how_much_is_missing() {
        let mut parser = RequestParser::default();
        let mut buffer = BytesMut::from(&b"*1\r\n$100\r\nabc"[..]);
        let parsed = parser.parse(&mut buffer, &LIMITS, &mut Args::new());
        assert_eq!(parsed, Ok(Parsed::Incomplete));
        assert_eq!(parser.missing_bytes(&buffer), 99);
    }
}
