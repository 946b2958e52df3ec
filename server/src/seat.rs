//! A worker's life: it serves the connections that it is sent until nobody can send any more.
//!
//! Owns how a worker comes to its store: the first one opens it, then all attach.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use cellar_storage::device::uring::OpenMode;
use cellar_storage::{Clock, EvictionPolicy, Store, StoreOptions};
use tokio::sync::mpsc;

use crate::client::Client;
use crate::commands::functions;
use crate::commands::tracking;
use crate::config::{AppendFsync, Config, MemoryPolicy};
use crate::connection::{Connection, Socket};
use crate::control::{Accepted, Mail};
use crate::events::Departures;
use crate::shared::Shared;
use crate::start::StartError;
use crate::worker::Worker;
use crate::{devices, field_deadlines, limits};

/// What a worker tells once: that it serves the store, or why not.
pub type Report = Result<(), StartError>;

/// What the store is opened with, and who is told.
pub struct Opening {
    /// The configuration at start.
    pub config: Config,
    /// Where the time comes from.
    pub clock: Arc<dyn Clock>,
    /// Randomness for the store.
    pub seed: [u8; 32],
    /// All workers.
    pub workers: Vec<mpsc::Sender<Mail>>,
}

/// What a worker thread is given.
pub struct Seat {
    /// Its number.
    pub index: usize,
    /// What all workers share.
    pub shared: Arc<Shared>,
    /// What it is sent.
    pub mailbox: mpsc::Receiver<Mail>,
    /// Whether it is bound to a core.
    pub is_pinned: bool,
    /// The store's opening, for the first worker.
    pub opening: Option<Opening>,
    /// Where it tells that it serves the store.
    pub report: Sender<Report>,
}

impl Seat {
    /// Tells that the worker will not serve.
    pub fn fail(&self, error: StartError) {
        if self.report.send(Err(error)).is_err() {
            tracing::error!(worker = self.index, "a worker failed after the start");
        }
    }

    /// Serves until nobody can send any more.
    pub async fn work(mut self) {
        if self.is_pinned {
            limits::pin_thread(self.index);
        }
        if let Some(opening) = self.opening.take() {
            let (shared, report) = (Arc::clone(&self.shared), self.report.clone());
            tokio::task::spawn_local(open_for_all(shared, opening, report));
        }
        let worker = Rc::new(Worker::new(self.index, Arc::clone(&self.shared)));
        let (shared, index) = (Arc::clone(&self.shared), self.index);
        tokio::task::spawn_local(async move { shared.postbox(index).serve().await });
        if self.index == 0 {
            tokio::task::spawn_local(tracking::serve(Arc::clone(&self.shared), self.index));
        }
        while let Some(mail) = self.mailbox.recv().await {
            match mail {
                Mail::Attach => self.attach(&worker),
                Mail::Serve(accepted, client) => self.serve(&worker, accepted, client),
                Mail::Close(done) => {
                    let is_closed = close(&worker).await;
                    if done.send(is_closed).is_err() {
                        tracing::warn!("nobody waits for the store's closing");
                    }
                }
            }
        }
    }

    fn attach(&self, worker: &Worker) {
        let store = self
            .shared
            .store()
            .expect("it is open when workers are told to attach");
        match store.attach(self.index) {
            Ok(handle) => {
                if self.index == 0 {
                    tokio::task::spawn_local(Store::run_background(handle.clone()));
                    let shared = Arc::clone(&self.shared);
                    tokio::task::spawn_local(field_deadlines::run(handle.clone(), shared));
                }
                worker.store.fill(handle);
                if self.report.send(Ok(())).is_err() {
                    tracing::debug!(worker = self.index, "nobody waits for the start");
                }
            }
            Err(error) => self.fail(StartError::Store(error.to_string())),
        }
    }

    fn serve(&self, worker: &Rc<Worker>, accepted: Accepted, client: Arc<Client>) {
        match register(accepted) {
            Ok(socket) => {
                let connection = Connection::new(socket, client, Rc::clone(worker));
                tokio::task::spawn_local(connection.run());
            }
            Err(cause) => {
                tracing::warn!(worker = self.index, "taking a connection failed: {cause}");
                self.shared.clients.disconnect(client.id());
            }
        }
    }
}

async fn open_for_all(shared: Arc<Shared>, opening: Opening, report: Sender<Report>) {
    let Opening {
        config,
        clock,
        seed,
        workers,
    } = opening;
    let functions = functions::load_kept(&shared).await;
    let functions = functions.map_err(|reason| {
        StartError::Store(format!(
            "the file of functions in the data directory: {reason}"
        ))
    });
    let opened = match functions {
        Ok(()) => open_store(&shared, &config, clock, seed).await,
        Err(error) => Err(error),
    };
    match opened {
        Ok(store) => {
            store.listen_to_departures(Arc::new(Departures::new(&shared)));
            shared.set_store(store);
            for worker in workers {
                if worker.send(Mail::Attach).await.is_err() {
                    tracing::debug!("a worker ended before the store was open");
                }
            }
        }
        Err(error) => {
            if report.send(Err(error)).is_err() {
                tracing::debug!("nobody waits for the start");
            }
        }
    }
}

async fn open_store(
    shared: &Shared,
    config: &Config,
    clock: Arc<dyn Clock>,
    seed: [u8; 32],
) -> Result<Arc<Store>, StartError> {
    let options = StoreOptions {
        worker_count: shared.worker_count(),
        segment_bytes: config.storage.segment_size.get() as u32,
        appendfsync: level(config.storage.appendfsync),
        memory_bytes_max: config.memory.maxmemory.get(),
        value_cache_bytes: config.memory.value_cache.get(),
        recovery_threads: shared.worker_count(),
        eviction_policy: policy(config.memory.maxmemory_policy),
        progress: Arc::clone(shared.progress()),
        ..StoreOptions::default()
    };
    let devices = devices::open(config, OpenMode::Create, &clock).map_err(StartError::Store)?;
    let store = Store::open(options, devices, clock, seed).await;
    store.map_err(|error| StartError::Store(error.to_string()))
}

/// The store's name of a durability level.
pub fn level(level: AppendFsync) -> cellar_storage::AppendFsync {
    match level {
        AppendFsync::Always => cellar_storage::AppendFsync::Always,
        AppendFsync::Everysec => cellar_storage::AppendFsync::Everysec,
        AppendFsync::No => cellar_storage::AppendFsync::No,
    }
}

/// The store's name of a policy.
pub fn policy(policy: MemoryPolicy) -> EvictionPolicy {
    match policy {
        MemoryPolicy::VolatileLru => EvictionPolicy::VolatileLru,
        MemoryPolicy::VolatileLfu => EvictionPolicy::VolatileLfu,
        MemoryPolicy::VolatileRandom => EvictionPolicy::VolatileRandom,
        MemoryPolicy::VolatileTtl => EvictionPolicy::VolatileTtl,
        MemoryPolicy::AllKeysLru => EvictionPolicy::AllKeysLru,
        MemoryPolicy::AllKeysLfu => EvictionPolicy::AllKeysLfu,
        MemoryPolicy::AllKeysRandom => EvictionPolicy::AllKeysRandom,
        MemoryPolicy::NoEviction => EvictionPolicy::NoEviction,
    }
}

/// Makes everything durable and closes the store; true where nothing acknowledged is lost.
async fn close(worker: &Worker) -> bool {
    let Some(handle) = worker.store.attached() else {
        return true;
    };
    match handle.store().close(handle).await {
        Ok(()) => true,
        Err(error) => {
            tracing::error!("closing the store failed: {error}");
            false
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
