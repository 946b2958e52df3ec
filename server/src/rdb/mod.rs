//! Values in the encoding of Redis's dumps, as DUMP answers and RESTORE takes them.
//!
//! ```text
//!  RESTORE --> footer::open --> object::read --> Items --> the builders of collections
//!                                  |               |
//!                               input            nested     length-prefixed bytes, and the blobs
//!                                  |             (listpack, ziplist, zipmap, intset) within them
//!                                 lzf
//!  DUMP    --> output --> footer::seal
//! ```
//!
//! Owns the bytes, all of them foreign: whatever they are, reading ends in a value or in
//! [`BadFormat`], and holds no more than the payload and, for a moment, one unpacked blob of it.
//! What is unpacked is bounded by what the caller allows. Must never know the store.

mod blob;
mod footer;
mod input;
mod items;
mod listpack;
mod lzf;
mod nested;
mod object;
mod output;
#[cfg(test)]
mod tests;
mod ziplist;
mod zipmap;

pub use footer::{open, seal};
pub use input::Input;
pub use items::Items;
pub use object::{Object, SetKind, read};
pub use output::Output;

/// The newest version of the encoding that is read: what Redis 7.4 to 8.2 write.
const VERSION_MAX: u16 = 12;

/// The version that is written: that of Redis 7.0. Newer ones read it too, and none of the
/// encodings that later versions added is written.
const VERSION: u16 = 10;

/// Bytes that are read, unpacked or summed before others may run: some tens of microseconds.
const BYTES_PER_TURN: usize = 64 * 1024;

/// Bytes that are no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("ERR Bad data format")]
pub struct BadFormat;

/// The kinds of values, by the first byte of a payload.
mod kind {
    pub(super) const STRING: u8 = 0;
    pub(super) const LIST: u8 = 1;
    pub(super) const SET: u8 = 2;
    /// A sorted set whose scores are texts.
    pub(super) const SORTED_SET: u8 = 3;
    pub(super) const HASH: u8 = 4;
    /// A sorted set whose scores are doubles.
    pub(super) const SORTED_SET_2: u8 = 5;
    pub(super) const HASH_ZIPMAP: u8 = 9;
    pub(super) const LIST_ZIPLIST: u8 = 10;
    pub(super) const SET_INTSET: u8 = 11;
    pub(super) const SORTED_SET_ZIPLIST: u8 = 12;
    pub(super) const HASH_ZIPLIST: u8 = 13;
    /// A list of ziplists.
    pub(super) const LIST_QUICKLIST: u8 = 14;
    pub(super) const HASH_LISTPACK: u8 = 16;
    pub(super) const SORTED_SET_LISTPACK: u8 = 17;
    /// A list of listpacks and single elements.
    pub(super) const LIST_QUICKLIST_2: u8 = 18;
    pub(super) const SET_LISTPACK: u8 = 20;
}
