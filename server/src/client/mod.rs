//! Clients as every worker may see them: for CLIENT LIST and KILL, INFO, MONITOR, messages.
//!
//! Owns the registry and what is shared of one client. What only its own worker needs is in
//! `session`. Must never touch a socket.

mod delivery;
mod excess;
mod flags;
mod inbox;
mod peer;
mod registry;
mod signal;

pub use delivery::{Delivery, Postbox};
use excess::Excess;
pub use flags::{ClientFlag, ClientFlags};
pub use inbox::Inbox;
pub use peer::{Address, BufferSizes, Client, Labels};
pub use registry::Registry;
pub use signal::{Event, Signal};
