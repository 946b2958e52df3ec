//! What can go wrong at a device, with what a reader of the log needs to find it.
//! Owns the error types of the seam; must never decide what a failure means for the store.

use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

use crate::units::Extent;

/// What was asked of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// A read into an owned buffer.
    Read,
    /// A write, durable or not.
    Write,
    /// Making all completed writes durable.
    Flush,
    /// Reserving space.
    Allocate,
    /// Giving space back.
    Discard,
    /// A worker's own access to the device.
    Attach,
}

impl std::fmt::Display for Operation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Flush => "flush",
            Self::Allocate => "allocation",
            Self::Discard => "discard",
            Self::Attach => "attach",
        })
    }
}

/// A failed operation.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DeviceError {
    /// The system refused or failed it.
    #[error("{device}: {operation} of {extent} failed: {}", errno_text(*.errno))]
    Io {
        /// The device's name.
        device: Arc<str>,
        /// What was tried.
        operation: Operation,
        /// Where.
        extent: Extent,
        /// The system's error number.
        errno: i32,
    },
    /// There is no room: the file system is full, or the extent lies beyond the capacity.
    #[error("{device}: no space for {operation} of {extent}")]
    NoSpace {
        /// The device's name.
        device: Arc<str>,
        /// What was tried.
        operation: Operation,
        /// Where.
        extent: Extent,
    },
    /// No answer within [`TIMEOUT_US`](super::TIMEOUT_US). Its outcome is unknown.
    #[error("{device}: {operation} of {extent} got no answer in {} s", super::TIMEOUT_US / 1_000_000)]
    TimedOut {
        /// The device's name.
        device: Arc<str>,
        /// What was tried.
        operation: Operation,
        /// Where.
        extent: Extent,
    },
    /// The caller broke the seam's contract; nothing was sent to the device.
    #[error("{device}: {operation} of {extent} is {refusal}")]
    Refused {
        /// The device's name.
        device: Arc<str>,
        /// What was tried.
        operation: Operation,
        /// Where.
        extent: Extent,
        /// What was wrong with it.
        refusal: Refusal,
    },
    /// The device, or the worker's ring, is gone.
    #[error("the device is closed")]
    Closed,
}

impl DeviceError {
    /// What the system's error number means for an operation.
    pub fn from_errno(device: &Arc<str>, operation: Operation, extent: Extent, errno: i32) -> Self {
        let device = Arc::clone(device);
        match errno {
            libc::ENOSPC | libc::EDQUOT | libc::EFBIG => Self::NoSpace {
                device,
                operation,
                extent,
            },
            _ => Self::Io {
                device,
                operation,
                extent,
                errno,
            },
        }
    }
}

impl DeviceError {
    /// Whether what was read is lost where it lies, as a sector that has worn out is, while the
    /// device goes on: the blocks next to it may well be read.
    pub fn is_of_medium(&self) -> bool {
        match self {
            // Linux tells such a sector by the second one, and file systems and older drivers by
            // the first; the others are sums that the drive or the file system keeps.
            Self::Io {
                operation, errno, ..
            } => {
                *operation == Operation::Read
                    && matches!(
                        *errno,
                        libc::EIO | libc::ENODATA | libc::EILSEQ | libc::EBADMSG
                    )
            }
            Self::NoSpace { .. } | Self::TimedOut { .. } | Self::Refused { .. } | Self::Closed => {
                false
            }
        }
    }
}

/// Why an operation never reached the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// Offset or length is no multiple of the device's block, or the length is zero.
    #[error("not made of whole blocks")]
    Misaligned,
    /// It reaches beyond the capacity.
    #[error("beyond the device's end")]
    OutOfBounds,
}

fn errno_text(errno: i32) -> std::io::Error {
    std::io::Error::from_raw_os_error(errno)
}

/// Why a device could not be opened. Nothing on it was changed.
#[derive(Debug, Error)]
pub enum OpenDeviceError {
    /// The system refused.
    #[error("cannot {action} {path}: {source}; {advice}", path = .path.display())]
    System {
        /// The file or device.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What to do about it.
        advice: &'static str,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Another process has it, or it is mounted.
    #[error("{path} is in use, by another process or a mount; end that, or choose another path", path = .path.display())]
    InUse {
        /// The file or device.
        path: PathBuf,
    },
    /// The path leads to something else.
    #[error("{path} is not a {expected}; choose another path", path = .path.display())]
    WrongKind {
        /// The path.
        path: PathBuf,
        /// What it should be: "regular file" or "block device".
        expected: &'static str,
    },
    /// The file system or device cannot do direct I/O in blocks of at most 4,096 bytes.
    #[error("{path} does not support direct I/O; use a file on ext4 or XFS, or a block device", path = .path.display())]
    NoDirectIo {
        /// The file or device.
        path: PathBuf,
    },
    /// The configured size is not usable.
    #[error("{path}: a size of {bytes} bytes is not usable; it must be from {bytes_min} bytes to 2^63", path = .path.display())]
    Size {
        /// The file or device.
        path: PathBuf,
        /// What was configured or found.
        bytes: u64,
        /// The least that is usable.
        bytes_min: u64,
    },
}
