//! A blocking client for what is not measured: is it ready, INFO, one command to see if it is
//! known.
//!
//! Every read and write has a time limit. Must never be used to measure.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::launch::Address;
use crate::error::BenchError;

/// A server that takes longer than this to answer one command is taken for hung.
const ANSWER_MAX: Duration = Duration::from_mins(1);
/// Bytes of a reply that the harness asks for: INFO is some KiB.
const REPLY_BYTES_MAX: usize = 16 << 20;
/// Arrays in arrays: no reply that is asked for has more than three.
const DEPTH_MAX: u32 = 8;

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

/// One connection.
pub(crate) struct Client {
    stream: BufReader<Box<dyn Stream>>,
}

impl Client {
    /// Connects to `address`.
    pub(crate) fn connect(address: &Address) -> std::io::Result<Self> {
        let stream: Box<dyn Stream> = match address {
            Address::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(ANSWER_MAX))?;
                stream.set_write_timeout(Some(ANSWER_MAX))?;
                Box::new(stream)
            }
            Address::Tcp(port) => {
                let stream = TcpStream::connect(("127.0.0.1", *port))?;
                stream.set_read_timeout(Some(ANSWER_MAX))?;
                stream.set_write_timeout(Some(ANSWER_MAX))?;
                Box::new(stream)
            }
        };
        let stream = BufReader::new(stream);
        Ok(Self { stream })
    }

    /// The reply to one command, as text; an array's elements are joined by lines.
    pub(crate) fn ask(&mut self, words: &[&str]) -> Result<String, BenchError> {
        let command = words.join(" ");
        let mut request = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            request.extend(format!("${}\r\n{word}\r\n", word.len()).into_bytes());
        }
        let doing = |error| BenchError::system(format!("ask {command:?}"))(error);
        self.stream.get_mut().write_all(&request).map_err(doing)?;
        let reply = self.reply(0);
        match reply.map_err(|error| BenchError::system(format!("ask {command:?}"))(error))? {
            Ok(text) => Ok(text),
            Err(reply) => Err(BenchError::Reply { command, reply }),
        }
    }

    /// A value, or the text of an error reply.
    fn reply(&mut self, depth: u32) -> std::io::Result<Result<String, String>> {
        if depth > DEPTH_MAX {
            return Err(std::io::Error::other("a reply too deep"));
        }
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let line = line.trim_end_matches(['\r', '\n']).to_owned();
        let Some(kind) = line.chars().next() else {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        };
        let rest = line[kind.len_utf8()..].to_owned();
        let count = || rest.parse::<i64>().map_err(std::io::Error::other);
        match kind {
            '-' => Ok(Err(rest)),
            '$' => self.bulk(count()?).map(Ok),
            '*' | '~' => self.array(count()?, depth).map(Ok),
            '%' => self.array(count()?.saturating_mul(2), depth).map(Ok),
            '+' | ':' | ',' | '#' | '_' => Ok(Ok(rest)),
            _ => Err(std::io::Error::other(format!("no RESP: {line:?}"))),
        }
    }

    fn bulk(&mut self, length: i64) -> std::io::Result<String> {
        let Ok(length) = usize::try_from(length) else {
            return Ok(String::new());
        };
        if length > REPLY_BYTES_MAX {
            return Err(std::io::Error::other("a reply too large"));
        }
        let mut bytes = vec![0; length + 2];
        self.stream.read_exact(&mut bytes)?;
        bytes.truncate(length);
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn array(&mut self, count: i64, depth: u32) -> std::io::Result<String> {
        let mut elements = Vec::new();
        for _ in 0..count {
            match self.reply(depth + 1)? {
                Ok(text) | Err(text) => elements.push(text),
            }
        }
        Ok(elements.join("\n"))
    }
}

/// A number of INFO's text, by its name.
pub(crate) fn info_number(info: &str, name: &str) -> Option<f64> {
    let value = info_text(info, name)?;
    value.parse().ok()
}

/// A field of INFO's text, by its name.
pub(crate) fn info_text<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    let mut fields = info.lines().filter_map(|line| line.split_once(':'));
    let field = fields.find(|(field, _)| *field == name);
    field.map(|(_, value)| value.trim())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    /// What a client makes of `reply`.
    fn check(reply: &'static [u8], expected: Result<&str, &str>) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 14];
            stream.read_exact(&mut request).unwrap();
            stream.write_all(reply).unwrap();
            request
        });
        let mut client = Client::connect(&Address::Unix(path)).unwrap();
        let got = client.ask(&["PING"]).map_err(|error| error.to_string());
        assert_eq!(server.join().unwrap(), *b"*1\r\n$4\r\nPING\r\n");
        assert_eq!(got.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn replies_of_all_kinds_are_read() {
        check(b"+PONG\r\n", Ok("PONG"));
        check(b"$5\r\nhello\r\n", Ok("hello"));
        check(b"$-1\r\n", Ok(""));
        check(b"*2\r\n$1\r\na\r\n:7\r\n", Ok("a\n7"));
        check(b"-ERR no\r\n", Err("PING: ERR no"));
        check(b"!?\r\n", Err("ask \"PING\": no RESP: \"!?\""));
    }

    #[test]
    fn fields_of_info_are_found() {
        let info = "# Memory\r\nused_memory:1024\r\nmaxmemory_policy:noeviction\r\n";
        assert_eq!(info_number(info, "used_memory"), Some(1024.0));
        assert_eq!(info_text(info, "maxmemory_policy"), Some("noeviction"));
        assert_eq!(info_number(info, "maxmemory_policy"), None);
        assert_eq!(info_number(info, "memory"), None);
    }
}
