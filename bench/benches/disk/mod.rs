//! Where the files of devices lie.
//!
//! Owns the choice: the disk that holds the build. A folder for temporary files may be memory.

use std::path::Path;

use tempfile::TempDir;

/// A folder on the disk that holds the build, gone at the end.
pub(crate) fn directory() -> TempDir {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    tempfile::tempdir_in(folder).expect("cargo made the folder")
}
