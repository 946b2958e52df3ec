//! What each command answers in its corners, through real sockets, written down by hand.
//!
//! Owns the corners that a reader of Redis's documentation would ask about. The differential test
//! covers the breadth.

#[path = "../socket/mod.rs"]
mod socket;

mod bitmaps;
mod expiry;
mod functions;
mod geo;
mod hash_fields;
mod hashes;
mod hyperloglogs;
mod keys;
mod large;
mod lists;
mod payloads;
mod pipelines;
mod script;
mod script_libraries;
mod scripts;
mod sets;
mod sorted_sets;
mod streams;
mod strings;
mod tracking;
mod transactions;
