//! The primitives that workers meet at: those of the machine, or, with `--cfg loom`, those that
//! loom watches, which runs a test through every order of its threads' steps.
//!
//! Owns the choice. Must never add to what it passes on. Counters that order nothing are no part of
//! it: they are the standard library's in both worlds.

#[cfg(loom)]
pub(crate) use cellar_index::sync::{
    AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Mutex, Ordering, fence,
    spin_loop, yield_now,
};
#[cfg(not(loom))]
pub(crate) use parking_lot::Mutex;
#[cfg(not(loom))]
pub(crate) use std::{
    hint::spin_loop,
    sync::atomic::{
        AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    },
    thread::yield_now,
};
