//! The device: reads of 4 KiB past the page cache, through a worker's ring, from a file.
//!
//! Owns the file. CPU time is what a server spends on a read; `device_wall` is the time from read
//! to read: with one in flight, how long the drive and whatever lies between let it wait.

mod batches;
mod cpu_time;
mod disk;
mod worker;

use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cellar_storage::clock::SystemClock;
use cellar_storage::device::uring::{OpenMode, UringDevice};
use cellar_storage::device::{Channel, Device, WriteSync};
use tokio::runtime::LocalRuntime;

/// The file. A drive's own cache may hold it: the kernel's does not.
const FILE_BYTES: u64 = 256 << 20;
/// One write while the file is made.
const FILL_BYTES: usize = 1 << 20;
const READ_BYTES: usize = 4096;
/// Steps in reads through the file, which has 65,536 of them: an odd number meets each.
const STRIDE: u64 = 40_503;
/// Reads in flight.
const DEPTHS: [u64; 2] = [1, 32];

/// A file with content, and the thread's access to it.
struct File {
    channel: Rc<dyn Channel>,
}

impl File {
    async fn new(path: &std::path::Path) -> Self {
        let clock = Arc::new(SystemClock::new());
        let device = UringDevice::open_file(path, FILE_BYTES, OpenMode::Create, clock)
            .expect("the folder's file system takes direct I/O");
        let channel = device.attach().expect("the kernel has io_uring");
        let mut buffer = channel.buffer(FILL_BYTES);
        buffer.fill(0x5a);
        for offset in (0..FILE_BYTES).step_by(FILL_BYTES) {
            let write = channel.write_buffer(offset, buffer, WriteSync::None);
            buffer = write.await.expect("the disk has room");
        }
        channel.flush().await.expect("a file can be flushed");
        Self { channel }
    }

    /// Reads in batches of `depth`, all of one in flight before the first is awaited.
    async fn read(&self, batches: u64, depth: u64) {
        let blocks = FILE_BYTES / READ_BYTES as u64;
        let mut block = 0;
        let mut reads = Vec::with_capacity(depth as usize);
        for _ in 0..batches {
            for _ in 0..depth {
                block = (block + STRIDE) % blocks;
                let buffer = self.channel.buffer(READ_BYTES);
                reads.push(self.channel.read(block * READ_BYTES as u64, buffer));
            }
            for read in reads.drain(..) {
                black_box(read.await.expect("what was written can be read"));
            }
        }
    }

    /// CPU time and wall time of some reads.
    fn timed(&self, runtime: &LocalRuntime, batches: u64, depth: u64) -> (Duration, Duration) {
        let (started, before) = (Instant::now(), cpu_time::now());
        runtime.block_on(self.read(batches, depth));
        (cpu_time::since(before), started.elapsed())
    }
}

fn main() {
    let (runtime, directory) = (worker::runtime(), disk::directory());
    let file = runtime.block_on(File::new(&directory.path().join("device")));
    let mut criterion = cpu_time::criterion();
    for (name, of) in [
        (
            "device",
            (|times| times.0) as fn((Duration, Duration)) -> Duration,
        ),
        ("device_wall", |times| times.1),
    ] {
        let mut group = criterion.benchmark_group(name);
        for depth in DEPTHS {
            group.bench_function(format!("read_by_{depth}"), |bencher| {
                bencher.iter_custom(|count| {
                    batches::in_batches(count, depth, |batches| {
                        of(file.timed(&runtime, batches, depth))
                    })
                });
            });
        }
        group.finish();
    }
    criterion.final_summary();
}
