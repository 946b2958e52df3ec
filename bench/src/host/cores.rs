//! Which cores the servers get and which the load, and how a thread is bound to them.

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use crate::error::BenchError;

/// Cores of the servers and of the load generator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Split {
    pub(crate) server: Vec<usize>,
    pub(crate) load: Vec<usize>,
}

impl Split {
    /// Servers get the first half of `cores` (the larger, when the number is odd), the load the
    /// rest. With one core there is nothing to split.
    pub(crate) fn apart(cores: &[usize]) -> Result<Self, BenchError> {
        if cores.len() < 2 {
            let text = "--cpu-split needs two cores; with one, use --shared".to_owned();
            return Err(BenchError::Arguments(text));
        }
        let (server, load) = cores.split_at(cores.len().div_ceil(2));
        let server = server.to_vec();
        let load = load.to_vec();
        Ok(Self { server, load })
    }

    /// Servers and load share all `cores`.
    pub(crate) fn shared(cores: &[usize]) -> Self {
        let server = cores.to_vec();
        let load = cores.to_vec();
        Self { server, load }
    }

    /// Whether the load has cores of its own.
    pub(crate) fn is_apart(&self) -> bool {
        self.server.iter().all(|core| !self.load.contains(core))
    }
}

/// The cores that this process may use, ascending.
pub(crate) fn available() -> Result<Vec<usize>, BenchError> {
    let set = sched_getaffinity(Pid::from_raw(0))
        .map_err(|error| BenchError::system("ask for the allowed cores")(error.into()))?;
    let all = 0..CpuSet::count();
    Ok(all.filter(|core| set.is_set(*core) == Ok(true)).collect())
}

/// Binds the calling thread, and what it starts from now on, to `cores`.
pub(crate) fn bind_thread(cores: &[usize]) -> Result<(), BenchError> {
    let mut set = CpuSet::new();
    let bound = cores
        .iter()
        .try_for_each(|core| set.set(*core))
        .and_then(|()| sched_setaffinity(Pid::from_raw(0), &set));
    bound.map_err(|error| BenchError::system(format!("bind to cores {cores:?}"))(error.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_stays_off_the_servers_cores() {
        let split = Split::apart(&[0, 1, 2]).unwrap();
        assert_eq!((&*split.server, &*split.load), (&[0, 1][..], &[2][..]));
        assert!(split.is_apart());
        assert!(!Split::shared(&[0, 1]).is_apart());
        assert!(Split::apart(&[0]).is_err());
    }

    #[test]
    fn a_bound_thread_has_those_cores_only() {
        let first = available().unwrap()[0];
        let bound = std::thread::spawn(move || {
            bind_thread(&[first]).unwrap();
            available().unwrap()
        });
        assert_eq!(bound.join().unwrap(), [first]);
    }
}
