//! Scripts: Lua that runs commands as one atomic step.
//!
//! ```text
//!  EVAL --> locks of its keys --> an interpreter of this worker, on a stack of its own
//!              |                      | redis.call        ^ the reply, as values of Lua
//!              |                      v                   |
//!              |                  the command's own handler, on the transaction's handle
//!              v
//!           one batch --> the reply, and what others are told
//! ```
//!
//! A script that waits for the device, or has run for its slice, leaves its stack and lets others
//! of its worker run. A script that wants a key which others hold is begun again with that key's
//! lock: nothing of it was seen.
//!
//! Owns the order of these steps. Must never hold a worker for longer than a slice, and never let
//! anybody see half of a script.

mod ask;
mod call;
mod course;
mod declared;
mod from_reply;
pub mod functions;
mod interpreter;
mod libraries;
mod native;
mod pool;
mod raised;
mod random;
mod register;
mod run;
mod running;
mod sha1;
mod shebang;
mod sources;
mod stack;
mod to_reply;

use std::sync::atomic::AtomicBool;

pub(crate) use declared::flags_of;
pub use functions::Functions;
pub use running::{Kill, Running, RunningList};
pub use sha1::Sha1;
pub use sources::Sources;

pub(crate) use run::{Request, Subject, check, load, run};

/// What all workers share about scripts.
#[derive(Default)]
pub struct Scripts {
    /// Their texts.
    pub sources: Sources,
    /// Libraries of functions.
    pub functions: Functions,
    /// Those that run now.
    pub running: RunningList,
    /// Whether they may call the commands that are not for scripts, as tests do.
    pub may_call_all: AtomicBool,
}
