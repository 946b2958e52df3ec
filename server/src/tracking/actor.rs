//! The client whose writing command runs on this thread, for clients that want to hear nothing of
//! their own writes.
//!
//! Owns one word a thread. A watcher is called in the middle of a commit and has no other way to
//! know whose commit that is. Commands that only read change nothing but what has expired, and
//! that is nobody's doing.

use std::cell::Cell;

thread_local! {
    static ACTOR: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Runs something as the doing of this client.
pub fn during<T>(actor: Option<u64>, run: impl FnOnce() -> T) -> T {
    if actor.is_none() {
        return run();
    }
    ACTOR.set(actor);
    let output = run();
    ACTOR.set(None);
    output
}

/// Whose doing the present change is, where it is a client's.
pub(super) fn present() -> Option<u64> {
    ACTOR.get()
}
