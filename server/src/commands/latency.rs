//! LATENCY: the longest times by event, and how long commands take.
//!
//! Owns the layout of its replies.

use std::fmt::Write;

use super::command::find_by_full_name;
use crate::command::{CommandEntry, CommandError, Cx, commands};
use crate::latency::{EventHistory, Sample};
use crate::resp::{Args, ReplyBuf};
use crate::stats::{CommandTotals, HistogramTotals};

/// Columns of a graph.
const GRAPH_COLUMN_COUNT: usize = 80;
/// Rows of a graph.
const GRAPH_ROW_COUNT: u64 = 4;

/// `LATENCY LATEST`
pub fn latest(cx: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let history = cx.shared.latency.lock();
    let events = history.events();
    reply.array(events.len());
    for (name, event) in events {
        let last = event.latest().unwrap_or(Sample {
            unix_seconds: 0,
            ms: 0,
        });
        reply.array(4);
        reply.bulk(name.as_bytes());
        reply.integer(last.unix_seconds.cast_signed());
        reply.integer(last.ms.cast_signed());
        reply.integer(event.ms_max().cast_signed());
    }
    Ok(())
}

/// `LATENCY HISTORY event`
pub fn history(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let history = cx.shared.latency.lock();
    let Some(event) = history.event(&String::from_utf8_lossy(&args[2])) else {
        reply.array(0);
        return Ok(());
    };
    let samples = event.samples();
    reply.array(samples.len());
    for sample in samples {
        reply.array(2);
        reply.integer(sample.unix_seconds.cast_signed());
        reply.integer(sample.ms.cast_signed());
    }
    Ok(())
}

/// `LATENCY RESET [event ...]`
pub fn reset(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let mut history = cx.shared.latency.lock();
    let count = match &args[2..] {
        [] => history.clear(),
        names => names
            .iter()
            .filter(|name| history.forget(&String::from_utf8_lossy(name)))
            .count(),
    };
    reply.integer(count.cast_signed() as i64);
    Ok(())
}

/// `LATENCY GRAPH event`
pub fn graph(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let history = cx.shared.latency.lock();
    let name = String::from_utf8_lossy(&args[2]);
    let event = history.event(&name).ok_or_else(|| {
        CommandError::other(format!("ERR No samples available for event '{name}'"))
    })?;
    reply.verbatim("txt", &draw(&name, event));
    Ok(())
}

/// Draws the last samples as columns whose heights are their share of the longest.
fn draw(name: &str, event: &EventHistory) -> String {
    let skipped = event.samples().len().saturating_sub(GRAPH_COLUMN_COUNT);
    let samples: Vec<u64> = event
        .samples()
        .skip(skipped)
        .map(|sample| sample.ms)
        .collect();
    let high = samples.iter().copied().max().unwrap_or(0);
    let low = samples.iter().copied().min().unwrap_or(0);
    let mut out = format!(
        "{name} - high {high} ms, low {low} ms (all time high {} ms)\n{}\n",
        event.ms_max(),
        "-".repeat(GRAPH_COLUMN_COUNT)
    );
    for row in (0..GRAPH_ROW_COUNT).rev() {
        for ms in &samples {
            let height = ms * GRAPH_ROW_COUNT / high.max(1);
            out.push(if height > row { '#' } else { ' ' });
        }
        out.push('\n');
    }
    out
}

/// `LATENCY DOCTOR`
pub fn doctor(cx: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let threshold_ms = cx
        .shared
        .config
        .read(|config| config.monitoring.latency_monitor_threshold.get());
    let history = cx.shared.latency.lock();
    let mut text = String::new();
    if threshold_ms == 0 {
        text.push_str(
            "Latency is not being recorded. CONFIG SET latency-monitor-threshold <milliseconds> \
             starts it.\n",
        );
    } else if history.events().len() == 0 {
        writeln!(text, "No event took {threshold_ms} ms or longer.").expect("it is a string");
    } else {
        for (name, event) in history.events() {
            let count = event.samples().len();
            let sum: u64 = event.samples().map(|sample| sample.ms).sum();
            let mean = sum / (count as u64).max(1);
            let longest = event.ms_max();
            writeln!(
                text,
                "{name}: {count} slow seconds, mean {mean} ms, longest {longest} ms."
            )
            .expect("it is a string");
        }
        text.push_str("SLOWLOG GET shows the commands, INFO the state of the devices.\n");
    }
    reply.verbatim("txt", &text);
    Ok(())
}

/// `LATENCY HISTOGRAM [command ...]`
pub fn histogram(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let totals = cx.shared.totals();
    let entries: Vec<&CommandEntry> = match &args[2..] {
        [] => commands().iter().collect(),
        names => names
            .iter()
            .filter_map(|name| find_by_full_name(name))
            .collect(),
    };
    let measured: Vec<(&CommandEntry, &CommandTotals)> = entries
        .into_iter()
        .flat_map(|entry| std::iter::once(entry).chain(&entry.subcommands))
        .map(|entry| (entry, &totals.commands()[usize::from(entry.id)]))
        .filter(|(_, totals)| totals.calls > 0 && totals.histogram.is_some())
        .collect();
    reply.map(measured.len());
    for (entry, totals) in measured {
        let powers = totals
            .histogram
            .as_ref()
            .map_or_else(Vec::new, HistogramTotals::powers);
        reply.bulk(entry.full_name.as_bytes());
        reply.map(2);
        reply.bulk(b"calls");
        reply.integer(totals.calls.cast_signed());
        reply.bulk(b"histogram_usec");
        reply.map(powers.len());
        for (us, count) in powers {
            reply.integer(us.cast_signed());
            reply.integer(count.cast_signed());
        }
    }
    Ok(())
}
