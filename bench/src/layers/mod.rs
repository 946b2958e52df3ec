//! The layers of Cellar one by one, without a server: index, cleaner, eviction.
//!
//! Owns nothing itself. Must never start a process.

pub(crate) mod cleaner;
pub(crate) mod eviction;
mod eviction_models;
pub(crate) mod index;
