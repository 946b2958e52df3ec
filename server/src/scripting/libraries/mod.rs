//! The libraries that scripts find beside Lua's own.
//!
//! Owns their list, and the text about an argument of a wrong type.

mod bit;
mod cjson;
mod cmsgpack;
mod number_text;
mod packing;

use std::rc::Rc;

use mlua::{Lua, MultiValue, Table, Value};

use super::course::Course;
use super::raised::Raised;

pub(super) use number_text::format_number;

/// Tables within tables that libraries read and write: what the stack of a script holds.
const DEPTH_MAX: u16 = 1000;

/// All libraries by their names.
pub(super) fn table(lua: &Lua, course: &Rc<Course>) -> mlua::Result<Table> {
    let libraries = lua.create_table()?;
    libraries.raw_set("bit", bit::table(lua)?)?;
    libraries.raw_set("cjson", cjson::table(lua, course)?)?;
    libraries.raw_set("cmsgpack", cmsgpack::table(lua)?)?;
    libraries.raw_set("struct", packing::table(lua)?)?;
    Ok(libraries)
}

/// The error about an argument of another type than expected, in Lua's words.
pub(super) fn bad_argument(
    lua: &Lua,
    args: &MultiValue,
    at: usize,
    (function, expected): (&str, &str),
) -> mlua::Error {
    let found = args.get(at).map_or("no value", Value::type_name);
    let found = if found == "integer" { "number" } else { found };
    let place = at + 1;
    let text = format!("bad argument #{place} to '{function}' ({expected} expected, got {found})");
    Raised::at_caller(lua, &text).into()
}
