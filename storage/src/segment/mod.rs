//! The segments of a store: what each one is, whose life it is in, how much of it is live.
//!
//! Owns the table of segment states, the live-byte counts, the free lists and the pins. It never
//! reads or writes a device, and it never decides which segment to clean.

mod expiring;
mod pins;
mod table;

#[cfg(all(test, loom))]
mod loom_tests;

pub(crate) use pins::{Pin, Pins};
pub(crate) use table::{Found, Segment, SegmentTable, State, shadow_bytes};
