//! The model: how many nodes a workload needs, and what they cost a month.
//!
//! ```text
//!   primaries = max(by device, by memory, by rate), each rounded up
//!   nodes     = primaries x copies
//!   cost      = nodes x price
//! ```
//!
//! The same formulas stand in `live.js`, for the page. Owns the arithmetic. Must never take a
//! server's rate on a core as more than the cores that a node has.

use super::assumptions::{Assumptions, Node};
use super::measured::Measured;

const TERA: f64 = 1e12;
const GIGA: f64 = 1e9;
/// The source of a figure that was not measured.
const ASSUMED: &str = "assumed";

/// A server with all that the model wants to know of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) server: String,
    pub(crate) values_in_memory: bool,
    pub(crate) space_amplification: f64,
    pub(crate) memory_bytes_per_key: f64,
    pub(crate) reads_per_core_s: f64,
    pub(crate) writes_per_core_s: f64,
    /// Where the rates come from.
    pub(crate) rates_source: String,
    /// Where the memory for a key comes from.
    pub(crate) memory_source: &'static str,
}

/// What a server's nodes come to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bill {
    pub(crate) by_device: u64,
    pub(crate) by_memory: u64,
    pub(crate) by_rate: u64,
    pub(crate) primaries: u64,
    pub(crate) nodes: u64,
    pub(crate) per_month: f64,
}

impl Bill {
    /// What asks for the most nodes.
    pub(crate) fn limit(&self) -> &'static str {
        if self.by_rate == self.primaries {
            "rate"
        } else if self.by_device == self.primaries {
            "device"
        } else {
            "memory"
        }
    }
}

/// The candidates whose rates are known, and the names of the others.
pub(crate) fn candidates(
    measured: &[Measured],
    assumptions: &Assumptions,
) -> (Vec<Candidate>, Vec<String>) {
    let mut found = Vec::new();
    let mut unknown = Vec::new();
    let mut names: Vec<&str> = measured.iter().map(|one| one.server.as_str()).collect();
    for name in assumptions.servers.keys() {
        let has_rates = assumptions.servers[name].reads_per_core_s.is_some();
        if has_rates && !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    for name in names {
        let one = measured.iter().find(|one| one.server == name);
        match candidate(name, one, assumptions) {
            Some(candidate) => found.push(candidate),
            None => unknown.push(name.to_owned()),
        }
    }
    (found, unknown)
}

/// A server as it was measured, but for what the assumptions say of it.
fn candidate(
    name: &str,
    measured: Option<&Measured>,
    assumptions: &Assumptions,
) -> Option<Candidate> {
    let known = assumptions.servers.get(name).cloned().unwrap_or_default();
    let default = &assumptions.default;
    let values_in_memory = known.values_in_memory.unwrap_or(default.values_in_memory);
    let rates = measured.and_then(|measured| measured.rates.as_ref());
    let memory = measured.and_then(|measured| measured.memory);
    // What a store in memory holds for a key has the value in it; the model adds that itself.
    let beside_value = memory.map(|memory| {
        let value_bytes = if values_in_memory {
            memory.value_bytes
        } else {
            0.0
        };
        (memory.bytes_per_key - value_bytes).max(0.0)
    });
    Some(Candidate {
        server: name.to_owned(),
        values_in_memory,
        space_amplification: known
            .space_amplification
            .unwrap_or(default.space_amplification),
        memory_bytes_per_key: known
            .memory_bytes_per_key
            .or(beside_value)
            .unwrap_or(default.memory_bytes_per_key),
        reads_per_core_s: known
            .reads_per_core_s
            .or_else(|| rates.map(|rates| rates.reads_per_core_s))?,
        writes_per_core_s: known
            .writes_per_core_s
            .or_else(|| rates.map(|rates| rates.writes_per_core_s))?,
        rates_source: match rates {
            Some(rates) if known.reads_per_core_s.is_none() => rates.source.clone(),
            Some(_) | None => ASSUMED.to_owned(),
        },
        memory_source: match memory {
            Some(memory) if known.memory_bytes_per_key.is_none() => memory.figure,
            Some(_) | None => ASSUMED,
        },
    })
}

/// Nodes and cost of a workload on one server.
pub(crate) fn bill(candidate: &Candidate, assumptions: &Assumptions) -> Bill {
    let workload = &assumptions.workload;
    let headroom = &assumptions.headroom;
    let node = node(candidate, assumptions);
    let data_bytes = workload.data_tb * TERA;
    let key_count = data_bytes / (workload.key_bytes + workload.value_bytes);

    let (on_device, value_in_memory) = if candidate.values_in_memory {
        (0.0, workload.value_bytes)
    } else {
        (data_bytes * candidate.space_amplification, 0.0)
    };
    let in_memory = key_count * (candidate.memory_bytes_per_key + value_in_memory);
    let core_s_per_s = workload.peak_rate_per_s
        * (workload.read_share / candidate.reads_per_core_s
            + (1.0 - workload.read_share) / candidate.writes_per_core_s);

    let by_device = if on_device > 0.0 {
        whole(on_device / (node.device_tb * TERA * headroom.device_fill_max))
    } else {
        0
    };
    let by_memory = whole(in_memory / (node.memory_gb * GIGA * headroom.memory_fill_max));
    let by_rate = whole(core_s_per_s / (f64::from(node.cores) * headroom.rate_share_max));
    let primaries = by_device.max(by_memory).max(by_rate).max(1);
    let nodes = primaries.saturating_mul(u64::from(workload.copies));
    Bill {
        by_device,
        by_memory,
        by_rate,
        primaries,
        nodes,
        per_month: price(nodes, node),
    }
}

fn node<'a>(candidate: &Candidate, assumptions: &'a Assumptions) -> &'a Node {
    if candidate.values_in_memory {
        &assumptions.nodes.memory
    } else {
        &assumptions.nodes.device
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of nodes")]
fn price(nodes: u64, node: &Node) -> f64 {
    nodes as f64 * node.price_per_month
}

/// Rounded up to whole nodes.
#[expect(clippy::cast_sign_loss, reason = "a share of a node is not negative")]
fn whole(nodes: f64) -> u64 {
    nodes.ceil() as u64
}
