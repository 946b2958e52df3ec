//! `redis.register_function`, by which a library tells what it has.
//!
//! Owns its two forms and the texts about them.

use std::cell::{Cell, RefCell};

use mlua::{Function, MultiValue, Table, Value};

use super::functions::{FunctionSpec, flag, is_name};
use super::native::refuse;

/// A function that a library has registered.
pub(super) struct Entry {
    /// What it says of itself.
    pub(super) spec: FunctionSpec,
    /// Its code.
    pub(super) callback: Function,
}

/// What the library that is being loaded has registered.
#[derive(Default)]
pub(super) struct Registered {
    entries: RefCell<Vec<Entry>>,
    /// Whether one is being loaded.
    is_open: Cell<bool>,
}

impl Registered {
    /// A library begins.
    pub(super) fn open(&self) {
        self.entries.take();
        self.is_open.set(true);
    }

    /// It has ended: what it registered.
    pub(super) fn close(&self) -> Vec<Entry> {
        self.is_open.set(false);
        self.entries.take()
    }
}

/// `redis.register_function(name, callback)` and `redis.register_function{...}`
pub(super) fn register(registered: &Registered, args: &MultiValue) -> mlua::Result<()> {
    if !registered.is_open.get() {
        return refuse("redis.register_function can only be called on FUNCTION LOAD command");
    }
    let args: Vec<&Value> = args.iter().collect();
    let entry = match args[..] {
        [Value::Table(named)] => by_names(named)?,
        [_] => {
            return refuse(
                "calling redis.register_function with a single argument is only applicable to Lua \
                 table (representing named arguments).",
            );
        }
        [name, callback] => by_places(name, callback)?,
        _ => return refuse("wrong number of arguments to redis.register_function"),
    };
    if !is_name(entry.spec.name.as_bytes()) {
        return refuse(
            "Library names can only contain letters, numbers, or underscores(_) and must be at \
             least one character long",
        );
    }
    let mut all = registered.entries.borrow_mut();
    let is_same = |other: &Entry| other.spec.name.eq_ignore_ascii_case(&entry.spec.name);
    if all.iter().any(is_same) {
        return refuse("Function already exists in the library");
    }
    all.push(entry);
    Ok(())
}

fn by_places(name: &Value, callback: &Value) -> mlua::Result<Entry> {
    let Value::String(name) = name else {
        return refuse("first argument to redis.register_function must be a string");
    };
    let Value::Function(callback) = callback else {
        return refuse("second argument to redis.register_function must be a function");
    };
    let spec = FunctionSpec {
        name: name.to_string_lossy(),
        description: None,
        flags: Vec::new(),
    };
    Ok(Entry {
        spec,
        callback: callback.clone(),
    })
}

fn by_names(named: &Table) -> mlua::Result<Entry> {
    let (mut name, mut callback, mut description, mut flags) = (None, None, None, Vec::new());
    for pair in named.pairs::<Value, Value>() {
        let (key, value) = pair?;
        let Value::String(key) = key else {
            return refuse("named argument key given to redis.register_function is not a string");
        };
        match (key.to_string_lossy().as_str(), value) {
            ("function_name", Value::String(text)) => name = Some(text.to_string_lossy()),
            ("function_name", _) => {
                return refuse(
                    "function_name argument given to redis.register_function must be a string",
                );
            }
            ("description", Value::String(text)) => description = Some(text.to_string_lossy()),
            ("description", _) => {
                return refuse(
                    "description argument given to redis.register_function must be a string",
                );
            }
            ("callback", Value::Function(function)) => callback = Some(function),
            ("callback", _) => {
                return refuse(
                    "callback argument given to redis.register_function must be a function",
                );
            }
            ("flags", Value::Table(table)) => flags = flags_of(&table)?,
            ("flags", _) => {
                return refuse(
                    "flags argument to redis.register_function must be a table representing \
                     function flags",
                );
            }
            _ => return refuse("unknown argument given to redis.register_function"),
        }
    }
    let Some(name) = name else {
        return refuse("redis.register_function must get a function name argument");
    };
    let Some(callback) = callback else {
        return refuse("redis.register_function must get a callback argument");
    };
    let spec = FunctionSpec {
        name,
        description,
        flags,
    };
    Ok(Entry { spec, callback })
}

fn flags_of(table: &Table) -> mlua::Result<Vec<&'static str>> {
    let mut flags = Vec::new();
    for value in table.sequence_values::<Value>() {
        let known = match value? {
            Value::String(name) => flag(&name.as_bytes()),
            _ => None,
        };
        match known {
            Some(flag) => flags.push(flag),
            None => return refuse("unknown flag given"),
        }
    }
    Ok(flags)
}
