//! The end of the server: who asked for it, and how far it is.
//!
//! Owns the one request that is acted on. Must never end the process itself.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use parking_lot::Mutex;
use tokio::sync::Notify;

/// How the server is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShutdownMode {
    /// Everything acknowledged is made durable first; refused if that cannot be.
    Save,
    /// Everything acknowledged is made durable if that can be; ends in any case.
    Force,
    /// What is not durable may be lost.
    Nosave,
}

/// The request to end.
#[derive(Debug, Default)]
pub struct Shutdown {
    mode: Mutex<Option<ShutdownMode>>,
    is_stopping: AtomicBool,
    asked: Notify,
}

impl Shutdown {
    /// Asks for the end.
    pub fn ask(&self, mode: ShutdownMode) {
        *self.mode.lock() = Some(mode);
        self.is_stopping.store(true, Relaxed);
        self.asked.notify_one();
    }

    /// Waits until somebody asks.
    pub async fn asked(&self) -> ShutdownMode {
        loop {
            if let Some(mode) = *self.mode.lock() {
                return mode;
            }
            self.asked.notified().await;
        }
    }

    /// Whether somebody asked.
    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Relaxed)
    }
}
