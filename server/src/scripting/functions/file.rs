//! The file that keeps the libraries, beside the devices.
//!
//! Owns its place and that it is either the old one or the new one, whole. Must never be called on
//! a worker's thread: it waits for the disk.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

const NAME: &str = "functions";
const NEW_NAME: &str = "functions.new";

/// Puts a payload in the place of the last one, durably.
pub(super) fn write(directory: &Path, payload: &[u8]) -> io::Result<()> {
    let new = directory.join(NEW_NAME);
    let mut file = File::create(&new)?;
    file.write_all(payload)?;
    file.sync_all()?;
    fs::rename(&new, directory.join(NAME))?;
    File::open(directory)?.sync_all()
}

/// The payload, if there is one.
pub(super) fn read(directory: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(directory.join(NAME)) {
        Ok(payload) => Ok(Some(payload)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_written_is_read() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(read(directory.path()).unwrap(), None);
        for payload in [b"one".as_slice(), b"two"] {
            write(directory.path(), payload).unwrap();
            assert_eq!(read(directory.path()).unwrap().as_deref(), Some(payload));
        }
        assert!(!directory.path().join(NEW_NAME).exists());
    }
}
