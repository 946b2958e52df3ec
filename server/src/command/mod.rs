//! Commands: their table, what a handler gets and answers, and how a request finds its handler.
//!
//! Owns dispatch and the one const table. Must never touch a socket.

mod arguments;
mod cx;
mod dispatch;
mod error;
mod flags;
mod handler;
mod keys;
mod lookup;
mod redact;
mod spec;
pub mod table;

pub use arguments::{Argument, arguments_of};
pub use cx::Cx;
pub(crate) use dispatch::admit_write;
pub use dispatch::{admit, is_exec, is_never_queued, required_lsn, resolve};
pub use error::CommandError;
pub use flags::{Acl, AclSet, Flag, Flags};
pub(crate) use handler::run_to_end;
pub use handler::{AsyncHandler, Attempt, Handler, Pending};
pub use keys::{FindKeys, KeyAccess, KeySpec};
pub use lookup::{CommandEntry, command_count, commands, find};
pub use redact::visible_arguments;
pub use spec::{CommandSpec, Group};
