//! x
pub mod clock;
pub mod device;
pub mod format;
pub mod units;
