//! A server in this process, and a client that speaks the protocol.
//!
//! Owns what the tests share. A test that hangs fails by the socket's timeout.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use cellar_server::config::{Loaded, OPTIONS};
use cellar_server::listener::Listeners;
use cellar_server::shutdown::ShutdownMode;
use cellar_server::start::Server;

/// How long a reply may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running server; it ends with the test.
pub(crate) struct Running {
    server: Option<Server>,
    /// Keeps the store's directory until the server has ended.
    directory: tempfile::TempDir,
}

impl Running {
    /// Starts with these options over the defaults.
    pub(crate) fn start(options: &[(&str, &str)]) -> Self {
        Self::start_loaded(Loaded::default(), options)
    }

    /// The same, over a configuration that was read before.
    pub(crate) fn start_loaded(mut loaded: Loaded, options: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let dir = directory.path().display().to_string();
        let fixed = [
            ("dir", dir.as_str()),
            ("devices", "store.cellar 256mb"),
            ("workers", "2"),
        ];
        let smaller = [("segment-size", "1mb"), ("value-cache", "16mb")];
        for (name, value) in fixed.iter().chain(&smaller).chain(options) {
            let option = OPTIONS.iter().find(|option| option.name == *name).unwrap();
            loaded.set_flag(option, value).unwrap();
        }
        let server = Server::start(loaded, Listeners::ephemeral().unwrap()).unwrap();
        server.wait_ready().unwrap();
        Self {
            server: Some(server),
            directory,
        }
    }

    /// Where its store is.
    pub(crate) fn directory(&self) -> &std::path::Path {
        self.directory.path()
    }

    /// A new connection.
    pub(crate) fn connect(&self) -> Client {
        let address = self.server.as_ref().unwrap().addresses()[0];
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        Client::new(Box::new(stream.try_clone().unwrap()), Some(stream))
    }

    /// Waits until the server has ended by itself; true for a clean end.
    pub(crate) fn wait_end(mut self) -> bool {
        let ended = self.server.take().unwrap().wait();
        ended == cellar_server::control::Ended::Clean
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop(ShutdownMode::Nosave);
            server.wait();
        }
    }
}

/// A reply.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reply {
    /// `+`
    Simple(String),
    /// `-`
    Error(String),
    /// `:`
    Integer(i64),
    /// `$`, also `=`
    Bulk(Vec<u8>),
    /// `$-1`, `*-1` or `_`
    Null,
    /// `*`, `~`
    Array(Vec<Reply>),
    /// `>`
    Push(Vec<Reply>),
    /// `%`
    Map(Vec<(Reply, Reply)>),
    /// `,`
    Double(String),
    /// `#`
    Boolean(bool),
}

impl Reply {
    /// The text of a string, an error or a bulk.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Simple(text) | Self::Error(text) | Self::Double(text) => text.clone(),
            Self::Bulk(bytes) => String::from_utf8(bytes.clone()).unwrap(),
            other => panic!("no text: {other:?}"),
        }
    }

    /// The items of an array.
    pub(crate) fn items(&self) -> &[Reply] {
        match self {
            Self::Array(items) => items,
            other => panic!("no array: {other:?}"),
        }
    }

    /// The number.
    pub(crate) fn integer(&self) -> i64 {
        match self {
            Self::Integer(value) => *value,
            other => panic!("no integer: {other:?}"),
        }
    }
}

/// A stream of either kind.
pub(crate) trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// One connection.
pub(crate) struct Client {
    stream: Box<dyn Stream>,
    tcp: Option<TcpStream>,
    buffer: Vec<u8>,
    at: usize,
}

impl Client {
    fn new(stream: Box<dyn Stream>, tcp: Option<TcpStream>) -> Self {
        if let Some(tcp) = &tcp {
            tcp.set_read_timeout(Some(PATIENCE)).unwrap();
            tcp.set_write_timeout(Some(PATIENCE)).unwrap();
        }
        Self {
            stream,
            tcp,
            buffer: Vec::new(),
            at: 0,
        }
    }

    /// A connection over a unix socket.
    pub(crate) fn unix(stream: UnixStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self::new(Box::new(stream), None)
    }

    /// Sends bytes as they are.
    pub(crate) fn send_raw(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Sends a request.
    pub(crate) fn send(&mut self, args: &[&str]) {
        let bytes: Vec<&[u8]> = args.iter().map(|arg| arg.as_bytes()).collect();
        self.send_raw(&encode(&bytes));
    }

    /// Sends a request and reads its reply.
    pub(crate) fn call(&mut self, args: &[&str]) -> Reply {
        self.send(args);
        self.read()
    }

    /// The same with a line of words.
    pub(crate) fn run(&mut self, line: &str) -> Reply {
        self.call(&line.split_whitespace().collect::<Vec<_>>())
    }

    /// Checks the text of a reply, its kind's mark before it.
    pub(crate) fn check(&mut self, line: &str, expected: &str) {
        let reply = self.run(line);
        assert_eq!(show(&reply), expected, "{line}");
    }

    /// Checks what comes next, whoever caused it.
    #[track_caller]
    pub(crate) fn expect(&mut self, expected: &str) {
        let reply = self.read();
        assert_eq!(show(&reply), expected);
    }

    /// Sends bytes from another thread, so that both directions are busy.
    pub(crate) fn send_beside(&self, bytes: Vec<u8>) -> std::thread::JoinHandle<()> {
        let mut stream = self.tcp.as_ref().unwrap().try_clone().unwrap();
        std::thread::spawn(move || stream.write_all(&bytes).unwrap())
    }

    /// Sends bytes until the server closes the connection; false where it took them all.
    pub(crate) fn send_until_closed(&mut self, bytes: &[u8]) -> bool {
        match self.stream.write_all(bytes) {
            Ok(()) => false,
            Err(cause) => {
                let kind = cause.kind();
                let is_closed = matches!(
                    kind,
                    std::io::ErrorKind::ConnectionReset | std::io::ErrorKind::BrokenPipe
                );
                assert!(is_closed, "{cause}");
                true
            }
        }
    }

    /// Ends what this side sends.
    pub(crate) fn finish_sending(&self) {
        self.tcp
            .as_ref()
            .unwrap()
            .shutdown(std::net::Shutdown::Write)
            .unwrap();
    }

    /// Whether the server closes the connection without another byte.
    pub(crate) fn is_closed(&mut self) -> bool {
        assert_eq!(self.at, self.buffer.len(), "unread replies");
        let mut byte = [0];
        match self.stream.read(&mut byte) {
            Ok(count) => count == 0,
            // a child of another test ended
            Err(cause) if cause.kind() == std::io::ErrorKind::Interrupted => self.is_closed(),
            Err(cause) => {
                assert_eq!(cause.kind(), std::io::ErrorKind::ConnectionReset, "{cause}");
                true
            }
        }
    }

    /// Reads until the server closes; what came.
    pub(crate) fn read_to_end(&mut self) -> Vec<u8> {
        let mut rest = self.buffer.split_off(self.at);
        // a reset is an end too
        if let Err(cause) = self.stream.read_to_end(&mut rest) {
            assert_eq!(cause.kind(), std::io::ErrorKind::ConnectionReset, "{cause}");
        }
        rest
    }

    /// Waits until the first byte of a reply is there.
    pub(crate) fn await_reply(&mut self) {
        if self.at == self.buffer.len() {
            self.fill();
        }
    }

    /// Reads one reply.
    pub(crate) fn read(&mut self) -> Reply {
        let line = self.read_line();
        let (kind, rest) = (line[0], String::from_utf8_lossy(&line[1..]).into_owned());
        let count = || rest.parse::<i64>().unwrap();
        match kind {
            b'+' => Reply::Simple(rest),
            b'-' => Reply::Error(rest),
            b':' => Reply::Integer(count()),
            b',' => Reply::Double(rest),
            b'#' => Reply::Boolean(rest == "t"),
            b'_' => Reply::Null,
            b'$' | b'*' if count() < 0 => Reply::Null,
            b'$' | b'=' => {
                let bytes = self.read_exact(count().unsigned_abs() as usize + 2);
                Reply::Bulk(bytes[..bytes.len() - 2].to_vec())
            }
            b'*' | b'~' => Reply::Array((0..count()).map(|_| self.read()).collect()),
            b'>' => Reply::Push((0..count()).map(|_| self.read()).collect()),
            b'%' => Reply::Map((0..count()).map(|_| (self.read(), self.read())).collect()),
            other => panic!("unknown reply {:?}", other as char),
        }
    }

    fn read_line(&mut self) -> Vec<u8> {
        loop {
            let rest = &self.buffer[self.at..];
            if let Some(length) = rest.windows(2).position(|pair| pair == b"\r\n") {
                let line = rest[..length].to_vec();
                self.at += length + 2;
                return line;
            }
            self.fill();
        }
    }

    /// Reads so many bytes.
    pub(crate) fn read_exact(&mut self, count: usize) -> Vec<u8> {
        while self.buffer.len() - self.at < count {
            self.fill();
        }
        self.at += count;
        self.buffer[self.at - count..self.at].to_vec()
    }

    fn fill(&mut self) {
        self.buffer.drain(..self.at);
        self.at = 0;
        let mut chunk = vec![0; 64 * 1024];
        let count = loop {
            match self.stream.read(&mut chunk) {
                Err(cause) if cause.kind() == std::io::ErrorKind::Interrupted => {}
                read => break read.unwrap(),
            }
        };
        assert!(count > 0, "the server closed the connection");
        self.buffer.extend_from_slice(&chunk[..count]);
    }
}

/// A request on the wire.
pub(crate) fn encode(args: &[&[u8]]) -> Vec<u8> {
    let mut out = format!("*{}\r\n", args.len()).into_bytes();
    for arg in args {
        out.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
        out.extend_from_slice(arg);
        out.extend_from_slice(b"\r\n");
    }
    out
}

/// A short form of a reply for comparisons.
pub(crate) fn show(reply: &Reply) -> String {
    match reply {
        Reply::Simple(text) => format!("+{text}"),
        Reply::Error(text) => format!("-{text}"),
        Reply::Integer(value) => format!(":{value}"),
        Reply::Bulk(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Reply::Null => "nil".into(),
        Reply::Array(items) => format!("[{}]", show_all(items)),
        Reply::Push(items) => format!(">[{}]", show_all(items)),
        Reply::Map(pairs) => {
            let pairs = pairs
                .iter()
                .map(|(key, value)| format!("{}={}", show(key), show(value)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(" "))
        }
        Reply::Double(text) => format!(",{text}"),
        Reply::Boolean(value) => format!("#{value}"),
    }
}

fn show_all(items: &[Reply]) -> String {
    items.iter().map(show).collect::<Vec<_>>().join(" ")
}
