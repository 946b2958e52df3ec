//! A check's findings in words.
//!
//! Owns the words and their order.

use std::fmt::Write;

use cellar_storage::check::{Report, Step};

use crate::config::size_text;

/// The report, line by line.
pub(super) fn report(report: &Report) -> String {
    let mut out = format!("store {}\n", report.store);
    let mut line = |name: &str, text: &str| {
        writeln!(out, "  {name:<12} {text}").expect("a string takes everything");
    };
    let ending = if report.was_clean {
        "closed in order"
    } else {
        "not closed in order"
    };
    let epoch = report.epoch;
    line(
        "epoch",
        &format!("{epoch}, {ending}, the log ends at {}", report.end_lsn),
    );
    for device in &report.devices {
        let (size, segments) = (size_text(device.bytes), device.segments);
        line(
            "device",
            &format!("{} ({size}, {segments} segments)", device.name),
        );
    }
    let segments = format!(
        "{} hot, {} cold, {} unused, {} without a header; {} each",
        report.segments_hot,
        report.segments_cold,
        report.segments_unused,
        report.segments_lost,
        size_text(report.segment_bytes),
    );
    line("segments", &segments);
    line(
        "verified",
        &format!("{} bytes, {} records", report.bytes, report.records),
    );
    line("keys", &report.keys.to_string());
    let askable = format!(
        "{} records, {} bytes",
        report.live_records, report.live_bytes
    );
    line("live", &askable);
    line("tombstones", &report.tombstones.to_string());
    line("batches", &report.batches.to_string());
    let pages = format!(
        "{} of {} large values; {} collections without a key",
        report.pages, report.large_values, report.orphan_collections
    );
    line("pages", &pages);
    damage(&mut out, report);
    out
}

fn damage(out: &mut String, report: &Report) {
    let mut line = |text: &str| writeln!(out, "{text}").expect("a string takes everything");
    if report.is_clean() {
        return line("clean: nothing is damaged");
    }
    line(&format!("DAMAGED: {} places", report.damaged));
    for damage in &report.damage {
        line(&format!("  {damage}"));
    }
    let unnamed = report.damaged.saturating_sub(report.damage.len() as u64);
    if unnamed > 0 {
        line(&format!("  and {unnamed} more"));
    }
    for (count, what) in [
        (
            report.keys_out_of_reach,
            "keys in segments without a header",
        ),
        (report.broken_values, "large values with missing pages"),
        (
            report.miscounted_segments,
            "segments whose live bytes are miscounted",
        ),
    ] {
        if count > 0 {
            line(&format!("  {count} {what}"));
        }
    }
}

/// A step of a repair, before it is taken.
pub(super) fn step(step: &Step) -> String {
    let text = match step {
        Step::Start => "start the store: write superblocks, headers and summaries anew".to_owned(),
        Step::Remove(loss) => format!("remove {loss}: its value cannot be read"),
        Step::Empty { segment } => {
            format!("move what is live out of segment {segment}, and free it")
        }
        Step::GiveUp { segment } => {
            format!("free segment {segment}: nobody can tell what it held")
        }
        Step::Leave { segment, reason } => format!("leave segment {segment} as it is: {reason}"),
        Step::Close => "close the store".to_owned(),
    };
    format!("repair: {text}\n")
}
