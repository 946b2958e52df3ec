//! The commands on lists, by what they do: push and pop at the ends, read, change the middle, move
//! elements between lists, wait for elements.
//!
//! Owns their arguments and replies; how a list lies in the store is in `collections::list`.

pub mod blocking;
pub mod ends;
pub mod middle;
pub mod moves;
mod pops;
pub mod reads;
pub(super) mod value;
