//! What the report says about the machine.

use std::fs;
use std::path::Path;

use crate::results::Machine;

/// The machine, as seen from `directory`, where the data will be.
pub(crate) fn machine(directory: &Path, core_count: usize) -> Machine {
    let (device, filesystem) = mount_of(directory, &read("/proc/self/mounts"));
    Machine {
        cpu_model: value(&read("/proc/cpuinfo"), "model name"),
        cores: u32::try_from(core_count).unwrap_or(u32::MAX),
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        memory_bytes: memory_bytes(),
        device,
        filesystem,
    }
}

/// Bytes of DRAM of the machine; 0 when the kernel does not tell.
pub(crate) fn memory_bytes() -> u64 {
    let text = value(&read("/proc/meminfo"), "MemTotal");
    let kibibytes = text
        .split_whitespace()
        .next()
        .and_then(|word| word.parse::<u64>().ok());
    kibibytes.unwrap_or_default() << 10
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// What follows `name :` in the first line that starts with it.
fn value(text: &str, name: &str) -> String {
    let line = text.lines().find(|line| line.starts_with(name));
    let value = line.and_then(|line| line.split_once(':'));
    value.map_or_else(
        || "unknown".to_owned(),
        |(_, value)| value.trim().to_owned(),
    )
}

/// Device and type of the mount that holds `directory`: the one with the longest matching path,
/// the last of them where mounts lie over each other.
fn mount_of(directory: &Path, mounts: &str) -> (String, String) {
    let directory = directory
        .canonicalize()
        .unwrap_or_else(|_| directory.to_owned());
    let mut found = (0, "unknown", "unknown");
    for line in mounts.lines() {
        let mut words = line.split_whitespace();
        let (Some(device), Some(point), Some(kind)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        if directory.starts_with(point) && point.len() >= found.0 {
            found = (point.len(), device, kind);
        }
    }
    (found.1.to_owned(), found.2.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_mount_holds_the_directory() {
        let mounts =
            "/dev/vda / ext4 rw 0 0\ntmpfs /dev/shm tmpfs rw 0 0\nproc /proc proc rw 0 0\n";
        let check = |path, device: &str, kind: &str| {
            let expected = (device.to_owned(), kind.to_owned());
            assert_eq!(mount_of(Path::new(path), mounts), expected, "{path}");
        };
        check("/no/such/place", "/dev/vda", "ext4");
        check("/dev/shm/no-such-place", "tmpfs", "tmpfs");
        assert_eq!(
            mount_of(Path::new("/no/such"), "broken\n"),
            ("unknown".to_owned(), "unknown".to_owned())
        );
    }

    #[test]
    fn values_follow_their_names() {
        let text = "processor\t: 0\nmodel name\t: AMD EPYC\n";
        assert_eq!(value(text, "model name"), "AMD EPYC");
        assert_eq!(value(text, "absent"), "unknown");
        assert!(memory_bytes() > 0);
    }
}
