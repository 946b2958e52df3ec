//! A client of the Redis protocol that keeps replies exactly as they were on the wire.
//!
//! Owns framing for tests. Knows no command.

mod cellar;

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;

pub(crate) use cellar::Cellar;

/// One connection.
pub(crate) struct Client {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
}

/// A reply with its type byte. Two replies are equal exactly if their bytes are.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reply {
    /// `+`, `-`, `:`, `_`, `,`, `#` or `(` and the rest of the line.
    Line(u8, Vec<u8>),
    /// `$` or `=` and the bytes, or nothing for length -1.
    Bulk(u8, Option<Vec<u8>>),
    /// `*`, `~`, `%` or `>` and the elements, or nothing for length -1.
    Many(u8, Option<Vec<Reply>>),
}

impl Client {
    pub(crate) fn new(stream: UnixStream) -> io::Result<Self> {
        Ok(Self {
            writer: stream.try_clone()?,
            reader: BufReader::new(stream),
        })
    }

    /// Sends one request and reads its reply.
    pub(crate) fn call<T: AsRef<[u8]>>(&mut self, arguments: &[T]) -> io::Result<Reply> {
        self.writer.write_all(&encode(arguments))?;
        self.read()
    }

    /// Sends requests, encoded one after the other, and reads so many replies meanwhile.
    pub(crate) fn pipeline(&mut self, requests: &[u8], count: usize) -> io::Result<Vec<Reply>> {
        let mut writer = self.writer.try_clone()?;
        std::thread::scope(|scope| {
            let sent = scope.spawn(move || writer.write_all(requests));
            let replies = (0..count).map(|_| self.read()).collect();
            sent.join().expect("the writer does not panic")?;
            replies
        })
    }

    /// Reads one reply.
    fn read(&mut self) -> io::Result<Reply> {
        let mut line = Vec::new();
        self.reader.read_until(b'\n', &mut line)?;
        let Some(line) = line.strip_suffix(b"\r\n").filter(|line| !line.is_empty()) else {
            return Err(io::Error::other("the connection ended inside a reply"));
        };
        let (kind, rest) = (line[0], line[1..].to_vec());
        match kind {
            b'+' | b'-' | b':' | b'_' | b',' | b'#' | b'(' => Ok(Reply::Line(kind, rest)),
            b'$' | b'=' => Ok(Reply::Bulk(kind, self.read_bulk(&rest)?)),
            b'*' | b'~' | b'%' | b'>' => {
                let Some(mut count) = parse_len(&rest)? else {
                    return Ok(Reply::Many(kind, None));
                };
                if kind == b'%' {
                    count *= 2;
                }
                let elements = (0..count).map(|_| self.read()).collect::<io::Result<_>>()?;
                Ok(Reply::Many(kind, Some(elements)))
            }
            _ => Err(io::Error::other(format!("unknown reply type {kind}"))),
        }
    }

    fn read_bulk(&mut self, len: &[u8]) -> io::Result<Option<Vec<u8>>> {
        let Some(len) = parse_len(len)? else {
            return Ok(None);
        };
        let mut bytes = vec![0; len + 2];
        self.reader.read_exact(&mut bytes)?;
        if !bytes.ends_with(b"\r\n") {
            return Err(io::Error::other("a bulk string has no end"));
        }
        bytes.truncate(len);
        Ok(Some(bytes))
    }
}

/// A request as it goes over the wire.
pub(crate) fn encode<T: AsRef<[u8]>>(arguments: &[T]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", arguments.len()).into_bytes();
    for argument in arguments {
        let argument = argument.as_ref();
        bytes.extend(format!("${}\r\n", argument.len()).bytes());
        bytes.extend_from_slice(argument);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

fn parse_len(text: &[u8]) -> io::Result<Option<usize>> {
    if text == b"-1" {
        return Ok(None);
    }
    let text = std::str::from_utf8(text).map_err(io::Error::other)?;
    text.parse().map(Some).map_err(io::Error::other)
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(kind, rest) => write!(f, "{}{}", *kind as char, rest.escape_ascii()),
            Self::Bulk(kind, None) | Self::Many(kind, None) => write!(f, "{}-1", *kind as char),
            Self::Bulk(_, Some(bytes)) => write!(f, "{}", shorten(bytes)),
            Self::Many(kind, Some(elements)) => {
                write!(f, "{}[", *kind as char)?;
                for (index, element) in elements.iter().enumerate() {
                    write!(f, "{}{element}", if index == 0 { "" } else { ", " })?;
                }
                write!(f, "]")
            }
        }
    }
}

/// Bytes for people to read, long ones cut.
pub(crate) fn shorten(bytes: &[u8]) -> String {
    const SHOWN: usize = 200;
    let shown = &bytes[..bytes.len().min(SHOWN)];
    let more = if bytes.len() > SHOWN { "..." } else { "" };
    format!("\"{}\"{more}({} bytes)", shown.escape_ascii(), bytes.len())
}
