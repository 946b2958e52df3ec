//! INFO stats, commandstats, errorstats, latencystats.
//!
//! Owns the fields' names; the figures are `stats`'s.

use super::lines::Lines;
use crate::command::{CommandEntry, Cx, commands};
use crate::pubsub::Kind;
use crate::ratio::ratio;
use crate::stats::{CommandTotals, Metric, Totals};

/// The percentiles that latencystats tells, as in Redis.
const PERCENTILES: [(&str, u64); 3] = [("p50", 500), ("p99", 990), ("p99.9", 999)];

pub(super) fn stats(cx: &Cx, lines: &mut Lines) {
    let totals = cx.shared.totals();
    let store = cx.shared.store_stats();
    let rate = cx.shared.rates.mean();
    lines.field(
        "total_connections_received",
        totals.get(Metric::Connections),
    );
    lines.field("total_commands_processed", totals.get(Metric::Commands));
    lines.field("instantaneous_ops_per_sec", rate.commands);
    lines.field("total_net_input_bytes", totals.get(Metric::NetInputBytes));
    lines.field("total_net_output_bytes", totals.get(Metric::NetOutputBytes));
    lines.field("total_net_repl_input_bytes", 0);
    lines.field("total_net_repl_output_bytes", 0);
    lines.field("instantaneous_input_kbps", kib(rate.input_bytes));
    lines.field("instantaneous_output_kbps", kib(rate.output_bytes));
    lines.field(
        "rejected_connections",
        totals.get(Metric::RejectedConnections),
    );
    for name in ["sync_full", "sync_partial_ok", "sync_partial_err"] {
        lines.field(name, 0);
    }
    lines.field("expired_keys", store.expired_keys);
    lines.field("expired_keys_active", store.expired_active);
    lines.field("expired_stale_perc", "0.00");
    lines.field("expired_time_cap_reached_count", 0);
    lines.field("evicted_keys", store.evicted_keys);
    lines.field("evicted_keys_for_space", store.evicted_keys_for_space);
    lines.field("evicted_keys_for_memory", store.evicted_keys_for_memory);
    lines.field("evicted_clients", 0);
    lines.field("keyspace_hits", totals.get(Metric::KeyspaceHits));
    lines.field("keyspace_misses", totals.get(Metric::KeyspaceMisses));
    let channels = &cx.shared.channels;
    lines.field("pubsub_channels", channels.count(Kind::Channel));
    lines.field("pubsub_patterns", channels.count(Kind::Pattern));
    lines.field("pubsubshard_channels", channels.count(Kind::Shard));
    for name in ["latest_fork_usec", "total_forks", "migrate_cached_sockets"] {
        lines.field(name, 0);
    }
    lines.field("slave_expires_tracked_keys", 0);
    let tracking = &cx.shared.tracking;
    lines.field("tracking_total_keys", tracking.key_count());
    lines.field("tracking_total_items", tracking.item_count());
    lines.field("tracking_total_prefixes", tracking.prefix_count());
    lines.field("unexpected_error_replies", 0);
    lines.field("total_error_replies", totals.get(Metric::ErrorReplies));
    lines.field("total_reads_processed", totals.get(Metric::SocketReads));
    lines.field("total_writes_processed", totals.get(Metric::SocketWrites));
    let query_limit = totals.get(Metric::QueryLimitDisconnects);
    lines.field("client_query_buffer_limit_disconnections", query_limit);
    let output_limit = totals.get(Metric::OutputLimitDisconnects);
    lines.field("client_output_buffer_limit_disconnections", output_limit);
    lines.field("acl_access_denied_auth", totals.get(Metric::AuthFailures));
}

fn kib(bytes: u64) -> String {
    format!("{:.2}", ratio(bytes, 1024))
}

/// All commands and subcommands that were asked for, with their sums.
fn asked_for(totals: &Totals) -> impl Iterator<Item = (&'static CommandEntry, &CommandTotals)> {
    commands()
        .iter()
        .flat_map(|entry| std::iter::once(entry).chain(&entry.subcommands))
        .map(|entry| (entry, &totals.commands()[usize::from(entry.id)]))
        .filter(|(_, totals)| totals.calls + totals.rejected + totals.failed > 0)
}

pub(super) fn command_stats(cx: &Cx, lines: &mut Lines) {
    for (entry, totals) in asked_for(&cx.shared.totals()) {
        let CommandTotals {
            calls,
            us,
            rejected,
            failed,
            histogram: _,
        } = totals;
        let mean = ratio(*us, *calls);
        let value = format!(
            "calls={calls},usec={us},usec_per_call={mean:.2},rejected_calls={rejected},\
             failed_calls={failed}"
        );
        lines.field(&format!("cmdstat_{}", entry.full_name), value);
    }
}

pub(super) fn error_stats(cx: &Cx, lines: &mut Lines) {
    for (kind, count) in cx.shared.errors.list() {
        lines.field(&format!("errorstat_{kind}"), format_args!("count={count}"));
    }
}

pub(super) fn latency_stats(cx: &Cx, lines: &mut Lines) {
    for (entry, totals) in asked_for(&cx.shared.totals()) {
        let Some(histogram) = totals
            .histogram
            .as_ref()
            .filter(|totals| totals.count() > 0)
        else {
            continue;
        };
        let values = PERCENTILES
            .map(|(name, per_mille)| format!("{name}={}.000", histogram.percentile(per_mille)));
        let name = format!("latency_percentiles_usec_{}", entry.full_name);
        lines.field(&name, values.join(","));
    }
}
