//! The machine: its cores, memory limits, counters and signals.
//!
//! ```text
//!   cancel (Ctrl-C) --> child (pinned processes) --> usage (CPU, DRAM, device bytes of a process)
//!   cores (who runs where)   cgroup (memory budget)   steal (time taken away)   facts (report)
//! ```
//!
//! Owns everything that is read from /proc and /sys. Must never touch a process or a control group
//! that the harness did not make.

pub(crate) mod cancel;
pub(crate) mod cgroup;
pub(crate) mod child;
pub(crate) mod cores;
pub(crate) mod facts;
pub(crate) mod size;
pub(crate) mod steal;
pub(crate) mod usage;
