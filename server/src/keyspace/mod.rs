//! What commands over the whole keyspace share.
//!
//! Owns pattern matching. Must never reach the store.

mod glob;

pub use glob::is_match;
