//! Replies of commands as values of Lua.
//!
//! Owns the correspondence, which is Redis's: in the second protocol no value is `false`, a status
//! and an error are tables of one field; in the third the new types are tables of one field.

use mlua::{Lua, Table, Value};

/// An error as Redis's functions raise it and `redis.pcall` returns it: a code is put before a text
/// that has none.
pub(super) fn error_table(lua: &Lua, text: &[u8]) -> mlua::Result<Table> {
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let table = lua.create_table()?;
    if text.contains(&b' ') {
        table.raw_set("err", lua.create_string(text)?)?;
    } else {
        let text = [b"ERR ", text].concat();
        table.raw_set("err", lua.create_string(text)?)?;
    }
    Ok(table)
}

/// The value of an encoded reply.
pub(super) fn value_of(lua: &Lua, reply: &[u8]) -> mlua::Result<Value> {
    Reader { lua, rest: reply }.read()
}

struct Reader<'a> {
    lua: &'a Lua,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// The next value. What the server encodes nests some few levels.
    fn read(&mut self) -> mlua::Result<Value> {
        let line = self.line();
        let (kind, text) = line
            .split_first()
            .map_or((b'_', line), |(kind, text)| (*kind, text));
        match kind {
            b'+' => self.field("ok", text),
            b'-' => error_table(self.lua, text).map(Value::Table),
            b':' => Ok(Value::Number(number(text))),
            b'$' => match self.body(text) {
                Some(body) => self.lua.create_string(body).map(Value::String),
                None => Ok(Value::Boolean(false)),
            },
            b'*' | b'>' => self.array(text),
            b'%' => self.map(text),
            b'~' => self.set(text),
            b',' => {
                let table = self.lua.create_table()?;
                table.raw_set("double", number(text))?;
                Ok(Value::Table(table))
            }
            b'(' => self.field("big_number", text),
            b'#' => Ok(Value::Boolean(text == b"t")),
            b'=' => self.verbatim(text),
            b'|' => {
                for _ in 0..2 * count(text).unwrap_or(0) {
                    self.read()?;
                }
                self.read()
            }
            _ => Ok(Value::Nil),
        }
    }

    fn array(&mut self, text: &[u8]) -> mlua::Result<Value> {
        let Some(count) = count(text) else {
            return Ok(Value::Boolean(false));
        };
        let table = self.lua.create_table_with_capacity(count, 0)?;
        for index in 1..=count {
            let value = self.read()?;
            table.raw_set(index, value)?;
        }
        Ok(Value::Table(table))
    }

    fn map(&mut self, text: &[u8]) -> mlua::Result<Value> {
        let count = count(text).unwrap_or(0);
        let map = self.lua.create_table_with_capacity(0, count)?;
        for _ in 0..count {
            let (key, value) = (self.read()?, self.read()?);
            map.raw_set(key, value)?;
        }
        let table = self.lua.create_table()?;
        table.raw_set("map", map)?;
        Ok(Value::Table(table))
    }

    fn set(&mut self, text: &[u8]) -> mlua::Result<Value> {
        let count = count(text).unwrap_or(0);
        let set = self.lua.create_table_with_capacity(0, count)?;
        for _ in 0..count {
            set.raw_set(self.read()?, true)?;
        }
        let table = self.lua.create_table()?;
        table.raw_set("set", set)?;
        Ok(Value::Table(table))
    }

    fn verbatim(&mut self, text: &[u8]) -> mlua::Result<Value> {
        let body = self.body(text).unwrap_or_default();
        let (format, text) = body.split_at(body.len().min(3));
        let parts = self.lua.create_table()?;
        parts.raw_set("format", self.lua.create_string(format)?)?;
        let text = text.strip_prefix(b":").unwrap_or(text);
        parts.raw_set("string", self.lua.create_string(text)?)?;
        let table = self.lua.create_table()?;
        table.raw_set("verbatim_string", parts)?;
        Ok(Value::Table(table))
    }

    fn field(&self, name: &str, text: &[u8]) -> mlua::Result<Value> {
        let table = self.lua.create_table()?;
        table.raw_set(name, self.lua.create_string(text)?)?;
        Ok(Value::Table(table))
    }

    fn line(&mut self) -> &'a [u8] {
        let end = self.rest.windows(2).position(|pair| pair == b"\r\n");
        let (line, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest.get(2..).unwrap_or_default();
        line
    }

    /// A body of the length that `text` tells, if there is one.
    fn body(&mut self, text: &[u8]) -> Option<&'a [u8]> {
        let (body, rest) = self.rest.split_at_checked(count(text)?)?;
        self.rest = rest.get(2..).unwrap_or_default();
        Some(body)
    }
}

fn count(text: &[u8]) -> Option<usize> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn number(text: &[u8]) -> f64 {
    let text = std::str::from_utf8(text).unwrap_or_default();
    text.parse().unwrap_or(f64::NAN)
}
