//! Reading the parts of a stored item one after another, and names that sort within longer keys.
//!
//! ```text
//! name in a key := the name's bytes, each 0 followed by 255; 0, 0
//! ```
//!
//! So keys sort as their names do, and none is the beginning of another. Owns that spelling.

use bytes::Bytes;

use super::EntryId;
use crate::collections::Malformed;

/// What is left of an item that is being read.
pub(super) struct Cut {
    rest: Bytes,
    what: Malformed,
}

impl Cut {
    /// From the start of `item`. `what` it is, for one that makes no sense.
    pub(super) fn new(item: &Bytes, what: Malformed) -> Self {
        let rest = item.clone();
        Self { rest, what }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, _) = self.rest.split_first_chunk().ok_or(self.what)?;
        let head = *head;
        self.rest = self.rest.slice(N..);
        Ok(head)
    }

    /// One byte.
    pub(super) fn u8(&mut self) -> Result<u8, Malformed> {
        self.array().map(u8::from_le_bytes)
    }

    /// A number of 32 bits.
    pub(super) fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    /// A number of 32 bits whose bytes sort as the numbers do.
    pub(super) fn ordered_u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_be_bytes)
    }

    /// A number of 64 bits.
    pub(super) fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    /// A number of 64 bits, all of them set for none.
    pub(super) fn optional_u64(&mut self) -> Result<Option<u64>, Malformed> {
        Ok(Some(self.u64()?).filter(|number| *number != u64::MAX))
    }

    /// An id.
    pub(super) fn id(&mut self) -> Result<EntryId, Malformed> {
        self.array().map(EntryId::decode)
    }

    /// A name in a key.
    pub(super) fn name(&mut self) -> Result<Bytes, Malformed> {
        let mut name = Vec::new();
        loop {
            match self.u8()? {
                0 => match self.u8()? {
                    0 => return Ok(name.into()),
                    0xff => name.push(0),
                    _ => return Err(self.what),
                },
                byte => name.push(byte),
            }
        }
    }

    /// All that follows.
    pub(super) fn rest(self) -> Bytes {
        self.rest
    }

    /// Nothing follows.
    pub(super) fn end(self) -> Result<(), Malformed> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(self.what)
        }
    }
}

/// Appends a name in a key.
pub(super) fn push_name(key: &mut Vec<u8>, name: &[u8]) {
    for byte in name {
        key.push(*byte);
        if *byte == 0 {
            key.push(0xff);
        }
    }
    key.extend_from_slice(&[0, 0]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(name: &[u8]) -> Vec<u8> {
        let mut key = Vec::new();
        push_name(&mut key, name);
        key
    }

    #[test]
    fn names_sort_and_end() {
        let names: [&[u8]; 7] = [b"", b"\0", b"\0\0", b"\0a", b"a", b"a\0", b"aa"];
        for pair in names.windows(2) {
            assert!(encode(pair[0]) < encode(pair[1]), "{pair:?}");
        }
        for name in names {
            let key = Bytes::from(encode(name));
            let mut cut = Cut::new(&key, Malformed("a name"));
            assert_eq!(cut.name().unwrap(), name);
            cut.end().unwrap();
            let short = key.slice(..key.len() - 1);
            assert!(Cut::new(&short, Malformed("a name")).name().is_err());
        }
        let strange = Bytes::from_static(b"a\0b\0\0");
        assert!(Cut::new(&strange, Malformed("a name")).name().is_err());
    }
}
