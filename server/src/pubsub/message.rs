//! One message on its way to several clients.
//!
//! Owns its encodings: one for each protocol version that somebody speaks, made when it is needed.

use std::cell::OnceCell;

use bytes::Bytes;

use crate::resp::{Protocol, ReplyBuf};

/// A message: a push of some strings.
pub struct Message<'a, const LEN: usize> {
    parts: [&'a [u8]; LEN],
    resp2: OnceCell<Bytes>,
    resp3: OnceCell<Bytes>,
}

impl<'a, const LEN: usize> Message<'a, LEN> {
    /// A message of these parts.
    pub const fn new(parts: [&'a [u8]; LEN]) -> Self {
        Self {
            parts,
            resp2: OnceCell::new(),
            resp3: OnceCell::new(),
        }
    }

    /// It, as a client of this protocol version reads it.
    pub fn encoded(&self, protocol: Protocol) -> Bytes {
        let place = match protocol {
            Protocol::Resp2 => &self.resp2,
            Protocol::Resp3 => &self.resp3,
        };
        let encode = || {
            let mut reply = ReplyBuf::new(protocol);
            reply.push(LEN);
            for part in self.parts {
                reply.bulk(part);
            }
            reply.into_bytes()
        };
        place.get_or_init(encode).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_clients_of_a_version_share_one_encoding() {
        let message = Message::new([&b"message"[..], b"c", b""]);
        let first = message.encoded(Protocol::Resp2);
        assert_eq!(&first[..], b"*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$0\r\n\r\n");
        assert_eq!(message.encoded(Protocol::Resp2).as_ptr(), first.as_ptr());
        assert!(message.encoded(Protocol::Resp3).starts_with(b">3\r\n"));
    }
}
