//! The layers of Cellar one by one, without a server: index, cleaner, eviction;
//! and all of them beside what a server was measured to spend.
//!
//! Owns nothing itself. Must never start a process.

pub(crate) mod budget;
pub(crate) mod cleaner;
pub(crate) mod eviction;
mod eviction_models;
pub(crate) mod index;
