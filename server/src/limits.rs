//! What the process asks of the kernel: descriptors and cores.
//!
//! Owns those calls. A refusal is logged and lived with.

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::unistd::Pid;

/// Descriptors that the process needs beside its clients: devices, rings, sockets, the log.
const OWN_DESCRIPTOR_COUNT: u64 = 256;

/// Raises the bound on descriptors so that this many clients fit, as far as the kernel allows.
pub fn raise_descriptors(client_count: u64) {
    let wanted = client_count + OWN_DESCRIPTOR_COUNT;
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return;
    };
    if soft >= wanted {
        return;
    }
    if let Err(cause) = setrlimit(Resource::RLIMIT_NOFILE, wanted.min(hard), hard) {
        tracing::warn!("the bound on open files stays at {soft}: {cause}");
    } else if wanted > hard {
        let fit = hard.saturating_sub(OWN_DESCRIPTOR_COUNT);
        tracing::warn!("maxclients is {client_count}, but open files only allow {fit}");
    }
}

/// Binds the calling thread to a core.
pub fn pin_thread(index: usize) {
    let core_count = std::thread::available_parallelism().map_or(1, usize::from);
    let mut cores = CpuSet::new();
    let pinned = cores
        .set(index % core_count)
        .and_then(|()| sched_setaffinity(Pid::from_raw(0), &cores));
    if let Err(cause) = pinned {
        tracing::warn!(worker = index, "cannot bind the worker to a core: {cause}");
    }
}
