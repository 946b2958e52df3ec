//! The configuration: options, file, flags, and what CONFIG changes while the server runs.
//!
//! `sections` states every option once; the other modules follow from it. Must never open a device
//! or a socket.

mod devices;
mod environment;
mod error;
mod flags;
mod live;
mod load;
mod output_limits;
mod print;
pub mod remembered;
mod rewrite;
mod sections;
mod thresholds;
mod validate;
mod value;

use std::path::{Path, PathBuf};

pub use devices::{DeviceConfig, Devices};
pub use error::{ConfigError, Invalid, Origin};
pub use flags::{CHECK_COMMAND, StoreCheck, Task, command, load};
pub use live::{FastConfig, LiveConfig};
pub use load::Loaded;
pub use output_limits::{ClientClass, OutputLimit, OutputLimits};
pub use print::{annotated_file, documentation_page};
pub use rewrite::{RewriteError, rewrite};
pub use sections::{
    AppendFsync, Change, Config, Events, Limits, Log, LogLevel, Memory, MemoryPolicy, Monitoring,
    Network, OPTIONS, OptionSpec, SECTIONS, SectionSpec, Security, Storage, Workers,
};
pub use thresholds::Threshold;
pub use value::{FileMode, Integer, Setting, Size, Words, parse_size, size_text};

impl Config {
    /// Where a device is: its path, taken from the store's directory where it is relative.
    pub fn device_path(&self, device: &DeviceConfig) -> PathBuf {
        Path::new(&self.storage.dir).join(&device.path)
    }

    /// Checks that the options go together.
    pub fn validate(&self) -> Result<(), Invalid> {
        validate::validate(self)?;
        validate::validate_memory(&self.memory)
    }

    /// Checks what holds while the server runs, too: as in Redis `maxmemory` may go below what is
    /// used, so that commands that need memory are refused.
    pub fn validate_change(&self) -> Result<(), Invalid> {
        validate::validate(self)
    }
}
