//! The version of Redis whose commands are spoken, as clients ask for it.
//!
//! Owns that number; the server's own version is the package's.

/// What HELLO and INFO call the version: clients choose features by it.
pub const REDIS_VERSION: &str = "7.2.5";

/// The server's own version.
pub const CELLAR_VERSION: &str = env!("CARGO_PKG_VERSION");
