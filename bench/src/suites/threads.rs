//! `threads`: `redis-benchmark -t get,set -n 50000 -c 500` at 1, 2 and 4 server threads.
//!
//! With more threads than cores it measures preemption.

use super::sampling::Place;
use super::session::{Memory, Need, Session};
use super::stage::Layout;
use crate::drivers::{own, redis_benchmark};
use crate::error::BenchError;
use crate::peers::Peer;
use redis_benchmark::{Plan, Test};

const THREADS: [usize; 3] = [1, 2, 4];
const CONNECTIONS: u32 = 500;
const REQUESTS: u64 = 50_000;
const REQUESTS_QUICK: u64 = 2000;
/// Its own default.
const VALUE_BYTES: u16 = 3;
const KEY_COUNT: u64 = 50_000;
const KEY_COUNT_QUICK: u64 = 1000;
const MEMORY_BYTES: u64 = 4 << 30;
const STORE_BYTES: u64 = 8 << 30;

pub(super) fn run(session: &mut Session) -> Result<(), BenchError> {
    let memory = Memory::Budget(session.options().memory_bytes(MEMORY_BYTES)?);
    // The page has servers and load on the same cores, and threads need cores to run on.
    let layout = if session.options().cpu_split {
        Layout::Split
    } else {
        Layout::Shared
    };
    session.arrange(layout, memory)?;
    let threads = if session.options().quick {
        &THREADS[..1]
    } else {
        &THREADS[..]
    };
    for count in threads {
        session.rounds(|session, peer, round| measure(session, peer, round, (*count, memory)))?;
    }
    Ok(())
}

fn measure(
    session: &mut Session,
    peer: Peer,
    round: u32,
    (threads, memory): (usize, Memory),
) -> Result<(), BenchError> {
    let is_quick = session.options().quick;
    let key_count = session.options().key_count(KEY_COUNT, KEY_COUNT_QUICK);
    let requests = if is_quick { REQUESTS_QUICK } else { REQUESTS };
    let mut server = session.start(
        peer,
        &Need {
            threads,
            ..session.need(memory, (STORE_BYTES, key_count))
        },
    )?;
    let size = usize::from(VALUE_BYTES);
    let base = own::plan(server.address(), key_count, size..=size);
    session.prepare(&mut server, "fill", |drive| own::fill(&base, drive))?;
    let table = format!(
        "threads, {threads} of the server, {}",
        session.layout().name()
    );
    for (column, test) in [("SET", Test::Set), ("GET", Test::Get)] {
        if test == Test::Get {
            session.warm_reads(&mut server, &base)?;
        }
        let place = Place {
            table: &table,
            column,
            round,
        };
        session.measure(&mut server, &place, |address, drive| {
            let plan = Plan {
                address,
                connections: CONNECTIONS,
                pipeline: 1,
                requests,
                key_count,
                value_bytes: VALUE_BYTES.into(),
                test,
            };
            redis_benchmark::run(&plan, drive)
        })?;
    }
    server.stop();
    Ok(())
}
