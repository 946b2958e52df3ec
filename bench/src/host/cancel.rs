//! Ctrl-C and SIGTERM: a flag that everything which waits looks at.
//!
//! Must never end the process by itself: children are ended and directories removed on the way out.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use nix::sys::signal::{SigSet, Signal};

use crate::error::BenchError;

/// Set once, when the run is to end early; copies share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flag(Arc<AtomicBool>);

impl Flag {
    /// A flag that SIGINT and SIGTERM set. To be called before any other thread is made, so that
    /// all threads leave the signals to the one that waits for them.
    pub(crate) fn on_signals() -> Result<Self, BenchError> {
        let flag = Self::default();
        let mut signals = SigSet::empty();
        signals.add(Signal::SIGINT);
        signals.add(Signal::SIGTERM);
        signals
            .thread_block()
            .map_err(|error| BenchError::system("block signals")(error.into()))?;
        let shared = flag.clone();
        thread::spawn(move || {
            // A failed wait would fail again at once; then Ctrl-C no longer ends the run early.
            while signals.wait().is_ok() {
                shared.set();
            }
        });
        Ok(flag)
    }

    /// Asks everything to end.
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether everything is to end.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The flag itself, for who needs no more.
    pub(crate) fn as_atomic(&self) -> &AtomicBool {
        &self.0
    }

    /// An error when everything is to end.
    pub(crate) fn check(&self) -> Result<(), BenchError> {
        if self.is_set() {
            return Err(BenchError::Cancelled);
        }
        Ok(())
    }
}
