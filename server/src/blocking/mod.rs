//! Clients that wait until a key holds something: BLPOP and its like.
//!
//! ```text
//!  a command finds nothing --> Place in the queue of each key, under the keys' locks
//!  somebody changes a key --> its queue gives the chance to who has waited longest
//!  who has the chance --> takes the keys' locks, tries again, hands the chance on
//! ```
//!
//! A queue is told of a change while the key's bucket is locked, so it only notes who has the
//! chance and wakes that client's connection. Since places are taken under the locks that every
//! change has to pass, no change is missed. Whoever waits holds no lock and pins nothing, and is
//! bounded by the clients and the keys of their one command.
//!
//! A client whose command opened chances waits until they are over before it is answered: as in
//! Redis it then sees what the waiting clients left. Owns that order. Must never take anything from
//! a key itself.

mod block;
mod place;
mod queue;
mod ripple;
mod serve;
mod timeout;

pub(crate) use block::Block;
pub use place::Blocking;
pub(crate) use ripple::{Ripple, has_begun, take_begun};
pub(crate) use serve::{Attempt, Served, Wish, serve};
pub(crate) use timeout::{parse_timeout_ms, parse_timeout_s};
