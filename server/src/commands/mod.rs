//! The handlers of commands, by what they are about.
//!
//! Each module owns the behaviour of its commands; their rows are in `command/table/`. Must never
//! touch a socket.

pub(crate) mod access;
pub mod acl;
pub mod auth;
mod bit_integer;
mod bit_words;
pub mod bitfield;
pub mod bitmap;
pub mod bitop;
mod bits;
pub mod cellar;
mod chunks;
pub mod client;
pub mod client_list;
pub mod command;
pub mod config;
pub mod connection;
pub mod counters;
mod deadline;
pub mod debug;
pub(crate) mod element_scan;
pub mod expiry;
pub(crate) mod geo;
pub(crate) mod hash_numbers;
pub(crate) mod hashes;
pub mod help;
pub mod hyperloglog;
pub mod info;
pub mod keys;
pub mod latency;
pub mod lcs;
pub mod lists;
pub mod memory;
pub mod monitor;
pub mod moving;
pub mod object;
pub mod pubsub;
pub(crate) mod random_elements;
pub mod ranges;
pub(crate) mod read;
pub mod scan;
pub mod server;
pub mod set;
pub(crate) mod set_algebra;
pub(crate) mod sets;
pub mod slowlog;
pub mod sort;
pub(crate) mod sorted_set;
mod string_options;
mod string_value;
pub mod strings;
mod subsequence;
pub mod tracking;
pub mod transactions;
pub mod wait;
