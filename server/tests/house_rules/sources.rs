//! Rules about program text: sizes, words, unsafe, clocks.
//!
//! Owns the limits and the lists of the files that are let through. Must never let a file through
//! without naming it here.

use super::{Finding, SourceFile, assert_none, files, rust_files};

/// A file of this many lines without its tests has more than one subject; it is reported.
const FILE_LINES_SOFT: usize = 400;
/// And at this many it fails.
const FILE_LINES_HARD: usize = 800;
/// Two files side by side on a laptop.
const COLUMNS_MAX: usize = 100;
/// A line with a message in it may be longer: a text that is one literal can be searched for.
const MESSAGE_COLUMNS_MAX: usize = 160;

/// Names that say nothing about what is inside.
const MODULE_NAMES_BANNED: [&str; 8] = [
    "util",
    "utils",
    "common",
    "helper",
    "helpers",
    "misc",
    "shared_code",
    "prelude",
];

/// Marks of unfinished work, split so that this file does not contain them.
const MARKS_BANNED: [&str; 4] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("HA", "CK"),
];

/// Leaf modules that may hold `unsafe`, and how many uses each may have. A new use raises its
/// number here, so that a reviewer sees it; a module that is not a leaf does not get in.
const UNSAFE_USES_MAX: [(&str, usize); 7] = [
    ("index/src/memory.rs", 16),
    ("server/src/scripting/stack.rs", 1),
    ("storage/src/device/memory.rs", 20),
    ("storage/src/device/words_loom.rs", 1),
    ("storage/src/device/words_plain.rs", 3),
    ("storage/src/device/uring/ring.rs", 2),
    ("storage/src/device/uring/statx.rs", 2),
];

/// Where the clock and the randomness of the outside world come in. All other code is handed them.
const OUTSIDE_WORLD: [&str; 2] = ["storage/src/clock.rs", "server/src/start.rs"];

#[test]
fn every_file_says_what_it_is() {
    let mut findings = Vec::new();
    for file in rust_files() {
        if !file.text.starts_with("//! ") {
            findings.push(Finding::new(
                &file.path,
                1,
                "open with `//!`: what the file is, what it owns, what it must never do",
            ));
        }
    }
    for file in files().iter().filter(|file| file.is_script()) {
        let says = file
            .text
            .lines()
            .take(3)
            .any(|l| l.starts_with("# ") || l.starts_with("\"\"\""));
        if !says {
            findings.push(Finding::new(
                &file.path,
                1,
                "open with what the script does",
            ));
        }
    }
    assert_none(&findings);
}

#[test]
fn files_have_one_subject() {
    let mut findings = Vec::new();
    for file in rust_files() {
        let line_count = lines_without_tests(&file);
        if line_count > FILE_LINES_HARD {
            let advice = format!("{line_count} lines without tests: split by noun");
            findings.push(Finding::new(&file.path, 1, advice));
        } else if line_count > FILE_LINES_SOFT && !is_test_code(&file.path) {
            // Shown by `cargo test -- --show-output`.
            println!(
                "soft limit: {} has {line_count} lines without tests",
                file.path
            );
        }
    }
    assert_none(&findings);
}

#[test]
fn lines_fit_the_column_limit() {
    let mut findings = Vec::new();
    for file in files() {
        if !(file.has_extension("rs") || file.is_script()) {
            continue;
        }
        for (number, line) in file.numbered_lines() {
            let column_count = line.chars().count();
            let has_message = line.contains('"') && !line.trim_start().starts_with("//");
            let columns_max = if has_message {
                MESSAGE_COLUMNS_MAX
            } else {
                COLUMNS_MAX
            };
            if column_count > columns_max {
                let advice = format!("{column_count} columns, at most {columns_max}: wrap it");
                findings.push(Finding::new(&file.path, number, advice));
            }
        }
    }
    assert_none(&findings);
}

#[test]
fn modules_are_named_by_a_noun_that_says_something() {
    let mut findings = Vec::new();
    for file in rust_files() {
        for part in file.path.trim_end_matches(".rs").split('/') {
            if MODULE_NAMES_BANNED.contains(&part) {
                let advice = format!("`{part}` names no subject: name it by its noun");
                findings.push(Finding::new(&file.path, 1, advice));
            }
        }
        for (number, line) in file.numbered_lines() {
            let line = line.trim();
            let is_use = line.starts_with("pub use ") || line.starts_with("pub(crate) use ");
            if is_use && line.ends_with("*;") {
                findings.push(Finding::new(&file.path, number, "name what is re-exported"));
            }
        }
    }
    assert_none(&findings);
}

#[test]
fn nothing_is_left_unfinished() {
    let mut findings = Vec::new();
    for file in files() {
        for (number, line) in file.numbered_lines() {
            for mark in MARKS_BANNED.into_iter().filter(|mark| has_word(line, mark)) {
                let advice = format!("`{mark}`: finish it, or say in prose what is not there");
                findings.push(Finding::new(&file.path, number, advice));
            }
        }
    }
    assert_none(&findings);
}

#[test]
fn lints_and_tests_are_not_switched_off() {
    let mut findings = Vec::new();
    for file in rust_files() {
        for (number, line) in file.numbered_lines() {
            let line = line.trim();
            if line.starts_with("#![allow(") {
                let advice = "use `#[expect(lint, reason = \"...\")]` on the item it is about";
                findings.push(Finding::new(&file.path, number, advice));
            }
            if line.starts_with("#[ignore") {
                findings.push(Finding::new(
                    &file.path,
                    number,
                    "a test runs or is not there",
                ));
            }
        }
    }
    assert_none(&findings);
}

#[test]
fn unsafe_stays_in_its_leaf_modules() {
    let sources = rust_files();
    let mut findings = Vec::new();
    for file in &sources {
        let uses: Vec<usize> = code_lines(file)
            .filter(|(_, line)| has_word(line, "unsafe"))
            .map(|(number, _)| number)
            .collect();
        let allowed = UNSAFE_USES_MAX.iter().find(|(path, _)| *path == file.path);
        let uses_max = allowed.map_or(0, |(_, uses_max)| *uses_max);
        if uses.len() > uses_max {
            let advice = format!(
                "{} uses of `unsafe`, {uses_max} allowed: do without, or raise UNSAFE_USES_MAX in \
                 server/tests/house_rules/sources.rs",
                uses.len()
            );
            findings.push(Finding::new(&file.path, uses[uses_max], advice));
        }
    }
    findings.extend(stale_entries(
        &sources,
        UNSAFE_USES_MAX.iter().map(|(path, _)| *path),
    ));
    assert_none(&findings);
}

#[test]
fn clock_and_randomness_come_from_outside() {
    let sources = rust_files();
    let calls = ["SystemTime::now", "Instant::now", "getrandom::", "OsRng"];
    let mut findings = Vec::new();
    for file in &sources {
        let exempt = OUTSIDE_WORLD.contains(&&*file.path)
            || is_test_code(&file.path)
            || file.path.starts_with("bench/");
        if exempt {
            continue;
        }
        for (number, line) in code_lines(file) {
            if calls.iter().any(|call| line.contains(call)) {
                let advice = "take the clock or the randomness as a parameter, or name the file in \
                              OUTSIDE_WORLD in server/tests/house_rules/sources.rs";
                findings.push(Finding::new(&file.path, number, advice));
            }
        }
    }
    findings.extend(stale_entries(&sources, OUTSIDE_WORLD.into_iter()));
    assert_none(&findings);
}

/// An entry of a list above whose file is gone.
fn stale_entries<'a>(
    sources: &[SourceFile],
    listed: impl Iterator<Item = &'a str>,
) -> Vec<Finding> {
    listed
        .filter(|path| !sources.iter().any(|file| file.path == *path))
        .map(|path| Finding::new(path, 1, "listed in sources.rs, but there is no such file"))
        .collect()
}

fn is_test_code(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs")
}

/// Whether `word` stands in `line` with no letter, digit or underscore beside it.
fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// The lines outside comments, strings that span no line left in, and outside the file's tests.
fn code_lines(file: &SourceFile) -> impl Iterator<Item = (usize, &str)> {
    let tests = test_ranges(&file.text);
    file.numbered_lines()
        .filter(move |(number, _)| !tests.iter().any(|range| range.contains(number)))
        .map(|(number, line)| (number, line.split("//").next().unwrap_or_default()))
        .map(|(number, line)| (number, without_strings(line)))
}

/// The part of a line before its first string literal; an `unsafe` or a clock never follows one.
fn without_strings(line: &str) -> &str {
    line.split('"').next().unwrap_or_default()
}

fn lines_without_tests(file: &SourceFile) -> usize {
    let in_tests: usize = test_ranges(&file.text)
        .iter()
        .map(ExactSizeIterator::len)
        .sum();
    file.text.lines().count() - in_tests
}

/// Line numbers of the top-level `#[cfg(test)] mod ... { }` blocks, as rustfmt lays them out.
fn test_ranges(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut ranges = Vec::new();
    let mut start = None;
    let mut is_attribute_above = false;
    for (index, line) in text.lines().enumerate() {
        if start.is_none() && is_attribute_above && line.starts_with("mod ") && line.ends_with('{')
        {
            start = Some(index);
        }
        if let Some(first) = start
            && line == "}"
        {
            ranges.push(first..index + 2);
            start = None;
        }
        is_attribute_above =
            line == "#[cfg(test)]" || (is_attribute_above && line.starts_with('#'));
    }
    ranges
}

#[test]
fn the_rules_see_what_they_look_for() {
    let file = |text: &str| SourceFile {
        path: "x/src/y.rs".to_owned(),
        text: text.to_owned(),
    };
    let tested = file("//! y\nfn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n");
    assert_eq!(test_ranges(&tested.text).first(), Some(&(4..8)));
    assert_eq!(lines_without_tests(&tested), 3);
    assert_eq!(code_lines(&tested).count(), 3);

    assert!(has_word("let a = unsafe { b };", "unsafe"));
    assert!(!has_word("#![expect(unsafe_code)]", "unsafe"));
    let commented = file("a(); // unsafe\nb(\"unsafe\");\n");
    assert!(!code_lines(&commented).any(|(_, line)| has_word(line, "unsafe")));
}
