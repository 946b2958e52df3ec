//! What clients send: requests in RESP, and lines as typed into telnet.

use bytes::{Bytes, BytesMut};
use cellar_server::resp::{Args, Parsed, ProtocolError, RequestLimits, RequestParser};

use crate::input::Input;
use crate::{MUTATIONS, Target};

/// A stream of requests that arrives in pieces.
pub(crate) const STREAM: Target = Target {
    name: "stream",
    seeds: stream_seeds,
    run: run_stream,
    mutations: MUTATIONS,
};

/// One line.
pub(crate) const INLINE: Target = Target {
    name: "inline",
    seeds: inline_seeds,
    run: run_inline,
    mutations: MUTATIONS,
};

/// Bytes of an argument at most: the least that the configuration allows, so that inputs reach it.
const BULK_BYTES_MAX: u64 = 1 << 20;

/// Requests as lists of arguments.
type Requests = Vec<Vec<Bytes>>;

fn stream_seeds() -> Vec<Vec<u8>> {
    let streams: [&[u8]; 9] = [
        b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nvalue\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n",
        b"*1\r\n$4\r\nPING\r\nPING\r\nset a 'b c' \"\\x41\"\n*0\r\n*-1\r\n\r\n",
        b"*2\r\n$4\r\nECHO\r\n$0\r\n\r\n*1\r\n$2\r\n\r\n\r\n",
        b"*11\r\n$1\r\na\r\n",
        b"*1\r\n$16385\r\nabc",
        b"*1\r\n$1048577\r\n",
        b"*1\r\n:1\r\n",
        b"*9223372036854775807\r\n$-9223372036854775808\r\n",
        b"get \"a\r\nget 'a'b\r\n",
    ];
    // The first four bytes are the limits and where the stream is cut.
    let fronts: [[u8; 4]; 3] = [[0; 4], [1, 5, 0, 9], [1, 1, 0, 0]];
    streams
        .iter()
        .flat_map(|stream| fronts.iter().map(|front| [&front[..], stream].concat()))
        .collect()
}

/// However a stream is cut, the requests and the error are the same; what was understood comes back
/// from its encoding.
fn run_stream(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let flags = input.u8();
    let limits = RequestLimits {
        bulk_bytes_max: BULK_BYTES_MAX,
        is_authenticated: flags & 1 == 0,
    };
    let (step, first) = (usize::from(input.u8()).max(1), usize::from(input.u16()));
    let stream = input.rest();
    let (requests, error) = parse(&[stream], &limits);
    let (front, back) = stream.split_at(first.min(stream.len()));
    let pieces: Vec<&[u8]> = std::iter::once(front).chain(back.chunks(step)).collect();
    assert_eq!(
        parse(&pieces, &limits),
        (requests.clone(), error),
        "a cut stream"
    );

    let encoded: Vec<u8> = requests
        .iter()
        .flat_map(|request| encode(request))
        .collect();
    let guest_limits_hold = RequestLimits {
        is_authenticated: true,
        bulk_bytes_max: BULK_BYTES_MAX,
    };
    assert_eq!(
        parse(&[&encoded], &guest_limits_hold),
        (requests, None),
        "encoded again"
    );
}

/// The requests of a stream, up to the error that ends it.
fn parse(pieces: &[&[u8]], limits: &RequestLimits) -> (Requests, Option<ProtocolError>) {
    let (mut parser, mut buffer, mut args) =
        (RequestParser::default(), BytesMut::new(), Args::new());
    let mut requests = Requests::new();
    for piece in pieces {
        buffer.extend_from_slice(piece);
        loop {
            match parser.parse(&mut buffer, limits, &mut args) {
                Ok(Parsed::Request) => requests.push(args.to_vec()),
                Ok(Parsed::Incomplete) => break,
                Err(error) => return (requests, Some(error)),
            }
        }
        let bulk_bytes_max = usize::try_from(limits.bulk_bytes_max).expect("a small bound");
        assert!(
            parser.missing_bytes(&buffer) <= bulk_bytes_max + 2,
            "room for one argument"
        );
    }
    (requests, None)
}

fn encode(request: &[Bytes]) -> Vec<u8> {
    let mut encoded = format!("*{}\r\n", request.len()).into_bytes();
    for argument in request {
        encoded.extend(format!("${}\r\n", argument.len()).into_bytes());
        encoded.extend(argument);
        encoded.extend(b"\r\n");
    }
    encoded
}

fn inline_seeds() -> Vec<Vec<u8>> {
    let lines: [&[u8]; 8] = [
        b"set k value",
        b" set\t'a b'  \"c\\n\\x41\\\"\" ",
        b"get '\\''",
        b"pre\"fix ed\"",
        b"\"\" ''",
        b"\"\\x4",
        b"'a'b",
        b"\xff\x00\x0b",
    ];
    lines.iter().map(|line| line.to_vec()).collect()
}

/// The words of a line come back when they are quoted, in either way; so does the whole input as
/// one word.
fn run_inline(bytes: &[u8]) {
    let line: Vec<u8> = bytes
        .iter()
        .copied()
        .filter(|byte| *byte != b'\n')
        .collect();
    let words = words_of(&line).unwrap_or_default();
    for words in [words, vec![Bytes::copy_from_slice(bytes)]] {
        let doubly: Vec<Vec<u8>> = words.iter().map(|word| quote_double(word)).collect();
        assert_eq!(
            words_of(&doubly.join(&b' ')),
            Ok(words.clone()),
            "in double quotes"
        );
        if words.iter().all(|word| can_stand_in_single_quotes(word)) {
            let singly: Vec<Vec<u8>> = words.iter().map(|word| quote_single(word)).collect();
            assert_eq!(words_of(&singly.join(&b' ')), Ok(words), "in single quotes");
        }
    }
}

fn words_of(line: &[u8]) -> Result<Vec<Bytes>, ProtocolError> {
    // A line that begins like a request in RESP is none: a space before it changes nothing.
    let line = [b" ", line, b"\n"].concat();
    let limits = RequestLimits {
        bulk_bytes_max: BULK_BYTES_MAX,
        is_authenticated: true,
    };
    let (mut requests, error) = parse(&[&line], &limits);
    error.map_or_else(|| Ok(requests.pop().expect("a line is a request")), Err)
}

fn quote_double(word: &[u8]) -> Vec<u8> {
    let escaped = word.iter().map(|byte| format!("\\x{byte:02x}"));
    format!("\"{}\"", escaped.collect::<String>()).into_bytes()
}

/// A backslash there is one only before a quote, and nothing hides a line's end.
fn can_stand_in_single_quotes(word: &[u8]) -> bool {
    !word.contains(&b'\n') && !word.contains(&b'\\')
}

fn quote_single(word: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'\''];
    for byte in word {
        if *byte == b'\'' {
            quoted.push(b'\\');
        }
        quoted.push(*byte);
    }
    quoted.push(b'\'');
    quoted
}
