//! Where a server's binary is, and what version it says it is.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Peer;
use crate::error::BenchError;
use crate::host::cancel::Flag;
use crate::host::child::{Plan, Process};
use crate::host::cores;

/// A program that is not done by then took the question for a start.
const VERSION_MAX: Duration = Duration::from_secs(5);
const VERSION_UNKNOWN: &str = "unknown";

/// A binary that was found.
#[derive(Clone, Debug)]
pub(crate) struct Binary {
    path: PathBuf,
    version: String,
}

impl Binary {
    #[cfg(test)]
    pub(super) fn at(path: PathBuf, version: String) -> Self {
        Self { path, version }
    }

    /// The program, as a word.
    pub(crate) fn word(&self) -> String {
        self.path.display().to_string()
    }

    /// What it prints of its version, in one line.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }
}

/// The binary of `peer`: the one that was named, else the first of its names on PATH. The error
/// says what to do.
pub(crate) fn find(peer: Peer, named: &HashMap<Peer, PathBuf>) -> Result<Binary, String> {
    let path = match named.get(&peer) {
        Some(path) if path.is_file() => path.canonicalize().unwrap_or_else(|_| path.clone()),
        Some(path) => return Err(format!("{} is no file", path.display())),
        None => on_path(peer.programs()).ok_or_else(|| {
            let programs = peer.programs().join(" or ");
            let name = peer.name();
            format!("no {programs} on PATH, and no --server {name}=PATH")
        })?,
    };
    let version = version_of(&path, peer.version_word());
    let version = version.unwrap_or_else(|_| VERSION_UNKNOWN.to_owned());
    Ok(Binary { path, version })
}

/// The first program that is on PATH.
pub(crate) fn on_path(programs: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let candidates = programs.iter().flat_map(|program| {
        let folders = folders.iter();
        folders.map(move |folder| folder.join(program))
    });
    let mut candidates = candidates;
    candidates.find(|candidate| candidate.is_file())
}

/// The first line that a program prints when it is asked for its version.
fn version_of(program: &Path, word: &str) -> Result<String, BenchError> {
    let directory = tempfile::tempdir().map_err(BenchError::system("make a directory"))?;
    let output = directory.path().join("version");
    let mut process = Process::start(&Plan {
        words: &[program.display().to_string(), word.to_owned()],
        cores: &cores::available()?,
        directory: directory.path(),
        output: output.clone(),
        errors: output.clone(),
    })?;
    let status = process.wait(VERSION_MAX, &Flag::default(), |_| ())?;
    let text = fs::read(&output).map_err(BenchError::system("read a version"))?;
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().find(|line| !line.trim().is_empty());
    let line = line.filter(|_| status.success()).unwrap_or(VERSION_UNKNOWN);
    Ok(line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_says_what_to_do() {
        let named = HashMap::from([(Peer::Redis, PathBuf::from("/no/such/file"))]);
        let error = find(Peer::Redis, &named).unwrap_err();
        assert!(error.contains("/no/such/file"), "{error}");
        assert_eq!(on_path(&["no-such-program-at-all"]), None);
        assert!(on_path(&["no-such-program-at-all", "sh"]).is_some());
    }

    #[test]
    fn a_version_is_one_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("server");
        fs::write(&path, "not a program").unwrap();
        assert!(version_of(&path, "--version").is_err());
        let version = version_of(Path::new("/bin/sh"), "-c").unwrap();
        assert_eq!(version, VERSION_UNKNOWN);
        let version = version_of(Path::new("/bin/echo"), "server 1.2").unwrap();
        assert_eq!(version, "server 1.2");
    }
}
