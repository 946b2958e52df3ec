//! Ctrl-C and SIGTERM: a flag that everything which waits looks at.
//!
//! Must never end the process by itself: children are ended and directories removed on the way out.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::error::BenchError;

/// Set once, when the run is to end early; copies share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flag(Arc<AtomicBool>);

impl Flag {
    /// A flag that SIGINT and SIGTERM set. They are handled, not blocked: a blocked signal would be
    /// blocked in every process that is started.
    pub(crate) fn on_signals() -> Result<Self, BenchError> {
        let on_signals = Self::default();
        for signal in [SIGINT, SIGTERM] {
            flag::register(signal, Arc::clone(&on_signals.0))
                .map_err(BenchError::system("handle signals"))?;
        }
        Ok(on_signals)
    }

    /// Asks everything to end.
    #[cfg(test)]
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
