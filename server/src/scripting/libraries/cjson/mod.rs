//! `cjson`: values of Lua as JSON and back.
//!
//! Owns the settings, which a script may change for its run.

mod decode;
mod encode;

use std::cell::Cell;
use std::rc::Rc;

use mlua::{Function, Lua, MultiValue, Table, Value};

use super::{DEPTH_MAX, bad_argument};
use crate::scripting::course::Course;
use crate::scripting::raised::Raised;

/// What a script may change.
struct Settings {
    sparse_as_object: Cell<bool>,
    sparse_ratio: Cell<i64>,
    sparse_safe: Cell<i64>,
    encode_depth_max: Cell<i64>,
    decode_depth_max: Cell<i64>,
    precision: Cell<i64>,
    keep_buffer: Cell<bool>,
    invalid_encoded: Cell<Invalid>,
    invalid_decoded: Cell<bool>,
}

/// What becomes of a number that JSON does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Invalid {
    Refused,
    Written,
    Null,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            sparse_as_object: Cell::new(false),
            sparse_ratio: Cell::new(2),
            sparse_safe: Cell::new(10),
            encode_depth_max: Cell::new(1000),
            decode_depth_max: Cell::new(1000),
            precision: Cell::new(14),
            keep_buffer: Cell::new(true),
            invalid_encoded: Cell::new(Invalid::Refused),
            invalid_decoded: Cell::new(true),
        }
    }
}

/// The library, with settings of its own.
pub(super) fn table(lua: &Lua, course: &Rc<Course>) -> mlua::Result<Table> {
    let settings = Rc::new(Settings::default());
    let table = lua.create_table()?;
    let encoding = Rc::clone(&settings);
    let encode = move |lua: &Lua, args: MultiValue| encode(lua, &encoding, &args);
    table.raw_set("encode", lua.create_function(encode)?)?;
    let decoding = Rc::clone(&settings);
    let decode = move |lua: &Lua, args: MultiValue| decode(lua, &decoding, &args);
    table.raw_set("decode", lua.create_function(decode)?)?;
    add_settings(lua, &table, &settings, course)?;
    let again = Rc::clone(course);
    let new = move |lua: &Lua, (): ()| self::table(lua, &again);
    table.raw_set("new", lua.create_function(new)?)?;
    table.raw_set("null", Value::NULL)?;
    table.raw_set("_NAME", "cjson")?;
    table.raw_set("_VERSION", "2.1.0")?;
    Ok(table)
}

fn encode(lua: &Lua, settings: &Settings, args: &MultiValue) -> mlua::Result<Value> {
    let [value] = args.iter().collect::<Vec<_>>()[..] else {
        return Err(wrong_count(lua, "encode"));
    };
    match encode::text_of(value, settings)? {
        Ok(text) => lua.create_string(text).map(Value::String),
        Err(text) => Err(Raised::at_caller(lua, &text).into()),
    }
}

fn decode(lua: &Lua, settings: &Settings, args: &MultiValue) -> mlua::Result<Value> {
    let [value] = args.iter().collect::<Vec<_>>()[..] else {
        return Err(wrong_count(lua, "decode"));
    };
    let Ok(Some(text)) = lua.coerce_string(value.clone()) else {
        return Err(bad_argument(lua, args, 0, ("decode", "string")));
    };
    match decode::value_of(lua, &text.as_bytes(), settings)? {
        Ok(value) => Ok(value),
        Err(text) => Err(Raised::at_caller(lua, &text).into()),
    }
}

fn wrong_count(lua: &Lua, name: &str) -> mlua::Error {
    let text = format!("bad argument #1 to '{name}' (expected 1 argument)");
    Raised::at_caller(lua, &text).into()
}

/// The functions that read and change settings. A changed interpreter is not used again.
fn add_settings(
    lua: &Lua,
    table: &Table,
    settings: &Rc<Settings>,
    course: &Rc<Course>,
) -> mlua::Result<()> {
    let add = |name: &str, apply: Apply| {
        let function = setter(lua, settings, course, apply)?;
        table.raw_set(name, function)
    };
    add("encode_sparse_array", |lua, s, args| {
        set_switch(args.first(), &s.sparse_as_object);
        set_number(lua, args.get(1), &s.sparse_ratio, (0, i64::from(i32::MAX)))?;
        set_number(lua, args.get(2), &s.sparse_safe, (0, i64::from(i32::MAX)))?;
        Ok(vec![
            Value::Boolean(s.sparse_as_object.get()),
            Value::Integer(s.sparse_ratio.get()),
            Value::Integer(s.sparse_safe.get()),
        ])
    })?;
    add("encode_max_depth", |lua, s, args| {
        set_number(
            lua,
            args.first(),
            &s.encode_depth_max,
            (1, i64::from(DEPTH_MAX)),
        )?;
        Ok(vec![Value::Integer(s.encode_depth_max.get())])
    })?;
    add("decode_max_depth", |lua, s, args| {
        set_number(
            lua,
            args.first(),
            &s.decode_depth_max,
            (1, i64::from(DEPTH_MAX)),
        )?;
        Ok(vec![Value::Integer(s.decode_depth_max.get())])
    })?;
    add("encode_number_precision", |lua, s, args| {
        set_number(lua, args.first(), &s.precision, (1, 14))?;
        Ok(vec![Value::Integer(s.precision.get())])
    })?;
    add("encode_keep_buffer", |_, s, args| {
        set_switch(args.first(), &s.keep_buffer);
        Ok(vec![Value::Boolean(s.keep_buffer.get())])
    })?;
    add("encode_invalid_numbers", |_, s, args| {
        match args.first() {
            None | Some(Value::Nil) => {}
            Some(Value::String(_)) => s.invalid_encoded.set(Invalid::Null),
            Some(Value::Boolean(true)) => s.invalid_encoded.set(Invalid::Written),
            Some(_) => s.invalid_encoded.set(Invalid::Refused),
        }
        Ok(vec![Value::Boolean(
            s.invalid_encoded.get() == Invalid::Written,
        )])
    })?;
    add("decode_invalid_numbers", |_, s, args| {
        set_switch(args.first(), &s.invalid_decoded);
        Ok(vec![Value::Boolean(s.invalid_decoded.get())])
    })
}

type Apply = fn(&Lua, &Settings, &[Value]) -> mlua::Result<Vec<Value>>;

fn setter(
    lua: &Lua,
    settings: &Rc<Settings>,
    course: &Rc<Course>,
    apply: Apply,
) -> mlua::Result<Function> {
    let (settings, course) = (Rc::clone(settings), Rc::clone(course));
    lua.create_function(move |lua, args: MultiValue| {
        let args = args.into_vec();
        if !args.is_empty() {
            course.note_changed();
        }
        apply(lua, &settings, &args).map(MultiValue::from_vec)
    })
}

fn set_switch(argument: Option<&Value>, place: &Cell<bool>) {
    match argument {
        None | Some(Value::Nil) => {}
        Some(Value::Boolean(is_on)) => place.set(*is_on),
        Some(Value::String(word)) => place.set(*word.as_bytes() == b"on"[..]),
        Some(_) => place.set(true),
    }
}

fn set_number(
    lua: &Lua,
    argument: Option<&Value>,
    place: &Cell<i64>,
    (least, most): (i64, i64),
) -> mlua::Result<()> {
    let Some(value) = argument.filter(|value| !value.is_nil()) else {
        return Ok(());
    };
    let number = lua.coerce_integer(value.clone()).ok().flatten();
    let Some(number) = number.filter(|number| (least..=most).contains(number)) else {
        let text = format!("expected integer between {least} and {most}");
        return Err(Raised::at_caller(lua, &text).into());
    };
    place.set(number);
    Ok(())
}
