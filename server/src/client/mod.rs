//! Clients as every worker may see them: for CLIENT LIST and KILL, INFO, MONITOR.
//!
//! Owns the registry and what is shared of one client. What only its own worker needs is in
//! `session`. Must never touch a socket.

mod client;
mod flags;
mod inbox;
mod registry;
mod signal;

pub use client::{Address, BufferSizes, Client, Labels};
pub use flags::{ClientFlag, ClientFlags};
pub use inbox::Inbox;
pub use registry::Registry;
pub use signal::{Event, Signal};
