//! The house rules that a program can check, run by `cargo test` like every other test.
//!
//! Owns the walk over the repository and the form of a finding; each sibling module owns the rules
//! of one kind of file. Must never change a file, and must never let a rule pass because the file
//! it is about was not found.

mod arrows;
mod documents;
mod sources;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders that hold no source of ours.
const FOLDERS_SKIPPED: [&str; 5] = [".git", "target", "cellar-data", "__pycache__", "venv"];

/// The tree is flat; a deeper one is a loop of links.
const FOLDER_DEPTH_MAX: usize = 12;

/// One text file of the repository, its path relative to the root.
struct SourceFile {
    path: String,
    text: String,
}

impl SourceFile {
    fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path)
            .extension()
            .is_some_and(|e| e == extension)
    }

    fn is_script(&self) -> bool {
        self.has_extension("py") || self.has_extension("sh") || self.path.starts_with(".ci/")
    }

    /// The lines with their numbers as an editor shows them.
    fn numbered_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line))
    }
}

/// A place where a rule is broken, and what to do about it.
struct Finding {
    path: String,
    line: usize,
    advice: String,
}

impl Finding {
    fn new(path: &str, line: usize, advice: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            advice: advice.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.advice)
    }
}

/// Fails the calling test with all findings at once.
fn assert_none(findings: &[Finding]) {
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(
        lines.is_empty(),
        "{} finding(s):\n{}",
        lines.len(),
        lines.join("\n")
    );
}

/// The repository's root.
fn root() -> PathBuf {
    let server = Path::new(env!("CARGO_MANIFEST_DIR"));
    server
        .parent()
        .expect("the server crate lies in the workspace")
        .to_owned()
}

/// Every text file of the repository, sorted by path.
fn files() -> Vec<SourceFile> {
    let root = root();
    let mut found = Vec::new();
    collect(&root, &root, FOLDER_DEPTH_MAX, &mut found);
    found.sort_by(|a: &SourceFile, b| a.path.cmp(&b.path));
    assert!(
        found.len() > 20,
        "only {} files under {}",
        found.len(),
        root.display()
    );
    found
}

fn collect(root: &Path, folder: &Path, depth_left: usize, found: &mut Vec<SourceFile>) {
    assert!(depth_left > 0, "{} is nested too deep", folder.display());
    let entries = fs::read_dir(folder).expect("a folder of the repository is readable");
    for entry in entries {
        let path = entry
            .expect("a folder of the repository is readable")
            .path();
        let name = path
            .file_name()
            .expect("an entry has a name")
            .to_string_lossy();
        if path.is_symlink() || FOLDERS_SKIPPED.contains(&&*name) {
            continue;
        }
        if path.is_dir() {
            collect(root, &path, depth_left - 1, found);
        } else if let Ok(text) = fs::read_to_string(&path) {
            let relative = path.strip_prefix(root).expect("the walk began at the root");
            found.push(SourceFile {
                path: relative.to_string_lossy().into_owned(),
                text,
            });
        }
    }
}

/// The Rust files among `files()`.
fn rust_files() -> Vec<SourceFile> {
    let mut found = files();
    found.retain(|file| file.has_extension("rs"));
    assert!(!found.is_empty());
    found
}
