//! Rules about crates: who may depend on whom, and that each foreign crate has its reason.
//!
//! Owns the table of arrows of docs/architecture.md. Must never list a crate that is not a member.

use std::collections::BTreeSet;
use std::fs;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

use super::{Finding, assert_none, root};

/// Each member and the members it may lean on, in whatever way. `bench` may lean on any.
const ARROWS: [(&str, &[&str]); 5] = [
    ("cellar-index", &[]),
    ("cellar-storage", &["cellar-index"]),
    ("cellar-spdk", &["cellar-storage"]),
    ("cellar-server", &["cellar-storage", "cellar-spdk"]),
    ("cellar-fuzz", &["cellar-server", "cellar-storage"]),
];
const FREE_MEMBER: &str = "cellar-bench";

/// Where every foreign crate has its line and its reason.
const DEPENDENCY_RECORD: &str = "docs/adr/0003-dependencies.md";

fn metadata() -> Metadata {
    MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .no_deps()
        .exec()
        .expect("cargo reads the workspace that it is testing")
}

fn dependency_names(package: &Package) -> impl Iterator<Item = &str> {
    package
        .dependencies
        .iter()
        .map(|dependency| dependency.name.as_str())
}

#[test]
fn crates_lean_only_the_way_the_arrows_point() {
    let metadata = metadata();
    let members: BTreeSet<&str> = metadata.packages.iter().map(|p| p.name.as_str()).collect();
    let listed: BTreeSet<&str> = ARROWS
        .iter()
        .map(|(name, _)| *name)
        .chain([FREE_MEMBER])
        .collect();
    assert_eq!(members, listed, "name every member in ARROWS");

    let mut findings = Vec::new();
    for (name, allowed) in ARROWS {
        let package = metadata.packages.iter().find(|p| p.name.as_str() == name);
        let package = package.expect("compared with the members above");
        for other in dependency_names(package).filter(|other| members.contains(other)) {
            if !allowed.contains(&other) {
                let advice = format!("{name} must not know {other}: see docs/architecture.md");
                findings.push(Finding::new(package.manifest_path.as_str(), 1, advice));
            }
        }
    }
    assert_none(&findings);
}

#[test]
fn members_take_lints_and_versions_from_the_workspace() {
    let mut findings = Vec::new();
    for package in metadata().packages {
        let path = package.manifest_path.as_str();
        let text = fs::read_to_string(path).expect("cargo read it a moment ago");
        if !text.contains("[lints]\nworkspace = true") {
            findings.push(Finding::new(
                path,
                1,
                "add `[lints]` with `workspace = true`",
            ));
        }
        let own_version = text
            .lines()
            .position(|line| line.contains("version = \"") || line.contains("path = \"../"));
        if let Some(index) = own_version {
            let advice = "a version or a path stands once, in the root's [workspace.dependencies]";
            findings.push(Finding::new(path, index + 1, advice));
        }
    }
    assert_none(&findings);
}

#[test]
fn every_foreign_crate_is_used_and_has_its_reason() {
    let root_text = fs::read_to_string(root().join("Cargo.toml")).expect("the root is there");
    let root_manifest: toml::Table = root_text.parse().expect("cargo read it a moment ago");
    let declared = root_manifest["workspace"]["dependencies"].as_table();
    let declared: BTreeSet<&str> = declared
        .expect("[workspace.dependencies] is a table")
        .iter()
        .filter(|(_, value)| value.get("path").is_none())
        .map(|(name, _)| name.as_str())
        .collect();
    let record = fs::read_to_string(root().join(DEPENDENCY_RECORD)).expect("the record is there");
    let recorded: BTreeSet<&str> = record.lines().filter_map(first_cell).collect();
    let metadata = metadata();
    let used: BTreeSet<&str> = metadata
        .packages
        .iter()
        .flat_map(dependency_names)
        .collect();

    let mut findings = Vec::new();
    for name in declared.difference(&used) {
        let advice = format!("no member uses `{name}`: remove it");
        findings.push(Finding::new("Cargo.toml", 1, advice));
    }
    for name in declared.difference(&recorded) {
        findings.push(Finding::new(
            DEPENDENCY_RECORD,
            1,
            format!("give the reason for `{name}`"),
        ));
    }
    for name in recorded.difference(&declared) {
        let advice = format!("`{name}` is not in the root's Cargo.toml: remove its line");
        findings.push(Finding::new(DEPENDENCY_RECORD, 1, advice));
    }
    assert_none(&findings);
}

/// The crate named in the first cell of a table row: "| `bytes` | ...".
fn first_cell(line: &str) -> Option<&str> {
    let (name, _) = line.strip_prefix("| `")?.split_once('`')?;
    Some(name)
}

#[test]
fn the_server_runs_without_the_bench() {
    for package in metadata().packages {
        let leans = package
            .dependencies
            .iter()
            .any(|d| d.name == FREE_MEMBER && d.kind != DependencyKind::Unknown);
        assert!(!leans, "{} depends on {FREE_MEMBER}", package.name);
    }
}
