//! `cmsgpack`: values of Lua as MessagePack and back.
//!
//! Owns the choice of the shortest form. What a script unpacks comes from anywhere: it is checked
//! byte by byte.

#![expect(
    clippy::needless_pass_by_value,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::unnecessary_wraps,
    reason = "a callback of Lua owns its arguments; bits are moved between types, and Lua's numbers are doubles"
)]

use mlua::{Lua, MultiValue, Table, Value};

use super::{DEPTH_MAX, bad_argument};
use crate::scripting::raised::Raised;

/// Tables within tables that are packed; deeper ones are packed as `nil`, as Redis does.
const PACK_DEPTH_MAX: usize = 16;

/// The library.
pub(super) fn table(lua: &Lua) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.raw_set("pack", lua.create_function(pack)?)?;
    table.raw_set("unpack", lua.create_function(unpack)?)?;
    table.raw_set("unpack_one", lua.create_function(unpack_one)?)?;
    table.raw_set("unpack_limit", lua.create_function(unpack_limit)?)?;
    table.raw_set("_NAME", "cmsgpack")?;
    table.raw_set("_VERSION", "lua-cmsgpack 0.4.0")?;
    table.raw_set("_DESCRIPTION", "MessagePack C implementation for Lua")?;
    table.raw_set("_COPYRIGHT", "Cellar's own implementation")?;
    Ok(table)
}

fn pack(lua: &Lua, args: MultiValue) -> mlua::Result<Value> {
    if args.is_empty() {
        let text = "bad argument #0 to 'pack' (MessagePack pack needs input.)";
        return Err(Raised::at_caller(lua, text).into());
    }
    let mut packed = Vec::new();
    for value in &args {
        put(&mut packed, value, 0)?;
    }
    lua.create_string(packed).map(Value::String)
}

fn put(packed: &mut Vec<u8>, value: &Value, depth: usize) -> mlua::Result<()> {
    match value {
        Value::String(text) => {
            let text = text.as_bytes();
            put_string_head(packed, text.len());
            packed.extend_from_slice(&text);
        }
        Value::Boolean(is_true) => packed.push(0xc2 | u8::from(*is_true)),
        Value::Integer(number) => put_integer(packed, *number),
        Value::Number(number) => put_number(packed, *number),
        Value::Table(table) if depth < PACK_DEPTH_MAX => put_table(packed, table, depth)?,
        _ => packed.push(0xc0),
    }
    Ok(())
}

fn put_string_head(packed: &mut Vec<u8>, len: usize) {
    match len {
        0..32 => packed.push(0xa0 | len as u8),
        32..0x100 => packed.extend_from_slice(&[0xd9, len as u8]),
        0x100..0x1_0000 => put_head(packed, 0xda, &(len as u16).to_be_bytes()),
        _ => put_head(packed, 0xdb, &(len as u32).to_be_bytes()),
    }
}

fn put_head(packed: &mut Vec<u8>, kind: u8, number: &[u8]) {
    packed.push(kind);
    packed.extend_from_slice(number);
}

fn put_integer(packed: &mut Vec<u8>, number: i64) {
    match number {
        -32..128 => packed.push(number as u8),
        -0x80..-32 => packed.extend_from_slice(&[0xd0, number as u8]),
        128..0x100 => packed.extend_from_slice(&[0xcc, number as u8]),
        -0x8000..-0x80 => put_head(packed, 0xd1, &(number as i16).to_be_bytes()),
        0x100..0x1_0000 => put_head(packed, 0xcd, &(number as u16).to_be_bytes()),
        -0x8000_0000..-0x8000 => put_head(packed, 0xd2, &(number as i32).to_be_bytes()),
        0x1_0000..0x1_0000_0000 => put_head(packed, 0xce, &(number as u32).to_be_bytes()),
        i64::MIN..-0x8000_0000 => put_head(packed, 0xd3, &number.to_be_bytes()),
        0x1_0000_0000..=i64::MAX => put_head(packed, 0xcf, &number.to_be_bytes()),
    }
}

fn put_number(packed: &mut Vec<u8>, number: f64) {
    let whole = number as i64;
    let is_whole =
        number.is_finite() && whole != i64::MAX && (whole as f64).to_bits() == number.to_bits();
    if is_whole || number == 0.0 {
        put_integer(packed, whole);
    } else if f64::from(number as f32).to_bits() == number.to_bits() {
        put_head(packed, 0xca, &(number as f32).to_be_bytes());
    } else {
        put_head(packed, 0xcb, &number.to_be_bytes());
    }
}

/// Keys and values are taken one by one: Lua holds some thousands for us at the same time at most.
fn put_table(packed: &mut Vec<u8>, table: &Table, depth: usize) -> mlua::Result<()> {
    let (mut count, mut largest) = (0, Some(0));
    for pair in table.pairs::<Value, Value>() {
        let (key, _) = pair?;
        count += 1;
        largest = largest.and_then(|largest| Some(array_index(&key)?.max(largest)));
    }
    if largest == Some(count) {
        put_count(packed, count, [0x90, 0xdc, 0xdd]);
        for index in 1..=count {
            put(packed, &table.raw_get(index)?, depth + 1)?;
        }
        return Ok(());
    }
    put_count(packed, count, [0x80, 0xde, 0xdf]);
    for pair in table.pairs::<Value, Value>() {
        let (key, value) = pair?;
        put(packed, &key, depth + 1)?;
        put(packed, &value, depth + 1)?;
    }
    Ok(())
}

/// The place in an array that a key is.
pub(super) fn array_index(key: &Value) -> Option<usize> {
    let index = match key {
        Value::Integer(index) => *index,
        Value::Number(index) if index.fract() == 0.0 => *index as i64,
        _ => return None,
    };
    usize::try_from(index).ok().filter(|index| *index > 0)
}

fn put_count(packed: &mut Vec<u8>, count: usize, [short, two_bytes, four_bytes]: [u8; 3]) {
    match count {
        0..16 => packed.push(short | count as u8),
        16..0x1_0000 => put_head(packed, two_bytes, &(count as u16).to_be_bytes()),
        _ => put_head(packed, four_bytes, &(count as u32).to_be_bytes()),
    }
}

fn unpack(lua: &Lua, args: MultiValue) -> mlua::Result<MultiValue> {
    unpack_some(lua, &args, "unpack", (0, 0))
}

fn unpack_one(lua: &Lua, args: MultiValue) -> mlua::Result<MultiValue> {
    let offset = optional_number(lua, &args, 1)?;
    unpack_some(lua, &args, "unpack_one", (1, offset))
}

fn unpack_limit(lua: &Lua, args: MultiValue) -> mlua::Result<MultiValue> {
    let Some(limit) = args
        .get(1)
        .and_then(|limit| lua.coerce_integer(limit.clone()).ok()?)
    else {
        return Err(bad_argument(lua, &args, 1, ("unpack_limit", "number")));
    };
    let offset = optional_number(lua, &args, 2)?;
    unpack_some(lua, &args, "unpack_limit", (limit, offset))
}

fn optional_number(lua: &Lua, args: &MultiValue, at: usize) -> mlua::Result<i64> {
    match args.get(at) {
        None | Some(Value::Nil) => Ok(0),
        Some(value) => match lua.coerce_integer(value.clone()) {
            Ok(Some(number)) => Ok(number),
            _ => Err(bad_argument(lua, args, at, ("unpack", "number"))),
        },
    }
}

/// Unpacks up to `limit` values from `offset` on; where either is told, what follows is told before
/// them, -1 for the end.
fn unpack_some(
    lua: &Lua,
    args: &MultiValue,
    name: &str,
    (limit, offset): (i64, i64),
) -> mlua::Result<MultiValue> {
    let refuse = |text: &str| Err(Raised::at_caller(lua, text).into());
    let text = args.front().map(|text| lua.coerce_string(text.clone()));
    let Some(Ok(Some(text))) = text else {
        return Err(bad_argument(lua, args, 0, (name, "string")));
    };
    let bytes = text.as_bytes();
    let (Ok(start), Ok(count_max)) = (usize::try_from(offset), usize::try_from(limit)) else {
        return refuse(&format!(
            "Invalid request to unpack with offset of {offset} and limit of {}.",
            bytes.len()
        ));
    };
    let Some(rest) = bytes.get(start..) else {
        return refuse(&format!(
            "Start offset {start} greater than input length {}.",
            bytes.len()
        ));
    };
    let is_whole = limit == 0 && offset == 0;
    let mut reader = Reader { lua, rest };
    let mut values = Vec::new();
    while !reader.rest.is_empty() && (is_whole || values.len() < count_max) {
        match reader.value(0)? {
            Ok(value) => values.push(value),
            Err(Flaw::Cut) => return refuse("Missing bytes in input."),
            Err(Flaw::Bad) => return refuse("Bad data format in input."),
        }
    }
    if !is_whole {
        let next = bytes.len() - reader.rest.len();
        let next = if reader.rest.is_empty() {
            -1
        } else {
            next as i64
        };
        values.insert(0, Value::Integer(next));
    }
    Ok(MultiValue::from_vec(values))
}

/// What is wrong with packed bytes.
enum Flaw {
    Cut,
    Bad,
}

/// The outer error is Lua's, such as a want of memory.
type Read = mlua::Result<Result<Value, Flaw>>;

struct Reader<'a> {
    lua: &'a Lua,
    rest: &'a [u8],
}

impl Reader<'_> {
    fn value(&mut self, depth: u16) -> Read {
        let Some(kind) = self.take(1).map(|byte| byte[0]) else {
            return Ok(Err(Flaw::Cut));
        };
        match kind {
            0x00..=0x7f => whole(i64::from(kind)),
            0xe0..=0xff => whole(i64::from(kind.cast_signed())),
            0x80..=0x8f => self.map(usize::from(kind & 0xf), depth),
            0x90..=0x9f => self.array(usize::from(kind & 0xf), depth),
            0xa0..=0xbf => self.string(usize::from(kind & 0x1f)),
            0xc0 => Ok(Ok(Value::Nil)),
            0xc2 | 0xc3 => Ok(Ok(Value::Boolean(kind == 0xc3))),
            0xca => self.number(4, |bits| f64::from(f32::from_bits(bits as u32))),
            0xcb => self.number(8, f64::from_bits),
            0xcc..=0xcf => self.number(1 << (kind - 0xcc), |bits| bits as f64),
            0xd0 => self.number(1, |bits| f64::from(bits as i8)),
            0xd1 => self.number(2, |bits| f64::from(bits as i16)),
            0xd2 => self.number(4, |bits| f64::from(bits as i32)),
            0xd3 => self.number(8, |bits| bits.cast_signed() as f64),
            0xc4 | 0xd9 => self.counted(1, depth, Self::string_of),
            0xc5 | 0xda => self.counted(2, depth, Self::string_of),
            0xc6 | 0xdb => self.counted(4, depth, Self::string_of),
            0xdc => self.counted(2, depth, Self::array),
            0xdd => self.counted(4, depth, Self::array),
            0xde => self.counted(2, depth, Self::map),
            0xdf => self.counted(4, depth, Self::map),
            0xc1 | 0xc7..=0xc9 | 0xd4..=0xd8 => Ok(Err(Flaw::Bad)),
        }
    }

    fn take(&mut self, count: usize) -> Option<&[u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    fn bits(&mut self, count: usize) -> Option<u64> {
        let bytes = self.take(count)?;
        Some(
            bytes
                .iter()
                .fold(0, |bits, byte| bits << 8 | u64::from(*byte)),
        )
    }

    fn number(&mut self, count: usize, of_bits: impl Fn(u64) -> f64) -> Read {
        let bits = self.bits(count).ok_or(Flaw::Cut);
        Ok(bits.map(|bits| Value::Number(of_bits(bits))))
    }

    fn counted(
        &mut self,
        count_bytes: usize,
        depth: u16,
        read: fn(&mut Self, usize, u16) -> Read,
    ) -> Read {
        match self.bits(count_bytes) {
            Some(count) => read(self, count as usize, depth),
            None => Ok(Err(Flaw::Cut)),
        }
    }

    fn string_of(&mut self, len: usize, _: u16) -> Read {
        self.string(len)
    }

    fn string(&mut self, len: usize) -> Read {
        let lua = self.lua;
        match self.take(len) {
            Some(text) => Ok(Ok(Value::String(lua.create_string(text)?))),
            None => Ok(Err(Flaw::Cut)),
        }
    }

    fn array(&mut self, count: usize, depth: u16) -> Read {
        if depth == DEPTH_MAX {
            return Ok(Err(Flaw::Bad));
        }
        let table = self.lua.create_table()?;
        for index in 1..=count {
            match self.value(depth + 1)? {
                Ok(value) => table.raw_set(index, value)?,
                flaw => return Ok(flaw),
            }
        }
        Ok(Ok(Value::Table(table)))
    }

    fn map(&mut self, count: usize, depth: u16) -> Read {
        if depth == DEPTH_MAX {
            return Ok(Err(Flaw::Bad));
        }
        let table = self.lua.create_table()?;
        for _ in 0..count {
            let key = match self.value(depth + 1)? {
                Ok(Value::Nil) => return Ok(Err(Flaw::Bad)),
                Ok(Value::Number(number)) if number.is_nan() => return Ok(Err(Flaw::Bad)),
                Ok(key) => key,
                flaw => return Ok(flaw),
            };
            match self.value(depth + 1)? {
                Ok(value) => table.raw_set(key, value)?,
                flaw => return Ok(flaw),
            }
        }
        Ok(Ok(Value::Table(table)))
    }
}

fn whole(number: i64) -> Read {
    Ok(Ok(Value::Integer(number)))
}
