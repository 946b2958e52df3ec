//! The primitives that threads meet at: those of the machine, or, with `--cfg loom`, those that
//! loom watches, which runs a test through every order of its threads' steps.
//!
//! Owns the choice. Must never add to what it passes on. Counters that order nothing are no part of
//! it: they are the standard library's in both worlds.

pub(crate) use parking_lot::Mutex;
pub(crate) use std::{
    hint::spin_loop,
    sync::atomic::{AtomicU32, AtomicU64, Ordering, fence},
    thread::yield_now,
};
