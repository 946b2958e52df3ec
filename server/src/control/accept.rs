//! Accepts connections, refuses those that are too many or not welcome, and spreads the others
//! over the workers in turn.
//!
//! Owns the order in which workers get connections.

use std::cell::Cell;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::Mail;
use crate::client::Address;
use crate::listener::Listeners;
use crate::shared::Shared;
use crate::stats::Metric;

/// A pause after the kernel refused a connection (mostly for want of descriptors), in microseconds:
/// trying again at once would only burn the core.
const REFUSED_PAUSE_US: u64 = 100_000;

const TOO_MANY: &[u8] = b"-ERR max number of clients reached\r\n";
const DENIED: &[u8] = b"-DENIED Cellar is running in protected mode: no password is set for the \
default user, and connections are accepted from this machine only. Set requirepass, or set \
protected-mode to no if the network is trusted.\r\n";

/// An accepted socket, not yet registered with a worker's runtime.
pub enum Accepted {
    /// Over TCP.
    Tcp(std::net::TcpStream),
    /// Over the unix socket.
    Unix(std::os::unix::net::UnixStream),
}

/// Spreads connections.
pub(super) struct Acceptor {
    shared: Arc<Shared>,
    workers: Vec<mpsc::Sender<Mail>>,
    next: Cell<usize>,
}

impl Acceptor {
    /// Spreads over these workers.
    pub(super) fn new(shared: Arc<Shared>, workers: Vec<mpsc::Sender<Mail>>) -> Rc<Self> {
        Rc::new(Self {
            shared,
            workers,
            next: Cell::new(0),
        })
    }

    /// Starts accepting on all sockets.
    pub(super) fn start(self: &Rc<Self>, listeners: Listeners) -> io::Result<Vec<JoinHandle<()>>> {
        let mut tasks = Vec::new();
        for listener in listeners.tcp {
            let listener = TcpListener::from_std(listener)?;
            tasks.push(tokio::task::spawn_local(
                Rc::clone(self).accept_tcp(listener),
            ));
        }
        if let Some((path, listener)) = listeners.unix {
            let listener = UnixListener::from_std(listener)?;
            tasks.push(tokio::task::spawn_local(
                Rc::clone(self).accept_unix(listener, path),
            ));
        }
        Ok(tasks)
    }

    async fn accept_tcp(self: Rc<Self>, listener: TcpListener) {
        loop {
            let outcome = match listener.accept().await {
                Ok((stream, peer)) => self.take_tcp(stream, peer).await,
                Err(cause) => Err(cause),
            };
            self.note_refusal(outcome).await;
        }
    }

    async fn accept_unix(self: Rc<Self>, listener: UnixListener, path: std::path::PathBuf) {
        loop {
            let outcome = match listener.accept().await {
                Ok((stream, _)) => self.take_unix(stream, &path).await,
                Err(cause) => Err(cause),
            };
            self.note_refusal(outcome).await;
        }
    }

    async fn note_refusal(&self, outcome: io::Result<()>) {
        if let Err(cause) = outcome {
            tracing::warn!("accepting a connection failed: {cause}");
            self.shared.clock.sleep(REFUSED_PAUSE_US).await;
        }
    }

    async fn take_tcp(&self, mut stream: TcpStream, peer: std::net::SocketAddr) -> io::Result<()> {
        let config = &self.shared.config;
        let (is_protected, keepalive_s) = config.read(|config| {
            let is_open = config.security.requirepass.is_empty();
            (
                is_open && config.network.protected_mode,
                config.network.tcp_keepalive.get(),
            )
        });
        if is_protected && !peer.ip().to_canonical().is_loopback() {
            self.refuse(&mut stream, DENIED).await;
            return Ok(());
        }
        if self.is_full() {
            self.refuse(&mut stream, TOO_MANY).await;
            return Ok(());
        }
        let local = stream.local_addr()?;
        let stream = stream.into_std()?;
        stream.set_nodelay(true)?;
        set_keepalive(&stream, keepalive_s.unsigned_abs())?;
        let address = Address {
            peer: peer.to_string(),
            local: local.to_string(),
            is_unix: false,
            descriptor: stream.as_raw_fd(),
            worker: self.turn(),
        };
        self.hand_over(Accepted::Tcp(stream), address).await;
        Ok(())
    }

    async fn take_unix(&self, mut stream: UnixStream, path: &Path) -> io::Result<()> {
        if self.is_full() {
            self.refuse(&mut stream, TOO_MANY).await;
            return Ok(());
        }
        let stream = stream.into_std()?;
        let name = format!("{}:0", path.display());
        let address = Address {
            peer: name.clone(),
            local: name,
            is_unix: true,
            descriptor: stream.as_raw_fd(),
            worker: self.turn(),
        };
        self.hand_over(Accepted::Unix(stream), address).await;
        Ok(())
    }

    /// The worker whose turn it is to get a connection.
    fn turn(&self) -> usize {
        let next = self.next.get();
        self.next.set((next + 1) % self.workers.len());
        next
    }

    fn is_full(&self) -> bool {
        let count_max = self
            .shared
            .config
            .read(|config| config.network.maxclients.get());
        self.shared.clients.count() as u64 >= count_max.unsigned_abs()
    }

    /// Says why, as far as the socket takes it at once, and closes.
    async fn refuse(&self, stream: &mut (impl AsyncWriteExt + Unpin), text: &[u8]) {
        self.shared
            .control_stats()
            .add(Metric::RejectedConnections, 1);
        // a client that does not take the text is closed without it
        drop(stream.write_all(text).await);
    }

    async fn hand_over(&self, accepted: Accepted, address: Address) {
        self.shared.control_stats().add(Metric::Connections, 1);
        let client = self
            .shared
            .clients
            .connect(address, self.shared.clock.monotonic_us());
        let next = client.address().worker;
        let id = client.id();
        if self.workers[next]
            .send(Mail::Serve(accepted, client))
            .await
            .is_err()
        {
            // the worker is gone: the server stops
            self.shared.clients.disconnect(id);
        }
    }
}

/// Asks TCP to look after a silent peer: after `seconds`, then three times in as long again.
fn set_keepalive(stream: &std::net::TcpStream, seconds: u64) -> io::Result<()> {
    if seconds == 0 {
        return Ok(());
    }
    let keepalive = TcpKeepalive::new()
        .with_time(Duration::from_secs(seconds))
        .with_interval(Duration::from_secs((seconds / 3).max(1)))
        .with_retries(3);
    SockRef::from(stream).set_tcp_keepalive(&keepalive)
}
