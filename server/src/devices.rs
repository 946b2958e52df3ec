//! Opens the configured devices for the store.
//!
//! Owns the choice of the device's kind by its path. Must never write to one.

use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;
use std::sync::Arc;

use cellar_storage::device::uring::{OpenMode, UringDevice};
use cellar_storage::{Clock, Device};

use crate::config::Config;

/// What a path must start with to name a bdev of SPDK.
const SPDK_SCHEME: &str = "spdk://";

/// Opens all devices, paths being relative to the data directory. `mode`: what may be done to
/// them, and whether files are created when missing.
pub fn open(
    config: &Config,
    mode: OpenMode,
    clock: &Arc<dyn Clock>,
) -> Result<Vec<Arc<dyn Device>>, String> {
    let configured = &config.storage.devices.0;
    configured
        .iter()
        .map(|device| open_one(config, device, (mode, clock)))
        .collect()
}

fn open_one(
    config: &Config,
    device: &crate::config::DeviceConfig,
    (mode, clock): (OpenMode, &Arc<dyn Clock>),
) -> Result<Arc<dyn Device>, String> {
    if device.path.to_string_lossy().starts_with(SPDK_SCHEME) {
        return Err(format!(
            "{}: this build has no SPDK; name a file or a block device",
            device.path.display()
        ));
    }
    let path: PathBuf = std::path::Path::new(&config.storage.dir).join(&device.path);
    let kind = std::fs::metadata(&path).map(|metadata| metadata.file_type());
    let opened = if kind.is_ok_and(|kind| kind.is_block_device()) {
        UringDevice::open_block(&path, mode, Arc::clone(clock))
    } else {
        let bytes = device
            .size_bytes
            .ok_or_else(|| format!("{}: a file needs a size, such as 64gb", path.display()))?;
        UringDevice::open_file(&path, bytes, mode, Arc::clone(clock))
    };
    opened
        .map(|device| device as Arc<dyn Device>)
        .map_err(|error| error.to_string())
}
