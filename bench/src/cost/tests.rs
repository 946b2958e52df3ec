//! The model on results of known figures.
//!
//! Owns the worked example. Must never repeat the formulas that it checks.

use super::assumptions::Assumptions;
use super::measured::measured;
use super::model::{bill, candidates};
use crate::report::model::{self, Section};
use crate::results::{Figure, Machine, Row, Run, Sample};

fn run(suite: &str) -> Row {
    Row::Run(Run {
        suite: suite.to_owned(),
        started_unix_s: 0,
        machine: Machine {
            cpu_model: String::new(),
            cores: 2,
            kernel: String::new(),
            memory_bytes: 0,
            device: String::new(),
            filesystem: String::new(),
        },
        regime: "disk".to_owned(),
        durability: "everysec".to_owned(),
        cpu_split: true,
        server_cores: vec![0, 1],
        load_cores: Vec::new(),
        memory_budget: String::new(),
        arguments: Vec::new(),
    })
}

fn sample(suite: &str, column: &str, server: &str, ops_per_s: f64) -> Sample {
    Sample {
        suite: suite.to_owned(),
        table: format!("{suite}, values of 100 B"),
        column: column.to_owned(),
        server: server.to_owned(),
        operations: 1000,
        ops_per_s,
        ..Sample::default()
    }
}

fn memory(server: &str, figure: &str, bytes: f64) -> Row {
    Row::Sample(Sample {
        figures: vec![Figure {
            name: figure.to_owned(),
            unit: "B".to_owned(),
            value: bytes,
        }],
        ..sample("memory", "keys of 16 B", server, 1.0)
    })
}

/// Cellar in `tiered` on two cores, redis in `wire` alone, kvrocks without writes.
fn sections() -> Vec<Section> {
    let rate = |suite: &str, column: &str, server: &str, rate: f64| {
        Row::Sample(sample(suite, column, server, rate))
    };
    let rows = vec![
        run("wire"),
        rate("wire", "readrandom", "redis", 100_000.0),
        rate("wire", "overwrite", "redis", 80_000.0),
        rate("wire", "readrandom", "cellar", 999_999.0),
        rate("wire", "overwrite", "cellar", 999_999.0),
        run("tiered"),
        rate("tiered", "GET", "cellar", 40_000.0),
        rate("tiered", "SET", "cellar", 80_000.0),
        rate("tiered", "GET", "kvrocks", 20_000.0),
        run("memory"),
        memory("cellar", "resident memory per key", 77.0),
        memory("cellar", "index memory per key", 28.0),
        memory("redis", "resident memory per key", 190.0),
    ];
    model::sections(rows).unwrap()
}

#[test]
fn nodes_and_cost_are_those_worked_out_by_hand() {
    let assumptions = Assumptions::default();
    let (found, unknown) = candidates(&measured(&sections()), &assumptions);
    assert_eq!(unknown, ["kvrocks"]);
    let of = |name: &str| {
        let candidate = found.iter().find(|candidate| candidate.server == name);
        bill(candidate.unwrap(), &assumptions)
    };
    // 10 TB are 3.975e9 keys of 2516 bytes.
    // Cellar: 10.5 TB on devices of 1.52 TB usable: 6.9; 28 B a key: 111 GB in 51.2 GB usable: 2.2;
    // 800,000 / 20,000 + 200,000 / 40,000 = 45 cores of 4.8 usable a node: 9.4.
    let cellar = of("cellar");
    assert_eq!(
        (cellar.by_device, cellar.by_memory, cellar.by_rate),
        (7, 3, 10)
    );
    assert_eq!((cellar.primaries, cellar.nodes), (10, 20));
    assert_eq!((cellar.per_month, cellar.limit()), (10_000.0, "rate"));
    // Redis: 90 B beside the value, 2590 B a key: 10.29 TB of memory: 201.05 nodes of 51.2 GB;
    // 800,000 / 50,000 + 200,000 / 40,000 = 21 cores: 4.4.
    let redis = of("redis");
    assert_eq!(
        (redis.by_device, redis.by_memory, redis.by_rate),
        (0, 202, 5)
    );
    assert_eq!((redis.nodes, redis.limit()), (404, "memory"));
    assert!((redis.per_month - 161_600.0).abs() < 0.1);
}

#[test]
fn assumptions_take_the_place_of_measurements() {
    let mut assumptions = Assumptions::default();
    let traits = assumptions.servers.entry("kvrocks".to_owned()).or_default();
    traits.reads_per_core_s = Some(22_800.0);
    traits.writes_per_core_s = Some(15_500.0);
    let (found, unknown) = candidates(&measured(&sections()), &assumptions);
    assert!(unknown.is_empty());
    let kvrocks = found
        .iter()
        .find(|candidate| candidate.server == "kvrocks")
        .unwrap();
    assert_eq!(kvrocks.rates_source, "assumed");
    assert_eq!(kvrocks.memory_source, "assumed");
    let cellar = found
        .iter()
        .find(|candidate| candidate.server == "cellar")
        .unwrap();
    assert!(
        cellar.rates_source.starts_with("GET and SET of \"tiered, "),
        "{}",
        cellar.rates_source
    );
}

#[test]
fn small_data_is_limited_by_the_rate_and_slow_loads_by_the_device() {
    let mut assumptions = Assumptions::default();
    assumptions.workload.peak_rate_per_s = 1.0;
    let (found, _) = candidates(&measured(&sections()), &assumptions);
    let cellar = found
        .iter()
        .find(|candidate| candidate.server == "cellar")
        .unwrap();
    assert_eq!(bill(cellar, &assumptions).limit(), "device");
    assumptions.workload.data_tb = 0.001;
    let small = bill(cellar, &assumptions);
    assert_eq!((small.primaries, small.nodes), (1, 2));
}

#[test]
fn the_table_says_what_it_takes_and_what_it_leaves_out() {
    let text = super::table(&sections(), &Assumptions::default());
    for wanted in [
        "cellar",
        "10,000",
        "161,600",
        "kvrocks: left out",
        "Network",
        "Discounts",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    let html = super::html(&sections(), &Assumptions::default());
    for wanted in [
        "161,600",
        "name=\"peak_rate_per_s\"",
        "value=\"20000\"",
        "Discounts",
    ] {
        assert!(html.contains(wanted), "{wanted}");
    }
}
