//! `zipf`: reads by Zipf's law with 0.99, when memory holds 5, 10 and 20 % of the data: index,
//! buffers and cache together. Servers that hold everything in DRAM are the reference.

use std::time::Duration;

use super::recovery::leave_page_cache;
use super::sampling::Place;
use super::session::{Memory, Session};
use crate::drivers::own;
use crate::error::BenchError;
use crate::load::{KeyChoice, Length, Plan};
use crate::peers::{Address, Peer};

/// Percent of the data that memory has room for; the smallest last, as a server that does not fit
/// into it takes no further part.
const SHARES: [u64; 3] = [20, 10, 5];
/// A quick run's data is so small that no server fits into a tenth of it.
const MEMORY_BYTES_MIN_QUICK: u64 = 128 << 20;
const VALUE_BYTES: u16 = 1024;
/// Four GiB, so that a tenth has room for buffers and index too.
const KEY_COUNT: u64 = 4_000_000;
const KEY_COUNT_QUICK: u64 = 20_000;
const SECONDS: f64 = 10.0;
/// Of a column's length: long enough for the cache to hold what it would.
const WARM_UP_SHARE: f64 = 1.0;
const CONNECTIONS: u32 = 50;
const PIPELINES: [u32; 2] = [1, 16];

pub(super) fn run(session: &mut Session) -> Result<(), BenchError> {
    let data_bytes =
        session.options().key_count(KEY_COUNT, KEY_COUNT_QUICK) * u64::from(VALUE_BYTES);
    for share in SHARES {
        let mut bytes = data_bytes * share / 100;
        if session.options().quick {
            bytes = bytes.max(MEMORY_BYTES_MIN_QUICK);
        }
        let bytes = session.options().memory_bytes(bytes)?;
        let memory = Memory::BudgetBelowData(bytes);
        session.arrange(session.layout(), memory)?;
        session.rounds(|session, peer, round| measure(session, peer, round, (share, memory)))?;
    }
    Ok(())
}

fn measure(
    session: &mut Session,
    peer: Peer,
    round: u32,
    (share, memory): (u64, Memory),
) -> Result<(), BenchError> {
    let key_count = session.options().key_count(KEY_COUNT, KEY_COUNT_QUICK);
    let length = Duration::from_secs_f64(session.options().seconds(SECONDS));
    let size = usize::from(VALUE_BYTES);
    let need = session.need(
        memory,
        (
            super::tiered::store_bytes(key_count * u64::from(VALUE_BYTES)),
            key_count,
        ),
    );
    let mut server = session.start(peer, &need)?;
    let base = |address: &Address| Plan {
        keys: KeyChoice::ZIPFIAN_OF_YCSB,
        connections: CONNECTIONS,
        length: Length::Time(length),
        ..own::plan(address, key_count, size..=size)
    };
    let fill = base(server.address());
    session.prepare(&mut server, "fill", |drive| own::fill(&fill, drive))?;
    leave_page_cache(server.directory())?;
    let warm_up = Plan {
        pipeline: PIPELINES[1],
        length: Length::Time(length.mul_f64(WARM_UP_SHARE)),
        ..base(server.address())
    };
    session.prepare(&mut server, "warm-up", |drive| own::run(&warm_up, drive))?;
    let table = format!("zipf 0.99, memory for {share} % of the data");
    for pipeline in PIPELINES {
        let column = format!("GET, pipeline {pipeline}");
        let place = Place {
            table: &table,
            column: &column,
            round,
        };
        session.measure(&mut server, &place, |address, drive| {
            own::run(
                &Plan {
                    pipeline,
                    ..base(address)
                },
                drive,
            )
        })?;
    }
    server.stop();
    Ok(())
}
