//! What can go wrong in the store, as its callers see it.

use crate::device::DeviceError;
use crate::format::FormatError;
use crate::units::{Extent, Lsn};

/// Why an operation on an open store failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// The device holds as many live bytes as it may.
    #[error("the device is full")]
    OutOfSpace,
    /// The index holds as many bytes as the memory bound leaves it.
    #[error("the index has reached the memory bound")]
    OutOfMemory,
    /// A write or flush failed earlier: writes are refused until the server is restarted.
    #[error("a write to the device failed; writes are refused until restart")]
    Latched,
    /// The store is closing: it takes no more writes.
    #[error("the store is closing")]
    Closing,
    /// Keys have a bound, since a record fits one read.
    #[error("the key has {bytes} bytes, at most {bytes_max} are possible")]
    KeyTooLong {
        /// The key's length.
        bytes: usize,
        /// The bound.
        bytes_max: usize,
    },
    /// Values have Redis's bound.
    #[error("the value has {bytes} bytes, at most {bytes_max} are possible")]
    ValueTooLong {
        /// The value's length.
        bytes: u64,
        /// The bound.
        bytes_max: u64,
    },
    /// An atomic batch fits one segment.
    #[error("the writes of one command take {bytes} bytes, at most {bytes_max} are possible")]
    BatchTooLong {
        /// The batch's length in the log.
        bytes: u64,
        /// The bound.
        bytes_max: u64,
    },
    /// What the device returned is not what was written there.
    #[error("corrupt record in segment {segment} at {extent} (device {device})")]
    Corrupt {
        /// The device's number.
        device: u16,
        /// The segment's number in the store.
        segment: u32,
        /// The place on the device.
        extent: Extent,
    },
    /// A record verified, and yet holds what no version of the program writes.
    #[error("a record's content cannot be understood: {0}")]
    Format(FormatError),
    /// A page of a large value is missing.
    #[error("page {page} of a large value is missing: the value cannot be read")]
    MissingPage {
        /// The page's number in the value.
        page: u32,
    },
    /// A transaction wanted a key whose lock it could not have at once: it has to be run again.
    #[error("the transaction has to be run again with the locks of more keys")]
    Conflict,
    /// The collection would have more pages than one can have.
    #[error("a collection has at most {page_count_max} pages")]
    TooManyPages {
        /// The bound.
        page_count_max: u32,
    },
    /// The device did not deliver.
    #[error("read failed: {0}")]
    Read(#[from] DeviceError),
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No device was named.
    #[error("a store needs at least one device")]
    NoDevice,
    /// The devices are blank, and none may be created.
    #[error("the devices hold no store")]
    NoStore,
    /// The device is too small for its segments.
    #[error(
        "{device}: {bytes} bytes hold {segments} segments of {segment_bytes} bytes, at least \
         {segments_min} are needed; give it more space or choose smaller segments"
    )]
    TooSmall {
        /// The device's name.
        device: String,
        /// Its capacity.
        bytes: u64,
        /// Segments that fit.
        segments: u64,
        /// The segment size.
        segment_bytes: u32,
        /// The fewest that work.
        segments_min: u64,
    },
    /// The device holds something else.
    #[error("{device}: {reason}; nothing was written to it")]
    Foreign {
        /// The device's name.
        device: String,
        /// What it holds.
        reason: String,
    },
    /// The devices named are not exactly those of one store.
    #[error("{device}: {reason}; name all devices of the store, and no others")]
    Incomplete {
        /// The device's name.
        device: String,
        /// What does not fit.
        reason: String,
    },
    /// The device is smaller than the store on it.
    #[error(
        "{device}: its store takes {bytes_min} bytes, and the device has {bytes}; \
         give it its former size"
    )]
    Shrunk {
        /// The device's name.
        device: String,
        /// Its capacity.
        bytes: u64,
        /// What its segments need.
        bytes_min: u64,
    },
    /// What a store may do a bounded number of times was done as often: its devices say so.
    #[error(
        "the store has no {what} left for another start, which none comes to that Cellar alone \
         wrote; nothing was written to it"
    )]
    Spent {
        /// What is used up.
        what: &'static str,
    },
    /// The system has no memory for the index.
    #[error("there is no memory for the index: the store has more keys than fit")]
    NoMemory,
    /// The system has no thread for the loading of the index.
    #[error("no thread could be started to load the index: {cause}")]
    Thread {
        /// What the system said.
        cause: std::io::Error,
    },
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The log is damaged below what was durable, where damage cannot be skipped.
    #[error("the log cannot be followed from {lsn}: {reason}")]
    Log {
        /// Where.
        lsn: Lsn,
        /// Why.
        reason: &'static str,
    },
}
