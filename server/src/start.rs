//! Starts a server: opens its store, starts its workers and its control thread.
//!
//! Owns the threads. Must never print.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::{Arc, mpsc as std_mpsc};
use std::thread::JoinHandle;

use cellar_storage::{Clock, Store, StoreOptions, SystemClock};
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};
use tokio::sync::mpsc;

use crate::config::{AppendFsync, Config, Loaded};
use crate::connection::{Connection, Socket};
use crate::control::{self, Accepted, Ended, Mail};
use crate::listener::Listeners;
use crate::shared::Shared;
use crate::shutdown::ShutdownMode;
use crate::worker::Worker;
use crate::{devices, limits};

/// Connections that may wait for a worker to take them; the acceptor waits beyond.
const MAILBOX_COUNT_MAX: usize = 1024;
/// Polls of tasks after which a worker looks at its sockets and timers again: at a turn of 50 µs
/// each this is less than a millisecond.
const EVENT_INTERVAL: u32 = 16;

/// Why a server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A thread or its runtime cannot be made.
    #[error("cannot start a worker: {0}")]
    Thread(#[from] std::io::Error),
    /// The store cannot be opened; the text names the device.
    #[error("cannot open the store: {0}")]
    Store(String),
    /// The system gives no random numbers.
    #[error("cannot get random numbers: {0}")]
    Random(#[from] getrandom::Error),
}

/// A running server.
pub struct Server {
    shared: Arc<Shared>,
    addresses: Vec<SocketAddr>,
    workers: Vec<JoinHandle<()>>,
    control: JoinHandle<std::io::Result<Ended>>,
}

/// What the store is opened with.
#[derive(Clone)]
struct Opening {
    config: Config,
    clock: Arc<dyn Clock>,
    seed: [u8; 32],
}

/// What a worker thread is given.
struct WorkerSeat {
    index: usize,
    shared: Arc<Shared>,
    mailbox: mpsc::Receiver<Mail>,
    is_pinned: bool,
}

impl Server {
    /// Starts serving on sockets that are bound already. Returns once connections are served.
    pub fn start(loaded: Loaded, listeners: Listeners) -> Result<Self, StartError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let mut seed = [0; 32];
        getrandom::fill(&mut seed)?;
        let worker_count = worker_count(&loaded.config);
        limits::raise_descriptors(loaded.config.network.maxclients.get().unsigned_abs());
        let id_seed = u64::from_le_bytes(seed[..8].try_into().expect("8 of 32 bytes"));
        let is_pinned = loaded.config.workers.pin_workers;
        let config = loaded.config.clone();
        let shared = Arc::new(Shared::new(
            loaded,
            worker_count,
            Arc::clone(&clock),
            id_seed,
        ));

        let mut seats = Vec::new();
        let mut mailboxes = Vec::new();
        for index in 0..worker_count {
            let (sender, mailbox) = mpsc::channel(MAILBOX_COUNT_MAX);
            mailboxes.push(sender);
            seats.push(WorkerSeat {
                index,
                shared: Arc::clone(&shared),
                mailbox,
                is_pinned,
            });
        }
        let opening = Opening {
            config,
            clock,
            seed,
        };
        let workers = start_workers(seats, &opening)?;
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
        })
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

    /// Waits until it has ended.
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

/// Starts all workers: the first opens the store, the others follow.
fn start_workers(
    seats: Vec<WorkerSeat>,
    opening: &Opening,
) -> Result<Vec<JoinHandle<()>>, StartError> {
    let (report, reports) = std_mpsc::channel();
    let mut threads = Vec::new();
    for seat in seats {
        let open = (seat.index == 0).then(|| opening.clone());
        let report = report.clone();
        let name = format!("cellar-worker-{}", seat.index);
        let life = move || match runtime() {
            Ok(runtime) => runtime.block_on(live(seat, open, report)),
            // the starter waits for this report
            Err(cause) => drop(report.send(Err(StartError::Thread(cause)))),
        };
        threads.push(std::thread::Builder::new().name(name).spawn(life)?);
        // a worker attaches to the store that the first one opened
        reports
            .recv()
            .map_err(|_| StartError::Store("the worker ended".into()))??;
    }
    Ok(threads)
}

/// A worker's whole life: the first one opens the store for all of them.
async fn live(
    seat: WorkerSeat,
    opening: Option<Opening>,
    report: std_mpsc::Sender<Result<(), StartError>>,
) {
    if let Some(opening) = opening
        && let Err(error) = open_store(&seat.shared, opening).await
    {
        // the starter waits for this report
        drop(report.send(Err(error)));
        return;
    }
    drop(report.send(Ok(())));
    drop(report);
    work(seat).await;
}

async fn open_store(shared: &Shared, opening: Opening) -> Result<(), StartError> {
    let Opening {
        config,
        clock,
        seed,
    } = opening;
    let options = StoreOptions {
        worker_count: shared.worker_count(),
        segment_bytes: config.storage.segment_size.get() as u32,
        appendfsync: level(config.storage.appendfsync),
        memory_bytes_max: config.memory.maxmemory.get(),
        value_cache_bytes: config.memory.value_cache.get(),
        progress: Arc::default(),
    };
    let devices = devices::open(&config, &clock).map_err(StartError::Store)?;
    let store = Store::open(options, devices, clock, seed)
        .await
        .map_err(|error| StartError::Store(error.to_string()))?;
    shared.set_store(store);
    Ok(())
}

/// The store's name of a durability level.
pub fn level(level: AppendFsync) -> cellar_storage::AppendFsync {
    match level {
        AppendFsync::Always => cellar_storage::AppendFsync::Always,
        AppendFsync::Everysec => cellar_storage::AppendFsync::Everysec,
        AppendFsync::No => cellar_storage::AppendFsync::No,
    }
}

fn runtime() -> std::io::Result<LocalRuntime> {
    Builder::new_current_thread()
        .enable_all()
        .event_interval(EVENT_INTERVAL)
        .build_local(LocalOptions::default())
}

/// A worker's life: it serves the connections that it is sent until nobody can send any more.
async fn work(seat: WorkerSeat) {
    let WorkerSeat {
        index,
        shared,
        mut mailbox,
        is_pinned,
    } = seat;
    if is_pinned {
        limits::pin_thread(index);
    }
    let store = Arc::clone(shared.store().expect("the first worker opened it"));
    let handle = match store.attach(index) {
        Ok(handle) => handle,
        Err(error) => {
            tracing::error!(worker = index, "attaching to the store failed: {error}");
            shared.shutdown.ask(ShutdownMode::Force);
            return;
        }
    };
    if index == 0 {
        tokio::task::spawn_local(Store::run_background(handle.clone()));
    }
    let worker = Rc::new(Worker::new(index, handle, shared));
    while let Some(mail) = mailbox.recv().await {
        match mail {
            Mail::Serve(accepted, client) => match register(accepted) {
                Ok(socket) => {
                    let connection = Connection::new(socket, client, Rc::clone(&worker));
                    tokio::task::spawn_local(connection.run());
                }
                Err(cause) => {
                    tracing::warn!(worker = index, "taking a connection failed: {cause}");
                    worker.shared.clients.disconnect(client.id());
                }
            },
            Mail::Close(done) => {
                let outcome = worker
                    .shared
                    .store()
                    .expect("it is open")
                    .close(&worker.store)
                    .await;
                if let Err(error) = &outcome {
                    tracing::error!("closing the store failed: {error}");
                }
                if done.send(outcome.is_ok()).is_err() {
                    tracing::warn!("nobody waits for the store's closing");
                }
            }
        }
    }
}

fn register(accepted: Accepted) -> std::io::Result<Socket> {
    match accepted {
        Accepted::Tcp(stream) => {
            stream.set_nonblocking(true)?;
            tokio::net::TcpStream::from_std(stream).map(Socket::Tcp)
        }
        Accepted::Unix(stream) => {
            stream.set_nonblocking(true)?;
            tokio::net::UnixStream::from_std(stream).map(Socket::Unix)
        }
    }
}
