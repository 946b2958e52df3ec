//! On what, with what and how a run was made: machine, servers, command lines, configurations.
//!
//! Owns the lists of facts. Must never leave out a server that was looked for and not found.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::colour;
use super::model::Section;
use super::number;
use super::plots::escape;
use crate::results::Server;

/// Machine and conditions of a run.
#[expect(clippy::cast_precision_loss, reason = "bytes of memory are below 2^52")]
pub(super) fn machine(section: &Section) -> String {
    let run = &section.run;
    let machine = &run.machine;
    let cores = |cores: &[usize]| {
        let names: Vec<String> = cores.iter().map(ToString::to_string).collect();
        if names.is_empty() {
            "not pinned".to_owned()
        } else {
            names.join(", ")
        }
    };
    let memory_budget = match run.memory_budget.as_str() {
        "" => "none",
        budget => budget,
    };
    let facts = [
        ("conditions", section.conditions()),
        (
            "processor",
            format!("{}, {} cores", machine.cpu_model, machine.cores),
        ),
        ("memory", number::bytes(machine.memory_bytes as f64)),
        ("memory budget", memory_budget.to_owned()),
        ("cores of the server", cores(&run.server_cores)),
        ("cores of the load", cores(&run.load_cores)),
        (
            "device",
            format!("{}, {}", machine.device, machine.filesystem),
        ),
        ("kernel", machine.kernel.clone()),
        ("begun", format!("{} UTC", date(run.started_unix_s))),
        ("command", run.arguments.join(" ")),
    ];
    let mut html = String::from("<dl class=\"facts\">\n");
    for (name, value) in facts {
        let _ = writeln!(html, "<dt>{name}</dt><dd>{}</dd>", escape(&value));
    }
    html + "</dl>\n"
}

/// Days and minutes of a time in seconds since 1970.
fn date(unix_s: u64) -> String {
    let (days, second_of_day) = (unix_s / 86_400, unix_s % 86_400);
    // Civil date from days (Hinnant), counted from March of the year 0.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_shifted + 2) / 5 + 1;
    let month = if month_shifted < 10 {
        month_shifted + 3
    } else {
        month_shifted - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute) = (second_of_day / 3600, second_of_day % 3600 / 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}")
}

/// Versions of the servers that took part, and the reason of each that did not.
pub(super) fn servers(section: &Section) -> String {
    let mut html = String::new();
    let (found, absent): (Vec<&Server>, Vec<&Server>) =
        section.servers.iter().partition(|server| server.found);
    let shown: Vec<String> = found
        .iter()
        .map(|server| {
            format!(
                "<i class=\"dot {}\"></i>{} {}",
                colour::class(&server.name),
                escape(&server.name),
                escape(
                    server
                        .version
                        .as_deref()
                        .map_or("(version unknown)", number_of)
                )
            )
        })
        .collect();
    if !shown.is_empty() {
        let _ = writeln!(html, "<p class=\"servers\">{}</p>", shown.join(" · "));
    }
    if !absent.is_empty() {
        let names: Vec<String> = absent.iter().map(|server| escape(&server.name)).collect();
        let _ = writeln!(
            html,
            "<details class=\"absent\"><summary>Absent, with the reasons: {}</summary><ul>",
            names.join(", ")
        );
        for server in absent {
            html.push_str(&absence(server));
        }
        html.push_str("</ul></details>\n");
    }
    html
}

/// The number in what a server says of its version; all that it says if there is none.
fn number_of(version: &str) -> &str {
    let numbers = version.split(|c: char| !c.is_ascii_digit() && c != '.');
    let mut numbers = numbers.map(|number| number.trim_matches('.'));
    numbers
        .find(|number| number.contains('.'))
        .unwrap_or(version)
}

/// Why a server is left out; the lines of its log are folded below the first.
fn absence(server: &Server) -> String {
    let name = escape(&server.name);
    let reason = server.absence.as_deref().unwrap_or("no reason was given");
    match reason.split_once('\n') {
        None => format!("<li><b>{name}</b>: {}</li>\n", escape(reason)),
        Some((first, rest)) => format!(
            "<li><b>{name}</b>: {}<details><summary>its log's end</summary>\
             <pre>{}</pre></details></li>\n",
            escape(first),
            escape(rest)
        ),
    }
}

/// Command lines and configurations of the servers and drivers, folded.
pub(super) fn commands(section: &Section) -> String {
    let mut html = String::new();
    for server in section.servers.iter().filter(|server| server.found) {
        let _ = writeln!(
            html,
            "<h5>{}</h5><p>{}</p><pre>{}</pre>",
            escape(&server.name),
            escape(server.version.as_deref().unwrap_or("version unknown")),
            escape(&server.command_line.join(" "))
        );
        if !server.config.trim().is_empty() {
            let config = escape(&server.config);
            let _ = writeln!(
                html,
                "<details><summary>configuration</summary><pre>{config}</pre></details>"
            );
        }
    }
    let drivers: BTreeSet<String> = driver_commands(section).collect();
    if !drivers.is_empty() {
        html.push_str("<h5>load generators</h5>\n");
    }
    for command in drivers {
        let _ = writeln!(html, "<pre>{}</pre>", escape(&command));
    }
    if html.is_empty() {
        return html;
    }
    format!("<details><summary>Command lines and configurations</summary>\n{html}</details>\n")
}

/// The load's command lines of the first round, and fio's.
fn driver_commands(section: &Section) -> impl Iterator<Item = String> {
    let columns = section.tables.iter().flat_map(|table| &table.columns);
    let entries = columns.flat_map(|column| &column.entries);
    let firsts = entries.filter_map(|entry| entry.samples.first());
    let of_samples = firsts.map(|sample| sample.driver_command.join(" "));
    let of_limits = section.limits.iter().map(|limit| limit.command.join(" "));
    of_samples
        .chain(of_limits)
        .filter(|command| !command.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_its_number() {
        let redis = "Redis server v=8.2.3 sha=b5d43ceb:0 malloc=jemalloc-5.3.0 bits=64";
        assert_eq!(number_of(redis), "8.2.3");
        assert_eq!(number_of("cellar 0.1.0"), "0.1.0");
        assert_eq!(number_of("unreleased"), "unreleased");
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00");
        assert_eq!(date(951_782_399), "2000-02-28 23:59");
        assert_eq!(date(951_782_400), "2000-02-29 00:00");
        assert_eq!(date(1_796_064_000), "2026-11-30 18:40");
    }
}
