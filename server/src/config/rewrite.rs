//! Writes the running values into a config file's text and keeps everything else of it.
//!
//! Owns the edits: a value is replaced where it stands, a missing option is added to its section.

use std::fmt::Write;
use std::ops::Range;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::load::Loaded;
use super::sections::{Config, OPTIONS, OptionSpec, SECTIONS};

/// Why a file's text cannot take the values: its layout is one that the edits do not know.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the config file is laid out in a way that cannot be rewritten")]
pub struct RewriteError;

/// One edit: what stands in the range is replaced.
struct Edit {
    range: Range<usize>,
    text: String,
}

/// `text` with the values of `config`. Options that the file leaves out and that have their
/// default stay out.
pub fn rewrite(text: &str, config: &Config) -> Result<String, RewriteError> {
    let document = DeTable::parse(text).map_err(|_| RewriteError)?;
    let defaults = Config::default();
    let mut edits = Vec::new();
    let mut appended = String::new();
    for section in SECTIONS {
        let table = document
            .get_ref()
            .iter()
            .find(|(name, _)| name.get_ref() == section.name);
        let mut missing = String::new();
        for option in OPTIONS
            .iter()
            .filter(|option| option.section == section.name)
        {
            match table.and_then(|(_, table)| find(table.get_ref(), option.name)) {
                Some(range) => edits.extend(replace(text, range, option, config)),
                None if (option.get)(config).text() == (option.get)(&defaults).text() => {}
                None => push_option(&mut missing, option, config),
            }
        }
        match table {
            _ if missing.is_empty() => {}
            Some((name, _)) => {
                let at = line_end(text, name.span().end);
                let lead = if text[..at].ends_with('\n') { "" } else { "\n" };
                edits.push(Edit {
                    range: at..at,
                    text: format!("{lead}{missing}"),
                });
            }
            None => append_section(&mut appended, section.name, &missing),
        }
    }
    let out = apply(text, edits) + &appended;
    // the edits know tables with a header; anything else is found out here
    let mut again = Loaded::default();
    again
        .read_text(Path::new(""), &out)
        .map_err(|_| RewriteError)?;
    if again.config == *config {
        Ok(out)
    } else {
        Err(RewriteError)
    }
}

fn find(section: &DeValue<'_>, name: &str) -> Option<Range<usize>> {
    let DeValue::Table(table) = section else {
        return None;
    };
    table
        .iter()
        .find(|(key, _)| key.get_ref() == name)
        .map(|(_, value)| value.span())
}

/// The edit of an option that the file has, unless it says the same already.
fn replace(text: &str, range: Range<usize>, option: &OptionSpec, config: &Config) -> Option<Edit> {
    let mut written = Config::default();
    let value = DeValue::parse(&text[range.clone()]).ok()?;
    let read = (option.get_mut)(&mut written).set_toml(value.get_ref());
    let wanted = (option.get)(config);
    if read.is_ok() && (option.get)(&written).text() == wanted.text() {
        return None;
    }
    Some(Edit {
        range,
        text: wanted.toml(),
    })
}

fn push_option(out: &mut String, option: &OptionSpec, config: &Config) {
    let value = (option.get)(config).toml();
    writeln!(out, "{} = {value}", option.name).expect("a string takes everything");
}

fn append_section(out: &mut String, name: &str, options: &str) {
    write!(out, "\n[{name}]\n{options}").expect("a string takes everything");
}

/// The offset after the line in which `offset` stands.
fn line_end(text: &str, offset: usize) -> usize {
    text[offset..]
        .find('\n')
        .map_or(text.len(), |length| offset + length + 1)
}

fn apply(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| edit.range.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        out.push_str(&text[at..edit.range.start]);
        out.push_str(&edit.text);
        at = edit.range.end;
    }
    out.push_str(&text[at..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: &str, changes: &[(&str, &str)], after: &str) {
        let mut loaded = Loaded::default();
        loaded.read_text(Path::new("c.toml"), before).unwrap();
        for (name, text) in changes {
            let option = OPTIONS.iter().find(|option| option.name == *name).unwrap();
            (option.get_mut)(&mut loaded.config).set(text).unwrap();
        }
        assert_eq!(rewrite(before, &loaded.config).unwrap(), after);
    }

    #[test]
    fn keeps_comments_and_order() {
        check(
            "# mine\n[network] # here\nport = 1 # one\n\n[log]\nloglevel = \"debug\"\n",
            &[("port", "2"), ("timeout", "5"), ("maxmemory", "1gb")],
            "# mine\n[network] # here\ntimeout = 5\nport = 2 # one\n\n[log]\nloglevel = \"debug\"\n\
             \n[memory]\nmaxmemory = \"1gb\"\n",
        );
        check("", &[("port", "2")], "\n[network]\nport = 2\n");
        check("[network]", &[("port", "2")], "[network]\nport = 2\n");
    }

    #[test]
    fn leaves_what_is_right() {
        let text = "[memory]\nmaxmemory = 1073741824 # in bytes\n";
        check(text, &[("maxmemory", "1gb")], text);
    }

    #[test]
    fn refuses_layouts_that_it_does_not_know() {
        let mut config = Config::default();
        config.network.port = super::super::value::Integer::new(1);
        config.network.timeout = super::super::value::Integer::new(1);
        assert_eq!(rewrite("network.port = 5\n", &config), Err(RewriteError));
    }
}
