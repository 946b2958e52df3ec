//! `recovery`: a filled server is killed, its files leave the page cache, it starts again: how long
//! until it answers, and whether it has all keys.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};

use super::session::{Memory, Session};
use crate::drivers::own;
use crate::error::BenchError;
use crate::host::child;
use crate::host::steal::Ticks;
use crate::peers::{Peer, Running};
use crate::results::{Figure, Row, Sample};

const KEY_COUNT: u64 = 500_000;
const KEY_COUNT_QUICK: u64 = 5000;
const VALUE_BYTES: std::ops::RangeInclusive<usize> = 1000..=4000;
const MEMORY_BYTES: u64 = 4 << 30;
const STORE_BYTES: u64 = 4 << 30;
/// After which everything is durable at the level everysec, with some to spare.
const SETTLE: Duration = Duration::from_secs(3);

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
    let mut need = session.need(memory, (STORE_BYTES, key_count));
    let mut server = session.start(peer, &need)?;
    let plan = own::plan(server.address(), key_count, VALUE_BYTES);
    let filled = session.prepare(&mut server, "fill", |drive| own::fill(&plan, drive))?;
    child::pause(SETTLE, session.cancel())?;
    let directory = server.directory().to_owned();
    server.kill();
    leave_page_cache(&directory)?;
    need.keeps_data = true;
    let ticks = Ticks::now()?;
    let started = Instant::now();
    let server = session.start(peer, &need)?;
    let seconds = started.elapsed().as_secs_f64();
    let mut sample = sample(session, &server, (seconds, round))?;
    sample.user_bytes_written = filled.written_bytes;
    sample.steal_share = Ticks::now()?.stolen_share_since(ticks);
    if sample.operations < key_count {
        let found = sample.operations;
        sample
            .notes
            .insert(0, format!("{found} of {key_count} keys came back"));
    }
    session.say(&format!(
        "{:11}  recovery: ready after {seconds:.2} s with {} keys",
        peer.name(),
        sample.operations
    ));
    session.record(Row::Sample(sample))?;
    server.stop();
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn sample(
    session: &Session,
    server: &Running,
    (seconds, round): (f64, u32),
) -> Result<Sample, BenchError> {
    let usage = server.usage()?;
    let text = server.client()?.ask(&["DBSIZE"])?;
    let operations = text.trim().parse().unwrap_or_default();
    let has_device = session.options().regime == super::options::Regime::Disk;
    Ok(Sample {
        suite: session.suite().name().to_owned(),
        table: session.titled("recovery, kill -9 to the first answer"),
        column: "start".to_owned(),
        server: server.peer().name().to_owned(),
        round,
        seconds,
        operations,
        ops_per_s: operations as f64 / seconds,
        server_cpu_s: usage.cpu_s,
        resident_bytes: usage.resident_peak_bytes,
        device_read_bytes: has_device.then_some(usage.device_read_bytes),
        // What a start writes is no answer to what the fill wrote.
        device_written_bytes: None,
        figures: vec![
            figure("ready after", "s", seconds),
            figure(
                "read from the device",
                "MiB",
                usage.device_read_bytes as f64 / 1_048_576.0,
            ),
        ],
        notes: server.notes().to_vec(),
        ..Sample::default()
    })
}

fn figure(name: &str, unit: &str, value: f64) -> Figure {
    let (name, unit) = (name.to_owned(), unit.to_owned());
    Figure { name, unit, value }
}

/// Syncs every file and tells the kernel that its pages are not needed, so that a start reads from
/// the device as after a loss of power.
pub(super) fn leave_page_cache(directory: &Path) -> Result<(), BenchError> {
    let doing = || format!("let go of the page cache of {}", directory.display());
    let entries = fs::read_dir(directory).map_err(BenchError::system(doing()))?;
    for entry in entries {
        let entry = entry.map_err(BenchError::system(doing()))?;
        let kind = entry.file_type().map_err(BenchError::system(doing()))?;
        if kind.is_dir() {
            leave_page_cache(&entry.path())?;
        } else if kind.is_file() {
            let file = File::open(entry.path()).map_err(BenchError::system(doing()))?;
            file.sync_all().map_err(BenchError::system(doing()))?;
            posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)
                .map_err(|error| BenchError::system(doing())(error.into()))?;
        }
    }
    Ok(())
}
