//! The interpreters of one worker.
//!
//! Owns how many scripts of a worker run at the same time. A script takes its interpreter after its
//! locks and never waits for a lock while it has one: so those that wait get theirs.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

use cellar_storage::Clock;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::interpreter::Interpreter;
use super::stack::Stack;
use crate::command::CommandError;

/// Scripts of one worker that run at the same time: while some wait for the device, others run.
const RUNNING_COUNT_MAX: usize = 16;
/// Interpreters kept between runs, some 100 KiB each.
const IDLE_COUNT_MAX: usize = 8;

struct Pool {
    slots: Semaphore,
    idle: RefCell<Vec<(Rc<Interpreter>, Stack)>>,
}

thread_local! {
    static POOL: Rc<Pool> = Rc::new(Pool {
        slots: Semaphore::new(RUNNING_COUNT_MAX),
        idle: RefCell::default(),
    });
}

/// The right to run a script, with an interpreter and a stack.
pub(super) struct Place<'a> {
    /// The interpreter.
    pub(super) interpreter: Rc<Interpreter>,
    /// The stack, until a script has it.
    pub(super) stack: Option<Stack>,
    pool: &'a Pool,
    _permit: SemaphorePermit<'a>,
}

impl Place<'_> {
    /// Gives both back.
    pub(super) fn leave(mut self) {
        let Some(stack) = self.stack.take() else {
            return;
        };
        let mut idle = self.pool.idle.borrow_mut();
        if idle.len() < IDLE_COUNT_MAX && self.interpreter.is_reusable() {
            idle.push((Rc::clone(&self.interpreter), stack));
        }
    }
}

/// A worker's interpreters.
#[derive(Clone)]
pub(super) struct Interpreters(Rc<Pool>);

impl Interpreters {
    /// Those of this thread.
    pub(super) fn of_this_worker() -> Self {
        Self(POOL.with(Rc::clone))
    }

    /// Waits for the right to run a script.
    pub(super) async fn enter(&self, clock: &Arc<dyn Clock>) -> Result<Place<'_>, CommandError> {
        let permit = self.0.slots.acquire().await;
        let permit = permit.expect("the slots are never closed");
        let idle = self.0.idle.borrow_mut().pop();
        let (interpreter, stack) = match idle {
            Some((interpreter, stack)) => (interpreter, stack),
            None => fresh(clock)?,
        };
        Ok(Place {
            interpreter,
            stack: Some(stack),
            pool: &self.0,
            _permit: permit,
        })
    }
}

fn fresh(clock: &Arc<dyn Clock>) -> Result<(Rc<Interpreter>, Stack), CommandError> {
    let refuse = |reason: &dyn std::fmt::Display| {
        CommandError::other(format!("ERR no interpreter for the script: {reason}"))
    };
    let interpreter = Interpreter::new(Arc::clone(clock)).map_err(|error| refuse(&error))?;
    let stack = Stack::new().map_err(|error: io::Error| refuse(&error))?;
    Ok((Rc::new(interpreter), stack))
}
