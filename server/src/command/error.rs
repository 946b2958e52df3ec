//! Why a command failed, with the exact text that the client sees.
//!
//! Owns the texts that several commands share. `Display` is the error reply without its leading
//! `-`.

use std::borrow::Cow;

use cellar_storage::StoreError;

use crate::collections::Malformed;
use crate::rdb::BadFormat;

/// Why a command failed. `Display` is the exact text of the error reply after `-`.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// An option that is unknown or contradicts another.
    #[error("ERR syntax error")]
    Syntax,
    /// The key holds another type.
    #[error("WRONGTYPE Operation against a key holding the wrong kind of value")]
    WrongType,
    /// Not a 64-bit signed whole number.
    #[error("ERR value is not an integer or out of range")]
    NotInteger,
    /// Not a finite or infinite number.
    #[error("ERR value is not a valid float")]
    NotFloat,
    /// A number beyond what the command takes.
    #[error("ERR value is out of range")]
    OutOfRange,
    /// Too few or too many arguments; the full command name such as `client|kill`.
    #[error("ERR wrong number of arguments for '{0}' command")]
    Arity(Cow<'static, str>),
    /// The key must exist and does not.
    #[error("ERR no such key")]
    NoSuchKey,
    /// A database number beyond `databases`.
    #[error("ERR DB index is out of range")]
    DbOutOfRange,
    /// A subcommand that the named command does not have.
    #[error("ERR unknown subcommand '{subcommand}'. Try {command} HELP.")]
    UnknownSubcommand {
        /// The command's name in capitals.
        command: String,
        /// What the client sent, cut to 128 bytes.
        subcommand: String,
    },
    /// The store is not open yet.
    #[error("LOADING Redis is loading the dataset in memory")]
    Loading,
    /// A write or flush failed earlier; what it was.
    #[error("MISCONF Errors writing to the AOF file: {0}. {LATCHED_ADVICE}")]
    Latched(String),
    /// What was written may be lost: making it durable failed.
    #[error("MISCONF {UNKNOWN_OUTCOME}")]
    UnknownOutcome,
    /// A collection's bytes verified and yet make no sense.
    #[error("ERR the value on the device cannot be understood: {0}")]
    Malformed(#[from] Malformed),
    /// A payload that is no value.
    #[error(transparent)]
    BadFormat(#[from] BadFormat),
    /// The store refused or failed.
    #[error("{}", store_error_text(.0))]
    Store(#[from] StoreError),
    /// Any other text, its first word included.
    #[error("{0}")]
    Other(Cow<'static, str>),
}

impl CommandError {
    /// An error with a text of its own, its first word (`ERR` mostly) included.
    pub fn other(text: impl Into<Cow<'static, str>>) -> Self {
        Self::Other(text.into())
    }

    /// A wrong number of arguments for the command with this full lower-case name.
    pub fn arity(name: impl Into<Cow<'static, str>>) -> Self {
        Self::Arity(name.into())
    }
}

/// The error reply that a failure of the store becomes.
fn store_error_text(error: &StoreError) -> String {
    match error {
        StoreError::OutOfSpace | StoreError::OutOfMemory => {
            "OOM command not allowed when used memory > 'maxmemory'.".into()
        }
        StoreError::Latched => {
            format!("MISCONF Errors writing to the AOF file: a write failed. {LATCHED_ADVICE}")
        }
        StoreError::KeyTooLong { bytes, bytes_max } => {
            format!("ERR key of {bytes} bytes exceeds the maximum of {bytes_max} bytes")
        }
        StoreError::ValueTooLong { .. } => {
            "ERR string exceeds maximum allowed size (proto-max-bulk-len)".into()
        }
        StoreError::BatchTooLong { bytes, bytes_max } => {
            format!("ERR atomic write of {bytes} bytes exceeds the maximum of {bytes_max} bytes")
        }
        StoreError::Conflict => "ERR the transaction met others, run it again".into(),
        StoreError::TooManyPages { .. } => {
            "ERR the collection has as many pages as one can have".into()
        }
        StoreError::Corrupt { .. } => format!("ERR the value on the device is damaged: {error}"),
        StoreError::Read(cause) => format!("ERR reading from the device failed: {cause}"),
        StoreError::Format(_) | StoreError::MissingPage { .. } => {
            format!("ERR the value on the device cannot be understood: {error}")
        }
        StoreError::Closing => "ERR the server is stopping".into(),
    }
}

/// What to do after a failed write or flush.
const LATCHED_ADVICE: &str =
    "Writes are refused until the server is restarted, reads go on. See INFO persistence.";

/// What is said of writes that may be lost.
const UNKNOWN_OUTCOME: &str = "Errors writing to the AOF file: making the write durable failed, \
                               its outcome is unknown. Writes are refused until the server is \
                               restarted, reads go on. See INFO persistence.";
