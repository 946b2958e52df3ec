//! The protocol: a request's bytes to its arguments, a name to its command, a reply's bytes.
//!
//! Owns the requests and values, those of `wire` and `pipeline`: keys of 16 bytes, values of 1 KiB.
//! Filling the buffers is not counted: in a server the kernel does that.

mod batches;
mod cpu_time;

use std::hint::black_box;
use std::time::Duration;

use bytes::BytesMut;
use cellar_server::command;
use cellar_server::resp::{Args, Parsed, Protocol, ReplyBuf, RequestLimits, RequestParser};
use criterion::Criterion;

use cpu_time::CpuTime;

const VALUE_BYTES: usize = 1024;
/// Requests of a pipeline, and elements of an array.
const PIPELINE: usize = 32;
/// Buffers that are filled before each look at the clock: they stay in the processor's caches.
const BUFFER_COUNT: usize = 32;
/// Values that replies are made of: far more than the processor's caches hold, as in `wire`.
const COLD_COUNT: usize = 100_000;
/// Steps through them: no prefetcher foresees the next, and 100,000 are met before one returns.
const COLD_STRIDE: usize = 48_271;
/// Replies that one buffer takes before it is sent.
const REPLY_COUNT: usize = 32;

const LIMITS: RequestLimits = RequestLimits {
    bulk_bytes_max: 512 << 20,
    is_authenticated: true,
};

fn get() -> Vec<u8> {
    b"*2\r\n$3\r\nGET\r\n$16\r\nkey:000000012345\r\n".to_vec()
}

fn set() -> Vec<u8> {
    let mut request = b"*3\r\n$3\r\nSET\r\n$16\r\nkey:000000012345\r\n$1024\r\n".to_vec();
    request.extend_from_slice(&[b'v'; VALUE_BYTES]);
    request.extend_from_slice(b"\r\n");
    request
}

/// A query buffer that holds `bytes`. It has been split before, as a connection's has, and so is
/// shared already.
fn query_buffer(bytes: &[u8]) -> BytesMut {
    let mut buffer = BytesMut::from(bytes);
    drop(buffer.split_off(bytes.len()));
    buffer
}

/// CPU time of taking all requests from as many buffers as `bytes` is put into.
fn parse_all(bytes: &[u8], buffer_count: usize) -> Duration {
    let mut buffers: Vec<BytesMut> = (0..buffer_count).map(|_| query_buffer(bytes)).collect();
    let (mut parser, mut args) = (RequestParser::default(), Args::new());
    let start = cpu_time::now();
    for buffer in &mut buffers {
        while parser.parse(buffer, &LIMITS, &mut args) == Ok(Parsed::Request) {
            black_box(&args);
        }
    }
    cpu_time::since(start)
}

fn parse(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("resp");
    for (name, request) in [("parse_get", get()), ("parse_set", set())] {
        for (name, depth) in [(name.to_owned(), 1), (format!("{name}_by_32"), PIPELINE)] {
            let bytes = request.repeat(depth);
            let batch = BUFFER_COUNT * depth;
            group.bench_function(name, |bencher| {
                bencher.iter_custom(|count| {
                    batches::in_batches(count, batch as u64, |batches| {
                        (0..batches).map(|_| parse_all(&bytes, BUFFER_COUNT)).sum()
                    })
                });
            });
        }
    }
    group.bench_function("find_command", |bencher| {
        bencher.iter(|| command::find(black_box(b"GET")));
    });
    group.finish();
}

fn reply(criterion: &mut Criterion<CpuTime>) {
    let value = vec![b'v'; VALUE_BYTES];
    let values = vec![b'v'; VALUE_BYTES * COLD_COUNT];
    let items = vec![[b'v'; 16]; PIPELINE];
    let mut place = 0;
    let mut cold = move |reply: &mut ReplyBuf| {
        place = (place + COLD_STRIDE) % COLD_COUNT;
        reply.bulk(&values[place * VALUE_BYTES..][..VALUE_BYTES]);
    };
    let mut group = criterion.benchmark_group("resp");
    let mut bench = |name: &str, encode: &mut dyn FnMut(&mut ReplyBuf)| {
        let mut reply = ReplyBuf::new(Protocol::Resp2);
        let mut count = 0;
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                count += 1;
                if count % REPLY_COUNT == 0 {
                    black_box(reply.bytes());
                    reply.clear();
                }
                encode(&mut reply);
            });
        });
    };
    bench("reply_ok", &mut ReplyBuf::ok);
    bench("reply_integer", &mut |reply| {
        reply.integer(black_box(123_456));
    });
    bench("reply_bulk", &mut cold);
    bench("reply_bulk_in_cache", &mut |reply| {
        reply.bulk(black_box(&value));
    });
    bench("reply_array_of_32", &mut |reply| {
        reply.bulk_array(black_box(&items));
    });
    group.finish();
}

fn main() {
    let mut criterion = cpu_time::criterion();
    parse(&mut criterion);
    reply(&mut criterion);
    criterion.final_summary();
}
