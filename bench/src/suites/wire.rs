//! `wire`: small clients over a unix socket, values of 1 KiB in DRAM or in the cache: what the
//! protocol and the threads cost.

use std::time::Duration;

use super::sampling::Place;
use super::session::{Memory, Session};
use super::stage::Layout;
use crate::drivers::own;
use crate::error::BenchError;
use crate::load::{KeyChoice, Length, Mix, Plan};
use crate::peers::{Address, Peer};

const VALUE_BYTES: usize = 1024;
const KEY_COUNT: u64 = 100_000;
const KEY_COUNT_QUICK: u64 = 2000;
const SECONDS: f64 = 3.0;
const CLIENTS: [u32; 2] = [4, 8];
const CLIENTS_QUICK: [u32; 1] = [4];
/// All data and the page cache of its log fit several times over.
const MEMORY_BYTES: u64 = 4 << 30;
/// Room for the overwrites of a run, so that cleaning is as rare as a log's rewrite.
const STORE_BYTES: u64 = 8 << 30;
/// Of a column's length, before it is measured.
const WARM_UP_SHARE: f64 = 0.2;

/// The columns after the fill.
const COLUMNS: [(&str, Mix, KeyChoice); 4] = [
    ("overwrite", Mix::SET, KeyChoice::Uniform),
    ("readrandom", Mix::GET, KeyChoice::Uniform),
    ("ycsb-a", Mix::YCSB_A, KeyChoice::ZIPFIAN_OF_YCSB),
    ("ycsb-c", Mix::YCSB_C, KeyChoice::ZIPFIAN_OF_YCSB),
];

pub(super) fn run(session: &mut Session) -> Result<(), BenchError> {
    let memory = Memory::Budget(session.options().memory_bytes(MEMORY_BYTES)?);
    let clients = match (&*session.options().clients, session.options().quick) {
        ([], false) => &CLIENTS[..],
        ([], true) => &CLIENTS_QUICK[..],
        (named, _) => named,
    };
    for layout in session.layouts() {
        session.arrange(layout, memory)?;
        for connections in clients {
            session.rounds(|session, peer, round| {
                measure(session, peer, round, (layout, *connections, memory))
            })?;
        }
    }
    Ok(())
}

fn measure(
    session: &mut Session,
    peer: Peer,
    round: u32,
    (layout, connections, memory): (Layout, u32, Memory),
) -> Result<(), BenchError> {
    let key_count = session.options().key_count(KEY_COUNT, KEY_COUNT_QUICK);
    let length = Duration::from_secs_f64(session.options().seconds(SECONDS));
    let mut server = session.start(peer, &session.need(memory, (STORE_BYTES, key_count)))?;
    let table = format!("wire, {connections} clients, {}", layout.name());
    let base = |address: &Address| Plan {
        connections,
        ..own::plan(address, key_count, VALUE_BYTES..=VALUE_BYTES)
    };
    let place = |column| Place {
        table: &table,
        column,
        round,
    };
    session.measure(&mut server, &place("fillrandom"), |address, drive| {
        let plan = Plan {
            mix: Mix::SET,
            length: Length::Operations(key_count),
            ..base(address)
        };
        own::run(&plan, drive)
    })?;
    // Random keys leave gaps; the columns that follow find every key.
    let fill = base(server.address());
    session.prepare(&mut server, "fill", |drive| own::fill(&fill, drive))?;
    for (column, mix, keys) in COLUMNS {
        if mix == Mix::GET && keys == KeyChoice::Uniform {
            // What fits into memory is read from there: tiers have a suite of their own.
            session.prepare(&mut server, "warm-up", |drive| own::read_all(&fill, drive))?;
        }
        let plan = Plan {
            mix,
            keys,
            length: Length::Time(length),
            ..base(server.address())
        };
        let warm_up = Plan {
            length: Length::Time(length.mul_f64(WARM_UP_SHARE)),
            ..plan.clone()
        };
        session.prepare(&mut server, "warm-up", |drive| own::run(&warm_up, drive))?;
        session.measure(&mut server, &place(column), |_, drive| {
            own::run(&plan, drive)
        })?;
    }
    server.stop();
    Ok(())
}
