//! The hot path allocates nothing: pipelined PINGs, however many, are served from buffers that
//! are used again.
//!
//! Owns the count of allocations of this whole process, so it is a program of its own.

#![cfg(test)]

use std::alloc::System;
use std::io::{Read, Write};
use std::net::TcpStream;

use cellar_server::config::{Loaded, OPTIONS};
use cellar_server::listener::Listeners;
use cellar_server::shutdown::ShutdownMode;
use cellar_server::start::Server;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Requests of a pipeline.
const PIPELINE_COUNT: usize = 32;
/// Pipelines that are counted.
const ROUND_COUNT: usize = 2000;
/// Allocations that the control thread may make meanwhile, for its samples and looks at clients.
const HOUSEKEEPING_COUNT_MAX: usize = 200;

#[test]
fn pipelined_pings_allocate_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut loaded = Loaded::default();
    let dir = directory.path().display().to_string();
    for (name, value) in [
        ("dir", dir.as_str()),
        ("devices", "store.cellar 256mb"),
        ("segment-size", "1mb"),
        ("workers", "1"),
    ] {
        let option = OPTIONS.iter().find(|option| option.name == name).unwrap();
        loaded.set_flag(option, value).unwrap();
    }
    let server = Server::start(loaded, Listeners::ephemeral().unwrap()).unwrap();
    server.wait_ready().unwrap();
    let mut stream = TcpStream::connect(server.addresses()[0]).unwrap();
    let requests = b"*1\r\n$4\r\nPING\r\n".repeat(PIPELINE_COUNT);
    let mut replies = vec![0; PIPELINE_COUNT * b"+PONG\r\n".len()];
    let mut round = |stream: &mut TcpStream| {
        stream.write_all(&requests).unwrap();
        stream.read_exact(&mut replies).unwrap();
    };
    // buffers are made on the way
    for _ in 0..100 {
        round(&mut stream);
    }
    let region = Region::new(ALLOCATOR);
    for _ in 0..ROUND_COUNT {
        round(&mut stream);
    }
    let count = region.change().allocations + region.change().reallocations;
    assert!(
        count < HOUSEKEEPING_COUNT_MAX,
        "{count} allocations in {ROUND_COUNT} pipelines"
    );
    drop(stream);
    server.stop(ShutdownMode::Nosave);
    server.wait();
}
