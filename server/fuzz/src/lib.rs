//! Every decoder of foreign bytes, each with the promises that it keeps for all inputs.
//!
//! ```text
//!  seeds, corpus --> bin/fuzz (libFuzzer mutates) --+
//!                                                    +--> Target::run --> decoder, then encoder
//!  seeds, corpus --> tests/replay (own mutations) --+
//! ```
//!
//! A target panics when a promise is broken; the decoders themselves must not panic at all, since
//! a panic ends the server. Where bytes are protected by a checksum the target makes it right, so
//! that what lies behind it is reached. Owns targets and their seeds; must never be needed to run
//! the server.

mod config;
mod input;
mod payload;
mod record;
mod request;
mod segment;
mod superblock;
mod text;

/// One decoder under test.
pub struct Target {
    /// Names its folder in a corpus.
    pub name: &'static str,
    /// Inputs that reach far: what the encoder writes, what the tests know.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Decodes the input and checks what must hold; panics if something does not.
    pub run: fn(&[u8]),
}

/// All of them.
pub const TARGETS: &[Target] = &[
    request::STREAM,
    request::INLINE,
    record::RECORD,
    segment::HEADER,
    segment::FOOTER,
    segment::SUMMARY,
    superblock::SUPERBLOCK,
    payload::PAYLOAD,
    config::FILE,
    config::SET,
    text::GLOB,
];

/// The target with this name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
