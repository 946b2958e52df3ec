//! The index from outside: against a model, under threads, within its memory.

mod draws;
mod memory;
mod model;
mod random;
mod threads;
