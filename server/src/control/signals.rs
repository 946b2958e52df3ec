//! The signals that ask for the end, SIGTERM and SIGINT, and the one that must not end anything:
//! a write beyond the limit on file sizes fails, as other writes do.
//!
//! Owns what the first and the second of them mean.

use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};

use crate::shared::Shared;
use crate::shutdown::ShutdownMode;

/// Exit code of a server that was told twice: what was acknowledged may be lost.
const FORCED_EXIT_CODE: i32 = 1;

/// SIGXFSZ: a write went beyond RLIMIT_FSIZE. Its default is to end the process.
const FILE_SIZE_SIGNAL: i32 = nix::sys::signal::Signal::SIGXFSZ as i32;

/// Hears signals for ever: the first asks for an orderly end, the second ends the process.
pub(super) async fn hear(shared: Arc<Shared>) {
    let signals = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
        signal(SignalKind::from_raw(FILE_SIZE_SIGNAL)),
    );
    let (mut terminate, mut interrupt, mut file_size) = match signals {
        (Ok(terminate), Ok(interrupt), Ok(file_size)) => (terminate, interrupt, file_size),
        (Err(cause), ..) | (_, Err(cause), _) | (.., Err(cause)) => {
            tracing::error!("signals cannot be heard: {cause}");
            return;
        }
    };
    let mut was_refused = false;
    loop {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = file_size.recv() => {
                // the write itself tells what it was
                tracing::debug!("a write went beyond the limit on file sizes");
                continue;
            }
        }
        if shared.shutdown.is_stopping() {
            tracing::error!("told twice to stop: ending at once");
            std::process::exit(FORCED_EXIT_CODE);
        }
        if shared.is_latched() && !was_refused {
            was_refused = true;
            tracing::error!(
                "a write to the device failed and what was acknowledged since may be lost: not \
                 stopping; a second signal stops the server all the same"
            );
            continue;
        }
        let mode = if was_refused {
            ShutdownMode::Force
        } else {
            ShutdownMode::Save
        };
        tracing::info!("told to stop by a signal");
        shared.shutdown.ask(mode);
    }
}
