//! `limits`: what the device gives to `fio`, and what the server makes of it, in windows in turns.
//!
//! `fio` reads the server's own file, in the sizes and with the alignment that the server reads, at
//! the same depth on the same cores. On one core the server's CPU time per GET stands beside
//! redis-server's from DRAM plus `fio`'s per read; on all cores the reads a second stand side by
//! side.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::recovery::leave_page_cache;
use super::sampling::Place;
use super::session::{Memory, Need, Session};
use super::stage::Layout;
use super::statistics::Summary;
use super::tiered::store_bytes;
use crate::drivers::fio::{self, Access};
use crate::drivers::own;
use crate::error::BenchError;
use crate::load::{Length, Plan};
use crate::peers::client::{self, info_number};
use crate::peers::{Peer, Running};
use crate::results::{Limit, Row};

const KEY_COUNT: u64 = 1_000_000;
const KEY_COUNT_QUICK: u64 = 10_000;
/// Keys of the reference in DRAM.
const REFERENCE_SHARE: u64 = 5;
const VALUE_BYTES: std::ops::RangeInclusive<usize> = 1000..=4000;
/// Least and most bytes of a record: header and key beside the value.
const RECORD_BYTES: (u64, u64) = (1048, 4048);
/// Records begin at multiples of this.
const RECORD_UNIT_BYTES: u64 = 16;
/// Blocks of devices that a store may read in.
const ALIGNMENTS: [u64; 2] = [512, 4096];
const SECONDS: f64 = 6.0;
/// No cache to speak of: every GET is a read.
const CACHE_BYTES: u64 = 1 << 20;
const MEMORY_BYTES: u64 = 1 << 30;
/// Connections and commands in flight on each, at the same depth and at more.
const LOADS: [(u32, u32); 2] = [(80, 1), (8, 16)];
/// The file that the device alone is measured on.
const SCRATCH_BYTES: u64 = 1 << 30;
const SCRATCH_BYTES_QUICK: u64 = 64 << 20;
const DEPTHS: [u32; 3] = [1, 16, 80];
const BLOCK_BYTES: u64 = 4096;

pub(super) fn run(session: &mut Session) -> Result<(), BenchError> {
    let memory = Memory::BudgetBelowData(session.options().memory_bytes(MEMORY_BYTES)?);
    session.arrange(Layout::Split, memory)?;
    device_alone(session)?;
    beside(session, "one core", memory)?;
    if session.options().quick {
        return Ok(());
    }
    session.arrange(Layout::Shared, memory)?;
    beside(session, "all cores", memory)
}

/// 4 KiB at random, reads and writes, on a file of its own.
fn device_alone(session: &mut Session) -> Result<(), BenchError> {
    let is_quick = session.options().quick;
    let file_bytes = if is_quick {
        SCRATCH_BYTES_QUICK
    } else {
        SCRATCH_BYTES
    };
    let file = session.data().join("limit.scratch");
    write_file(&file, file_bytes)?;
    let depths = if is_quick { &DEPTHS[1..2] } else { &DEPTHS[..] };
    for round in 0..session.options().round_count() {
        for depth in depths {
            let accesses = [
                ("randread", Access::RandomReads),
                ("randwrite", Access::RandomWrites),
            ];
            for (name, access) in accesses {
                let plan = Window {
                    name: format!("{name} 4k qd{depth}"),
                    file: &file,
                    file_bytes,
                    access,
                    sizes: &[(BLOCK_BYTES, 100)],
                    align_bytes: BLOCK_BYTES,
                    depth: *depth,
                    round,
                };
                limit(session, &plan)?;
            }
        }
    }
    // The whole directory goes at the end; this only gives space back early.
    let _ = std::fs::remove_file(&file);
    Ok(())
}

/// Bytes that do not compress, written and synced, so that no read meets a hole.
fn write_file(path: &Path, bytes: u64) -> Result<(), BenchError> {
    const CHUNK_WORDS: u64 = 1 << 17;
    let doing = || format!("write {}", path.display());
    let mut file = File::create(path).map_err(BenchError::system(doing()))?;
    let mut state: u64 = 1;
    for _ in 0..bytes / (CHUNK_WORDS * 8) {
        let words = (0..CHUNK_WORDS).flat_map(|_| {
            // xorshift64: any sequence that no device compresses will do.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()
        });
        let chunk: Vec<u8> = words.collect();
        file.write_all(&chunk)
            .map_err(BenchError::system(doing()))?;
    }
    file.sync_all().map_err(BenchError::system(doing()))
}

/// One window of `fio`.
struct Window<'a> {
    name: String,
    file: &'a Path,
    file_bytes: u64,
    access: Access,
    sizes: &'a [(u64, u32)],
    align_bytes: u64,
    depth: u32,
    round: u32,
}

fn limit(session: &mut Session, window: &Window) -> Result<(), BenchError> {
    session.cancel().check()?;
    let cores = session.split().server.clone();
    let seconds = session.whole_seconds(SECONDS);
    let plan = fio::Plan {
        file: window.file,
        access: window.access,
        file_bytes: window.file_bytes,
        sizes: window.sizes,
        align_bytes: window.align_bytes,
        depth: window.depth,
        seconds,
        cores: &cores,
    };
    let reached = fio::run(&plan, &session.drive())?;
    session.say(&format!(
        "{}/{}  fio          {}: {:.0}/s, {:.2} us of CPU each",
        window.round + 1,
        session.options().round_count(),
        window.name,
        reached.operations_per_s,
        reached.cpu_s_per_operation * 1e6
    ));
    let weighted = window
        .sizes
        .iter()
        .map(|(bytes, percent)| bytes * u64::from(*percent));
    session.record(Row::Limit(Limit {
        suite: session.suite().name().to_owned(),
        name: window.name.clone(),
        round: window.round,
        file_bytes: window.file_bytes,
        block_bytes: weighted.sum::<u64>() / 100,
        depth: window.depth,
        reads_per_s: reached.operations_per_s,
        cpu_s_per_operation: reached.cpu_s_per_operation,
        command: reached.command,
    }))
}

/// The servers of one part of this suite.
struct Servers {
    cellar: Running,
    redis: Option<Running>,
    key_count: u64,
    file: PathBuf,
    /// Of the file, what holds records.
    file_bytes: u64,
    align_bytes: u64,
}

/// Windows of `fio`, of Cellar from the device, and on one core of Redis from DRAM, in turns.
fn beside(session: &mut Session, cores: &str, memory: Memory) -> Result<(), BenchError> {
    if !session.has(Peer::Cellar) {
        let text = "this suite measures cellar: name it with --server cellar=PATH";
        return Err(BenchError::Arguments(text.to_owned()));
    }
    let has_reference = cores == "one core" && session.has(Peer::Redis);
    let mut servers = start(session, memory, has_reference)?;
    let sizes = fio::read_sizes(RECORD_BYTES, RECORD_UNIT_BYTES, servers.align_bytes);
    let table = format!("limits, {cores}");
    for round in 0..session.options().round_count() {
        for (connections, pipeline) in LOADS {
            let depth = connections * pipeline;
            let window = Window {
                name: format!("randread records qd{depth}, {cores}"),
                file: &servers.file,
                file_bytes: servers.file_bytes,
                access: Access::RandomReads,
                sizes: &sizes,
                align_bytes: servers.align_bytes,
                depth,
                round,
            };
            limit(session, &window)?;
            let column = format!("GET, {connections} x {pipeline} in flight");
            let place = Place {
                table: &table,
                column: &column,
                round,
            };
            let load = (connections, pipeline, servers.key_count);
            gets(session, &mut servers.cellar, &place, load)?;
            if let Some(redis) = &mut servers.redis {
                let keys = servers.key_count / REFERENCE_SHARE;
                gets(session, redis, &place, (connections, pipeline, keys.max(1)))?;
            }
        }
    }
    say_ratios(session, cores, &table);
    servers.cellar.stop();
    if let Some(redis) = servers.redis {
        redis.stop();
    }
    Ok(())
}

fn start(
    session: &mut Session,
    memory: Memory,
    has_reference: bool,
) -> Result<Servers, BenchError> {
    let key_count = session.options().key_count(KEY_COUNT, KEY_COUNT_QUICK);
    let mut need = Need {
        threads: session.split().server.len(),
        memory,
        cache_bytes: Some(CACHE_BYTES),
        store_bytes: store_bytes(key_count * u64::midpoint(RECORD_BYTES.0, RECORD_BYTES.1)),
        key_count,
        keeps_data: false,
    };
    let cellar = session.start(Peer::Cellar, &need)?;
    let fill = own::plan(cellar.address(), key_count, VALUE_BYTES);
    own::fill(&fill, &session.drive())?;
    // The write buffers hold the newest records; after a start all are on the device.
    cellar.stop();
    leave_page_cache(&session.directory(Peer::Cellar))?;
    need.keeps_data = true;
    let cellar = session.start(Peer::Cellar, &need)?;
    let align_bytes = alignment(session, &cellar, key_count)?;
    let redis = if has_reference {
        let keys = (key_count / REFERENCE_SHARE).max(1);
        need.keeps_data = false;
        let redis = session.start(Peer::Redis, &need)?;
        let fill = own::plan(redis.address(), keys, VALUE_BYTES);
        own::fill(&fill, &session.drive())?;
        Some(redis)
    } else {
        None
    };
    Ok(Servers {
        file_bytes: written_bytes(&cellar),
        file: cellar.directory().join("store.cellar"),
        cellar,
        redis,
        key_count,
        align_bytes,
    })
}

/// Bytes from the start of the store that hold records: segments are taken from the start on.
fn written_bytes(cellar: &Running) -> u64 {
    let info = cellar.info();
    let whole = |name: &str| client::info_text(&info, name)?.parse::<u64>().ok();
    let segments = whole("segments_sealed").unwrap_or_default();
    segments.max(1) * whole("segment_bytes").unwrap_or(1 << 20)
}

/// The block that the store reads in, told by the mean size of its reads.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn alignment(session: &Session, cellar: &Running, key_count: u64) -> Result<u64, BenchError> {
    let before = cellar.info();
    let some = Plan {
        length: Length::Operations(1000),
        ..own::plan(cellar.address(), key_count, VALUE_BYTES)
    };
    own::run(&some, &session.drive())?;
    let after = cellar.info();
    let grown = |name: &str| Some(info_number(&after, name)? - info_number(&before, name)?);
    let mean = grown("device_read_bytes")
        .zip(grown("device_reads"))
        .filter(|(_, reads)| *reads > 0.0)
        .map_or(0.0, |(bytes, reads)| bytes / reads);
    let distance = |align: &u64| {
        let sizes = fio::read_sizes(RECORD_BYTES, RECORD_UNIT_BYTES, *align);
        let weighted = sizes
            .iter()
            .map(|(bytes, percent)| bytes * u64::from(*percent));
        (weighted.sum::<u64>() as f64 / 100.0 - mean).abs()
    };
    let nearest = ALIGNMENTS
        .into_iter()
        .min_by(|a, b| distance(a).total_cmp(&distance(b)));
    let nearest = nearest.expect("the list of alignments is not empty");
    session.say(&format!(
        "cellar reads {mean:.0} B on average: in blocks of {nearest} B"
    ));
    Ok(nearest)
}

fn gets(
    session: &mut Session,
    server: &mut Running,
    place: &Place,
    (connections, pipeline, key_count): (u32, u32, u64),
) -> Result<(), BenchError> {
    let length = std::time::Duration::from_secs_f64(session.options().seconds(SECONDS));
    session.measure(server, place, |address, drive| {
        let plan = Plan {
            connections,
            pipeline,
            length: Length::Time(length),
            ..own::plan(address, key_count, VALUE_BYTES)
        };
        own::run(&plan, drive)
    })?;
    Ok(())
}

/// Medians side by side: what this suite is for.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn say_ratios(session: &Session, cores: &str, table: &str) {
    let title = session.titled(table);
    for (connections, pipeline) in LOADS {
        let depth = connections * pipeline;
        let column = format!("GET, {connections} x {pipeline} in flight");
        let name = format!("randread records qd{depth}, {cores}");
        let limits: Vec<&Limit> = session
            .limits()
            .iter()
            .filter(|row| row.name == name)
            .collect();
        let median = |values: Vec<f64>| Summary::of(&values).map(|summary| summary.median);
        let of = |server: &str| {
            let rows = session.samples().iter();
            let rows = rows.filter(|row| row.table == title && row.column == column);
            let rows: Vec<_> = rows
                .filter(|row| row.server == server && row.operations > 0)
                .collect();
            let cpu = rows
                .iter()
                .map(|row| row.server_cpu_s / row.operations as f64);
            let rates = median(rows.iter().map(|row| row.ops_per_s).collect())?;
            Some((rates, median(cpu.collect())?))
        };
        let reads = median(limits.iter().map(|row| row.reads_per_s).collect());
        let fio_cpu = median(limits.iter().map(|row| row.cpu_s_per_operation).collect());
        let (Some(reads), Some(fio_cpu), Some((rate, cpu))) = (reads, fio_cpu, of("cellar")) else {
            continue;
        };
        let share = rate / reads;
        session.say(&format!(
            "{table}, {column}: {share:.2} of fio's reads a second"
        ));
        if let Some((_, redis_cpu)) = of("redis") {
            let share = cpu / (redis_cpu + fio_cpu);
            session.say(&format!(
                "{table}, {column}: {share:.2} of the CPU of redis from DRAM and fio together"
            ));
        }
    }
}
