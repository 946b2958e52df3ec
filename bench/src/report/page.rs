//! The page: head, contents, overview, a section a run, the cost model.
//!
//! Owns the order. Must never name anything outside of the page itself.

use std::fmt::Write as _;

use super::model::{Section, Table};
use super::plots::escape;
use super::{beside, charts, facts, overview, tables};
use crate::cost::{self, Assumptions};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The whole page.
pub(super) fn page(sections: &[Section], assumptions: &Assumptions) -> String {
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>Cellar: benchmark report</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <header><h1>Cellar: benchmark report</h1>\n\
         <p>Medians of the rounds, with the least and the most. Ratios compare servers of one run; \
         figures of different runs, devices or durability classes do not compare. Steal is the \
         share of CPU time that other guests of the machine took.</p>\n</header>\n"
    );
    html.push_str(&contents(sections));
    html.push_str("<main>\n");
    html.push_str(&overview::overview(sections));
    for (index, one) in sections.iter().enumerate() {
        html.push_str(&section(index, one));
    }
    html.push_str(&cost::html(sections, assumptions));
    let _ = write!(
        html,
        "</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n"
    );
    html
}

fn contents(sections: &[Section]) -> String {
    let mut html = String::from("<nav><ul>\n<li><a href=\"#overview\">At a glance</a></li>\n");
    for (index, section) in sections.iter().enumerate() {
        let _ = writeln!(
            html,
            "<li><a href=\"#run-{index}\">{}</a> <small>{}</small></li>",
            escape(&section.run.suite),
            escape(&section.conditions())
        );
    }
    html.push_str("<li><a href=\"#cost\">Nodes and monthly cost</a></li>\n</ul></nav>\n");
    html
}

fn section(index: usize, section: &Section) -> String {
    let mut html = format!(
        "<section id=\"run-{index}\"><h2>{} <small>{}</small></h2>\n",
        escape(&section.run.suite),
        escape(&section.conditions())
    );
    html.push_str(&facts::servers(section));
    for table in &section.tables {
        html.push_str(&one_table(table));
    }
    html.push_str(&beside::beside(section));
    if !section.limits.is_empty() {
        html.push_str("<h3>What the device does by itself</h3>\n");
        html.push_str(&tables::limits(section));
        html.push_str(&charts::limit_charts(section));
    }
    html.push_str("<details><summary>Machine and conditions</summary>\n");
    html.push_str(&facts::machine(section));
    html.push_str("</details>\n");
    html.push_str(&facts::commands(section));
    html.push_str("</section>\n");
    html
}

fn one_table(table: &Table) -> String {
    let mut html = format!("<h3>{}</h3>\n", escape(&table.name));
    html.push_str(&tables::table(table));
    html.push_str(&charts::charts(table));
    html
}
