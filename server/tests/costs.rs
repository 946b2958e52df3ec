//! What a command costs, in counts that do not depend on the machine: heap allocations, calls into
//! the kernel, device reads, bytes written. A change that makes the hot path dearer fails here.
//!
//! Owns the count of allocations of this whole process, so it is a program of its own, and its
//! client allocates nothing while it counts.

#![cfg(test)]
#![expect(
    clippy::cast_precision_loss,
    reason = "what is counted here is far below 2^52"
)]

use std::alloc::System;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cellar_server::config::{Loaded, OPTIONS};
use cellar_server::listener::Listeners;
use cellar_server::shutdown::ShutdownMode;
use cellar_server::start::Server;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Allocations are those of the whole process: one test at a time.
static TURN: Mutex<()> = Mutex::new(());

/// Requests of a pipeline.
const PIPELINE_COUNT: usize = 32;
/// Pipelines that are counted.
const ROUND_COUNT: usize = 2000;
/// Commands that are counted.
const COMMAND_COUNT: f64 = (PIPELINE_COUNT * ROUND_COUNT) as f64;
/// Keys that are written and read.
const KEY_COUNT: usize = 8192;
/// Bytes of a key.
const KEY_BYTES: usize = 12;
/// Bytes of a value.
const VALUE_BYTES: usize = 1000;
/// Bytes of INFO at most.
const INFO_BYTES_MAX: usize = 64 << 10;

/// Bytes of INFO at least: an empty line before that ends a section.
const INFO_BYTES_MIN: usize = 4000;

/// What a command may cost at most, on average.
struct Bounds {
    /// With what the control thread makes meanwhile for its samples.
    allocations: f64,
    /// Reads and writes of the socket, and submissions to the device's ring.
    kernel_calls: f64,
    device_reads: f64,
    /// For each byte of key and value.
    bytes_written: f64,
}

/// What INFO counts.
#[derive(Clone, Copy)]
struct Counts {
    kernel_calls: f64,
    device_reads: f64,
    bytes_written: f64,
}

/// A server and one client of it.
struct Bench {
    stream: TcpStream,
    info: Vec<u8>,
    server: Server,
    _directory: tempfile::TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl Bench {
    fn new(value_cache: &str) -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let directory = tempfile::tempdir().unwrap();
        let mut loaded = Loaded::default();
        let dir = directory.path().display().to_string();
        for (name, value) in [
            ("dir", dir.as_str()),
            ("devices", "store.cellar 256mb"),
            ("segment-size", "1mb"),
            ("value-cache", value_cache),
            ("workers", "1"),
        ] {
            let option = OPTIONS.iter().find(|option| option.name == name).unwrap();
            loaded.set_flag(option, value).unwrap();
        }
        let server = Server::start(loaded, Listeners::ephemeral().unwrap()).unwrap();
        server.wait_ready().unwrap();
        let stream = TcpStream::connect(server.addresses()[0]).unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            stream,
            info: vec![0; INFO_BYTES_MAX],
            server,
            _directory: directory,
            _turn: turn,
        }
    }

    fn stop(self) {
        drop(self.stream);
        self.server.stop(ShutdownMode::Nosave);
        self.server.wait();
    }

    /// Sends requests and reads replies of a known length.
    fn call(&mut self, requests: &[u8], replies: &mut [u8]) {
        self.stream.write_all(requests).unwrap();
        self.stream.read_exact(replies).unwrap();
    }

    fn counts(&mut self) -> Counts {
        self.stream
            .write_all(b"*2\r\n$4\r\nINFO\r\n$10\r\neverything\r\n")
            .unwrap();
        let mut len = 0;
        while !self.info[..len].ends_with(b"\r\n\r\n") || len < INFO_BYTES_MIN {
            len += self.stream.read(&mut self.info[len..]).unwrap();
        }
        let text = std::str::from_utf8(&self.info[..len]).unwrap();
        let field = |name: &str| -> f64 {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|line| line.strip_prefix(':'));
            number.unwrap_or_else(|| panic!("{name}")).parse().unwrap()
        };
        Counts {
            kernel_calls: field("total_reads_processed")
                + field("total_writes_processed")
                + field("device_submissions"),
            device_reads: field("device_reads"),
            bytes_written: field("device_written_bytes"),
        }
    }

    /// Sends pipelines of one command each and compares what they cost with the bounds.
    fn check(&mut self, what: &str, pipelines: &[Vec<u8>], reply: &[u8], bounds: &Bounds) {
        let mut replies = vec![0; PIPELINE_COUNT * reply.len()];
        let mut pipelines = pipelines.iter().cycle();
        // buffers are made on the way, and the cache is filled
        for pipeline in pipelines.by_ref().take(ROUND_COUNT / 2) {
            self.call(pipeline, &mut replies);
        }
        let before = self.counts();
        let region = Region::new(ALLOCATOR);
        for pipeline in pipelines.take(ROUND_COUNT) {
            self.call(pipeline, &mut replies);
        }
        let change = region.change();
        let after = self.counts();
        assert_eq!(&replies[..reply.len()], reply, "{what}");
        let user_bytes = COMMAND_COUNT * (KEY_BYTES + VALUE_BYTES) as f64;
        let allocations = (change.allocations + change.reallocations) as f64;
        for (name, cost, bound) in [
            (
                "allocations",
                allocations / COMMAND_COUNT,
                bounds.allocations,
            ),
            (
                "kernel calls",
                (after.kernel_calls - before.kernel_calls) / COMMAND_COUNT,
                bounds.kernel_calls,
            ),
            (
                "device reads",
                (after.device_reads - before.device_reads) / COMMAND_COUNT,
                bounds.device_reads,
            ),
            (
                "bytes written a byte of the user's",
                (after.bytes_written - before.bytes_written) / user_bytes,
                bounds.bytes_written,
            ),
        ] {
            println!("{what}: {cost:.4} {name}, at most {bound}");
            assert!(cost <= bound, "{what}: {cost:.4} {name}, more than {bound}");
        }
    }
}

fn key(number: usize) -> String {
    format!("key:{number:08}")
}

/// Pipelines over all keys, in an order that no read-ahead foresees.
fn pipelines(request: impl Fn(&str) -> Vec<u8>) -> Vec<Vec<u8>> {
    let numbers: Vec<usize> = (0..KEY_COUNT).map(|n| n * 4099 % KEY_COUNT).collect();
    let pipeline = |numbers: &[usize]| numbers.iter().flat_map(|n| request(&key(*n))).collect();
    numbers.chunks(PIPELINE_COUNT).map(pipeline).collect()
}

fn sets() -> Vec<Vec<u8>> {
    let value = "v".repeat(VALUE_BYTES);
    pipelines(|key| format!("*3\r\n$3\r\nSET\r\n$12\r\n{key}\r\n$1000\r\n{value}\r\n").into_bytes())
}

fn gets() -> (Vec<Vec<u8>>, Vec<u8>) {
    let gets = pipelines(|key| format!("*2\r\n$3\r\nGET\r\n$12\r\n{key}\r\n").into_bytes());
    let value = "v".repeat(VALUE_BYTES);
    (gets, format!("$1000\r\n{value}\r\n").into_bytes())
}

#[test]
fn commands_cost_what_they_should() {
    let mut bench = Bench::new("64mb");
    let pings = [b"*1\r\n$4\r\nPING\r\n".repeat(PIPELINE_COUNT)];
    let bounds = Bounds {
        allocations: 0.005,
        kernel_calls: 0.07,
        device_reads: 0.0,
        bytes_written: 0.0,
    };
    bench.check("PING", &pings, b"+PONG\r\n", &bounds);
    let bounds = Bounds {
        allocations: 0.05,
        kernel_calls: 0.12,
        device_reads: 0.001,
        bytes_written: 1.12,
    };
    bench.check("SET", &sets(), b"+OK\r\n", &bounds);
    // one in ten is copied out of a write buffer
    let (gets, reply) = gets();
    let bounds = Bounds {
        allocations: 0.3,
        kernel_calls: 0.07,
        device_reads: 0.001,
        bytes_written: 0.001,
    };
    bench.check("GET from memory", &gets, &reply, &bounds);
    bench.stop();
}

#[test]
fn a_get_from_the_device_costs_one_read() {
    let mut bench = Bench::new("0");
    let mut replies = vec![0; PIPELINE_COUNT * b"+OK\r\n".len()];
    for pipeline in sets() {
        bench.call(&pipeline, &mut replies);
    }
    let (gets, reply) = gets();
    let bounds = Bounds {
        allocations: 5.2,
        kernel_calls: 0.25,
        device_reads: 1.0,
        bytes_written: 0.001,
    };
    bench.check("GET from the device", &gets, &reply, &bounds);
    bench.stop();
}
