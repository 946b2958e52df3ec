//! What is done every so often: rates, idle clients, output bounds, the sum of clients' memory.
//!
//! Owns the intervals.

use std::sync::Arc;

use crate::client::{Client, ClientFlag};
use crate::rates::Sums;
use crate::shared::Shared;
use crate::stats::Metric;

/// Microseconds between two samples of what happens a second.
const SAMPLE_US: u64 = 100_000;
/// Samples between two looks at all clients: once a second.
const SAMPLES_PER_LOOK: u32 = 10;

/// Keeps house for ever.
pub(super) async fn run(shared: Arc<Shared>) {
    let mut sample_count = 0;
    let mut percent_told = None;
    loop {
        shared.clock.sleep(SAMPLE_US).await;
        let now_us = shared.clock.monotonic_us();
        shared.rates.sample(Sums {
            now_us,
            commands: shared.metric_ever(Metric::Commands),
            input_bytes: shared.metric_ever(Metric::NetInputBytes),
            output_bytes: shared.metric_ever(Metric::NetOutputBytes),
        });
        if shared.pause.expire(now_us) {
            shared.pause_expiry(false);
        }
        sample_count += 1;
        if sample_count == SAMPLES_PER_LOOK {
            sample_count = 0;
            look_at_clients(&shared, now_us);
            let percent = shared.loading_percent();
            if let Some(percent) = percent.filter(|percent| Some(*percent) != percent_told) {
                let records = shared.progress().record_count();
                tracing::info!("opening the store: {percent} %, {records} records");
                percent_told = Some(percent);
            }
        }
    }
}

fn look_at_clients(shared: &Shared, now_us: u64) {
    let timeout_s = shared
        .config
        .read(|config| config.network.timeout.get())
        .unsigned_abs();
    let fast = &shared.config.fast;
    let mut bytes = shared.tracking.memory_bytes();
    for client in shared.clients.list() {
        bytes += client.memory_bytes();
        if timeout_s != 0 && is_idle(&client, now_us, timeout_s) {
            tracing::debug!(client = client.id(), "closed: idle");
            client.kill();
        } else if client.inbox_exceeds(fast.inbox_limit(), now_us)
            || client.exceeds(client.output_bytes(), fast.output_limit(), now_us)
        {
            client.kill_for_output();
        }
    }
    if let Some(store) = shared.store() {
        store.set_client_bytes(bytes);
    }
}

fn is_idle(client: &Client, now_us: u64, timeout_s: u64) -> bool {
    let waits_on_purpose = [ClientFlag::Blocked, ClientFlag::Monitor, ClientFlag::Pubsub];
    let waits_on_purpose = waits_on_purpose
        .into_iter()
        .any(|flag| client.flags().has(flag));
    !waits_on_purpose && client.idle_us(now_us) > timeout_s.saturating_mul(1_000_000)
}
