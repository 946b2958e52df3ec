//! Opening files and block devices: creation, exclusive use, size, block. Owns every check that is
//! made before the first byte; must never change a file that is not a regular one or in use.

use std::fs::{DirBuilder, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::super::error::OpenDeviceError;
use super::super::memory::BUFFER_ALIGN;
use super::super::{BLOCK_BYTES_MAX, BLOCK_BYTES_MIN};
use super::statx::direct_io;

/// The smallest file or device worth opening, in bytes.
pub(super) const DEVICE_BYTES_MIN: u64 = 1 << 20;

/// What may be done to what is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// Reading and writing; a missing file is created, with its directory.
    Create,
    /// Reading and writing; it must be there.
    Existing,
    /// Reading only; it must be there.
    ReadOnly,
}

/// An open file or device, held for this process alone.
pub(super) struct Opened {
    pub(super) file: File,
    pub(super) block_bytes: u32,
    pub(super) capacity_bytes: u64,
}

/// Opens a regular file that may grow to `bytes_max`.
pub(super) fn open_file(
    path: &Path,
    bytes_max: u64,
    mode: OpenMode,
) -> Result<Opened, OpenDeviceError> {
    let capacity_bytes = check_size(path, bytes_max)?;
    match path.metadata() {
        Ok(metadata) => expect_kind(path, &metadata, Metadata::is_file, "regular file")?,
        Err(error) if error.kind() == ErrorKind::NotFound && mode == OpenMode::Create => {
            create(path)?;
        }
        Err(error) => return Err(system(path, "look at", error)),
    }
    let file = options(mode, 0)
        .open(path)
        .map_err(|error| open_error(path, error))?;
    expect_kind(
        path,
        &metadata_of(path, &file)?,
        Metadata::is_file,
        "regular file",
    )?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(OpenDeviceError::InUse {
                path: path.to_owned(),
            });
        }
        Err(TryLockError::Error(error)) => return Err(system(path, "lock", error)),
    }
    let block_bytes = block_bytes(path, &file)?;
    Ok(Opened {
        file,
        block_bytes,
        capacity_bytes,
    })
}

/// Opens a whole block device.
pub(super) fn open_block(path: &Path, mode: OpenMode) -> Result<Opened, OpenDeviceError> {
    let is_block = |metadata: &Metadata| metadata.file_type().is_block_device();
    let metadata = path
        .metadata()
        .map_err(|error| system(path, "look at", error))?;
    expect_kind(path, &metadata, is_block, "block device")?;
    // O_EXCL: neither mounted nor opened so by somebody else.
    let opened = options(mode, libc::O_EXCL).open(path);
    let mut file = opened.map_err(|error| open_error(path, error))?;
    expect_kind(path, &metadata_of(path, &file)?, is_block, "block device")?;
    let bytes = file
        .seek(SeekFrom::End(0))
        .map_err(|error| system(path, "measure", error))?;
    let capacity_bytes = check_size(path, bytes)?;
    let block_bytes = block_bytes(path, &file)?;
    Ok(Opened {
        file,
        block_bytes,
        capacity_bytes,
    })
}

fn options(mode: OpenMode, flags: i32) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(mode != OpenMode::ReadOnly);
    options.custom_flags(libc::O_DIRECT | flags);
    options
}

/// A second descriptor of the same file or device, with its own file position and flags.
pub(super) fn reopen(file: &File, writable: bool) -> io::Result<File> {
    use std::os::fd::AsRawFd;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let mode = if writable {
        OpenMode::Existing
    } else {
        OpenMode::ReadOnly
    };
    // Without /proc, or without permission to open it once more, the workers share one.
    options(mode, 0).open(path).or_else(|_| file.try_clone())
}

/// Makes an empty file that only this user may touch, and makes its name durable.
fn create(path: &Path) -> Result<(), OpenDeviceError> {
    let directory = directory_of(path);
    let missing: Vec<PathBuf> = directory
        .ancestors()
        .take_while(|part| !part.exists())
        .map(Path::to_owned)
        .collect();
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder
        .create(&directory)
        .map_err(|error| system(&directory, "create", error))?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    match options.open(path) {
        Ok(_) => {}
        // Another process was faster; the lock decides who may use it.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(system(path, "create", error)),
    }
    sync_directory(&directory)?;
    missing
        .iter()
        .try_for_each(|created| sync_directory(&directory_of(created)))
}

fn directory_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        Some(_) | None => PathBuf::from("."),
    }
}

fn sync_directory(directory: &Path) -> Result<(), OpenDeviceError> {
    let synced = File::open(directory).and_then(|directory| directory.sync_all());
    synced.map_err(|error| system(directory, "sync", error))
}

fn metadata_of(path: &Path, file: &File) -> Result<Metadata, OpenDeviceError> {
    file.metadata()
        .map_err(|error| system(path, "look at", error))
}

fn expect_kind(
    path: &Path,
    metadata: &Metadata,
    is_kind: impl Fn(&Metadata) -> bool,
    expected: &'static str,
) -> Result<(), OpenDeviceError> {
    if is_kind(metadata) {
        return Ok(());
    }
    Err(OpenDeviceError::WrongKind {
        path: path.to_owned(),
        expected,
    })
}

/// The capacity: `bytes` in whole blocks of the largest kind.
fn check_size(path: &Path, bytes: u64) -> Result<u64, OpenDeviceError> {
    if !(DEVICE_BYTES_MIN..=1 << 63).contains(&bytes) {
        let path = path.to_owned();
        return Err(OpenDeviceError::Size {
            path,
            bytes,
            bytes_min: DEVICE_BYTES_MIN,
        });
    }
    Ok(bytes - bytes % u64::from(BLOCK_BYTES_MAX))
}

/// The unit of direct I/O. Where nobody tells, the largest fits everywhere.
fn block_bytes(path: &Path, file: &File) -> Result<u32, OpenDeviceError> {
    let direct = direct_io(file).map_err(|error| system(path, "look at", error))?;
    let Some(direct) = direct else {
        return Ok(BLOCK_BYTES_MAX);
    };
    let block_bytes = direct.offset_align.max(BLOCK_BYTES_MIN);
    let usable = direct.offset_align > 0
        && block_bytes <= BLOCK_BYTES_MAX
        && block_bytes.is_power_of_two()
        && direct.memory_align as usize <= BUFFER_ALIGN;
    if usable {
        Ok(block_bytes)
    } else {
        Err(OpenDeviceError::NoDirectIo {
            path: path.to_owned(),
        })
    }
}

fn open_error(path: &Path, error: io::Error) -> OpenDeviceError {
    match error.raw_os_error() {
        Some(libc::EINVAL) => OpenDeviceError::NoDirectIo {
            path: path.to_owned(),
        },
        Some(libc::EBUSY) => OpenDeviceError::InUse {
            path: path.to_owned(),
        },
        Some(_) | None => system(path, "open", error),
    }
}

fn system(path: &Path, action: &'static str, source: io::Error) -> OpenDeviceError {
    let advice = match source.kind() {
        ErrorKind::NotFound => "check the path",
        ErrorKind::PermissionDenied => "give the server's user read and write permission",
        ErrorKind::ReadOnlyFilesystem => "choose a file system that is mounted for writing",
        ErrorKind::StorageFull => "free space on the file system",
        _ => "see the system's reason",
    };
    OpenDeviceError::System {
        path: path.to_owned(),
        action,
        advice,
        source,
    }
}
