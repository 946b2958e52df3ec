//! A memory budget kept by a control group: version 2 where it holds the memory controller, else
//! version 1.
//!
//! The group counts a process's own memory and the page cache of the files that it touches, so that
//! a "disk" test is not served from DRAM. Must never touch a group that it did not make.

use std::fs;
use std::path::{Path, PathBuf};

use nix::unistd::Pid;

use crate::error::BenchError;

const ROOT: &str = "/sys/fs/cgroup";

/// A group of its own for each server; removed when dropped, after its processes have ended.
#[derive(Debug)]
pub(crate) struct Budget {
    path: PathBuf,
}

impl Budget {
    /// A group named `name` with at most `bytes`.
    pub(crate) fn create(name: &str, bytes: u64) -> Result<Self, BenchError> {
        let root = Path::new(ROOT);
        let (parent, file) = hierarchy(root).ok_or_else(|| {
            let text = format!("no memory controller under {ROOT}");
            BenchError::system("limit memory")(std::io::Error::other(text))
        })?;
        Self::create_in(&parent, file, name, bytes)
    }

    fn create_in(parent: &Path, file: &str, name: &str, bytes: u64) -> Result<Self, BenchError> {
        let path = parent.join(name);
        let doing = format!("make the control group {}", path.display());
        if !path.is_dir() {
            fs::create_dir(&path).map_err(BenchError::system(&*doing))?;
        }
        let budget = Self { path };
        let limit = budget.path.join(file);
        fs::write(limit, bytes.to_string()).map_err(BenchError::system(doing))?;
        Ok(budget)
    }

    /// Moves a process into the group; what it touches from now on counts.
    pub(crate) fn admit(&self, pid: Pid) -> Result<(), BenchError> {
        let path = self.path.join("cgroup.procs");
        let doing = format!("write {}", path.display());
        fs::write(path, pid.to_string()).map_err(BenchError::system(doing))
    }

    /// Whether the kernel killed a process of the group for want of memory.
    pub(crate) fn has_killed(&self) -> bool {
        // Version 2 tells in the first file, version 1 in the second.
        ["memory.events", "memory.oom_control"].iter().any(|file| {
            let text = fs::read_to_string(self.path.join(file)).unwrap_or_default();
            text.lines()
                .filter_map(|line| line.strip_prefix("oom_kill "))
                .any(|count| count.trim() != "0")
        })
    }

    /// Where the group is, for the report.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Budget {
    fn drop(&mut self) {
        // A group that still holds a process stays; nothing more can be done about it here.
        let _ = fs::remove_dir(&self.path);
    }
}

/// The folder to make groups in, and the file that holds a group's limit.
fn hierarchy(root: &Path) -> Option<(PathBuf, &'static str)> {
    let enabled = fs::read_to_string(root.join("cgroup.subtree_control")).unwrap_or_default();
    if enabled.split_whitespace().any(|word| word == "memory") {
        return Some((root.to_owned(), "memory.max"));
    }
    let first = root.join("memory");
    first
        .join("memory.limit_in_bytes")
        .is_file()
        .then_some((first, "memory.limit_in_bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_found_by_their_files() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(hierarchy(root.path()), None);
        fs::create_dir(root.path().join("memory")).unwrap();
        fs::write(root.path().join("memory/memory.limit_in_bytes"), "").unwrap();
        let (parent, file) = hierarchy(root.path()).unwrap();
        assert_eq!(
            (parent, file),
            (root.path().join("memory"), "memory.limit_in_bytes")
        );
        fs::write(root.path().join("cgroup.subtree_control"), "cpu memory io").unwrap();
        let (parent, file) = hierarchy(root.path()).unwrap();
        assert_eq!((parent, file), (root.path().to_owned(), "memory.max"));
    }

    #[test]
    fn a_group_has_the_limit_and_the_process() {
        let root = tempfile::tempdir().unwrap();
        let budget = Budget::create_in(root.path(), "memory.max", "x", 4096).unwrap();
        budget.admit(Pid::from_raw(7)).unwrap();
        let read = |name: &str| fs::read_to_string(budget.path().join(name)).unwrap();
        assert_eq!(read("memory.max"), "4096");
        assert_eq!(read("cgroup.procs"), "7");
        let oom = root.path().join("x/memory.oom_control");
        fs::write(&oom, "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n").unwrap();
        assert!(!budget.has_killed());
        fs::write(&oom, "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n").unwrap();
        assert!(budget.has_killed());
    }
}
