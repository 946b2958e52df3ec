//! The cost model on the page: its inputs, its table, what it leaves out.
//!
//! Owns the markup. The table stands as computed here until a reader changes an input; then the
//! script computes it anew.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::assumptions::Assumptions;
use super::model::{Bill, Candidate, bill, candidates};
use super::{LEFT_OUT, measured};
use crate::report::model::Section;
use crate::report::{escape, number};

const SCRIPT: &str = include_str!("live.js");

/// One input of the form.
struct Input {
    name: &'static str,
    label: &'static str,
    step: &'static str,
    value: fn(&Assumptions) -> f64,
}

const fn input(
    name: &'static str,
    label: &'static str,
    step: &'static str,
    value: fn(&Assumptions) -> f64,
) -> Input {
    Input {
        name,
        label,
        step,
        value,
    }
}

/// All inputs. The device of a node for servers in memory plays no part.
const INPUTS: [Input; 16] = [
    input("data_tb", "Data, one copy, TB", "any", |a| {
        a.workload.data_tb
    }),
    input("key_bytes", "Key, bytes", "any", |a| a.workload.key_bytes),
    input("value_bytes", "Value, bytes", "any", |a| {
        a.workload.value_bytes
    }),
    input(
        "peak_rate_per_s",
        "Commands a second at the peak",
        "any",
        |a| a.workload.peak_rate_per_s,
    ),
    input("read_share", "Share that reads, 0 to 1", "0.05", |a| {
        a.workload.read_share
    }),
    input("copies", "Copies", "1", |a| f64::from(a.workload.copies)),
    input(
        "device_fill_max",
        "Device filled at most, 0 to 1",
        "0.05",
        |a| a.headroom.device_fill_max,
    ),
    input(
        "memory_fill_max",
        "Memory filled at most, 0 to 1",
        "0.05",
        |a| a.headroom.memory_fill_max,
    ),
    input("rate_share_max", "Rate used at most, 0 to 1", "0.05", |a| {
        a.headroom.rate_share_max
    }),
    input("device_cores", "Device node: cores", "1", |a| {
        f64::from(a.nodes.device.cores)
    }),
    input("device_memory_gb", "Device node: memory, GB", "any", |a| {
        a.nodes.device.memory_gb
    }),
    input("device_device_tb", "Device node: device, TB", "any", |a| {
        a.nodes.device.device_tb
    }),
    input("device_price", "Device node: price a month", "any", |a| {
        a.nodes.device.price_per_month
    }),
    input("memory_cores", "Memory node: cores", "1", |a| {
        f64::from(a.nodes.memory.cores)
    }),
    input("memory_memory_gb", "Memory node: memory, GB", "any", |a| {
        a.nodes.memory.memory_gb
    }),
    input("memory_price", "Memory node: price a month", "any", |a| {
        a.nodes.memory.price_per_month
    }),
];

/// The section of the page.
pub(crate) fn html(sections: &[Section], assumptions: &Assumptions) -> String {
    let (found, unknown) = candidates(&measured::measured(sections), assumptions);
    let mut html = String::from(
        "<section id=\"cost\"><h2>Nodes and monthly cost</h2>\n\
         <p>Primaries are as many as the largest of three needs asks for: room on devices, room in \
         memory, and the rate; each has its copies. Rates and memory for a key are what was \
         measured above, on one machine, unless the list below says assumed. The workload, the \
         nodes and their prices are assumptions in round numbers: put in your own.</p>\n",
    );
    if found.is_empty() {
        html.push_str("<p>These results have no rates that the model could use.</p></section>\n");
        return html;
    }
    html.push_str(&inputs(assumptions));
    html.push_str(&table(&found, assumptions));
    for name in unknown {
        let _ = writeln!(
            html,
            "<p>{}: no rates of reads and writes were measured.</p>",
            escape(&name)
        );
    }
    html.push_str("<h3>What this leaves out</h3>\n<ul>\n");
    for item in LEFT_OUT {
        let _ = writeln!(html, "<li>{}</li>", escape(item));
    }
    let _ = write!(html, "</ul>\n<script>\n{SCRIPT}</script>\n</section>\n");
    html
}

fn inputs(assumptions: &Assumptions) -> String {
    let mut html = String::from("<form class=\"inputs\" id=\"cost-inputs\">\n");
    for Input {
        name,
        label,
        step,
        value,
    } in &INPUTS
    {
        let value = value(assumptions);
        let _ = writeln!(
            html,
            "<label>{label}<input type=\"number\" name=\"{name}\" value=\"{value}\" min=\"0\" \
             step=\"{step}\"></label>"
        );
    }
    html + "</form>\n"
}

fn table(found: &[Candidate], assumptions: &Assumptions) -> String {
    let mut html = String::from(
        "<div class=\"scroll\"><table id=\"cost-table\">\n<thead><tr><th>server</th>\
         <th>reads/s<small>a core</small></th><th>writes/s<small>a core</small></th>\
         <th>memory a key<small>bytes beside the value</small></th>\
         <th>space<small>device bytes a byte</small></th><th>by device</th><th>by memory</th>\
         <th>by rate</th><th>primaries</th><th>nodes</th><th>a month</th></tr></thead>\n<tbody>\n",
    );
    for candidate in found {
        html.push_str(&row(candidate, &bill(candidate, assumptions)));
    }
    html.push_str(
        "</tbody></table></div>\n<details><summary>Where the rates are from</summary><ul>\n",
    );
    for candidate in found {
        let _ = writeln!(
            html,
            "<li>{}: rates: {}; memory: {}; values {}</li>",
            escape(&candidate.server),
            escape(&candidate.rates_source),
            candidate.memory_source,
            if candidate.values_in_memory {
                "in memory"
            } else {
                "on the device"
            },
        );
    }
    html.push_str("</ul></details>\n");
    html
}

fn row(candidate: &Candidate, bill: &Bill) -> String {
    let traits: Value = json!({ "values_in_memory": candidate.values_in_memory });
    let input = |name: &str, value: f64| {
        format!(
            "<td><input type=\"number\" name=\"{name}\" value=\"{value}\" min=\"0\" step=\"any\" \
             aria-label=\"{name} of {}\"></td>",
            escape(&candidate.server)
        )
    };
    let rounded = |value: f64| (value * 10.0).round() / 10.0;
    format!(
        "<tr data-traits=\"{}\"><th scope=\"row\">{}</th>{}{}{}{}\
         <td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td><b>{}</b></td></tr>\n",
        escape(&traits.to_string()),
        escape(&candidate.server),
        input("reads_per_core_s", candidate.reads_per_core_s.round()),
        input("writes_per_core_s", candidate.writes_per_core_s.round()),
        input(
            "memory_bytes_per_key",
            rounded(candidate.memory_bytes_per_key)
        ),
        input("space_amplification", candidate.space_amplification),
        bill.by_device,
        bill.by_memory,
        bill.by_rate,
        bill.primaries,
        bill.nodes,
        number::money(bill.per_month),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_reads_every_input() {
        for Input { name, .. } in &INPUTS {
            // The script puts the kind of node before the names that both kinds have.
            let own = name
                .strip_prefix("device_")
                .or(name.strip_prefix("memory_"));
            let by_kind = own.is_some_and(|own| SCRIPT.contains(&format!("${{kind}}_{own}")));
            assert!(by_kind || SCRIPT.contains(&format!("\"{name}\"")), "{name}");
        }
        for name in [
            "reads_per_core_s",
            "writes_per_core_s",
            "memory_bytes_per_key",
            "space_amplification",
        ] {
            assert!(
                SCRIPT.contains(&format!("number(row, \"{name}\")")),
                "{name}"
            );
        }
    }
}
