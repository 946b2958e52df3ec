//! The sockets that clients connect to.
//!
//! Owns binding them. Must never accept: the control thread does.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use socket2::{Domain, Protocol, Socket, Type};

use crate::config::Network;

/// Connections that wait to be accepted on a socket made for a test.
const EPHEMERAL_BACKLOG: i32 = 128;

/// Why a socket cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// An address is not one.
    #[error("network.bind: '{0}' is not an address")]
    Address(String),
    /// The kernel refuses.
    #[error("cannot listen on {place}: {cause}")]
    Refused {
        /// The address or path.
        place: String,
        /// Why.
        cause: io::Error,
    },
    /// The unix socket has a living owner.
    #[error("cannot listen on {}: another server listens there", .0.display())]
    InUse(PathBuf),
}

/// All sockets that a server listens on.
#[derive(Debug, Default)]
pub struct Listeners {
    /// TCP.
    pub tcp: Vec<TcpListener>,
    /// The unix socket, with its path.
    pub unix: Option<(PathBuf, UnixListener)>,
}

impl Listeners {
    /// Binds what the configuration asks for.
    pub fn bind(network: &Network) -> Result<Self, ListenError> {
        let mut listeners = Self::default();
        if network.port.get() != 0 {
            for text in &network.bind.0 {
                listeners.tcp.extend(bind_address(text, network)?);
            }
        }
        if !network.unixsocket.is_empty() {
            let path = PathBuf::from(&network.unixsocket);
            let listener = bind_unix(&path, network)?;
            listeners.unix = Some((path, listener));
        }
        Ok(listeners)
    }

    /// Binds a port of the kernel's choice on the loopback interface.
    pub fn ephemeral() -> io::Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Ok(Self {
            tcp: vec![bind_tcp(address, EPHEMERAL_BACKLOG)?],
            unix: None,
        })
    }

    /// The TCP addresses, with the port that the kernel chose where that was asked for.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.tcp
            .iter()
            .filter_map(|listener| listener.local_addr().ok())
            .collect()
    }

    /// What is listened on, in words.
    pub fn describe(&self) -> Vec<String> {
        let tcp = self
            .addresses()
            .into_iter()
            .map(|address| address.to_string());
        tcp.chain(self.unix.iter().map(|(path, _)| path.display().to_string()))
            .collect()
    }
}

/// Binds one entry of `bind`; nothing where the address may be missing and is.
fn bind_address(text: &str, network: &Network) -> Result<Option<TcpListener>, ListenError> {
    let (is_optional, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let ip = match text {
        "*" => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        "::*" => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        "localhost" => IpAddr::V4(Ipv4Addr::LOCALHOST),
        _ => text
            .parse()
            .map_err(|_| ListenError::Address(text.to_owned()))?,
    };
    let address = SocketAddr::new(ip, network.port.get().unsigned_abs() as u16);
    match bind_tcp(address, network.tcp_backlog.get() as i32) {
        Ok(listener) => Ok(Some(listener)),
        Err(cause) if is_optional && cause.kind() == io::ErrorKind::AddrNotAvailable => Ok(None),
        Err(cause) => Err(ListenError::Refused {
            place: address.to_string(),
            cause,
        }),
    }
}

fn bind_tcp(address: SocketAddr, backlog: i32) -> io::Result<TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.bind(&address.into())?;
    socket.listen(backlog)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

fn bind_unix(path: &Path, network: &Network) -> Result<UnixListener, ListenError> {
    remove_stale(path)?;
    let refused = |cause| ListenError::Refused {
        place: path.display().to_string(),
        cause,
    };
    let listener = UnixListener::bind(path).map_err(refused)?;
    listener.set_nonblocking(true).map_err(refused)?;
    if network.unixsocketperm.0 != 0 {
        let mode = std::fs::Permissions::from_mode(network.unixsocketperm.0);
        std::fs::set_permissions(path, mode).map_err(refused)?;
    }
    Ok(listener)
}

/// Removes a socket that nobody listens on any more: what a killed server leaves behind.
fn remove_stale(path: &Path) -> Result<(), ListenError> {
    let is_socket = std::fs::metadata(path).is_ok_and(|found| found.file_type().is_socket());
    if !is_socket {
        return Ok(());
    }
    match UnixStream::connect(path) {
        Ok(_) => Err(ListenError::InUse(path.to_owned())),
        Err(cause) if cause.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path).map_err(|cause| ListenError::Refused {
                place: path.display().to_string(),
                cause,
            })
        }
        Err(cause) => Err(ListenError::Refused {
            place: path.display().to_string(),
            cause,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Integer, Words};

    #[test]
    fn replaces_only_dead_unix_sockets() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        let network = Network {
            port: Integer::new(0),
            unixsocket: path.display().to_string(),
            ..Network::default()
        };
        let first = Listeners::bind(&network).unwrap();
        assert!(matches!(
            Listeners::bind(&network),
            Err(ListenError::InUse(_))
        ));
        drop(first);
        assert!(path.exists());
        Listeners::bind(&network).unwrap();
    }

    #[test]
    fn refuses_what_is_no_address() {
        let network = Network {
            bind: Words(vec!["here".into()]),
            ..Network::default()
        };
        let error = Listeners::bind(&network).unwrap_err().to_string();
        assert_eq!(error, "network.bind: 'here' is not an address");
    }
}
