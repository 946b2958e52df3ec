//! The kinds of values that options take, with their texts in TOML, in flags and in CONFIG.
//!
//! Owns parsing, printing and bounds of one value. The complaints are those of Redis's CONFIG SET.

use std::fmt;

use toml::de::DeValue;

/// One option's value, whatever its kind.
pub trait Setting {
    /// The text that CONFIG GET answers.
    fn text(&self) -> String;

    /// The value as it stands in a TOML file.
    fn toml(&self) -> String;

    /// Takes the text of a flag or of CONFIG SET. The complaint says what is expected.
    fn set(&mut self, text: &str) -> Result<(), String>;

    /// Takes a value of a TOML file. The complaint says what is expected.
    fn set_toml(&mut self, value: &DeValue<'_>) -> Result<(), String> {
        match value {
            DeValue::String(text) => self.set(text),
            DeValue::Integer(integer) => self.set(&integer.to_string()),
            DeValue::Boolean(flag) => self.set(if *flag { "yes" } else { "no" }),
            DeValue::Float(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
                Err(format!(
                    "a value of type {} cannot stand here",
                    value.type_str()
                ))
            }
        }
    }
}

/// A whole number within bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Integer<const MIN: i64, const MAX: i64>(i64);

impl<const MIN: i64, const MAX: i64> Integer<MIN, MAX> {
    /// The value, which must lie within the bounds.
    pub const fn new(value: i64) -> Self {
        assert!(MIN <= value && value <= MAX);
        Self(value)
    }

    /// The value.
    pub const fn get(self) -> i64 {
        self.0
    }
}

impl<const MIN: i64, const MAX: i64> Setting for Integer<MIN, MAX> {
    fn text(&self) -> String {
        self.0.to_string()
    }

    fn toml(&self) -> String {
        self.text()
    }

    fn set(&mut self, text: &str) -> Result<(), String> {
        let value: i64 = text
            .parse()
            .map_err(|_| "argument couldn't be parsed into an integer".to_owned())?;
        if !(MIN..=MAX).contains(&value) {
            return Err(format!(
                "argument must be between {MIN} and {MAX} inclusive"
            ));
        }
        self.0 = value;
        Ok(())
    }
}

impl Setting for bool {
    fn text(&self) -> String {
        if *self { "yes".into() } else { "no".into() }
    }

    fn toml(&self) -> String {
        self.to_string()
    }

    fn set(&mut self, text: &str) -> Result<(), String> {
        *self = match text.to_ascii_lowercase().as_str() {
            "yes" | "true" => true,
            "no" | "false" => false,
            _ => return Err("argument must be 'yes' or 'no'".into()),
        };
        Ok(())
    }
}

impl Setting for String {
    fn text(&self) -> String {
        self.clone()
    }

    fn toml(&self) -> String {
        quote(self)
    }

    fn set(&mut self, text: &str) -> Result<(), String> {
        text.clone_into(self);
        Ok(())
    }
}

/// Words separated by white space in flags and CONFIG, an array in TOML.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Words(pub Vec<String>);

impl Setting for Words {
    fn text(&self) -> String {
        self.0.join(" ")
    }

    fn toml(&self) -> String {
        quote_all(&self.0)
    }

    fn set(&mut self, text: &str) -> Result<(), String> {
        self.0 = text.split_whitespace().map(str::to_owned).collect();
        Ok(())
    }

    fn set_toml(&mut self, value: &DeValue<'_>) -> Result<(), String> {
        self.0 = strings(value)?;
        Ok(())
    }
}

/// A number of bytes within bounds: a whole number, or one with a unit as Redis writes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size<const MIN: u64, const MAX: u64>(u64);

impl<const MIN: u64, const MAX: u64> Size<MIN, MAX> {
    /// The value in bytes, which must lie within the bounds.
    pub const fn new(bytes: u64) -> Self {
        assert!(MIN <= bytes && bytes <= MAX);
        Self(bytes)
    }

    /// The value in bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl<const MIN: u64, const MAX: u64> Setting for Size<MIN, MAX> {
    fn text(&self) -> String {
        self.0.to_string()
    }

    fn toml(&self) -> String {
        if self.0 == 0 {
            "0".into()
        } else {
            quote(&size_text(self.0))
        }
    }

    fn set(&mut self, text: &str) -> Result<(), String> {
        let bytes = parse_size(text).ok_or("argument must be a memory value")?;
        if !(MIN..=MAX).contains(&bytes) {
            let (min, max) = (size_text(MIN), size_text(MAX));
            return Err(format!(
                "argument must be between {min} and {max} inclusive"
            ));
        }
        self.0 = bytes;
        Ok(())
    }
}

/// The mode of a file in octal digits; 0 leaves it to the process's umask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileMode(pub u32);

impl Setting for FileMode {
    fn text(&self) -> String {
        format!("{:o}", self.0)
    }

    fn toml(&self) -> String {
        quote(&self.text())
    }

    fn set(&mut self, text: &str) -> Result<(), String> {
        let mode = u32::from_str_radix(text, 8)
            .map_err(|_| "argument couldn't be parsed as an octal number".to_owned())?;
        if mode > 0o777 {
            return Err("argument must be between 0 and 777 inclusive".into());
        }
        self.0 = mode;
        Ok(())
    }
}

/// A fixed set of words, each standing for one value of an enum.
macro_rules! choice {
    (
        $(#[doc = $doc:literal])*
        $Name:ident {
            $($(#[doc = $item_doc:literal])* $Item:ident = $text:literal),* $(,)?
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $Name { $($(#[doc = $item_doc])* $Item),* }

        impl $crate::config::value::Setting for $Name {
            fn text(&self) -> String {
                match self { $(Self::$Item => $text.into()),* }
            }

            fn toml(&self) -> String {
                $crate::config::value::quote(&self.text())
            }

            fn set(&mut self, text: &str) -> Result<(), String> {
                *self = match text.to_ascii_lowercase().as_str() {
                    $($text => Self::$Item,)*
                    _ => {
                        let words = [$($text),*].join(", ");
                        return Err(format!(
                            "argument(s) must be one of the following: {words}"
                        ));
                    }
                };
                Ok(())
            }
        }
    };
}
pub(super) use choice;

/// Units as Redis has them: `k` is 1000, `kb` is 1024, and so on.
const UNITS: [(&str, u64); 9] = [
    ("kb", 1 << 10),
    ("mb", 1 << 20),
    ("gb", 1 << 30),
    ("tb", 1 << 40),
    ("k", 1_000),
    ("m", 1_000_000),
    ("g", 1_000_000_000),
    ("t", 1_000_000_000_000),
    ("b", 1),
];

/// Reads a number of bytes such as `512mb`, in whatever case.
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let (digits, unit) = UNITS
        .iter()
        .find_map(|(unit, bytes)| Some((text.strip_suffix(unit)?, *bytes)))
        .unwrap_or((&text, 1));
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// The shortest exact text of a number of bytes with a binary unit.
pub fn size_text(bytes: u64) -> String {
    for (unit, unit_bytes) in UNITS[..4].iter().rev() {
        if bytes >= *unit_bytes && bytes.is_multiple_of(*unit_bytes) {
            return format!("{}{unit}", bytes / unit_bytes);
        }
    }
    bytes.to_string()
}

/// A basic string of TOML.
pub(super) fn quote(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// An array of basic strings of TOML.
pub(super) fn quote_all(texts: &[impl AsRef<str>]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| quote(text.as_ref())).collect();
    format!("[{}]", quoted.join(", "))
}

/// The strings of an array of a TOML file.
pub(super) fn strings(value: &DeValue<'_>) -> Result<Vec<String>, String> {
    const EXPECTED: &str = "argument must be an array of strings";
    let DeValue::Array(items) = value else {
        return Err(EXPECTED.into());
    };
    items
        .iter()
        .map(|item| match item.get_ref() {
            DeValue::String(text) => Ok(text.clone().into_owned()),
            _ => Err(EXPECTED.to_owned()),
        })
        .collect()
}

impl<const MIN: u64, const MAX: u64> fmt::Display for Size<MIN, MAX> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&size_text(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_sizes_with_redis_units() {
        for (text, expected) in [
            ("0", Some(0)),
            ("100", Some(100)),
            ("1k", Some(1000)),
            ("1KB", Some(1024)),
            ("2Gb", Some(2 << 30)),
            ("3m", Some(3_000_000)),
            ("7b", Some(7)),
            ("", None),
            ("mb", None),
            ("1.5gb", None),
            ("-1", None),
            ("1 gb", None),
            ("99999999999tb", None),
        ] {
            assert_eq!(parse_size(text), expected, "{text}");
        }
    }

    #[test]
    fn prints_sizes_that_read_back() {
        for bytes in [0, 1, 1000, 1024, 1536, 8 << 20, 3 << 40, u64::MAX] {
            assert_eq!(parse_size(&size_text(bytes)), Some(bytes));
        }
        assert_eq!(size_text(8 << 20), "8mb");
    }

    #[test]
    fn keeps_numbers_within_bounds() {
        let mut port = Integer::<0, 65535>::new(6379);
        assert_eq!(
            port.set("70000").unwrap_err(),
            "argument must be between 0 and 65535 inclusive"
        );
        assert_eq!(
            port.set("x").unwrap_err(),
            "argument couldn't be parsed into an integer"
        );
        port.set("1").unwrap();
        assert_eq!(port.get(), 1);
    }
}
