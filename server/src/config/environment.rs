//! Whether the machine lets the server do what the options ask: paths and permissions.
//!
//! Owns the checks made before anything is opened. Must never write or create anything.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

use super::Config;
use super::devices::DeviceConfig;
use super::error::Invalid;

/// Bytes of a unix socket's path at most: what the kernel's address holds, its end mark included.
const UNIX_PATH_BYTES_MAX: usize = 107;

/// Checks paths and permissions.
pub(super) fn check(config: &Config) -> Result<(), Invalid> {
    check_directory(config)?;
    for device in &config.storage.devices.0 {
        check_device(&config.device_path(device), device)
            .map_err(|complaint| Invalid::new("devices", complaint))?;
    }
    if !config.log.logfile.is_empty() {
        check_file(Path::new(&config.log.logfile))
            .map_err(|complaint| Invalid::new("logfile", complaint))?;
    }
    if !config.network.unixsocket.is_empty() {
        check_socket(Path::new(&config.network.unixsocket))
            .map_err(|complaint| Invalid::new("unixsocket", complaint))?;
    }
    Ok(())
}

fn check_directory(config: &Config) -> Result<(), Invalid> {
    let dir = Path::new(&config.storage.dir);
    match fs::metadata(dir) {
        Ok(metadata) if !metadata.is_dir() => Err(Invalid::new(
            "dir",
            format!("'{}' is not a directory", dir.display()),
        )),
        Ok(_) => check_writable(dir).map_err(|complaint| Invalid::new("dir", complaint)),
        Err(_) => check_creatable(dir).map_err(|complaint| Invalid::new("dir", complaint)),
    }
}

fn check_device(path: &Path, device: &DeviceConfig) -> Result<(), String> {
    let shown = path.display();
    match fs::metadata(path) {
        Ok(metadata) if metadata.file_type().is_block_device() => check_readable_writable(path),
        Ok(metadata) if !metadata.is_file() => {
            Err(format!("'{shown}' is neither a file nor a block device"))
        }
        _ if device.size_bytes.is_none() => Err(format!(
            "'{shown}' is a file and needs a size: the most that it may grow to"
        )),
        Ok(_) => check_readable_writable(path),
        Err(_) => check_creatable(path),
    }
}

fn check_file(path: &Path) -> Result<(), String> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Err(format!("'{}' is a directory", path.display())),
        Ok(_) => check_access(path, AccessFlags::W_OK, "written"),
        Err(_) => check_creatable(path),
    }
}

fn check_socket(path: &Path) -> Result<(), String> {
    let shown = path.display();
    if path.as_os_str().len() > UNIX_PATH_BYTES_MAX {
        return Err(format!(
            "'{shown}' is longer than {UNIX_PATH_BYTES_MAX} bytes"
        ));
    }
    match fs::metadata(path) {
        Ok(metadata) if !metadata.file_type().is_socket() => {
            Err(format!("'{shown}' exists and is not a socket"))
        }
        _ => check_creatable_in(&parent(path)),
    }
}

fn check_readable_writable(path: &Path) -> Result<(), String> {
    check_access(
        path,
        AccessFlags::R_OK | AccessFlags::W_OK,
        "read and written",
    )
}

/// A path that does not exist can be created where its nearest existing ancestor can be written.
fn check_creatable(path: &Path) -> Result<(), String> {
    let mut ancestor = parent(path);
    while fs::metadata(&ancestor).is_err() {
        let next = parent(&ancestor);
        if next == ancestor {
            return Err(format!("'{}' cannot be created", path.display()));
        }
        ancestor = next;
    }
    check_creatable_in(&ancestor)
}

fn check_creatable_in(directory: &Path) -> Result<(), String> {
    match fs::metadata(directory) {
        Ok(metadata) if metadata.is_dir() => check_writable(directory),
        Ok(_) => Err(format!("'{}' is not a directory", directory.display())),
        Err(cause) => Err(format!("'{}': {cause}", directory.display())),
    }
}

fn check_writable(directory: &Path) -> Result<(), String> {
    check_access(directory, AccessFlags::W_OK | AccessFlags::X_OK, "written")
}

fn check_access(path: &Path, flags: AccessFlags, verb: &str) -> Result<(), String> {
    access(path, flags)
        .map_err(|cause| format!("'{}' cannot be {verb}: {}", path.display(), cause.desc()))
}

fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
        Some(parent) => parent.to_owned(),
        None => path.to_owned(),
    }
}
