//! The protocol as the load needs it: writes GET and SET, reads their replies.
//!
//! Owns the bytes of both directions. Must never wait, and never trust a length that a server
//! names.

use super::content::VALUE_BYTES_MAX;

/// Digits of a key's number, leading zeros included: every key of a load is as long as the others,
/// and with the prefix `key:` it is the key of redis-benchmark.
pub(crate) const KEY_DIGITS: usize = 12;
/// A line (a status, an error, a length) at most; Redis's own errors are far shorter.
const LINE_BYTES_MAX: usize = 16 * 1024;

/// Writes commands for keys with a common prefix.
#[derive(Debug)]
pub(crate) struct Commands {
    get_head: Vec<u8>,
    set_head: Vec<u8>,
    key_bytes: usize,
}

impl Commands {
    pub(crate) fn new(key_prefix: &str) -> Self {
        let key_bytes = key_prefix.len() + KEY_DIGITS;
        let head = |count: u8, name: &str| {
            format!("*{count}\r\n$3\r\n{name}\r\n${key_bytes}\r\n{key_prefix}").into_bytes()
        };
        Self {
            get_head: head(2, "GET"),
            set_head: head(3, "SET"),
            key_bytes,
        }
    }

    /// Bytes of every key.
    pub(crate) fn key_bytes(&self) -> usize {
        self.key_bytes
    }

    pub(crate) fn write_get(&self, key: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.get_head);
        write_key(key, out);
        out.extend_from_slice(b"\r\n");
    }

    /// Writes a SET but for the value, which `write_value` appends; it has `value_bytes` bytes.
    pub(crate) fn write_set(
        &self,
        key: u64,
        value_bytes: usize,
        out: &mut Vec<u8>,
        write_value: impl FnOnce(&mut Vec<u8>),
    ) {
        out.extend_from_slice(&self.set_head);
        write_key(key, out);
        out.extend_from_slice(b"\r\n$");
        out.extend_from_slice(itoa::Buffer::new().format(value_bytes).as_bytes());
        out.extend_from_slice(b"\r\n");
        write_value(out);
        out.extend_from_slice(b"\r\n");
    }
}

fn write_key(key: u64, out: &mut Vec<u8>) {
    let mut digits = [b'0'; KEY_DIGITS];
    let mut rest = key;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    out.extend_from_slice(&digits);
}

/// A server's answer to a GET or a SET.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reply<'a> {
    Value(&'a [u8]),
    Absent,
    Done,
    Error(&'a [u8]),
}

/// The bytes are no reply that a GET or a SET has.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

impl<'a> Reply<'a> {
    /// The first reply of `bytes` and its length; None while it is not all there.
    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Option<(Self, usize)>, Malformed> {
        let Some((line, length)) = line(bytes)? else {
            return Ok(None);
        };
        let (kind, rest) = line.split_first().ok_or(Malformed)?;
        let reply = match kind {
            b'+' => Self::Done,
            b'-' => Self::Error(rest),
            b'_' => Self::Absent,
            b'$' if rest == b"-1" => Self::Absent,
            b'$' => return value(bytes, length, rest),
            _ => return Err(Malformed),
        };
        Ok(Some((reply, length)))
    }
}

/// The first line without its end, and its length with it.
fn line(bytes: &[u8]) -> Result<Option<(&[u8], usize)>, Malformed> {
    let searched = &bytes[..bytes.len().min(LINE_BYTES_MAX)];
    match searched.iter().position(|byte| *byte == b'\n') {
        Some(end) => match searched[..end].strip_suffix(b"\r") {
            Some(line) => Ok(Some((line, end + 1))),
            None => Err(Malformed),
        },
        None if bytes.len() >= LINE_BYTES_MAX => Err(Malformed),
        None => Ok(None),
    }
}

fn value<'a>(
    bytes: &'a [u8],
    start: usize,
    digits: &[u8],
) -> Result<Option<(Reply<'a>, usize)>, Malformed> {
    let digits = std::str::from_utf8(digits).map_err(|_| Malformed)?;
    let value_bytes: usize = digits.parse().map_err(|_| Malformed)?;
    if value_bytes > VALUE_BYTES_MAX {
        return Err(Malformed);
    }
    let end = start + value_bytes;
    match bytes.get(end..end + 2) {
        None => Ok(None),
        Some(b"\r\n") => Ok(Some((Reply::Value(&bytes[start..end]), end + 2))),
        Some(_) => Err(Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_what_redis_reads() {
        let commands = Commands::new("key:");
        assert_eq!(commands.key_bytes(), 16);
        let mut out = Vec::new();
        commands.write_get(42, &mut out);
        assert_eq!(out, b"*2\r\n$3\r\nGET\r\n$16\r\nkey:000000000042\r\n");
        out.clear();
        commands.write_set(7, 10, &mut out, |out| out.extend_from_slice(b"0123456789"));
        assert_eq!(
            out,
            b"*3\r\n$3\r\nSET\r\n$16\r\nkey:000000000007\r\n$10\r\n0123456789\r\n"
        );
    }

    #[test]
    fn replies_are_read_whole_or_not_at_all() {
        let stream = b"+OK\r\n$3\r\nabc\r\n$-1\r\n-OOM no room\r\n_\r\n$0\r\n\r\n";
        let wanted = [
            Reply::Done,
            Reply::Value(b"abc"),
            Reply::Absent,
            Reply::Error(b"OOM no room"),
            Reply::Absent,
            Reply::Value(b""),
        ];
        let mut rest = &stream[..];
        for reply in wanted {
            let (found, length) = Reply::decode(rest).unwrap().unwrap();
            for cut in 0..length {
                assert_eq!(Reply::decode(&rest[..cut]), Ok(None), "{cut} of {length}");
            }
            assert_eq!(found, reply);
            rest = &rest[length..];
        }
        assert!(rest.is_empty());
    }

    #[test]
    fn what_is_no_reply_is_refused() {
        let endless = vec![b'+'; LINE_BYTES_MAX];
        let bad: [&[u8]; 7] = [
            b"HTTP/1.1 400\r\n",
            b"$x\r\n",
            b"$-2\r\n",
            b"$99999999999\r\n",
            b"$3\r\nabcde",
            b"+OK\n",
            &endless,
        ];
        for bytes in bad {
            assert_eq!(Reply::decode(bytes), Err(Malformed), "{bytes:?}");
        }
    }
}
