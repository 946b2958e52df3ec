//! INFO persistence, device, keyspace: what the store tells.
//!
//! Owns the fields' names; the figures are the store's.

use cellar_storage::Db;

use super::lines::Lines;
use crate::command::Cx;
use crate::config::Setting;
use crate::ratio::ratio;

pub(super) fn persistence(cx: &Cx, lines: &mut Lines) {
    let stats = cx.shared.store_stats();
    let last_save_ms = stats
        .last_sync_unix_ms
        .max(cx.shared.identity.started_unix_ms);
    let outcome = if stats.latched { "err" } else { "ok" };
    let at_risk = stats.lsn_published.saturating_sub(stats.lsn_durable);
    match cx.shared.loading_percent() {
        Some(percent) => {
            lines.field("loading", 1);
            let started_ms = cx.shared.identity.started_unix_ms;
            lines.field("loading_start_time", started_ms / 1000);
            lines.field("loading_loaded_perc", format_args!("{percent}.00"));
        }
        None => lines.field("loading", 0),
    }
    lines.field("async_loading", 0);
    let unsaved = cx.shared.unsaved_records();
    lines.field("rdb_changes_since_last_save", unsaved);
    lines.field("rdb_bgsave_in_progress", 0);
    lines.field("rdb_last_save_time", last_save_ms / 1000);
    lines.field("rdb_last_bgsave_status", outcome);
    lines.field("rdb_last_bgsave_time_sec", -1);
    lines.field("rdb_current_bgsave_time_sec", -1);
    lines.field("aof_enabled", 1);
    lines.field("aof_rewrite_in_progress", 0);
    lines.field("aof_rewrite_scheduled", 0);
    lines.field("aof_last_rewrite_time_sec", -1);
    lines.field("aof_current_rewrite_time_sec", -1);
    lines.field("aof_last_bgrewrite_status", "ok");
    lines.field("aof_last_write_status", outcome);
    let level = cx
        .shared
        .config
        .read(|config| config.storage.appendfsync.text());
    lines.field("appendfsync", level);
    lines.field("lsn_published", stats.lsn_published);
    lines.field("lsn_durable", stats.lsn_durable);
    lines.field("lsn_at_risk", at_risk);
    lines.field("sync_rounds", stats.sync_rounds);
    lines.field("latched", u8::from(stats.latched));
    lines.field("latch_reason", stats.latch_reason.unwrap_or_default());
    lines.field(
        "clean_shutdown_at_start",
        u8::from(stats.clean_shutdown_at_start),
    );
    lines.field("recovery_ms", stats.recovery_ms);
    lines.field("recovery_read_bytes", stats.recovery_read_bytes);
    lines.field("recovery_records", stats.recovery_records);
}

pub(super) fn device(cx: &Cx, lines: &mut Lines) {
    let stats = cx.shared.store_stats();
    for (name, value) in [
        ("device_bytes", stats.device_bytes),
        ("device_allocated_bytes", stats.device_allocated_bytes),
        ("device_live_bytes", stats.live_bytes),
        ("device_live_bytes_max", stats.live_bytes_max),
        ("device_tombstone_bytes", stats.shadow_bytes),
        ("device_reads", stats.device_reads),
        ("device_read_bytes", stats.device_read_bytes),
        ("device_read_errors", stats.device_read_errors),
        ("device_writes", stats.device_writes),
        ("device_written_bytes", stats.device_written_bytes),
        ("device_write_errors", stats.device_write_errors),
        ("device_flushes", stats.device_flushes),
        ("device_submissions", stats.device_enters),
        ("segment_bytes", stats.segment_bytes),
        ("segments_free", stats.segments_free),
        ("segments_open", stats.segments_open),
        ("segments_sealed", stats.segments_sealed),
        ("segments_cleaning", stats.segments_cleaning),
        ("records_written", stats.records_written),
        ("user_bytes_written", stats.user_bytes_written),
        ("corrupt_records", stats.corrupt_records),
        ("cache_items", stats.cache_items),
        ("cache_bytes", stats.cache_bytes),
        ("cache_bytes_max", stats.cache_bytes_max),
        ("cache_hits", stats.cache_hits),
        ("cache_misses", stats.cache_misses),
        ("write_buffer_hits", stats.write_buffer_hits),
    ] {
        lines.field(name, value);
    }
    let amplification = ratio(stats.device_written_bytes, stats.user_bytes_written);
    lines.field("write_amplification", format_args!("{amplification:.2}"));
}

pub(super) fn keyspace(cx: &Cx, lines: &mut Lines) {
    let Some(store) = cx.store.attached() else {
        return;
    };
    for index in 0..cx.shared.database_count() {
        let keys = store.dbsize(Db(index));
        if keys > 0 {
            let expires = store.expires(Db(index));
            let value = format!("keys={keys},expires={expires},avg_ttl=0");
            lines.field(&format!("db{index}"), value);
        }
    }
}
