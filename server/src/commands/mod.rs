//! The handlers of commands, by what they are about.
//!
//! Each module owns the behaviour of its commands; their rows are in `command/table/`. Must never
//! touch a socket.

pub mod connection;
