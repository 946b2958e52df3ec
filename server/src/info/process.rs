//! What the kernel knows of the process and the machine.
//!
//! Owns reading `/proc`, which never waits for a device.

use std::fs;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};
use nix::unistd::{SysconfVar, sysconf};

/// Bytes of a page where the kernel does not tell.
const PAGE_BYTES_DEFAULT: u64 = 4096;

/// Bytes of the process that are in memory.
pub(super) fn resident_bytes() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse().ok())
        .unwrap_or(0);
    let page_bytes = sysconf(SysconfVar::PAGE_SIZE).ok().flatten();
    pages
        * page_bytes
            .and_then(|bytes| u64::try_from(bytes).ok())
            .unwrap_or(PAGE_BYTES_DEFAULT)
}

/// Bytes of memory that the machine has.
pub(super) fn machine_bytes() -> u64 {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = total.and_then(|rest| rest.trim().strip_suffix("kB"));
    kib.and_then(|kib| kib.trim().parse::<u64>().ok())
        .unwrap_or(0)
        * 1024
}

/// Processor time so far, in microseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CpuTime {
    pub(super) system_us: u64,
    pub(super) user_us: u64,
}

/// Processor time of the process, or of its children.
pub(super) fn cpu_time(who: UsageWho) -> CpuTime {
    let Ok(usage) = getrusage(who) else {
        return CpuTime::default();
    };
    CpuTime {
        system_us: micros(usage.system_time()),
        user_us: micros(usage.user_time()),
    }
}

fn micros(time: TimeVal) -> u64 {
    time.num_microseconds().unsigned_abs()
}

/// The kernel's name and version.
pub(super) fn system() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("Linux {} {}", release.trim(), std::env::consts::ARCH)
}
