//! Values of Lua as JSON.
//!
//! Owns which tables are arrays: those whose keys are all whole numbers from 1 on.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_wrap,
    reason = "numbers of Lua are doubles, and tables have fewer entries than 2^63"
)]

use std::fmt::Write;

use mlua::{Table, Value};

use super::super::cmsgpack::array_index;
use super::super::format_number;
use super::{Invalid, Settings};

/// The outer error is Lua's, such as a want of memory.
type Written = mlua::Result<Result<(), String>>;

/// The JSON of a value, or what is wrong with that.
pub(super) fn text_of(value: &Value, settings: &Settings) -> mlua::Result<Result<Vec<u8>, String>> {
    let mut encoder = Encoder {
        text: Vec::new(),
        settings,
    };
    let outcome = encoder.value(value, 0)?;
    Ok(outcome.map(|()| encoder.text))
}

struct Encoder<'a> {
    text: Vec<u8>,
    settings: &'a Settings,
}

impl Encoder<'_> {
    fn value(&mut self, value: &Value, depth: i64) -> Written {
        match value {
            Value::String(text) => self.string(&text.as_bytes()),
            Value::Integer(number) => return Ok(self.number(*number as f64)),
            Value::Number(number) => return Ok(self.number(*number)),
            Value::Boolean(true) => self.text.extend_from_slice(b"true"),
            Value::Boolean(false) => self.text.extend_from_slice(b"false"),
            Value::Nil => self.text.extend_from_slice(b"null"),
            Value::LightUserData(data) if data.0.is_null() => {
                self.text.extend_from_slice(b"null");
            }
            Value::Table(table) => return self.table(table, depth + 1),
            other => {
                let name = other.type_name();
                return Ok(Err(format!("Cannot serialise {name}: type not supported")));
            }
        }
        Ok(Ok(()))
    }

    fn table(&mut self, table: &Table, depth: i64) -> Written {
        if depth > self.settings.encode_depth_max.get() {
            return Ok(Err(format!(
                "Cannot serialise, excessive nesting ({depth})"
            )));
        }
        let (mut pair_count, mut largest) = (0, Some(0));
        for pair in table.pairs::<Value, Value>() {
            let (key, _) = pair?;
            pair_count += 1;
            largest = largest.and_then(|largest| Some(array_index(&key)?.max(largest)));
        }
        match largest {
            Some(count) if count > 0 => match self.is_sparse(count, pair_count) {
                false => self.array(table, count, depth),
                true if self.settings.sparse_as_object.get() => self.object(table, depth),
                true => Ok(Err(
                    "Cannot serialise table: excessively sparse array".to_owned()
                )),
            },
            _ => self.object(table, depth),
        }
    }

    fn is_sparse(&self, largest: usize, count: usize) -> bool {
        let ratio = self.settings.sparse_ratio.get();
        let (largest, count) = (largest as i64, count as i64);
        ratio > 0
            && largest > count.saturating_mul(ratio)
            && largest > self.settings.sparse_safe.get()
    }

    fn array(&mut self, table: &Table, count: usize, depth: i64) -> Written {
        self.text.push(b'[');
        for index in 1..=count {
            if index > 1 {
                self.text.push(b',');
            }
            let value = table.raw_get(index)?;
            if let Err(text) = self.value(&value, depth)? {
                return Ok(Err(text));
            }
        }
        self.text.push(b']');
        Ok(Ok(()))
    }

    /// Pairs are taken one by one: Lua holds some thousands for us at the same time at most.
    fn object(&mut self, table: &Table, depth: i64) -> Written {
        self.text.push(b'{');
        for (at, pair) in table.pairs::<Value, Value>().enumerate() {
            let (key, value) = pair?;
            if at > 0 {
                self.text.push(b',');
            }
            match &key {
                Value::String(key) => self.string(&key.as_bytes()),
                Value::Integer(_) | Value::Number(_) => {
                    self.text.push(b'"');
                    if let Err(text) = self.value(&key, depth)? {
                        return Ok(Err(text));
                    }
                    self.text.push(b'"');
                }
                _ => {
                    let text = "Cannot serialise table: table key must be a number or string";
                    return Ok(Err(text.to_owned()));
                }
            }
            self.text.push(b':');
            if let Err(text) = self.value(&value, depth)? {
                return Ok(Err(text));
            }
        }
        self.text.push(b'}');
        Ok(Ok(()))
    }

    fn number(&mut self, number: f64) -> Result<(), String> {
        if !number.is_finite() {
            match self.settings.invalid_encoded.get() {
                Invalid::Refused => {
                    return Err("Cannot serialise number: must not be NaN or Inf".to_owned());
                }
                Invalid::Null => self.text.extend_from_slice(b"null"),
                Invalid::Written if number.is_nan() => self.text.extend_from_slice(b"nan"),
                Invalid::Written => {
                    let text = if number < 0.0 { "-inf" } else { "inf" };
                    self.text.extend_from_slice(text.as_bytes());
                }
            }
            return Ok(());
        }
        let digits = self.settings.precision.get().unsigned_abs() as usize;
        let text = format_number(number, digits);
        self.text.extend_from_slice(text.as_bytes());
        Ok(())
    }

    fn string(&mut self, text: &[u8]) {
        self.text.push(b'"');
        for byte in text {
            let escape: &[u8] = match byte {
                b'"' => b"\\\"",
                b'\\' => b"\\\\",
                b'/' => b"\\/",
                8 => b"\\b",
                b'\t' => b"\\t",
                b'\n' => b"\\n",
                12 => b"\\f",
                b'\r' => b"\\r",
                0..32 | 127 => {
                    let mut escape = String::new();
                    write!(escape, "\\u{byte:04x}").expect("a string takes everything");
                    self.text.extend_from_slice(escape.as_bytes());
                    continue;
                }
                _ => &[*byte],
            };
            self.text.extend_from_slice(escape);
        }
        self.text.push(b'"');
    }
}
