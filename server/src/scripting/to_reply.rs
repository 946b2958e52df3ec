//! What a script returns, as a reply to its client.
//!
//! Owns the correspondence, which is Redis's: numbers lose their fraction, an array ends at its
//! first `nil`, a table with one of certain fields is that reply.

#![expect(clippy::cast_precision_loss, reason = "numbers of Lua are doubles")]

use mlua::{Table, Value};

use crate::resp::{Protocol, ReplyBuf};

/// Tables within tables that are answered.
const DEPTH_MAX: usize = 1000;

/// Encodes a value; `seen` is the protocol version in which the script sees replies.
pub(super) fn encode(reply: &mut ReplyBuf, value: &Value, seen: Protocol) -> mlua::Result<()> {
    Encoder { reply, seen }.value(value, 0)
}

struct Encoder<'a> {
    reply: &'a mut ReplyBuf,
    seen: Protocol,
}

impl Encoder<'_> {
    fn value(&mut self, value: &Value, depth: usize) -> mlua::Result<()> {
        match value {
            Value::String(text) => self.reply.bulk(&text.as_bytes()),
            Value::Integer(number) => self.reply.integer(*number),
            Value::Number(number) => self.reply.integer(whole(*number)),
            Value::Boolean(is_true) => match (self.seen, is_true) {
                (Protocol::Resp3, is_true) => self.reply.boolean(*is_true),
                (Protocol::Resp2, true) => self.reply.integer(1),
                (Protocol::Resp2, false) => self.reply.null(),
            },
            Value::Table(_) if depth == DEPTH_MAX => {
                self.reply.error("ERR reached lua stack limit");
            }
            Value::Table(table) => match self.table(table)? {
                Shape::Told => {}
                Shape::Array(count) => self.array(table, count, depth)?,
                Shape::Map(map) => self.map(&map, depth)?,
                Shape::Set(set) => self.set(&set, depth)?,
            },
            _ => self.reply.null(),
        }
        Ok(())
    }

    /// Encodes a table without tables in it. Kept apart: what it needs of the stack is not needed
    /// once for each table within a table.
    #[inline(never)]
    fn table(&mut self, table: &Table) -> mlua::Result<Shape> {
        if let Value::String(text) = table.raw_get("err")? {
            let text = text.to_string_lossy();
            self.reply.error(text.strip_prefix('-').unwrap_or(&text));
        } else if let Value::String(text) = table.raw_get("ok")? {
            self.reply.simple(&text.to_string_lossy());
        } else if let Some(number) = number(&table.raw_get("double")?) {
            self.reply.double(number);
        } else if let Value::Table(map) = table.raw_get("map")? {
            return Ok(Shape::Map(map));
        } else if let Value::Table(set) = table.raw_get("set")? {
            return Ok(Shape::Set(set));
        } else if let Value::String(digits) = table.raw_get("big_number")? {
            let digits = digits.to_string_lossy().replace(['\r', '\n'], " ");
            self.reply.big_number(&digits);
        } else if let Some((format, text)) = verbatim(table)? {
            self.reply.verbatim(&format, &text);
        } else {
            return length(table).map(Shape::Array);
        }
        Ok(Shape::Told)
    }

    fn array(&mut self, table: &Table, count: usize, depth: usize) -> mlua::Result<()> {
        self.reply.array(count);
        for index in 1..=count {
            self.value(&table.raw_get(index)?, depth + 1)?;
        }
        Ok(())
    }

    fn map(&mut self, map: &Table, depth: usize) -> mlua::Result<()> {
        self.reply.map(pair_count(map)?);
        for pair in map.pairs::<Value, Value>() {
            let (key, value) = pair?;
            self.value(&key, depth + 1)?;
            self.value(&value, depth + 1)?;
        }
        Ok(())
    }

    fn set(&mut self, set: &Table, depth: usize) -> mlua::Result<()> {
        self.reply.set(pair_count(set)?);
        for pair in set.pairs::<Value, Value>() {
            let (key, _) = pair?;
            self.value(&key, depth + 1)?;
        }
        Ok(())
    }
}

/// What a table is in a reply. Its elements are taken one by one: Lua holds some thousands for us
/// at the same time at most.
enum Shape {
    /// It is encoded.
    Told,
    /// An array of so many elements.
    Array(usize),
    Map(Table),
    Set(Table),
}

/// Elements before the first `nil`.
fn length(table: &Table) -> mlua::Result<usize> {
    let mut count = 0;
    while !table.raw_get::<Value>(count + 1)?.is_nil() {
        count += 1;
    }
    Ok(count)
}

fn pair_count(table: &Table) -> mlua::Result<usize> {
    table
        .pairs::<Value, Value>()
        .try_fold(0, |count, pair| pair.map(|_| count + 1))
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => Some(*number),
        Value::Integer(number) => Some(*number as f64),
        _ => None,
    }
}

fn verbatim(table: &Table) -> mlua::Result<Option<(String, String)>> {
    let Value::Table(parts) = table.raw_get("verbatim_string")? else {
        return Ok(None);
    };
    let (format, text) = (parts.raw_get("format")?, parts.raw_get("string")?);
    let (Value::String(format), Value::String(text)) = (format, text) else {
        return Ok(None);
    };
    let format = format.to_string_lossy();
    let is_format = format.len() == 3;
    Ok(is_format.then(|| (format, text.to_string_lossy())))
}

/// The whole part as C converts it: what does not fit is the smallest number.
fn whole(number: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&number) {
        number as i64
    } else {
        i64::MIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_cut_as_c_cuts_them() {
        let cut = [3.99, -1.5, 1e300, f64::NAN, f64::NEG_INFINITY].map(whole);
        assert_eq!(cut, [3, -1, i64::MIN, i64::MIN, i64::MIN]);
    }
}
