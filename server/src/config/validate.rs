//! Whether the options go together.
//!
//! Owns the relations between options; each option's own bounds are in its type. Must never look
//! at the machine: that is `environment`'s.

use std::collections::BTreeSet;

use super::Config;
use super::error::Invalid;
use super::sections::{
    Events, Limits, Log, Memory, Monitoring, Network, Security, Storage, Workers,
};
use super::value::size_text;

/// Devices at most: a location names its segment, and segments are numbered over all of them.
const DEVICE_COUNT_MAX: usize = 64;

/// Segments that a device must have room for: open ones, the cleaner's reserve, and some to fill.
const DEVICE_SEGMENT_COUNT_MIN: u64 = 16;

/// Bytes of maxmemory, where it is set, below which nothing useful runs: two write buffers of the
/// default segment size and the smallest index.
const MEMORY_BYTES_MIN: u64 = 32 << 20;

/// Checks the relations between options.
pub(super) fn validate(config: &Config) -> Result<(), Invalid> {
    let Config {
        network,
        security,
        storage,
        // it may change while the server runs, and is checked by itself
        memory: _,
        workers,
        limits,
        events,
        log,
        monitoring,
    } = config;
    validate_network(network)?;
    validate_storage(storage)?;
    // what follows relates to nothing: destructured so that a new option is looked at here
    let Security { requirepass: _ } = security;
    let Workers {
        workers: _,
        pin_workers: _,
    } = workers;
    let Events {
        notify_keyspace_events: _,
        tracking_table_max_keys: _,
    } = events;
    let Log {
        loglevel: _,
        logfile: _,
    } = log;
    let Limits {
        proto_max_bulk_len: _,
        client_query_buffer_limit: _,
        client_output_buffer_limit: _,
    } = limits;
    let Monitoring {
        slowlog_log_slower_than: _,
        slowlog_max_len: _,
        latency_monitor_threshold: _,
    } = monitoring;
    Ok(())
}

fn validate_network(network: &Network) -> Result<(), Invalid> {
    let Network {
        bind,
        port,
        unixsocket,
        unixsocketperm,
        protected_mode: _,
        tcp_backlog: _,
        tcp_keepalive: _,
        timeout: _,
        maxclients: _,
    } = network;
    if port.get() == 0 && unixsocket.is_empty() {
        return Err(Invalid::new(
            "port",
            "nothing to listen on: port is 0 and unixsocket is empty",
        ));
    }
    if port.get() != 0 && bind.0.is_empty() {
        return Err(Invalid::new("bind", "needs an address, or set port to 0"));
    }
    if unixsocket.is_empty() && unixsocketperm.0 != 0 {
        return Err(Invalid::new("unixsocketperm", "unixsocket is empty"));
    }
    Ok(())
}

fn validate_storage(storage: &Storage) -> Result<(), Invalid> {
    let Storage {
        dir,
        devices,
        segment_size,
        appendfsync: _,
        databases: _,
    } = storage;
    if dir.is_empty() {
        return Err(Invalid::new("dir", "needs a directory"));
    }
    if !segment_size.get().is_power_of_two() {
        return Err(Invalid::new("segment-size", "must be a power of two"));
    }
    if devices.0.is_empty() || devices.0.len() > DEVICE_COUNT_MAX {
        let complaint = format!("needs 1 to {DEVICE_COUNT_MAX} devices");
        return Err(Invalid::new("devices", complaint));
    }
    let mut paths = BTreeSet::new();
    for device in &devices.0 {
        let path = device.path.display();
        if !paths.insert(&device.path) {
            return Err(Invalid::new(
                "devices",
                format!("'{path}' stands there twice"),
            ));
        }
        let bytes_min = DEVICE_SEGMENT_COUNT_MIN * segment_size.get();
        if let Some(bytes) = device.size_bytes.filter(|bytes| *bytes < bytes_min) {
            let (bytes, min) = (size_text(bytes), size_text(bytes_min));
            let complaint = format!(
                "'{path}': a size of {bytes} is less than {DEVICE_SEGMENT_COUNT_MIN} segments \
                 ({min})"
            );
            return Err(Invalid::new("devices", complaint));
        }
    }
    Ok(())
}

pub(super) fn validate_memory(memory: &Memory) -> Result<(), Invalid> {
    let Memory {
        maxmemory,
        maxmemory_policy: _,
        value_cache,
    } = memory;
    if maxmemory.get() == 0 {
        return Ok(());
    }
    if maxmemory.get() < MEMORY_BYTES_MIN {
        let complaint = format!("must be 0 or at least {}", size_text(MEMORY_BYTES_MIN));
        return Err(Invalid::new("maxmemory", complaint));
    }
    if value_cache.get() >= maxmemory.get() {
        let complaint = format!("{value_cache} is not below maxmemory, {maxmemory}");
        return Err(Invalid::new("value-cache", complaint));
    }
    Ok(())
}
