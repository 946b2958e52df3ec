//! Starts a server: its workers, its control thread, and the opening of its store.
//!
//! Owns the threads. Must never print.

use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use cellar_storage::{Clock, SystemClock};
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};
use tokio::sync::mpsc;

use crate::config::{Config, Loaded};
use crate::control::{self, Ended};
use crate::limits;
use crate::listener::Listeners;
use crate::seat::{Opening, Report, Seat};
use crate::shared::Shared;
use crate::shutdown::ShutdownMode;

/// Connections that may wait for a worker to take them; the acceptor waits beyond.
const MAILBOX_COUNT_MAX: usize = 1024;
/// Polls of tasks after which a worker looks at its sockets and timers again: at a turn of 50 µs
/// each this is less than a millisecond.
const EVENT_INTERVAL: u32 = 16;

/// Why a server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A thread or its runtime cannot be made.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] std::io::Error),
    /// The store cannot be opened; the text names the device.
    #[error("cannot open the store: {0}")]
    Store(String),
    /// The system gives no random numbers.
    #[error("cannot get random numbers: {0}")]
    Random(#[from] getrandom::Error),
    /// It was told to stop before it was ready.
    #[error("told to stop while starting")]
    Stopped,
}

/// A running server.
pub struct Server {
    shared: Arc<Shared>,
    addresses: Vec<SocketAddr>,
    workers: Vec<JoinHandle<()>>,
    control: JoinHandle<std::io::Result<Ended>>,
    reports: Mutex<Receiver<Report>>,
}

impl Server {
    /// Starts serving on sockets that are bound already. Until [`Server::wait_ready`] returns,
    /// commands that need the store are refused.
    pub fn start(loaded: Loaded, listeners: Listeners) -> Result<Self, StartError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let mut seed = [0; 32];
        getrandom::fill(&mut seed)?;
        let worker_count = worker_count(&loaded.config);
        limits::raise_descriptors(loaded.config.network.maxclients.get().unsigned_abs());
        let id_seed = u64::from_le_bytes(seed[..8].try_into().expect("8 of 32 bytes"));
        let config = loaded.config.clone();
        let shared = Arc::new(Shared::new(
            loaded,
            worker_count,
            Arc::clone(&clock),
            id_seed,
        ));

        let (mailboxes, receivers): (Vec<_>, Vec<_>) = (0..worker_count)
            .map(|_| mpsc::channel(MAILBOX_COUNT_MAX))
            .unzip();
        let (report, reports) = channel();
        let is_pinned = config.workers.pin_workers;
        let mut opening = Some(Opening {
            config,
            clock,
            seed,
            workers: mailboxes.clone(),
        });
        let mut workers = Vec::new();
        for (index, mailbox) in receivers.into_iter().enumerate() {
            workers.push(spawn_worker(Seat {
                index,
                shared: Arc::clone(&shared),
                mailbox,
                is_pinned,
                // the first worker opens the store for all of them
                opening: opening.take(),
                report: report.clone(),
            })?);
        }
        let addresses = listeners.addresses();
        let for_control = Arc::clone(&shared);
        let control = std::thread::Builder::new()
            .name("cellar-control".into())
            .spawn(move || runtime()?.block_on(control::run(for_control, listeners, mailboxes)))?;
        Ok(Self {
            shared,
            addresses,
            workers,
            control,
            reports: Mutex::new(reports),
        })
    }

    /// Waits until the store is open and every worker serves it. Blocks the thread.
    pub fn wait_ready(&self) -> Result<(), StartError> {
        let reports = self.reports.lock().map_err(|_| StartError::Stopped)?;
        for _ in 0..self.workers.len() {
            reports.recv().map_err(|_| StartError::Stopped)??;
        }
        Ok(())
    }

    /// The TCP addresses that it listens on.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// What its workers share.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Asks it to end.
    pub fn stop(&self, mode: ShutdownMode) {
        self.shared.shutdown.ask(mode);
    }

    /// Waits until it has ended. Blocks the thread.
    pub fn wait(self) -> Ended {
        let ended = match self.control.join() {
            Ok(Ok(ended)) => ended,
            Ok(Err(cause)) => {
                tracing::error!("the control thread failed: {cause}");
                Ended::Unclean
            }
            Err(_) => Ended::Unclean,
        };
        let all_joined = self.workers.into_iter().all(|worker| worker.join().is_ok());
        if all_joined { ended } else { Ended::Unclean }
    }
}

/// Workers that a configuration asks for.
pub fn worker_count(config: &Config) -> usize {
    match config.workers.workers.get() {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        count => count.unsigned_abs() as usize,
    }
}

fn spawn_worker(seat: Seat) -> std::io::Result<JoinHandle<()>> {
    let name = format!("cellar-worker-{}", seat.index);
    std::thread::Builder::new()
        .name(name)
        .spawn(move || match runtime() {
            Ok(runtime) => runtime.block_on(seat.work()),
            Err(cause) => seat.fail(StartError::Thread(cause)),
        })
}

pub(crate) fn runtime() -> std::io::Result<LocalRuntime> {
    Builder::new_current_thread()
        .enable_all()
        .event_interval(EVENT_INTERVAL)
        .build_local(LocalOptions::default())
}
