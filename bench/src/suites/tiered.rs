//! `tiered`: values of 1,000 to 4,000 bytes, far more of them than memory, 80 connections: GET,
//! then GET and SET in equal parts, then SET, without loading anew.
//!
//! memtier_benchmark draws keys and sizes evenly. With `--offered-rate` the built-in client adds
//! GETs at that rate in an open loop, on the same keys.

use std::time::Duration;

use super::recovery::leave_page_cache;
use super::sampling::Place;
use super::session::{Memory, Session};
use crate::drivers::memtier::{self, Mix, Plan};
use crate::drivers::own;
use crate::error::BenchError;
use crate::load::{self, Length, Pace};
use crate::peers::{Peer, Running};

const KEY_COUNT: u64 = 1_500_000;
const KEY_COUNT_QUICK: u64 = 5000;
const VALUE_BYTES: (u64, u64) = (1000, 4000);
const CONNECTIONS: u32 = 80;
const PIPELINES: [u32; 2] = [1, 16];
const SECONDS: f64 = 20.0;
/// A third of the data.
const MEMORY_BYTES: u64 = 1280 << 20;
/// Bytes of a record beside its value: header, key, rounding.
const RECORD_OWN_BYTES: u64 = 64;

/// Columns: SETs and GETs.
const COLUMNS: [(&str, u32, u32); 3] = [("GET", 0, 1), ("1:1", 1, 1), ("SET", 1, 0)];

pub(super) fn run(session: &mut Session) -> Result<(), BenchError> {
    let memory = Memory::BudgetBelowData(session.options().memory_bytes(MEMORY_BYTES)?);
    session.arrange(session.layout(), memory)?;
    session.rounds(|session, peer, round| measure(session, peer, round, memory))
}

/// Bytes of a store that `live_bytes` of records fill to three fifths, and some for small ones.
pub(super) fn store_bytes(live_bytes: u64) -> u64 {
    const SMALL_BYTES: u64 = 256 << 20;
    const UNIT_BYTES: u64 = 8 << 20;
    (live_bytes / 3 * 5 + SMALL_BYTES).next_multiple_of(UNIT_BYTES)
}

fn measure(
    session: &mut Session,
    peer: Peer,
    round: u32,
    memory: Memory,
) -> Result<(), BenchError> {
    let key_count = session.options().key_count(KEY_COUNT, KEY_COUNT_QUICK);
    let record_bytes = u64::midpoint(VALUE_BYTES.0, VALUE_BYTES.1) + RECORD_OWN_BYTES;
    let need = session.need(memory, (store_bytes(key_count * record_bytes), key_count));
    let mut server = session.start(peer, &need)?;
    let table = |pipeline| format!("tiered, pipeline {pipeline}");
    let fill_table = table(1);
    let place = Place {
        table: &fill_table,
        column: "fill",
        round,
    };
    session.measure(&mut server, &place, |address, drive| {
        memtier::run(
            &Plan {
                mix: Mix::Fill,
                ..plan(address, key_count)
            },
            drive,
        )
    })?;
    leave_page_cache(server.directory())?;
    for pipeline in PIPELINES {
        columns(session, &mut server, (&table(pipeline), pipeline, round))?;
    }
    if let Some(rate) = session.options().offered_rate {
        open_loop(session, &mut server, (rate, round))?;
    }
    server.stop();
    Ok(())
}

fn plan(address: &crate::peers::Address, key_count: u64) -> Plan<'_> {
    Plan {
        address,
        connections: CONNECTIONS,
        pipeline: 1,
        key_count,
        value_bytes: VALUE_BYTES,
        mix: Mix::Fill,
    }
}

fn columns(
    session: &mut Session,
    server: &mut Running,
    (table, pipeline, round): (&str, u32, u32),
) -> Result<(), BenchError> {
    let key_count = session.options().key_count(KEY_COUNT, KEY_COUNT_QUICK);
    let seconds = session.whole_seconds(SECONDS);
    for (column, sets, gets) in COLUMNS {
        let place = Place {
            table,
            column,
            round,
        };
        session.measure(server, &place, |address, drive| {
            let mix = Mix::Ratio {
                sets,
                gets,
                seconds,
            };
            memtier::run(
                &Plan {
                    pipeline,
                    mix,
                    ..plan(address, key_count)
                },
                drive,
            )
        })?;
    }
    Ok(())
}

/// GETs of the built-in client, on keys of its own making: others' names are not its own.
fn open_loop(
    session: &mut Session,
    server: &mut Running,
    (rate, round): (f64, u32),
) -> Result<(), BenchError> {
    let key_count = session.options().key_count(KEY_COUNT, KEY_COUNT_QUICK) / 4;
    let (least, most) = (VALUE_BYTES.0 as usize, VALUE_BYTES.1 as usize);
    let base = load::Plan {
        connections: CONNECTIONS,
        pace: Pace::OpenPerSecond(rate),
        length: Length::Time(Duration::from_secs_f64(session.options().seconds(SECONDS))),
        ..own::plan(server.address(), key_count.max(1), least..=most)
    };
    session.prepare(server, "fill", |drive| own::fill(&base, drive))?;
    leave_page_cache(server.directory())?;
    let column = format!("GET at {rate:.0}/s");
    let place = Place {
        table: "tiered, open loop",
        column: &column,
        round,
    };
    session.measure(server, &place, |_, drive| own::run(&base, drive))?;
    Ok(())
}
