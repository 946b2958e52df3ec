//! Where a server's binary is, and what version it says it is.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Peer;

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

    /// What it prints for `--version`, in one line.
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
    let version = version_of(&path);
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

/// The first line that `program --version` prints; unknown when it prints none.
fn version_of(program: &Path) -> String {
    let asked = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    let Ok(output) = asked else {
        return "unknown".to_owned();
    };
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().find(|line| !line.trim().is_empty());
    line.map_or_else(|| "unknown".to_owned(), |line| line.trim().to_owned())
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
        std::fs::write(&path, "not a program").unwrap();
        assert_eq!(version_of(&path), "unknown");
        assert!(!version_of(Path::new("/bin/ls")).contains('\n'));
    }
}
