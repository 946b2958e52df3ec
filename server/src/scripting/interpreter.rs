//! One interpreter of Lua, for one script at a time.
//!
//! Owns its memory's bound, its sandbox, and the scripts that it has compiled. What a script
//! leaves behind is not seen by the next; where that cannot be said, the interpreter is given up.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use cellar_storage::Clock;
use mlua::{Function, HookTriggers, Lua, LuaOptions, LuaString, StdLib, Table, Value, VmState};

use super::course::Course;
use super::functions::Library;
use super::native::{self, COUNTED, SANDBOX_CHUNK, stop_text};
use super::raised::plain_text;
use super::register::{Entry, Registered};
use super::sha1::Sha1;
use super::to_reply;
use crate::resp::{Protocol, ReplyBuf};

/// Bytes of DRAM that a script may take, its strings and tables included.
pub(super) const MEMORY_BYTES_MAX: usize = 128 * 1024 * 1024;
/// Bytes that an interpreter may hold between runs; above it is given up.
const IDLE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Compiled scripts that it keeps; compiling one takes some ten microseconds.
const COMPILED_COUNT_MAX: usize = 512;
/// Instructions of Lua between two looks at the clock: some ten microseconds.
const LOOK_INSTRUCTION_COUNT: u32 = 1000;

/// An error that a script answers.
pub(super) struct Failure {
    /// The reply's text.
    pub(super) text: String,
    /// Whether it is that of a command, which was counted.
    pub(super) is_counted: bool,
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Self {
            text,
            is_counted: false,
        }
    }
}

/// What is run.
pub(super) enum Code {
    /// A script: its name, and its text without a first line that is no Lua.
    Text(Sha1, Bytes),
    /// A function of a library.
    Function(Arc<Library>, String),
}

/// A script or function, with what it is given.
pub(super) struct Script {
    /// What is run.
    pub(super) code: Code,
    /// The keys.
    pub(super) keys: Vec<Bytes>,
    /// The other arguments.
    pub(super) arguments: Vec<Bytes>,
}

impl Script {
    /// What error replies call it.
    fn label(&self) -> String {
        match &self.code {
            Code::Text(name, _) => name.to_hex(),
            Code::Function(_, function) => function.clone(),
        }
    }
}

/// A library that an interpreter has run.
struct Loaded {
    id: u64,
    functions: HashMap<String, Function>,
}

/// One interpreter.
pub(super) struct Interpreter {
    lua: Lua,
    course: Rc<Course>,
    /// What scripts see as their globals.
    globals: Table,
    is_clean: Function,
    run: Function,
    run_function: Function,
    run_loading: Function,
    registered: Rc<Registered>,
    compiled: RefCell<HashMap<Sha1, Function>>,
    /// By their names.
    libraries: RefCell<HashMap<String, Loaded>>,
}

impl Interpreter {
    /// A fresh one.
    pub(super) fn new(clock: Arc<dyn Clock>) -> mlua::Result<Self> {
        let libraries = StdLib::TABLE | StdLib::STRING | StdLib::MATH | StdLib::OS;
        let lua = Lua::new_with(libraries, LuaOptions::new().catch_rust_panics(false))?;
        lua.set_memory_limit(MEMORY_BYTES_MAX)?;
        let course = Rc::new(Course::new(clock));
        let registered = Rc::default();
        let native = native::table(&lua, &course, &registered)?;
        let sandbox = lua
            .load(include_str!("sandbox.lua"))
            .set_name(SANDBOX_CHUNK);
        let (globals, is_clean, run, run_function, run_loading) = sandbox.call(native)?;
        let looked = Rc::clone(&course);
        let triggers = HookTriggers::new().every_nth_instruction(LOOK_INSTRUCTION_COUNT);
        lua.set_global_hook(triggers, move |lua, _| look(lua, &looked))?;
        Ok(Self {
            lua,
            course,
            globals,
            is_clean,
            run,
            run_function,
            run_loading,
            registered,
            compiled: RefCell::default(),
            libraries: RefCell::default(),
        })
    }

    /// The present run.
    pub(super) fn course(&self) -> &Rc<Course> {
        &self.course
    }

    /// Whether the next script may have it.
    pub(super) fn is_reusable(&self) -> bool {
        let is_spoilt = self.course.stop().is_some() || self.course.has_changed();
        if is_spoilt || self.forget_arguments().is_err() {
            return false;
        }
        let is_large = || self.lua.used_memory() > IDLE_BYTES_MAX;
        if is_large() && (self.lua.gc_collect().is_err() || is_large()) {
            return false;
        }
        self.is_clean.call(()).unwrap_or(false)
    }

    fn forget_arguments(&self) -> mlua::Result<()> {
        self.globals.raw_set("KEYS", Value::Nil)?;
        self.globals.raw_set("ARGV", Value::Nil)
    }

    /// Compiles a script: the error is the text of the reply.
    pub(super) fn compile(&self, name: Sha1, text: &[u8]) -> Result<Function, String> {
        if let Some(function) = self.compiled.borrow().get(&name) {
            return Ok(function.clone());
        }
        let refuse = |text: &str| format!("ERR Error compiling script (new function): {text}");
        if text.first() == Some(&0x1b) {
            return Err(refuse("attempt to load a binary chunk"));
        }
        let chunk = self.lua.load(text).set_name("@user_script");
        let function = chunk.into_function();
        let function = function.map_err(|error| refuse(&plain_text(&error)))?;
        let mut compiled = self.compiled.borrow_mut();
        if compiled.len() == COMPILED_COUNT_MAX {
            compiled.clear();
        }
        compiled.insert(name, function.clone());
        Ok(function)
    }

    /// Runs a script to its end: its reply, or the text of the error. To be called on a stack of
    /// its own.
    pub(super) fn run(&self, script: &Script, protocol: Protocol) -> Result<ReplyBuf, Failure> {
        let label = script.label();
        let outcome = match &script.code {
            Code::Text(name, text) => self.call_script(script, &self.compile(*name, text)?),
            Code::Function(library, function) => {
                let function = self.function(library, function)?;
                self.call_function(script, &function)
            }
        };
        outcome
            .and_then(|(is_well, value)| self.reply(&label, is_well, &value, protocol))
            .unwrap_or_else(|error| Err(self.failure(&label, &error).into()))
    }

    /// The reply to an error outside of the script's own Lua.
    fn failure(&self, label: &str, error: &mlua::Error) -> String {
        match self.course.stop() {
            Some(_) => format!("ERR {}", stop_text(&self.course)),
            None => failure(label, &plain_text(error)),
        }
    }

    fn call_script(&self, script: &Script, function: &Function) -> mlua::Result<(bool, Value)> {
        let keys = self.strings(&script.keys)?;
        self.globals.raw_set("KEYS", keys)?;
        let arguments = self.strings(&script.arguments)?;
        self.globals.raw_set("ARGV", arguments)?;
        self.run.call(function)
    }

    fn call_function(&self, script: &Script, function: &Function) -> mlua::Result<(bool, Value)> {
        let keys = self.strings(&script.keys)?;
        let arguments = self.strings(&script.arguments)?;
        self.run_function.call((function, keys, arguments))
    }

    fn reply(
        &self,
        label: &str,
        is_well: bool,
        value: &Value,
        protocol: Protocol,
    ) -> mlua::Result<Result<ReplyBuf, Failure>> {
        let is_returned_error = match value.as_table() {
            Some(table) => table.raw_get::<Value>("err")?.is_string(),
            None => false,
        };
        if !is_well || is_returned_error {
            return error_text(label, value).map(Err);
        }
        let mut reply = ReplyBuf::new(protocol);
        to_reply::encode(&mut reply, value, self.course.protocol())?;
        Ok(Ok(reply))
    }

    /// The function of a library, which is run first if it has not been.
    fn function(&self, library: &Library, name: &str) -> Result<Function, String> {
        let is_loaded = |loaded: &Loaded| loaded.id == library.id;
        if !self
            .libraries
            .borrow()
            .get(&library.name)
            .is_some_and(is_loaded)
        {
            let start = library.text.iter().position(|byte| *byte == b'\n');
            let text = library.text.slice(start.unwrap_or(0)..);
            let entries = self.register(&text)?;
            let functions = entries
                .into_iter()
                .map(|entry| (entry.spec.name, entry.callback))
                .collect();
            let id = library.id;
            let mut libraries = self.libraries.borrow_mut();
            if libraries.len() == COMPILED_COUNT_MAX {
                libraries.clear();
            }
            libraries.insert(library.name.clone(), Loaded { id, functions });
        }
        let libraries = self.libraries.borrow();
        let loaded = libraries.get(&library.name);
        loaded
            .and_then(|loaded| loaded.functions.get(name).cloned())
            .ok_or_else(|| "ERR Function not found".to_owned())
    }

    /// Runs a library: what it registers. To be called on a stack of its own.
    pub(super) fn register(&self, text: &[u8]) -> Result<Vec<Entry>, String> {
        let chunk = self.lua.load(text).set_name("@user_function");
        let function = chunk.into_function();
        let function = function.map_err(|error| {
            let text = plain_text(&error);
            format!("ERR Error compiling function: {text}")
        })?;
        let refuse = |text: &str| format!("ERR Error registering functions: {text}");
        self.registered.open();
        let outcome = self.run_loading.call(&function);
        let entries = self.registered.close();
        match outcome {
            Ok((true, _)) if entries.is_empty() => Err("ERR No functions registered".to_owned()),
            Ok((true, _)) => Ok(entries),
            Ok((false, problem)) => {
                let text = match &problem {
                    Value::Table(table) => table.raw_get::<LuaString>("err"),
                    _ => self.lua.create_string("ERR out of memory"),
                };
                let text = text.map(|text| text.to_string_lossy());
                Err(refuse(&text.unwrap_or_default()))
            }
            Err(error) => Err(refuse(&plain_text(&error))),
        }
    }

    fn strings(&self, items: &[Bytes]) -> mlua::Result<Table> {
        let table = self.lua.create_table_with_capacity(items.len(), 0)?;
        for (index, item) in items.iter().enumerate() {
            table.raw_set(index + 1, self.lua.create_string(item)?)?;
        }
        Ok(table)
    }
}

/// Called every so many instructions. Once a script is to stop, it is called on every line: so no
/// `pcall` keeps it alive.
fn look(lua: &Lua, course: &Rc<Course>) -> mlua::Result<VmState> {
    if course.look() {
        return Ok(VmState::Continue);
    }
    let stopped = Rc::clone(course);
    lua.set_global_hook(HookTriggers::EVERY_LINE, move |_, _| {
        Err(mlua::Error::runtime(stop_text(&stopped)))
    })?;
    Err(mlua::Error::runtime(stop_text(course)))
}

/// The reply to an error that was raised in a script.
fn error_text(name: &str, problem: &Value) -> mlua::Result<Failure> {
    let Value::Table(table) = problem else {
        let text = match problem {
            Value::String(text) => text.to_string_lossy(),
            Value::Error(error) => plain_text(error),
            _ => "execution failure".to_owned(),
        };
        return Ok(failure(name, &text).into());
    };
    let is_counted = !table.raw_get::<Value>(COUNTED)?.is_nil();
    let text = match table.raw_get("err")? {
        Value::String(text) => text.to_string_lossy(),
        _ => "ERR unknown error".to_owned(),
    };
    let text = text.strip_prefix('-').unwrap_or(&text);
    let (source, line): (Value, Value) = (table.raw_get("source")?, table.raw_get("line")?);
    let text = if source.is_nil() || line.is_nil() {
        text.to_owned()
    } else {
        let (source, line) = (source.to_string()?, line.to_string()?);
        format!("{text} script: {name}, on {source}:{line}.")
    };
    Ok(Failure { text, is_counted })
}

fn failure(name: &str, text: &str) -> String {
    format!("ERR Error running script {name}, {text}")
}
