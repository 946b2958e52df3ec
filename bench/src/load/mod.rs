//! `cellar-bench load`: a load on one server that speaks the Redis protocol.
//!
//! ```text
//!   plan --> operations (kind, key, value) --> wire --> connections --> the server
//!             ^ keys, zipf, random, content     |            |
//!             ^ schedule (open loop)            |         poller
//!            driver (the loop) <----------------+------------+--> recorder --> outcome
//! ```
//!
//! One thread, on a core of its own, drives all connections. A closed loop finds what a server can
//! do; an open loop finds how long its users wait at a given rate, and counts each wait from when
//! the operation was due, so that a stall is not hidden by the operations that it kept from being
//! sent (coordinated omission). Every value is made from its key and version and every byte read
//! can be checked against them.
//!
//! In flight are at most `connections` times `pipeline` commands; there are no other queues.

mod command_line;
mod connection;
mod content;
mod driver;
mod error;
mod keys;
mod operations;
mod outcome;
mod plan;
mod poller;
mod random;
mod recorder;
mod schedule;
#[cfg(test)]
mod server_double;
#[cfg(test)]
mod tests;
mod wire;
mod zipf;

use std::sync::atomic::AtomicBool;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use driver::Driver;

pub(crate) use command_line::{LoadArguments, run_by_hand};
pub(crate) use error::LoadError;
pub(crate) use outcome::{Interval, Outcome, Summary};
pub(crate) use plan::{Address, KeyChoice, Length, Mix, Pace, Plan};

/// Carries out a load on a thread of its own, which stays on `core` if one is named. Setting
/// `cancel` ends it within a tenth of a second with what was found so far.
///
/// The warm-up is not in the outcome, but a server's CPU time knows nothing of that: who divides
/// one by the other warms up in a run of its own.
pub(crate) fn run(
    plan: &Plan,
    core: Option<usize>,
    cancel: &AtomicBool,
) -> Result<Outcome, LoadError> {
    plan.validate()?;
    let load = || {
        if let Some(core) = core {
            pin(core)?;
        }
        Driver::new(plan, cancel)?.run()
    };
    std::thread::scope(|scope| {
        scope
            .spawn(load)
            .join()
            .expect("the load returns its errors")
    })
}

fn pin(core: usize) -> Result<(), LoadError> {
    let mut cores = CpuSet::new();
    cores
        .set(core)
        .and_then(|()| sched_setaffinity(Pid::from_raw(0), &cores))
        .map_err(|source| LoadError::Pin { core, source })
}
