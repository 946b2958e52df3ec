//! An empty server: a request's bytes are read, a reply's bytes are written, and nothing lies
//! between. So this is what the kernel's sockets and the runtime take of a command.
//!
//! Owns both ends: a thread of clients, each of which waits for its reply before it sends on, as
//! those of the suites do. Only the server's thread is counted.

mod batches;
mod cpu_time;
mod worker;

use std::cell::Cell;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream as Client;
use std::rc::Rc;
use std::time::Duration;

use bytes::BytesMut;
use criterion::Criterion;
use nix::time::{ClockId, clock_gettime};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::runtime::LocalRuntime;
use tokio::sync::Notify;
use tokio::task::spawn_local;

use cpu_time::CpuTime;

/// Room of a query buffer, as the server's.
const BUFFER_BYTES: usize = 64 << 10;
/// `GET key:000000000000`, and the same with a value of 1 KiB for SET.
const GET_BYTES: usize = 36;
const SET_BYTES: usize = 1071;
/// A value of 1 KiB with its frame, and `+OK`.
const BULK_BYTES: usize = 1033;
const OK_BYTES: usize = 5;
/// Of each benchmark: name, bytes of a request and of a reply, clients, requests in flight of each.
/// `wire` has 8 clients with one, `pipeline` 50.
const LOADS: [(&str, usize, usize, usize, usize); 6] = [
    ("get", GET_BYTES, BULK_BYTES, 8, 1),
    ("set", SET_BYTES, OK_BYTES, 8, 1),
    ("get_of_50", GET_BYTES, BULK_BYTES, 50, 1),
    ("set_of_50", SET_BYTES, OK_BYTES, 50, 1),
    ("get_of_50_by_32", GET_BYTES, BULK_BYTES, 50, 32),
    ("set_of_50_by_32", SET_BYTES, OK_BYTES, 50, 32),
];

/// How far the server is.
#[derive(Default)]
struct Progress {
    answered: Cell<u64>,
    /// Whoever waits wants to know when so many are answered.
    wanted: Cell<u64>,
    reached: Notify,
}

/// One connection: answers until its client goes.
async fn serve(mut stream: UnixStream, (request, reply): (usize, Vec<u8>), all: Rc<Progress>) {
    let mut buffer = BytesMut::with_capacity(BUFFER_BYTES);
    loop {
        while buffer.len() < request {
            buffer.reserve(BUFFER_BYTES);
            if !matches!(stream.read_buf(&mut buffer).await, Ok(1..)) {
                return;
            }
        }
        buffer.clear();
        if stream.write_all(&reply).await.is_err() {
            return;
        }
        all.answered.set(all.answered.get() + 1);
        if all.answered.get() == all.wanted.get() {
            all.reached.notify_one();
        }
    }
}

/// All clients, in turn: takes the reply, sends the next request, until the server goes.
fn load(mut clients: Vec<Client>, request: &[u8], mut reply: Vec<u8>) {
    for client in &mut clients {
        if client.write_all(request).is_err() {
            return;
        }
    }
    loop {
        for client in &mut clients {
            let done = client.read_exact(&mut reply);
            if done.and_then(|()| client.write_all(request)).is_err() {
                return;
            }
        }
    }
}

/// CPU time of this thread so far.
fn thread_now() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .expect("every Linux counts a thread's CPU time")
        .into()
}

/// CPU time of the server for so many turns of a client.
fn answer(runtime: &LocalRuntime, progress: &Progress, turns: u64) -> Duration {
    let start = thread_now();
    progress.wanted.set(progress.answered.get() + turns);
    runtime.block_on(progress.reached.notified());
    thread_now().saturating_sub(start)
}

fn bench(
    criterion: &mut Criterion<CpuTime>,
    (name, request_bytes, reply_bytes, clients, depth): (&str, usize, usize, usize, usize),
) {
    let runtime = worker::runtime();
    let progress = Rc::new(Progress::default());
    let pairs = (0..clients).map(|_| Client::pair().expect("there are descriptors"));
    let (ours, theirs): (Vec<_>, Vec<_>) = pairs.unzip();
    let (request, reply) = (vec![0; request_bytes * depth], vec![0; reply_bytes * depth]);
    runtime.block_on(async {
        for stream in ours {
            stream.set_nonblocking(true).expect("a socket can be");
            let stream = UnixStream::from_std(stream).expect("the runtime takes sockets");
            let work = (request.len(), reply.clone());
            spawn_local(serve(stream, work, Rc::clone(&progress)));
        }
    });
    let driver = std::thread::spawn(move || load(theirs, &request, reply));
    let mut group = criterion.benchmark_group("socket");
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|count| {
            batches::in_batches(count, depth as u64, |turns| {
                answer(&runtime, &progress, turns)
            })
        });
    });
    group.finish();
    drop(runtime);
    driver.join().expect("the clients end with the server");
}

fn main() {
    let mut criterion = cpu_time::criterion();
    for load in LOADS {
        bench(&mut criterion, load);
    }
    criterion.final_summary();
}
