//! The control thread: it accepts connections and spreads them, keeps the house in order, hears
//! signals, and brings the server down.
//!
//! Owns the listening sockets. Must never run a command.

mod accept;
mod housekeeping;
mod signals;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::client::{Client, Event};
use crate::listener::Listeners;
use crate::shared::Shared;
use crate::shutdown::ShutdownMode;

use accept::Acceptor;

pub use accept::Accepted;

/// Time that connections have to write what they owe when the server stops.
const STOP_WAIT: Duration = Duration::from_secs(5);

/// What the control thread sends to a worker.
pub enum Mail {
    /// The store is open: attach to it.
    Attach,
    /// A connection to serve.
    Serve(Accepted, Arc<Client>),
    /// Make everything durable and close the store; true where that succeeded.
    Close(oneshot::Sender<bool>),
}

/// How the server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Everything acknowledged is durable, or nobody wanted that.
    Clean,
    /// Something acknowledged may be lost.
    Unclean,
}

/// Runs until somebody asks for the end, and brings the server down.
pub async fn run(
    shared: Arc<Shared>,
    listeners: Listeners,
    workers: Vec<mpsc::Sender<Mail>>,
) -> std::io::Result<Ended> {
    let socket_path = listeners.unix.as_ref().map(|(path, _)| path.clone());
    let acceptor = Acceptor::new(Arc::clone(&shared), workers.clone());
    let accepting = acceptor.start(listeners)?;
    let hearing = tokio::task::spawn_local(signals::hear(Arc::clone(&shared)));
    let housekeeping = tokio::task::spawn_local(housekeeping::run(Arc::clone(&shared)));
    let mode = shared.shutdown.asked().await;
    tracing::info!(?mode, "stopping");
    for task in accepting {
        task.abort();
    }
    if let Some(path) = socket_path {
        // a path that is gone already needs no removal
        drop(std::fs::remove_file(path));
    }
    stop_clients(&shared).await;
    let ended = close_store(&shared, mode, &workers).await;
    housekeeping.abort();
    hearing.abort();
    Ok(ended)
}

/// Lets every connection finish its present command and write its replies.
async fn stop_clients(shared: &Shared) {
    for client in shared.clients.list() {
        client.signal().raise(Event::Stop);
    }
    let all_gone = shared.clients.wait_until_empty();
    if tokio::time::timeout(STOP_WAIT, all_gone).await.is_err() {
        tracing::warn!(
            clients = shared.clients.count(),
            "clients did not take their replies"
        );
    }
}

async fn close_store(shared: &Shared, mode: ShutdownMode, workers: &[mpsc::Sender<Mail>]) -> Ended {
    if mode == ShutdownMode::Nosave {
        // after a failed write even what was promised may be lost
        return if shared.is_latched() {
            Ended::Unclean
        } else {
            Ended::Clean
        };
    }
    let (sender, closed) = oneshot::channel();
    let first = workers.first().expect("there is at least one worker");
    let is_closed = first.send(Mail::Close(sender)).await.is_ok() && closed.await == Ok(true);
    if is_closed {
        Ended::Clean
    } else {
        Ended::Unclean
    }
}
