//! Rules about documents: each is reachable, each link leads somewhere, nothing names the machine
//! or the service somebody happened to work with.
//!
//! Owns the reading of Markdown links. Must never fetch a link that leads out of the repository.

use std::path::{Component, Path, PathBuf};

use super::{Finding, SourceFile, assert_none, files, root};

const READING_ORDER: &str = "docs/README.md";

/// Its table of INFO fields is compared with the code that writes them.
const OPERATIONS: &str = "docs/operations.md";
const INFO_SOURCES: &str = "server/src/info/";

/// Paths of somebody's machine, split so that this file does not contain them.
const MACHINE_PATHS: [&str; 3] = [
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
];

/// Hosts of package registries: a build uses whichever registry the machine is set up for.
const REGISTRY_HOSTS: [&str; 5] = [
    concat!("crates", ".io"),
    concat!("pypi", ".org"),
    concat!("npmjs", ".org"),
    concat!("deb.debian", ".org"),
    concat!("pythonhosted", ".org"),
];

fn markdown_files() -> Vec<SourceFile> {
    let mut found = files();
    found.retain(|file| file.has_extension("md"));
    found
}

#[test]
fn every_page_is_in_the_reading_order() {
    let pages = markdown_files();
    let order = pages.iter().find(|file| file.path == READING_ORDER);
    let order = order.expect("docs/README.md is the reading order");
    let linked: Vec<PathBuf> = links(order)
        .filter_map(|(_, target)| resolve(order, target))
        .collect();

    let mut findings = Vec::new();
    for page in pages.iter().filter(|page| page.path.starts_with("docs/")) {
        if page.path != READING_ORDER && !linked.contains(&PathBuf::from(&page.path)) {
            let advice = format!("link {} where a reader should meet it", page.path);
            findings.push(Finding::new(READING_ORDER, 1, advice));
        }
    }
    assert_none(&findings);
}

#[test]
fn every_link_leads_somewhere() {
    let pages = markdown_files();
    let mut findings = Vec::new();
    for page in &pages {
        for (number, target) in links(page) {
            if !leads_somewhere(page, target, &pages) {
                let advice = format!("`{target}` is not there");
                findings.push(Finding::new(&page.path, number, advice));
            }
        }
    }
    assert_none(&findings);
}

#[test]
fn nothing_names_a_machine_or_a_registry() {
    let mut findings = Vec::new();
    for file in files().iter().filter(|file| file.path != "Cargo.lock") {
        for (number, line) in file.numbered_lines() {
            for word in MACHINE_PATHS.iter().chain(&REGISTRY_HOSTS) {
                if line.contains(word) {
                    let advice = format!("`{word}` means nothing on another machine: remove it");
                    findings.push(Finding::new(&file.path, number, advice));
                }
            }
        }
    }
    assert_none(&findings);
}

#[test]
fn the_fields_to_watch_are_in_info() {
    let sources = files();
    let page = sources
        .iter()
        .find(|file| file.path == OPERATIONS)
        .expect("the page is there");
    let info: String = sources
        .iter()
        .filter(|file| file.path.starts_with(INFO_SOURCES))
        .map(|file| file.text.as_str())
        .collect();
    let mut findings = Vec::new();
    let mut field_count = 0;
    for (number, line) in page
        .numbered_lines()
        .filter(|(_, line)| line.starts_with("| `"))
    {
        let cell = line.split('|').nth(1).unwrap_or_default();
        for field in cell.split('`').skip(1).step_by(2) {
            field_count += 1;
            if !info.contains(&format!("\"{field}\"")) {
                let advice = format!("INFO has no `{field}`");
                findings.push(Finding::new(OPERATIONS, number, advice));
            }
        }
    }
    assert!(field_count > 10, "only {field_count} fields found");
    assert_none(&findings);
}

/// The targets of the page's `[text](target)` links that stay in the repository.
fn links(page: &SourceFile) -> impl Iterator<Item = (usize, &str)> {
    page.numbered_lines()
        .flat_map(|(number, line)| line.split("](").skip(1).map(move |rest| (number, rest)))
        .filter_map(|(number, rest)| Some((number, rest.split_once(')')?.0)))
        .filter(|(_, target)| !target.contains("://") && !target.starts_with("mailto:"))
}

fn leads_somewhere(page: &SourceFile, target: &str, pages: &[SourceFile]) -> bool {
    let Some(path) = resolve(page, target) else {
        return false;
    };
    if !root().join(&path).exists() {
        return false;
    }
    let Some((_, anchor)) = target.split_once('#') else {
        return true;
    };
    let linked = pages.iter().find(|page| Path::new(&page.path) == path);
    linked.is_some_and(|linked| headings(linked).any(|heading| heading == anchor))
}

/// The path from the root that a link on `page` means; None if it leaves the repository.
fn resolve(page: &SourceFile, target: &str) -> Option<PathBuf> {
    let path = target.split('#').next().unwrap_or_default();
    if path.is_empty() {
        return Some(PathBuf::from(&page.path));
    }
    let mut resolved = Path::new(&page.path).parent()?.to_owned();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => resolved.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !resolved.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(resolved)
}

/// The page's headings as anchors: lower case, spaces as dashes, punctuation gone.
fn headings(page: &SourceFile) -> impl Iterator<Item = String> {
    page.text
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| {
            line.trim_start_matches('#')
                .trim()
                .to_lowercase()
                .chars()
                .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
                .map(|c| if c == ' ' { '-' } else { c })
                .collect()
        })
}

#[test]
fn links_are_read_as_a_browser_reads_them() {
    let page = SourceFile {
        path: "docs/a.md".to_owned(),
        text: "# One, Two\nsee [b](../b.md#c) and [d](https://example.org/)\n".to_owned(),
    };
    assert_eq!(links(&page).collect::<Vec<_>>(), [(2, "../b.md#c")]);
    assert_eq!(resolve(&page, "../b.md#c"), Some(PathBuf::from("b.md")));
    assert_eq!(resolve(&page, "../../b.md"), None);
    assert_eq!(headings(&page).collect::<Vec<_>>(), ["one-two"]);
}
