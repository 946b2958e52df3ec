//! The log: where it goes and how much it tells.
//!
//! Owns the mapping of Redis's levels. Lines are written by a thread of their own, so that a slow
//! disk or terminal never holds a worker.

mod writer;

use std::fs::OpenOptions;
use std::io::{self, Write};

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Registry, fmt, reload};

use crate::config::{Log, LogLevel};

use writer::LineSender;
pub use writer::LogThread;

/// Changes how much the log tells.
pub type LevelHandle = reload::Handle<LevelFilter, Registry>;

/// Starts the log. The thread writes what is left when it is finished.
pub fn start(config: &Log) -> io::Result<(LevelHandle, LogThread)> {
    let is_file = !config.logfile.is_empty();
    let target: Box<dyn Write + Send> = if is_file {
        Box::new(
            OpenOptions::new()
                .create(true)
                .append(true)
                .open(&config.logfile)?,
        )
    } else {
        Box::new(io::stdout())
    };
    let (sender, thread) = writer::start(target)?;
    let (filter, handle) = reload::Layer::new(filter(config.loglevel));
    let lines = fmt::layer()
        .with_ansi(false)
        .with_target(false)
        .with_writer(move || LineSender::clone(&sender));
    tracing_subscriber::registry()
        .with(filter)
        .with(lines)
        .init();
    Ok((handle, thread))
}

/// How much a level of Redis's lets through.
pub fn filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Debug => LevelFilter::TRACE,
        LogLevel::Verbose => LevelFilter::DEBUG,
        LogLevel::Notice => LevelFilter::INFO,
        LogLevel::Warning => LevelFilter::WARN,
        LogLevel::Nothing => LevelFilter::OFF,
    }
}
