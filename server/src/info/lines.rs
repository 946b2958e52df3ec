//! The layout of INFO: sections of `name:value` lines.
//!
//! Owns the line ends and the short form of sizes.

use std::fmt::{Display, Write};

use crate::ratio::ratio;

/// Lines of INFO.
#[derive(Debug, Default)]
pub(super) struct Lines(String);

impl Lines {
    /// Begins a section.
    pub(super) fn section(&mut self, name: &str) {
        let gap = if self.0.is_empty() { "" } else { "\r\n" };
        self.line(format_args!("{gap}# {name}"));
    }

    /// Adds a field.
    pub(super) fn field(&mut self, name: &str, value: impl Display) {
        self.line(format_args!("{name}:{value}"));
    }

    /// Adds a number of bytes, and the same for humans.
    pub(super) fn bytes(&mut self, name: &str, bytes: u64) {
        self.field(name, bytes);
        self.line(format_args!("{name}_human:{}", human(bytes)));
    }

    /// The text.
    pub(super) fn finish(self) -> String {
        self.0
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        write!(self.0, "{line}\r\n").expect("a string takes everything");
    }
}

/// A number of bytes as Redis shortens it: `1.50M`.
pub(super) fn human(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["B", "K", "M", "G", "T", "P"];
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    let unit = (bytes.ilog2() / 10).min(UNITS.len() as u32 - 1);
    let value = ratio(bytes, 1 << (unit * 10));
    format!("{value:.2}{}", UNITS[unit as usize])
}

#[cfg(test)]
mod tests {
    use super::human;

    #[test]
    fn shortens_as_redis_does() {
        for (bytes, expected) in [
            (0, "0B"),
            (1023, "1023B"),
            (1024, "1.00K"),
            (1_605_640, "1.53M"),
            (3 << 30, "3.00G"),
        ] {
            assert_eq!(human(bytes), expected);
        }
    }
}
