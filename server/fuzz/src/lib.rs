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
//! that what lies behind it is reached. One target is no decoder but what leans on all of them: the
//! start of a store, and its check, over devices whose structures the input has changed. Owns
//! targets and their seeds; must never be needed to run the server.

mod config;
mod image;
mod input;
mod payload;
mod record;
mod remains;
mod request;
mod segment;
mod superblock;
mod text;
mod value;

/// One decoder under test.
pub struct Target {
    /// Names its folder in a corpus.
    pub name: &'static str,
    /// Inputs that reach far: what the encoder writes, what the tests know.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Decodes the input and checks what must hold; panics if something does not.
    pub run: fn(&[u8]),
    /// Mutations that the test command tries: some seconds of them.
    pub mutations: u64,
}

/// Mutations of a target whose inputs take microseconds.
const MUTATIONS: u64 = 4_000;

/// All of them.
pub const TARGETS: &[Target] = &[
    request::STREAM,
    request::INLINE,
    record::RECORD,
    remains::REMAINS,
    segment::HEADER,
    segment::FOOTER,
    segment::SUMMARY,
    superblock::SUPERBLOCK,
    payload::PAYLOAD,
    image::IMAGE,
    config::FILE,
    config::SET,
    text::GLOB,
    value::VALUE,
];

/// The target with this name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
