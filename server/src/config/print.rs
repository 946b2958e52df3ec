//! Prints a configuration: as an annotated file and as the page of the documentation.
//!
//! Owns both layouts; the words are the options' own.

use std::fmt::Write;

use super::remembered;
use super::sections::{Change, Config, OPTIONS, OptionSpec, SECTIONS};

const FILE_HEAD: &str = "\
# Configuration of Cellar: `cellar --config FILE`. What a file leaves out has its default; every
# option is also a flag that overrides the file, as in `cellar --port 7000`. Sizes are numbers of
# bytes or have a unit: 1k is 1000 bytes, 1kb is 1024, and so on with m, g, t. What is marked
# \"live\" can be changed while the server runs, with CONFIG SET.
";

/// The annotated file with these values.
pub fn annotated_file(config: &Config) -> String {
    let mut out = String::from(FILE_HEAD);
    for section in SECTIONS {
        out.push('\n');
        for line in section.docs {
            push_line(&mut out, format_args!("#{line}"));
        }
        push_line(&mut out, format_args!("[{}]", section.name));
        for option in options_of(section.name) {
            let live = if option.change == Change::Live {
                " (live)"
            } else {
                ""
            };
            let (last, first) = option
                .docs
                .split_last()
                .expect("every option is documented");
            for line in first {
                push_line(&mut out, format_args!("#{line}"));
            }
            push_line(&mut out, format_args!("#{last}{live}"));
            push_line(
                &mut out,
                format_args!("{} = {}", option.name, (option.get)(config).toml()),
            );
        }
    }
    out
}

const PAGE_HEAD: &str = "\
# Configuration

`cellar --config FILE` reads a TOML file; what it leaves out has its default. Every option is also
a flag that overrides the file (`cellar --port 7000`). `cellar --print-config` prints the effective
file, `cellar --check-config` says whether it can be used and starts nothing. The annotated default
is [configs/cellar.toml](../configs/cellar.toml).

Sizes are numbers of bytes or have a unit: `1k` is 1000 bytes, `1kb` is 1024, and so on with `m`,
`g` and `t`. Options that are live can be changed while the server runs, with `CONFIG SET`;
`CONFIG REWRITE` writes the running values into the file and keeps its comments.

This page is generated from the option table of the server (`server/src/config/sections.rs`).
";

const REMEMBERED_HEAD: &str = "
## Remembered parameters

Redis has parameters that mean nothing here, and clients and tests set them. `CONFIG SET` accepts
them and `CONFIG GET` answers what was set, until the server stops; they have no other effect, and
a config file cannot hold them.

";

/// `docs/configuration.md`.
pub fn documentation_page() -> String {
    let config = Config::default();
    let mut out = String::from(PAGE_HEAD);
    for section in SECTIONS {
        push_line(&mut out, format_args!("\n## [{}]\n", section.name));
        push_line(&mut out, format_args!("{}\n", joined(section.docs)));
        out.push_str("| option | default | live | meaning |\n|---|---|---|---|\n");
        for option in options_of(section.name) {
            let live = if option.change == Change::Live {
                "yes"
            } else {
                "no"
            };
            let (default, docs) = ((option.get)(&config).toml(), joined(option.docs));
            push_line(
                &mut out,
                format_args!("| `{}` | `{default}` | {live} | {docs} |", option.name),
            );
        }
    }
    out.push_str(REMEMBERED_HEAD);
    let names: Vec<String> = remembered::PARAMETERS
        .iter()
        .map(|parameter| format!("`{}`", parameter.name))
        .collect();
    push_line(&mut out, format_args!("{}.", names.join(", ")));
    out
}

fn options_of(section: &str) -> impl Iterator<Item = &'static OptionSpec> {
    OPTIONS
        .iter()
        .filter(move |option| option.section == section)
}

fn joined(docs: &[&str]) -> String {
    docs.iter()
        .map(|line| line.trim())
        .collect::<Vec<_>>()
        .join(" ")
}

fn push_line(out: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(out, "{line}").expect("a string takes everything");
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Loaded;

    #[test]
    fn the_annotated_file_reads_back() {
        let mut config = Config::default();
        for (name, text) in [("port", "1"), ("bind", "a b"), ("maxmemory", "1gb")] {
            let option = OPTIONS.iter().find(|option| option.name == name).unwrap();
            (option.get_mut)(&mut config).set(text).unwrap();
        }
        let mut loaded = Loaded::default();
        loaded
            .read_text(Path::new("c.toml"), &annotated_file(&config))
            .unwrap();
        assert_eq!(loaded.config, config);
    }
}
