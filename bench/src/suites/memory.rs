//! `memory`: what a key costs in DRAM, by its length and its value's size.
//!
//! The growth of the process's memory over a fill, divided by the keys, beside what the server says
//! of itself. Servers that keep values on a device have next to no cache here.

use super::sampling::Place;
use super::session::{Memory, Need, Session};
use crate::drivers::{Drive, Outcome, own};
use crate::error::BenchError;
use crate::load::Plan;
use crate::peers::client::info_number;
use crate::peers::{Peer, Running};
use crate::results::Figure;

/// Lengths of keys and values.
const SHAPES: [(usize, usize); 4] = [(16, 100), (64, 100), (16, 1000), (64, 1000)];
const KEY_COUNT: u64 = 1_000_000;
const KEY_COUNT_QUICK: u64 = 20_000;
const CACHE_BYTES: u64 = 1 << 20;
const MEMORY_BYTES: u64 = 8 << 30;
const STORE_BYTES: u64 = 8 << 30;
/// Digits of a key after its prefix.
const KEY_DIGITS: usize = 12;

pub(super) fn run(session: &mut Session) -> Result<(), BenchError> {
    let memory = Memory::Budget(session.options().memory_bytes(MEMORY_BYTES)?);
    session.arrange(session.layout(), memory)?;
    let shapes = if session.options().quick {
        &SHAPES[..1]
    } else {
        &SHAPES[..]
    };
    for shape in shapes {
        session.rounds(|session, peer, round| measure(session, peer, round, (*shape, memory)))?;
    }
    Ok(())
}

fn measure(
    session: &mut Session,
    peer: Peer,
    round: u32,
    ((key_bytes, value_bytes), memory): ((usize, usize), Memory),
) -> Result<(), BenchError> {
    let key_count = session.options().key_count(KEY_COUNT, KEY_COUNT_QUICK);
    let mut server = session.start(
        peer,
        &Need {
            cache_bytes: Some(CACHE_BYTES),
            ..session.need(memory, (STORE_BYTES, key_count))
        },
    )?;
    let table = format!("memory, values of {value_bytes} B");
    let column = format!("keys of {key_bytes} B");
    let place = Place {
        table: &table,
        column: &column,
        round,
    };
    session.measure_with(&mut server, &place, |server, drive| {
        let plan = Plan {
            key_prefix: "k".repeat(key_bytes - KEY_DIGITS),
            ..own::plan(server.address(), key_count, value_bytes..=value_bytes)
        };
        filled(server, drive, &plan)
    })?;
    server.stop();
    Ok(())
}

/// Fills the server, and divides what it grew by the keys.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn filled(
    server: &Running,
    drive: &Drive,
    plan: &Plan,
) -> Result<(Outcome, Vec<Figure>), BenchError> {
    let before = (server.usage()?.resident_bytes, server.info());
    let outcome = own::fill(plan, drive)?;
    let after = (server.usage()?.resident_bytes, server.info());
    let keys = plan.key_count as f64;
    let told = |info: &str| info_number(info, "used_memory");
    let resident = after.0 as f64 - before.0 as f64;
    let mut figures = vec![figure("resident memory per key", resident / keys)];
    if let (Some(was), Some(is)) = (told(&before.1), told(&after.1)) {
        figures.push(figure("used_memory per key", (is - was) / keys));
    }
    if let Some(index) = info_number(&after.1, "used_memory_index") {
        figures.push(figure("index memory per key", index / keys));
    }
    Ok((outcome, figures))
}

fn figure(name: &str, value: f64) -> Figure {
    let (name, unit) = (name.to_owned(), "B".to_owned());
    Figure { name, unit, value }
}
