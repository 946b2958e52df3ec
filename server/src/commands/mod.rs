//! The handlers of commands, by what they are about.
//!
//! Each module owns the behaviour of its commands; their rows are in `command/table/`. Must never
//! touch a socket.

mod bit_integer;
mod bit_words;
pub mod bitfield;
pub mod bitmap;
pub mod bitop;
mod bits;
mod chunks;
pub mod connection;
pub mod counters;
mod deadline;
pub mod expiry;
pub mod keys;
pub mod lcs;
pub mod moving;
pub mod object;
pub mod ranges;
pub(crate) mod read;
pub mod scan;
pub mod set;
mod string_options;
mod string_value;
pub mod strings;
mod subsequence;
