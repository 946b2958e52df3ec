//! A worker's kind of thread.
//!
//! Owns the runtime's settings, which are the server's.

use tokio::runtime::{Builder, LocalOptions, LocalRuntime};

/// As a worker of the server has it.
const EVENT_INTERVAL: u32 = 16;

/// The runtime of this thread.
pub(crate) fn runtime() -> LocalRuntime {
    Builder::new_current_thread()
        .enable_all()
        .event_interval(EVENT_INTERVAL)
        .build_local(LocalOptions::default())
        .expect("the system gives a runtime its descriptors")
}
