//! `churn`: a store that is 80 % full is overwritten ten times over; then GETs and SETs come at 60
//! % of the rate that it could take, in windows with the cleaner at work and held in turns.
//!
//! Only Cellar's cleaner can be held; other servers show the windows at work.

use std::time::Duration;

use super::sampling::Place;
use super::session::{Memory, Session};
use super::watch::Watch;
use crate::drivers::{Drive, Outcome, own};
use crate::error::BenchError;
use crate::load::{Length, Mix, Pace, Plan};
use crate::peers::client::info_number;
use crate::peers::{Address, Peer, Running};
use crate::results::Figure;

/// Bytes of the store, and how much of it the records fill.
const STORE_BYTES: u64 = 4 << 30;
/// A smaller one has no room for 80 % beside the segments that the cleaner keeps.
const STORE_BYTES_QUICK: u64 = 1 << 30;
const FILLED_PERCENT: u64 = 80;
const VALUE_BYTES: std::ops::RangeInclusive<usize> = 1000..=4000;
/// A record of such a value on average: header, key and rounding included.
const RECORD_BYTES: u64 = 2564;
/// How often every key is overwritten, on average.
const TURNS: u64 = 10;
const TURNS_QUICK: u64 = 1;
const MEMORY_BYTES: u64 = 1 << 30;
const CONNECTIONS: u32 = 16;
const PIPELINE: u32 = 8;
/// Of the rate measured, what is offered in the windows.
const OFFERED_SHARE: f64 = 0.6;
const WINDOW_S: f64 = 6.0;
/// A held cleaner frees nothing: the window must end before the free segments do. It takes this
/// share of them, as some are kept for the cleaner.
const HELD_FREE_SHARE: f64 = 0.3;
const HELD_WINDOW_S: (f64, f64) = (0.3, 2.5);
const WINDOW_PAIRS: u32 = 5;
const INTERVAL: Duration = Duration::from_secs(1);

pub(super) fn run(session: &mut Session) -> Result<(), BenchError> {
    let memory = Memory::BudgetBelowData(session.options().memory_bytes(MEMORY_BYTES)?);
    session.arrange(session.layout(), memory)?;
    session.rounds(|session, peer, round| measure(session, peer, round, memory))
}

fn measure(
    session: &mut Session,
    peer: Peer,
    round: u32,
    memory: Memory,
) -> Result<(), BenchError> {
    let is_quick = session.options().quick;
    let store_bytes = if is_quick {
        STORE_BYTES_QUICK
    } else {
        STORE_BYTES
    };
    let full = store_bytes / 100 * FILLED_PERCENT / RECORD_BYTES;
    let key_count = session.options().key_count(full, full);
    let need = session.need(memory, (store_bytes, key_count));
    let mut server = session.start(peer, &need)?;
    let base = plan(server.address(), key_count);
    session.prepare(&mut server, "fill", |drive| own::fill(&base, drive))?;
    let turns = if is_quick { TURNS_QUICK } else { TURNS };
    let overwrite = Plan {
        mix: Mix::SET,
        length: Length::Operations(key_count * turns),
        interval: INTERVAL,
        ..base.clone()
    };
    let table = format!("churn, {FILLED_PERCENT} % full");
    let place = Place {
        table: &table,
        column: "overwrite",
        round,
    };
    session.measure_with(&mut server, &place, |server, drive| {
        written(server, drive, &overwrite)
    })?;
    windows(session, &mut server, &base, round).map(|()| server.stop())
}

fn plan(address: &Address, key_count: u64) -> Plan {
    Plan {
        connections: CONNECTIONS,
        pipeline: PIPELINE,
        ..own::plan(address, key_count, VALUE_BYTES)
    }
}

/// Overwrites, and what the store says that it wrote for them.
fn written(
    server: &Running,
    drive: &Drive,
    plan: &Plan,
) -> Result<(Outcome, Vec<Figure>), BenchError> {
    let before = server.info();
    let (outcome, watch) = Watch::during(server, INTERVAL, || own::run(plan, drive));
    let mut outcome = outcome?;
    watch.annotate(&mut outcome.points);
    let after = server.info();
    let grown = |name: &str| Some(info_number(&after, name)? - info_number(&before, name)?);
    let written = grown("device_written_bytes").zip(grown("user_bytes_written"));
    let figures = written
        .filter(|(_, user)| *user > 0.0)
        .map(|(device, user)| Figure {
            name: "written by the store per byte of records".to_owned(),
            unit: "B".to_owned(),
            value: device / user,
        });
    Ok((outcome, figures.into_iter().collect()))
}

/// How long the cleaner can be held at `rate`, of which half are writes.
fn held_length(server: &Running, rate: f64) -> Duration {
    let info = server.info();
    let told = |name: &str| info_number(&info, name).unwrap_or_default();
    let free_bytes = told("segments_free") * told("segment_bytes") * HELD_FREE_SHARE;
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    let bytes_per_s = rate / 2.0 * RECORD_BYTES as f64;
    let (least_s, most_s) = HELD_WINDOW_S;
    Duration::from_secs_f64((free_bytes / bytes_per_s.max(1.0)).clamp(least_s, most_s))
}

/// The rate that reads and overwrites reach together, then a share of it offered in windows.
fn windows(
    session: &mut Session,
    server: &mut Running,
    base: &Plan,
    round: u32,
) -> Result<(), BenchError> {
    let length = session.options().seconds(WINDOW_S);
    let mixed = Plan {
        mix: Mix::YCSB_A,
        length: Length::Time(Duration::from_secs_f64(length)),
        ..base.clone()
    };
    let table = "churn, reads beside overwrites";
    let place = Place {
        table,
        column: "1:1, closed loop",
        round,
    };
    let sample = session.measure(server, &place, |_, drive| own::run_for_gets(&mixed, drive))?;
    let offered = Plan {
        pace: Pace::OpenPerSecond((sample.ops_per_s * OFFERED_SHARE).max(1.0)),
        ..mixed.clone()
    };
    let pairs = if session.options().quick {
        1
    } else {
        WINDOW_PAIRS
    };
    for pair in 0..pairs {
        let round = round * pairs + pair;
        let place = Place {
            table,
            column: "at 60 %, cleaner at work",
            round,
        };
        session.measure(server, &place, |_, drive| {
            own::run_for_gets(&offered, drive)
        })?;
        let can_be_held = matches!(server.peer(), Peer::Cellar | Peer::CellarSpdk);
        if can_be_held {
            let mut client = server.client()?;
            let held = Plan {
                length: Length::Time(held_length(server, sample.ops_per_s * OFFERED_SHARE)),
                ..offered.clone()
            };
            client.ask(&["CELLAR", "CLEANER", "PAUSE"])?;
            let place = Place {
                table,
                column: "at 60 %, cleaner held",
                round,
            };
            session.measure(server, &place, |_, drive| own::run_for_gets(&held, drive))?;
            client.ask(&["CELLAR", "CLEANER", "RESUME"])?;
        }
    }
    Ok(())
}
