//! What a process has used so far: CPU time, DRAM, bytes from and to block devices.
//!
//! CPU time is the process's own count (`/proc/PID/stat`): all its threads, ended ones too, user
//! and system, and its children, running or waited for, such as Redis's log rewriter: counting a
//! child only when it was waited for would charge all its work to the moment of its end. The same
//! goes for device bytes. The threads that io_uring makes for a process (iou-wrk, iou-sqp) belong
//! to it and are counted; the kernel's own workers (kworker, loop, ksoftirqd) are not, since
//! nothing says for whom they worked.

use std::fs;

use nix::unistd::{Pid, SysconfVar, sysconf};

use crate::error::BenchError;

/// Counters of one process at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Usage {
    pub(crate) cpu_s: f64,
    /// Most DRAM held since the last `reset_peak`.
    pub(crate) resident_peak_bytes: u64,
    pub(crate) resident_bytes: u64,
    pub(crate) device_read_bytes: u64,
    pub(crate) device_written_bytes: u64,
}

impl Usage {
    /// Of `pid`, as of now.
    pub(crate) fn of(pid: Pid) -> Result<Self, BenchError> {
        let read = |name: &str| {
            let path = format!("/proc/{pid}/{name}");
            fs::read_to_string(&path).map_err(BenchError::system(format!("read {path}")))
        };
        let status = read("status")?;
        let mut usage = Self {
            cpu_s: cpu_s(&read("stat")?, ticks_per_s()),
            resident_peak_bytes: field(&status, "VmHWM:") << 10,
            resident_bytes: field(&status, "VmRSS:") << 10,
            ..Self::default()
        };
        usage.add_io(&read("io")?);
        usage.add_children(pid);
        Ok(usage)
    }

    fn add_io(&mut self, io: &str) {
        let written = field(io, "write_bytes:");
        self.device_read_bytes += field(io, "read_bytes:");
        self.device_written_bytes += written.saturating_sub(field(io, "cancelled_write_bytes:"));
    }

    /// What running children used; one that ends meanwhile is in its parent's count soon.
    fn add_children(&mut self, pid: Pid) {
        let tasks = fs::read_dir(format!("/proc/{pid}/task"));
        let tasks = tasks.into_iter().flatten().flatten();
        let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
        let children: String = lists.collect();
        for child in children.split_whitespace() {
            let read = |name: &str| fs::read_to_string(format!("/proc/{child}/{name}"));
            if let (Ok(stat), Ok(io)) = (read("stat"), read("io")) {
                self.cpu_s += cpu_s(&stat, ticks_per_s());
                self.add_io(&io);
            }
        }
    }
}

/// Lets the peak of `pid` begin anew. A kernel that refuses leaves the peak since the start.
pub(crate) fn reset_peak(pid: Pid) {
    // 5 is the request to reset VmHWM.
    let _ = fs::write(format!("/proc/{pid}/clear_refs"), "5");
}

fn ticks_per_s() -> f64 {
    let ticks = sysconf(SysconfVar::CLK_TCK).ok().flatten();
    // The kernel's unit towards programs is 100 a second on every architecture but Alpha.
    ticks
        .and_then(|ticks| u32::try_from(ticks).ok())
        .map_or(100.0, f64::from)
}

/// Seconds of a `/proc/PID/stat` line: utime, stime, cutime and cstime, fields 14 to 17. The name
/// in parentheses before them may hold anything.
fn cpu_s(stat: &str, ticks_per_s: f64) -> f64 {
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = after_name.split_whitespace().skip(11).take(4);
    let ticks = ticks
        .filter_map(|word| word.parse::<u32>().ok())
        .map(f64::from);
    ticks.sum::<f64>() / ticks_per_s
}

fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let word = line.and_then(|rest| rest.split_whitespace().next());
    word.and_then(|word| word.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_user_and_system_with_reaped_children() {
        let stat = "42 (a) (b) S 1 42 42 0 -1 4194560 900 0 0 0 150 50 20 5 20 0 4 0 99";
        assert!((cpu_s(stat, 100.0) - 2.25).abs() < 1e-9);
        assert!(cpu_s("no stat line", 100.0).abs() < 1e-9);
    }

    #[test]
    fn fields_are_found_by_their_name() {
        let io = "rchar: 6976\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 4096\n";
        assert_eq!(field(io, "read_bytes:"), 4096);
        assert_eq!(field(io, "write_bytes:"), 8192);
        assert_eq!(field(io, "absent:"), 0);
        assert_eq!(field("VmHWM:\t   1234 kB\n", "VmHWM:"), 1234);
    }

    #[test]
    fn a_running_child_is_counted() {
        let script = "while :; do :; done";
        let mut child = std::process::Command::new("sh")
            .args(["-c", script])
            .spawn()
            .unwrap();
        let started = std::time::Instant::now();
        let used_s = || {
            let mut usage = Usage::default();
            usage.add_children(Pid::this());
            usage.cpu_s
        };
        while used_s() < 0.05 {
            assert!(started.elapsed().as_secs() < 60, "the child is not counted");
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn this_process_uses_something() {
        let usage = Usage::of(Pid::this()).unwrap();
        assert!(usage.resident_peak_bytes > 0);
        assert!(usage.resident_bytes <= usage.resident_peak_bytes);
    }
}
