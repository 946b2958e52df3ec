//! The figures of the simulation as tables and as JSON.
//!
//! Owns the form of the output. Must never compute more than ratios.
#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]
#![expect(
    clippy::cast_precision_loss,
    reason = "counts and bytes are far below 2^52"
)]

use super::bound;
use super::load::Load;
use super::log::Totals;
use super::rule::Policy;
use super::shape::Shape;

/// Width of a column of figures.
const WIDTH: usize = 12;

/// One simulated store.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) shape: Shape,
    pub(crate) load: Load,
    pub(crate) policy: Policy,
    /// What the measured part wrote.
    pub(crate) totals: Totals,
    pub(crate) live_bytes: u64,
}

impl Outcome {
    /// Bytes of log for each byte of clients' records.
    pub(crate) fn log_amplification(&self) -> f64 {
        1.0 + self.totals.moved_bytes as f64 / self.totals.hot_bytes as f64
    }

    /// Bytes on the device for each byte of clients' keys and values: what INFO shows.
    fn device_amplification(&self) -> f64 {
        let Shape { segment_bytes, .. } = self.shape;
        let framing = f64::from(segment_bytes) / f64::from(self.shape.room_bytes());
        let written = (self.totals.hot_bytes + self.totals.moved_bytes) as f64 * framing;
        written / self.totals.user_bytes as f64
    }

    /// Live share of the segments that are neither free nor open.
    fn cycle_utilization(&self) -> f64 {
        let free = self.totals.free_sum as f64 / self.totals.opened_count.max(1) as f64;
        // Of the two open segments half is filled on average.
        let cycle = f64::from(self.shape.segment_count) - free - 1.0;
        self.live_bytes as f64 / (cycle * f64::from(self.shape.room_bytes()))
    }

    /// Live share of a victim, on average.
    fn victim_utilization(&self) -> f64 {
        let bytes = self.totals.victims.max(1) as f64 * f64::from(self.shape.segment_bytes);
        self.totals.moved_bytes as f64 / bytes
    }
}

/// Prints a table a load, a row a utilization, a column a policy.
pub(crate) fn print_tables(outcomes: &[Outcome], loads: &[Load], policies: &[Policy]) {
    let Some(first) = outcomes.first() else {
        return;
    };
    let Shape {
        segment_count,
        segment_bytes,
        value_bytes_min,
        value_bytes_max,
        ..
    } = first.shape;
    println!(
        "{segment_count} segments of {segment_bytes} bytes, values of \
         {value_bytes_min}..={value_bytes_max} bytes; bytes of log for each byte of clients' records"
    );
    for load in loads {
        println!();
        println!("{}", load.name());
        println!();
        print_table(outcomes, *load, policies);
    }
}

fn print_table(outcomes: &[Outcome], load: Load, policies: &[Policy]) {
    let titles = ["full, %", "cycle, %", "bound", "bound, cycle"];
    let names = policies.iter().map(|policy| policy.name());
    print_row(titles.into_iter().chain(names).map(str::to_owned));
    print_row((0..titles.len() + policies.len()).map(|_| format!("{}:", "-".repeat(WIDTH - 1))));
    let of_load: Vec<_> = outcomes.iter().filter(|o| o.load == load).collect();
    for row in of_load.chunks(policies.len()) {
        let Some(last) = row.last() else { continue };
        let percent = last.shape.utilization_percent;
        let cycle = last.cycle_utilization();
        // Theory knows uniform overwriting only.
        let bound = |utilization| match load {
            Load::Uniform => format!("{:.2}", bound::uniform(utilization)),
            Load::Zipfian | Load::HotCold => "-".to_owned(),
        };
        let head = [
            percent.to_string(),
            format!("{:.1}", cycle * 100.0),
            bound(f64::from(percent) / 100.0),
            bound(cycle),
        ];
        let figures = row
            .iter()
            .map(|outcome| format!("{:.2}", outcome.log_amplification()));
        print_row(head.into_iter().chain(figures));
    }
}

fn print_row(cells: impl Iterator<Item = String>) {
    let cells: Vec<String> = cells.map(|cell| format!("{cell:>WIDTH$}")).collect();
    println!("| {} |", cells.join(" | "));
}

/// Prints every figure, an object a simulated store.
pub(crate) fn print_json(outcomes: &[Outcome]) {
    let objects: Vec<String> = outcomes.iter().map(json_object).collect();
    println!("[\n{}\n]", objects.join(",\n"));
}

/// All strings are names of ours: nothing needs escaping.
fn json_object(outcome: &Outcome) -> String {
    let Outcome {
        shape,
        load,
        policy,
        totals,
        live_bytes,
    } = outcome;
    let bound = match load {
        Load::Uniform => format!("{:.4}", bound::uniform(outcome.cycle_utilization())),
        Load::Zipfian | Load::HotCold => "null".to_owned(),
    };
    let fields = [
        ("load", format!("\"{}\"", load.name())),
        ("policy", format!("\"{}\"", policy.name())),
        ("segment_count", shape.segment_count.to_string()),
        ("segment_bytes", shape.segment_bytes.to_string()),
        ("value_bytes_min", shape.value_bytes_min.to_string()),
        ("value_bytes_max", shape.value_bytes_max.to_string()),
        ("key_count", shape.key_count().to_string()),
        ("utilization_percent", shape.utilization_percent.to_string()),
        ("live_bytes", live_bytes.to_string()),
        ("user_bytes", totals.user_bytes.to_string()),
        ("hot_bytes", totals.hot_bytes.to_string()),
        ("moved_bytes", totals.moved_bytes.to_string()),
        ("victim_count", totals.victims.to_string()),
        (
            "log_amplification",
            format!("{:.4}", outcome.log_amplification()),
        ),
        (
            "device_amplification",
            format!("{:.4}", outcome.device_amplification()),
        ),
        (
            "cycle_utilization",
            format!("{:.4}", outcome.cycle_utilization()),
        ),
        (
            "victim_utilization",
            format!("{:.4}", outcome.victim_utilization()),
        ),
        ("bound", bound),
    ];
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("\"{name}\": {value}"))
        .collect();
    format!("  {{{}}}", fields.join(", "))
}
