//! What can still be told of a record that does not verify. Owns the search for what it was, by the
//! checksums that are left; must never be taken for data: it is for reports, and for knowing which
//! key leads to damage.

use std::borrow::Cow;

use super::checksum::RecordSeed;
use super::record::{HEAD_BYTES_MAX, Kind, LSN, RESERVED, Record, RecordHead, sealed_bytes};

/// Bytes that are checksummed at most in the search for a flipped bit of a key: some milliseconds.
const SEARCH_BYTES_MAX: usize = 4 << 20;

/// A record as it was, as far as that can be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remains<'a> {
    /// Its header.
    pub head: RecordHead,
    /// Its key.
    pub key: Cow<'a, [u8]>,
    /// Its value, as it reads.
    pub value: &'a [u8],
    /// The header verifies, or would but for one bit. Else it is what can be read, without its LSN.
    pub is_head_sure: bool,
}

impl<'a> Remains<'a> {
    /// The remains at the start of `bytes`, where a record with this seed lay; none where no record
    /// could have read so. A record that verifies is what it is.
    pub fn read(bytes: &'a [u8], seed: RecordSeed) -> Option<Self> {
        let sure = RecordHead::decode(bytes, seed)
            .ok()
            .or_else(|| mend_head(bytes, seed));
        let head = sure.or_else(|| guess_head(bytes))?;
        if head.kind == Kind::Pad {
            return None;
        }
        let payload = bytes.get(head.key_range().start..head.value_range().end)?;
        let (key, value) = payload.split_at(head.key_range().len());
        let is_whole = crc32c::crc32c(payload) == head.payload_crc;
        let mended = (!is_whole).then(|| mend_key(payload, key.len(), head.payload_crc));
        Some(Self {
            head,
            key: mended.flatten().map_or(Cow::Borrowed(key), Cow::Owned),
            value,
            is_head_sure: sure.is_some(),
        })
    }

    /// The same as a record.
    pub fn record(&self) -> Record<'_> {
        Record {
            head: self.head,
            key: &self.key,
            value: self.value,
        }
    }
}

/// The header that verifies with one bit of it changed.
fn mend_head(bytes: &[u8], seed: RecordSeed) -> Option<RecordHead> {
    let mut head = [0; HEAD_BYTES_MAX];
    let found = &bytes[..bytes.len().min(HEAD_BYTES_MAX)];
    head[..found.len()].copy_from_slice(found);
    (0..found.len() * 8).find_map(|bit| {
        head[bit / 8] ^= 1 << (bit % 8);
        let decoded = RecordHead::decode(&head[..found.len()], seed).ok();
        head[bit / 8] ^= 1 << (bit % 8);
        decoded
    })
}

/// The header as it reads. Its LSN and what is reserved are left out, since nothing else leans on
/// them.
fn guess_head(bytes: &[u8]) -> Option<RecordHead> {
    let mut head = [0; HEAD_BYTES_MAX];
    let found = sealed_bytes(bytes).ok()?;
    head[..found.len()].copy_from_slice(found);
    LSN.put_u64(&mut head, 0);
    RESERVED.put(&mut head, &[0; 2]);
    RecordHead::parse(&head[..found.len()]).ok()
}

/// The key with which key and value verify, if one bit of it is wrong.
fn mend_key(payload: &[u8], key_bytes: usize, payload_crc: u32) -> Option<Vec<u8>> {
    if key_bytes * 8 * payload.len() > SEARCH_BYTES_MAX {
        return None;
    }
    let mut payload = payload.to_vec();
    let bit = (0..key_bytes * 8).find(|bit| {
        payload[bit / 8] ^= 1 << (bit % 8);
        let verifies = crc32c::crc32c(&payload) == payload_crc;
        payload[bit / 8] ^= 1 << (bit % 8);
        verifies
    })?;
    payload[bit / 8] ^= 1 << (bit % 8);
    payload.truncate(key_bytes);
    Some(payload)
}
