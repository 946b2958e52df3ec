//! `pipeline`: redis-benchmark's SET and GET with 1, 8, 32 and 128 commands in flight on each of 50
//! connections.

use super::sampling::Place;
use super::session::{Memory, Session};
use crate::drivers::{own, redis_benchmark};
use crate::error::BenchError;
use crate::peers::Peer;
use redis_benchmark::{Plan, Test};

const DEPTHS: [u32; 4] = [1, 8, 32, 128];
const CONNECTIONS: u32 = 50;
const VALUE_BYTES: u16 = 1024;
const KEY_COUNT: u64 = 50_000;
const KEY_COUNT_QUICK: u64 = 1000;
/// Requests with one in flight; up to eightfold with more.
const REQUESTS: u64 = 100_000;
const REQUESTS_QUICK: u64 = 2000;
const MEMORY_BYTES: u64 = 4 << 30;
const STORE_BYTES: u64 = 8 << 30;

pub(super) fn run(session: &mut Session) -> Result<(), BenchError> {
    let memory = Memory::Budget(session.options().memory_bytes(MEMORY_BYTES)?);
    session.arrange(session.layout(), memory)?;
    session.rounds(|session, peer, round| measure(session, peer, round, memory))
}

fn measure(
    session: &mut Session,
    peer: Peer,
    round: u32,
    memory: Memory,
) -> Result<(), BenchError> {
    let key_count = session.options().key_count(KEY_COUNT, KEY_COUNT_QUICK);
    let requests = if session.options().quick {
        REQUESTS_QUICK
    } else {
        REQUESTS
    };
    let mut server = session.start(peer, &session.need(memory, (STORE_BYTES, key_count)))?;
    let size = usize::from(VALUE_BYTES);
    let base = own::plan(server.address(), key_count, size..=size);
    session.prepare(&mut server, "fill", |drive| own::fill(&base, drive))?;
    for (name, test) in [("SET", Test::Set), ("GET", Test::Get)] {
        if test == Test::Get {
            session.warm_reads(&mut server, &base)?;
        }
        let table = format!("pipeline, {name}, {}", session.layout().name());
        for depth in DEPTHS {
            let column = format!("-P {depth}");
            let place = Place {
                table: &table,
                column: &column,
                round,
            };
            session.measure(&mut server, &place, |address, drive| {
                let plan = Plan {
                    address,
                    connections: CONNECTIONS,
                    pipeline: depth,
                    requests: requests * u64::from(depth.min(8)),
                    key_count,
                    value_bytes: VALUE_BYTES.into(),
                    test: test.clone(),
                };
                redis_benchmark::run(&plan, drive)
            })?;
        }
    }
    server.stop();
    Ok(())
}
