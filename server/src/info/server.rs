//! INFO server, clients, replication, cpu.
//!
//! Owns their fields.

use nix::sys::resource::UsageWho;

use super::lines::Lines;
use super::process;
use crate::client::ClientFlag;
use crate::command::Cx;
use crate::version::{CELLAR_VERSION, REDIS_VERSION};

/// Seconds of a day.
const DAY_SECONDS: u64 = 86_400;

pub(super) fn server(cx: &Cx, lines: &mut Lines) {
    let shared = &cx.shared;
    let now_us = shared.clock.monotonic_us();
    let unix_ms = shared.clock.unix_ms();
    let uptime = now_us.saturating_sub(shared.identity.started_us) / 1_000_000;
    lines.field("redis_version", REDIS_VERSION);
    lines.field("cellar_version", CELLAR_VERSION);
    lines.field("redis_git_sha1", "00000000");
    lines.field("redis_git_dirty", 0);
    lines.field("redis_build_id", "0");
    lines.field("redis_mode", "standalone");
    lines.field("os", process::system());
    lines.field("arch_bits", usize::BITS);
    lines.field("multiplexing_api", "epoll");
    lines.field("process_id", std::process::id());
    lines.field("process_supervised", "no");
    lines.field("run_id", &shared.identity.run_id);
    lines.field(
        "tcp_port",
        shared.config.read(|config| config.network.port.get()),
    );
    lines.field("server_time_usec", unix_ms * 1000);
    lines.field("uptime_in_seconds", uptime);
    lines.field("uptime_in_days", uptime / DAY_SECONDS);
    lines.field("hz", 10);
    lines.field("configured_hz", 10);
    lines.field("lru_clock", unix_ms / 1000 % (1 << 24));
    lines.field("executable", executable());
    lines.field("config_file", config_file(cx));
    lines.field("io_threads_active", 0);
    lines.field("workers", shared.worker_count());
}

fn executable() -> String {
    std::env::current_exe().map_or_else(|_| String::new(), |path| path.display().to_string())
}

fn config_file(cx: &Cx) -> String {
    let path = cx
        .shared
        .config
        .path()
        .and_then(|path| std::path::absolute(path).ok());
    path.map_or_else(String::new, |path| path.display().to_string())
}

pub(super) fn clients(cx: &Cx, lines: &mut Lines) {
    let clients = cx.shared.clients.list();
    let with = |flag| {
        clients
            .iter()
            .filter(|client| client.flags().has(flag))
            .count()
    };
    let input_bytes = clients
        .iter()
        .map(|client| client.query_bytes())
        .max()
        .unwrap_or(0);
    let output_bytes = clients
        .iter()
        .map(|client| client.output_bytes())
        .max()
        .unwrap_or(0);
    lines.field("connected_clients", clients.len());
    lines.field("cluster_connections", 0);
    lines.field(
        "maxclients",
        cx.shared
            .config
            .read(|config| config.network.maxclients.get()),
    );
    lines.field("client_recent_max_input_buffer", input_bytes);
    lines.field("client_recent_max_output_buffer", output_bytes);
    lines.field("blocked_clients", with(ClientFlag::Blocked));
    lines.field("tracking_clients", cx.shared.tracking.client_count());
    lines.field("clients_in_timeout_table", 0);
    lines.field("total_blocking_keys", cx.shared.blocking.key_count());
    lines.field("total_blocking_keys_on_nokey", 0);
    lines.field("monitoring_clients", cx.shared.monitors.count());
}

pub(super) fn replication(cx: &Cx, lines: &mut Lines) {
    lines.field("role", "master");
    lines.field("connected_slaves", 0);
    lines.field("master_failover_state", "no-failover");
    lines.field("master_replid", cx.shared.identity.replication_id());
    lines.field("master_replid2", "0".repeat(40));
    lines.field("master_repl_offset", cx.shared.store_stats().lsn_durable);
    lines.field("second_repl_offset", -1);
    lines.field("repl_backlog_active", 0);
    lines.field("repl_backlog_size", 0);
    lines.field("repl_backlog_first_byte_offset", 0);
    lines.field("repl_backlog_histlen", 0);
}

pub(super) fn cpu(lines: &mut Lines) {
    let own = process::cpu_time(UsageWho::RUSAGE_SELF);
    let children = process::cpu_time(UsageWho::RUSAGE_CHILDREN);
    for (name, us) in [
        ("used_cpu_sys", own.system_us),
        ("used_cpu_user", own.user_us),
        ("used_cpu_sys_children", children.system_us),
        ("used_cpu_user_children", children.user_us),
    ] {
        lines.field(
            name,
            format_args!("{}.{:06}", us / 1_000_000, us % 1_000_000),
        );
    }
}
