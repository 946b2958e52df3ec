//! What the cost model takes as given: workload, headroom, nodes, prices, and a server's own
//! traits.
//!
//! Owns their file, which is also their default. Must never pass for a measurement.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::CostError;

/// The default assumptions, as a file to start from.
pub(super) const TEXT: &str = include_str!("assumptions.toml");

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Assumptions {
    pub(crate) workload: Workload,
    pub(crate) headroom: Headroom,
    pub(crate) nodes: Nodes,
    pub(crate) default: Traits,
    /// By the server's name.
    #[serde(default)]
    pub(crate) servers: BTreeMap<String, KnownTraits>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Workload {
    /// Keys and values, one copy, in 10^12 bytes.
    pub(crate) data_tb: f64,
    pub(crate) key_bytes: f64,
    pub(crate) value_bytes: f64,
    pub(crate) peak_rate_per_s: f64,
    /// 0 to 1.
    pub(crate) read_share: f64,
    /// Primaries and replicas.
    pub(crate) copies: u32,
}

/// Shares, 0 to 1.
#[expect(
    clippy::struct_field_names,
    reason = "each is a maximum, and the file says so"
)]
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Headroom {
    pub(crate) device_fill_max: f64,
    pub(crate) memory_fill_max: f64,
    pub(crate) rate_share_max: f64,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nodes {
    /// For servers that keep values on a device.
    pub(crate) device: Node,
    /// For servers that keep all in memory.
    pub(crate) memory: Node,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Node {
    pub(crate) cores: u32,
    pub(crate) memory_gb: f64,
    pub(crate) device_tb: f64,
    pub(crate) price_per_month: f64,
}

/// What a server is like.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Traits {
    pub(crate) values_in_memory: bool,
    pub(crate) space_amplification: f64,
    pub(crate) memory_bytes_per_key: f64,
}

/// What is said of one server; absent is what is measured or the default.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KnownTraits {
    pub(crate) values_in_memory: Option<bool>,
    pub(crate) space_amplification: Option<f64>,
    pub(crate) memory_bytes_per_key: Option<f64>,
    pub(crate) reads_per_core_s: Option<f64>,
    pub(crate) writes_per_core_s: Option<f64>,
}

impl Default for Assumptions {
    fn default() -> Self {
        let parsed = toml::from_str(TEXT);
        parsed.expect("the program's own file is sound: a test reads it")
    }
}

impl Assumptions {
    /// Those of a file.
    pub(crate) fn read(path: &Path) -> Result<Self, CostError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|source| CostError::Read {
            path: name.clone(),
            source,
        })?;
        let assumptions: Self = toml::from_str(&text).map_err(|source| CostError::Syntax {
            path: name,
            source: Box::new(source),
        })?;
        assumptions.validate()?;
        Ok(assumptions)
    }

    /// Refuses what no computation makes sense of.
    pub(super) fn validate(&self) -> Result<(), CostError> {
        let Self {
            workload,
            headroom,
            nodes,
            default,
            servers,
        } = self;
        let known = |of: fn(&KnownTraits) -> Option<f64>| {
            servers.values().filter_map(of).all(|value| value > 0.0)
        };
        let shares = [
            headroom.device_fill_max,
            headroom.memory_fill_max,
            headroom.rate_share_max,
        ];
        let rules = [
            (workload.data_tb > 0.0, "workload.data_tb is above 0"),
            (
                workload.key_bytes > 0.0 && workload.value_bytes > 0.0,
                "workload.key_bytes and value_bytes are above 0",
            ),
            (
                workload.peak_rate_per_s > 0.0,
                "workload.peak_rate_per_s is above 0",
            ),
            (
                (0.0..=1.0).contains(&workload.read_share),
                "workload.read_share is 0 to 1",
            ),
            (workload.copies > 0, "workload.copies is at least 1"),
            (
                shares.iter().all(|share| *share > 0.0 && *share <= 1.0),
                "headroom: each share is above 0 and at most 1",
            ),
            (
                nodes.device.is_sound() && nodes.device.device_tb > 0.0,
                "nodes.device has cores, memory and a device",
            ),
            (nodes.memory.is_sound(), "nodes.memory has cores and memory"),
            (
                default.space_amplification >= 1.0 && default.memory_bytes_per_key > 0.0,
                "default.space_amplification is at least 1, memory_bytes_per_key above 0",
            ),
            (
                known(|traits| traits.space_amplification)
                    && known(|traits| traits.memory_bytes_per_key)
                    && known(|traits| traits.reads_per_core_s)
                    && known(|traits| traits.writes_per_core_s),
                "servers: every figure is above 0",
            ),
        ];
        match rules.iter().find(|(is_kept, _)| !is_kept) {
            Some((_, rule)) => Err(CostError::Assumption { rule }),
            None => Ok(()),
        }
    }
}

impl Node {
    fn is_sound(&self) -> bool {
        self.cores > 0 && self.memory_gb > 0.0 && self.price_per_month >= 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_file_is_sound() {
        Assumptions::default().validate().unwrap();
    }

    #[test]
    fn a_file_with_a_slip_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("assumptions.toml");
        let slips = [
            (
                "read_share = 0.8",
                "read_share = 80",
                "read_share is 0 to 1",
            ),
            ("copies = 2", "copys = 2", "copys"),
            ("rate_share_max = 0.6", "rate_share_max = 0.0", "headroom"),
        ];
        for (good, bad, said) in slips {
            std::fs::write(&path, TEXT.replace(good, bad)).unwrap();
            let error = Assumptions::read(&path).unwrap_err();
            let text = format!("{error}");
            assert!(text.contains(said), "{text}");
        }
    }
}
