//! Transactions: what a connection queues between MULTI and EXEC, what it watches, and how EXEC
//! runs the queue as one atomic batch.
//!
//! ```text
//!  MULTI --> Queue <-- commands, +QUEUED
//!  WATCH --> Watches <-- the store tells of changes
//!  EXEC: locks of watched keys and of all commands --> watches unbroken? --> the commands' own
//!        handlers, on a store that shows what they wrote --> one batch --> replies and events
//! ```
//!
//! Owns the order of these steps. Must never let anybody see half of a transaction.

mod effects;
mod keys;
mod kinds;
mod queue;
mod run;
mod start;
mod state;
mod turn;
mod watches;

pub(crate) use effects::{Effects, Posted};
pub(crate) use run::run;
pub(crate) use state::Transaction;
