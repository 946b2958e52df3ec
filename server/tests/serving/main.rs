//! The server over real sockets: started in this process on a port of the kernel's choice, or as
//! the binary on a unix socket.
//!
//! Owns the behaviour that a client sees. Must never sleep for readiness.

#![cfg(test)]

mod admission;
mod backlog;
mod binary;
mod blocking;
mod client_commands;
mod collections;
mod configuration;
mod documents;
mod events;
mod eviction;
mod field_deadlines;
mod full;
mod harness;
mod latch;
mod limits;
mod long_lists;
mod long_replies;
mod pipelines;
mod process;
mod protocol;
mod pubsub;
mod scripts;
mod server_commands;
mod sessions;
mod sorted_sets;
mod streams;
mod tracking;
mod transactions;
mod upkeep;
