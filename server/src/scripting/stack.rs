//! A stack of its own for a script, so that it can stop in the middle and go on later.
//!
//! ```text
//!   worker's stack                      script's stack
//!   Fiber::resume(answer)  -->  Lua, a command or a pause is wanted
//!   Progress::Asks(ask)    <--  Switch::ask(ask)
//! ```
//!
//! Lua 5.1 yields only where no C function lies between: not within `pcall`, a comparison of
//! `table.sort`, a metamethod or a hook. A stack of its own knows no such places.
//!
//! Owns the way between the two stacks. Must never be used from the worker's stack while a script
//! is on its own.

#![expect(
    unsafe_code,
    reason = "the way back lies on the script's stack, where a callback of Lua cannot borrow it"
)]

use std::cell::Cell;
use std::io;
use std::ptr;
use std::rc::Rc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::ask::{Answer, Ask};

/// Bytes of address space of a stack: Lua nests at most 200 calls of C functions, each of which
/// takes up to some ten KiB (a string buffer). Only what was touched is memory.
const STACK_BYTES: usize = 4 * 1024 * 1024;

/// A stack to run on; used again and again.
pub(super) struct Stack(DefaultStack);

impl Stack {
    /// A fresh one, with a guard page at its end.
    pub(super) fn new() -> io::Result<Self> {
        DefaultStack::new(STACK_BYTES).map(Self)
    }
}

/// The way from a script's stack to the worker's.
pub(super) struct Switch {
    yielder: Cell<*const Yielder<Answer, Ask>>,
    /// Whether nobody answers any more.
    is_closed: Cell<bool>,
}

impl Default for Switch {
    fn default() -> Self {
        Self {
            yielder: Cell::new(ptr::null()),
            is_closed: Cell::new(false),
        }
    }
}

impl Switch {
    /// Stops the script until the worker answers. Outside a fiber, and where nobody answers any
    /// more, the answer is to stop.
    pub(super) fn ask(&self, ask: Ask) -> Answer {
        if self.is_closed.get() {
            return Answer::Stop;
        }
        // SAFETY: it is null, or a fiber has set it to its own yielder for as long as that lives;
        // only that fiber's code runs Lua's callbacks meanwhile, so this is that fiber's stack.
        let yielder = unsafe { self.yielder.get().as_ref() };
        yielder.map_or(Answer::Stop, |yielder| yielder.suspend(ask))
    }
}

/// What a script came to, or what it wants.
#[expect(
    clippy::large_enum_variant,
    reason = "moved once; a box would be an allocation more"
)]
pub(super) enum Progress<T> {
    /// It stopped and wants this.
    Asks(Ask),
    /// It ended.
    Ended(T),
}

/// A script on its stack.
pub(super) struct Fiber<T: 'static> {
    coroutine: Option<Coroutine<Answer, Ask, T, DefaultStack>>,
    switch: Rc<Switch>,
}

impl<T: 'static> Fiber<T> {
    /// Prepares `run` to run on `stack`; callbacks inside it ask by `switch`.
    pub(super) fn new(
        stack: Stack,
        switch: &Rc<Switch>,
        run: impl FnOnce() -> T + 'static,
    ) -> Self {
        let inner = Rc::clone(switch);
        let coroutine = Coroutine::with_stack(stack.0, move |yielder, _first| {
            inner.yielder.set(yielder);
            let outcome = run();
            inner.yielder.set(ptr::null());
            outcome
        });
        switch.is_closed.set(false);
        Self {
            coroutine: Some(coroutine),
            switch: Rc::clone(switch),
        }
    }

    /// Runs it until it wants something or ends; `answer` is to what it wanted last.
    pub(super) fn resume(&mut self, answer: Answer) -> Progress<T> {
        let coroutine = self.coroutine.as_mut();
        match coroutine.expect("a fiber has its stack").resume(answer) {
            CoroutineResult::Yield(ask) => Progress::Asks(ask),
            CoroutineResult::Return(outcome) => Progress::Ended(outcome),
        }
    }

    /// Takes the stack of a fiber that has ended.
    pub(super) fn into_stack(mut self) -> Option<Stack> {
        let ended = self.coroutine.take_if(|coroutine| coroutine.done());
        ended.map(|coroutine| Stack(coroutine.into_stack()))
    }
}

impl<T: 'static> Drop for Fiber<T> {
    /// Sees a script that nobody waits for to its end: what it still asks is answered with a stop.
    fn drop(&mut self) {
        self.switch.is_closed.set(true);
        if let Some(coroutine) = &mut self.coroutine
            && coroutine.started()
            && !coroutine.done()
        {
            coroutine.resume(Answer::Stop);
        }
    }
}
