//! The server of Cellar: everything between a client's socket and the store.
//!
//! ```text
//!  accept --> worker --> connection: resp (requests) --> command (table, dispatch)
//!                            ^                               |
//!                            |                               v
//!                        socket <-- ReplyBuf <-- commands/* (handlers) --> cellar_storage::Handle
//! ```
//!
//! One thread runs one tokio runtime a worker; a connection lives on one worker for its whole life
//! and is one coroutine there. What several workers share is in [`shared::Shared`].

mod account;
pub mod banner;
pub mod blocking;
pub mod check;
pub mod client;
mod collections;
pub mod command;
pub mod commands;
pub mod config;
pub mod connection;
pub mod control;
pub mod devices;
pub mod error_counts;
pub mod events;
pub mod field_deadlines;
mod hyperloglog;
pub mod identity;
pub mod info;
pub mod keyspace;
pub mod latency;
pub mod limits;
pub mod listener;
pub mod log;
pub mod monitor;
mod number;
pub mod pause;
pub mod pubsub;
pub mod rates;
mod ratio;
pub mod rdb;
pub mod resp;
pub mod scripting;
pub mod seat;
pub mod session;
pub mod shared;
pub mod shutdown;
pub mod slowlog;
pub mod start;
pub mod stats;
pub mod store_slot;
pub mod tracking;
mod transaction;
pub mod version;
pub mod worker;
