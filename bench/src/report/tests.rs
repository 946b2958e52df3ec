//! The page as a whole, from rows to markup.
//!
//! Owns the rows that other tests of the report take. Must never need a browser.

use super::model::{self, Section};
use super::page;
use crate::cost::Assumptions;
use crate::results::{Figure, Latency, Limit, Machine, Point, Row, Run, Sample, Series, Server};

pub(super) fn run(suite: &str) -> Run {
    Run {
        suite: suite.to_owned(),
        started_unix_s: 1_796_064_000,
        machine: Machine {
            cpu_model: "Test <CPU>".to_owned(),
            cores: 2,
            kernel: "6.1".to_owned(),
            memory_bytes: 8 << 30,
            device: "vda".to_owned(),
            filesystem: "ext4".to_owned(),
        },
        regime: "disk".to_owned(),
        durability: "everysec".to_owned(),
        cpu_split: true,
        server_cores: vec![0],
        load_cores: vec![1],
        memory_budget: "cgroup, 1 GB".to_owned(),
        arguments: vec!["cellar-bench".to_owned(), suite.to_owned()],
    }
}

/// A sample of suite `wire`, table `1 KB`, column `get`: one second, all of it the server's CPU.
#[expect(clippy::cast_sign_loss, reason = "rates of a test")]
pub(super) fn sample(server: &str, round: u32, ops_per_s: f64) -> Sample {
    Sample {
        suite: "wire".to_owned(),
        table: "1 KB".to_owned(),
        column: "get".to_owned(),
        server: server.to_owned(),
        round,
        seconds: 1.0,
        operations: ops_per_s as u64,
        ops_per_s,
        server_cpu_s: 1.0,
        ..Sample::default()
    }
}

fn server(name: &str, absence: Option<&str>) -> Row {
    Row::Server(Server {
        name: name.to_owned(),
        suite: "wire".to_owned(),
        found: absence.is_none(),
        version: Some("1.2.3".to_owned()),
        binary: None,
        command_line: vec![format!("{name}-server"), "--port 0".to_owned()],
        config: "appendfsync everysec".to_owned(),
        absence: absence.map(str::to_owned),
    })
}

fn full_sample(server: &str, round: u32, ops_per_s: f64) -> Row {
    Row::Sample(Sample {
        latency: Some(Latency {
            p50_us: Some(100.0),
            p90_us: Some(200.0),
            p99_us: Some(900.0),
            p999_us: Some(4000.0),
            max_us: Some(20_000.0),
            mean_us: Some(120.0),
        }),
        resident_bytes: 100_000_000,
        device_read_bytes: Some(1_000_000),
        device_written_bytes: Some(3_000_000),
        user_bytes_written: Some(2_000_000),
        steal_share: 0.02,
        figures: vec![Figure {
            name: "memory per key".to_owned(),
            unit: "B".to_owned(),
            value: 27.5,
        }],
        notes: vec!["a note & more".to_owned()],
        ..sample(server, round, ops_per_s)
    })
}

fn rows() -> Vec<Row> {
    let point = |index: u32| Point {
        at_s: f64::from(index),
        operations: 100,
        p99_us: Some(500.0),
        device_written_bytes: Some(1000),
        cleaning: Some(index > 5),
        ..Point::default()
    };
    vec![
        Row::Run(run("wire")),
        server("cellar", None),
        server("redis", None),
        server("kvrocks", Some("no binary `kvrocks` on PATH")),
        server("dragonfly", Some("did not come up\nline <1>\nline 2")),
        full_sample("cellar", 0, 50_000.0),
        full_sample("redis", 0, 40_000.0),
        full_sample("cellar", 1, 54_000.0),
        Row::Series(Series {
            suite: "wire".to_owned(),
            table: "1 KB".to_owned(),
            column: "get".to_owned(),
            server: "cellar".to_owned(),
            round: 0,
            interval_s: 1.0,
            points: (1..=10).map(point).collect(),
        }),
        Row::Limit(Limit {
            suite: "wire".to_owned(),
            name: "randread 4k qd80".to_owned(),
            round: 0,
            file_bytes: 1 << 30,
            block_bytes: 4096,
            depth: 80,
            reads_per_s: 60_000.0,
            cpu_s_per_operation: 5e-6,
            command: vec!["fio".to_owned()],
        }),
    ]
}

fn html(sections: &[Section]) -> String {
    page::page(sections, &Assumptions::default())
}

#[test]
fn the_page_shows_all_that_was_measured() {
    let html = html(&model::sections(rows()).unwrap());
    let wanted = [
        "52.0k<small>50.0k to 54.0k</small>",
        "1.30×",
        "appendfsync everysec",
        "no binary `kvrocks` on PATH",
        "line &lt;1&gt;",
        "Test &lt;CPU&gt;",
        "randread 4k qd80",
        "Write amplification",
        "1.50",
        "27.5",
        "a note &amp; more",
        "the cleaner at work",
        "2026-11-30 18:40 UTC",
        "redis-server --port 0",
        "2.0 %",
        "id=\"cost\"",
    ];
    for text in wanted {
        assert!(html.contains(text), "`{text}` is not on the page");
    }
}

#[test]
fn the_page_needs_nothing_but_itself() {
    let html = html(&model::sections(rows()).unwrap());
    for outside in ["http://", "https://", "src=", "<link", "@import", "url("] {
        assert!(!html.contains(outside), "{outside}");
    }
}

#[test]
fn every_tag_is_closed() {
    let html = html(&model::sections(rows()).unwrap());
    for tag in [
        "section", "div", "table", "tbody", "tr", "td", "th", "svg", "figure", "details", "ul",
        "li", "pre", "small", "p",
    ] {
        let opened =
            html.matches(&format!("<{tag}>")).count() + html.matches(&format!("<{tag} ")).count();
        let closed = html.matches(&format!("</{tag}>")).count();
        assert_eq!(opened, closed, "<{tag}>");
        assert!(opened > 0, "<{tag}>");
    }
}

#[test]
fn a_page_of_nothing_is_still_a_page() {
    let html = html(&[]);
    assert!(html.contains("id=\"cost\"") && html.ends_with("</html>\n"));
}
