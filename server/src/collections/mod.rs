//! Collections: what is behind the commands on hashes, sets, sorted sets, lists and streams.
//!
//! ```text
//!   commands/*            one command: its arguments, its locks, its reply
//!      |
//!   hash, set, ...        one value of one type: compact (a record) or paged (a root and pages)
//!      |
//!   elements              what hashes and sets have in common
//!   commit                what all have in common: how they go into a batch
//!      |
//!   packed                compact values: items one after another in one buffer
//!   dict                  a hash table whose buckets are pages
//!   tree                  items in order, in the leaves of a tree of pages
//!      |
//!   pace                  when a long loop lets others run
//!   pages, large          the pages of one collection while a command works on it
//!      |
//!   cellar_storage        records, locks, batches; knows no types
//! ```
//!
//! A value is compact up to [`COMPACT_BYTES_MAX`] and paged beyond; it never goes back, and when it
//! is empty its key is removed. Owns the formats of collections. Must never reach behind the
//! store's handle, and keeps nothing from one command to the next.

pub(crate) mod commit;
pub(crate) mod dict;
pub(crate) mod distinct;
pub(crate) mod elements;
pub(crate) mod hash;
pub(crate) mod hash_builder;
pub(crate) mod large;
pub(crate) mod list;
pub(crate) mod pace;
pub(crate) mod packed;
pub(crate) mod pages;
#[cfg(test)]
pub(crate) mod seeded;
pub(crate) mod set;
pub(crate) mod sorted_set;
pub(crate) mod stream;
pub(crate) mod timing;
pub(crate) mod tree;

/// Bytes from the device that verified and yet are no value of their type; what it was about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub &'static str);

/// Bytes of a compact value at most: as much as fits one device block's read with its key and
/// header, and a copy of it costs less than the read.
pub(crate) const COMPACT_BYTES_MAX: usize = 4096;
