//! MEMORY: what DRAM is used for.
//!
//! Owns the layout of its replies; the figures are `info::memory`'s.

use crate::command::{CommandError, Cx, Pending};
use crate::info::MemoryFigures;
use crate::number::parse_i64;
use crate::ratio::ratio;
use crate::resp::{Args, ReplyBuf};

/// Bytes of DRAM that a key takes whatever its length: its entry in the index, slack included.
const ENTRY_BYTES: u64 = 28;

/// `MEMORY USAGE key [SAMPLES count]`: DRAM for the entry and bytes on the device for the record.
pub fn usage(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        match &args[3..] {
            [] => {}
            [option, count] if option.eq_ignore_ascii_case(b"samples") => {
                let count = parse_i64(count).ok_or(CommandError::NotInteger)?;
                if count < 0 {
                    return Err(CommandError::Syntax);
                }
            }
            _ => return Err(CommandError::Syntax),
        }
        let mut reply = cx.reply();
        match cx.store.get(cx.db(), &args[2]).await? {
            None => reply.null(),
            Some(found) => {
                let bytes = ENTRY_BYTES + args[2].len() as u64 + found.len();
                reply.integer(bytes.cast_signed());
            }
        }
        Ok(reply)
    })
}

/// `MEMORY STATS`
pub fn stats(cx: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let figures = MemoryFigures::take(&cx.shared);
    let keys = figures.keys;
    let counts = [
        ("peak.allocated", figures.peak_bytes),
        ("total.allocated", figures.used_bytes()),
        ("startup.allocated", figures.startup_bytes),
        ("replication.backlog", 0),
        ("clients.slaves", 0),
        ("clients.normal", figures.client_bytes),
        ("cluster.links", 0),
        ("aof.buffer", figures.write_buffer_bytes),
        ("lua.caches", 0),
        ("functions.caches", 0),
        ("index.bytes", figures.index_bytes),
        ("cache.bytes", figures.cache_bytes),
        ("tables.bytes", figures.table_bytes),
        ("overhead.total", figures.overhead_bytes()),
        ("keys.count", keys),
        (
            "keys.bytes-per-key",
            figures.index_bytes.checked_div(keys).unwrap_or(0),
        ),
        ("dataset.bytes", figures.dataset_bytes()),
        ("allocator.resident", figures.resident_bytes),
    ];
    let ratios = [
        (
            "dataset.percentage",
            percent(figures.dataset_bytes(), figures.used_bytes()),
        ),
        (
            "peak.percentage",
            percent(figures.used_bytes(), figures.peak_bytes),
        ),
        (
            "fragmentation",
            percent(figures.resident_bytes, figures.used_bytes()) / 100.0,
        ),
    ];
    reply.map(counts.len() + ratios.len());
    for (name, bytes) in counts {
        reply.bulk(name.as_bytes());
        reply.integer(bytes.cast_signed());
    }
    for (name, ratio) in ratios {
        reply.bulk(name.as_bytes());
        reply.double(ratio);
    }
    Ok(())
}

fn percent(part: u64, whole: u64) -> f64 {
    ratio(part, whole) * 100.0
}

/// `MEMORY DOCTOR`
pub fn doctor(cx: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    reply.verbatim("txt", &MemoryFigures::take(&cx.shared).advice());
    Ok(())
}

/// `MEMORY PURGE`: the allocator gives freed memory back by itself.
pub fn purge(_: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    reply.ok();
    Ok(())
}

/// `MEMORY MALLOC-STATS`
pub fn malloc_stats(cx: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let figures = MemoryFigures::take(&cx.shared);
    let text = format!(
        "allocator mimalloc\nresident {} bytes\naccounted {} bytes\n",
        figures.resident_bytes,
        figures.used_bytes()
    );
    reply.verbatim("txt", &text);
    Ok(())
}
