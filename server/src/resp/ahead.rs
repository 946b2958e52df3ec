//! Looks ahead in a pipeline: which keys its requests will ask for.
//!
//! Owns a guess: that the argument behind a command's name is its key, as it is for nearly all. It
//! takes nothing from the stream, and whatever is unusual ends the look. Must never be relied on
//! for more than to have memory at hand.

use super::parser::short_number;

/// Requests with more arguments than this end the look: it stays short.
const ARGUMENT_COUNT_MAX: usize = 8;

/// The likely keys of the requests in a buffer, in order.
pub struct KeysAhead<'a> {
    rest: &'a [u8],
}

impl<'a> KeysAhead<'a> {
    /// `buffer` begins where a request does.
    pub fn new(buffer: &'a [u8]) -> Self {
        Self { rest: buffer }
    }

    /// Takes the argument at the front, if it is there in full and of a usual form.
    fn argument(&mut self) -> Option<&'a [u8]> {
        let (bytes, line_bytes) = short_number(self.rest)?;
        if self.rest[0] != b'$' {
            return None;
        }
        let argument = self.rest.get(line_bytes..line_bytes + bytes)?;
        self.rest = self.rest.get(line_bytes + bytes + 2..).unwrap_or_default();
        Some(argument)
    }
}

impl<'a> Iterator for KeysAhead<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (count, line_bytes) = short_number(self.rest)?;
        if self.rest[0] != b'*' || !(2..=ARGUMENT_COUNT_MAX).contains(&count) {
            return None;
        }
        self.rest = &self.rest[line_bytes..];
        self.argument()?;
        let key = self.argument()?;
        for _ in 2..count {
            if self.argument().is_none() {
                self.rest = &[];
            }
        }
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(buffer: &[u8], expected: &[&str]) {
        let keys: Vec<_> = KeysAhead::new(buffer).collect();
        let expected: Vec<_> = expected.iter().map(|key| key.as_bytes()).collect();
        assert_eq!(keys, expected, "{}", buffer.escape_ascii());
    }

    #[test]
    fn keys_of_whole_requests_are_seen() {
        check(
            b"*2\r\n$3\r\nGET\r\n$2\r\nk1\r\n*3\r\n$3\r\nSET\r\n$2\r\nk2\r\n$1\r\nv\r\n\
              *2\r\n$3\r\nGET\r\n$0\r\n\r\n",
            &["k1", "k2", ""],
        );
    }

    #[test]
    fn what_is_not_there_in_full_ends_the_look() {
        let get = b"*2\r\n$3\r\nGET\r\n$2\r\nk1\r\n";
        for end in 0..get.len() - 2 {
            check(&get[..end], &[]);
        }
        check(&get[..get.len() - 2], &["k1"]);
        check(b"*3\r\n$3\r\nSET\r\n$2\r\nk2\r\n$900\r\nvalue", &["k2"]);
    }

    #[test]
    fn what_is_unusual_ends_the_look() {
        check(b"GET k1\r\n*2\r\n$3\r\nGET\r\n$2\r\nk1\r\n", &[]);
        check(b"*1\r\n$4\r\nPING\r\n*2\r\n$3\r\nGET\r\n$2\r\nk1\r\n", &[]);
        check(b"*2\r\n$3\r\nGET\r\n:2\r\nk1\r\n", &[]);
        check(b"*9\r\n$4\r\nMGET\r\n$2\r\nk1\r\n", &[]);
        check(b"*2\r\n$999999\r\nGET", &[]);
    }
}
