//! What the server gives to the sandbox: Redis's functions, as Lua sees them.
//!
//! Owns their arguments and texts. An error that one of them raises is a value of Rust until a
//! script catches it: then the sandbox asks what the script is to see of it.

#![expect(
    clippy::needless_pass_by_value,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a callback of Lua owns its arguments, and numbers of Lua are doubles"
)]

use std::rc::Rc;

use bytes::Bytes;
use mlua::{Function, Lua, LuaString, MultiValue, Table, Value};

use super::course::{Course, LineLevel, Stop};
use super::from_reply::{error_table, value_of};
use super::interpreter::MEMORY_BYTES_MAX;
use super::libraries;
use super::raised::{Origin, Raised, plain_text};
use super::register::{self, Registered};
use super::sha1::Sha1;
use crate::command::resolve;
use crate::resp::{Args, Protocol};
use crate::version::REDIS_VERSION;

/// Frames between the handler and the script's own at most: a function of C and the sandbox's.
const FRAMES_ABOVE_MAX: usize = 6;

/// The chunk that the sandbox is.
pub(super) const SANDBOX_CHUNK: &str = "=sandbox";
/// What Lua writes before errors that come out of it.
const SANDBOX_PLACE: &[u8] = b"sandbox:";

/// The field of an error that a command has answered, by Redis's name: it is counted already.
pub(super) const COUNTED: &str = "ignore_error_stats_update";

/// All that the sandbox is given.
pub(super) fn table(
    lua: &Lua,
    course: &Rc<Course>,
    registered: &Rc<Registered>,
) -> mlua::Result<Table> {
    let native = lua.create_table()?;
    native.raw_set("loading", loading(lua, course, registered)?)?;
    native.raw_set("redis", redis(lua, course)?)?;
    native.raw_set("handler", handler(lua, course)?)?;
    native.raw_set("seen", lua.create_function(seen)?)?;
    let drawn = Rc::clone(course);
    let random = move |lua: &Lua, args: MultiValue| random(lua, &drawn, &args);
    native.raw_set("random", lua.create_function(random)?)?;
    let seeded = Rc::clone(course);
    let seed = move |_: &Lua, seed: f64| {
        seeded.random.seed(seed as i64 as i32);
        Ok(())
    };
    native.raw_set("random_seed", lua.create_function(seed)?)?;
    native.raw_set("rep", lua.create_function(rep)?)?;
    native.raw_set("libraries", libraries::table(lua, course)?)?;
    Ok(native)
}

fn add_constants(table: &Table) -> mlua::Result<()> {
    let numbers = [
        ("LOG_DEBUG", 0),
        ("LOG_VERBOSE", 1),
        ("LOG_NOTICE", 2),
        ("LOG_WARNING", 3),
        ("REPL_NONE", 0),
        ("REPL_AOF", 1),
        ("REPL_SLAVE", 2),
        ("REPL_REPLICA", 2),
        ("REPL_ALL", 3),
        ("REDIS_VERSION_NUM", version_number()),
    ];
    for (name, number) in numbers {
        table.raw_set(name, number)?;
    }
    table.raw_set("REDIS_VERSION", REDIS_VERSION)
}

/// The version as one number, a byte for each of its parts.
fn version_number() -> u32 {
    let parts = REDIS_VERSION.split('.');
    parts.fold(0, |number, part| {
        number << 8 | part.parse::<u32>().unwrap_or(0)
    })
}

/// What a library finds as `redis` while it registers its functions.
fn loading(lua: &Lua, course: &Rc<Course>, registered: &Rc<Registered>) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    add_constants(&table)?;
    let logged = Rc::clone(course);
    let log = move |_: &Lua, args: MultiValue| log(&logged, &args);
    table.raw_set("log", lua.create_function(log)?)?;
    let all = Rc::clone(registered);
    let register = move |_: &Lua, args: MultiValue| register::register(&all, &args);
    table.raw_set("register_function", lua.create_function(register)?)?;
    Ok(table)
}

/// The error of a function of Redis, as it is raised.
pub(super) fn refuse<T>(text: &str) -> mlua::Result<T> {
    let text = format!("ERR {text}");
    Err(Raised::of_redis(text).into())
}

/// `redis.call`, which raises the error that a command answers, and `redis.pcall`, which returns
/// it.
fn call(lua: &Lua, course: &Rc<Course>, is_raising: bool) -> mlua::Result<Function> {
    let course = Rc::clone(course);
    lua.create_function(move |lua, args: MultiValue| {
        let args = match request(&args) {
            Ok(args) => args,
            Err(text) if is_raising => return refuse(text),
            Err(text) => {
                let text = format!("ERR {text}");
                return error_table(lua, text.as_bytes()).map(Value::Table);
            }
        };
        let Some(reply) = course.call(args) else {
            return Err(mlua::Error::runtime(stop_text(&course)));
        };
        match value_of(lua, &reply)? {
            Value::Table(table) if reply.starts_with(b"-") => {
                if is_raising {
                    let text: LuaString = table.raw_get("err")?;
                    return Err(Raised::of_command(text.to_string_lossy()).into());
                }
                table.raw_set(COUNTED, true)?;
                Ok(Value::Table(table))
            }
            value => Ok(value),
        }
    })
}

fn request(args: &MultiValue) -> Result<Args, &'static str> {
    if args.is_empty() {
        return Err("Please specify at least one argument for this redis lib call");
    }
    let args: Option<Args> = args.iter().map(argument).collect();
    args.ok_or("Lua redis lib command arguments must be strings or integers")
}

/// A string, or a number with all digits that it needs.
fn argument(value: &Value) -> Option<Bytes> {
    match value {
        Value::String(text) => Some(Bytes::copy_from_slice(&text.as_bytes())),
        Value::Integer(number) => Some(number.to_string().into()),
        Value::Number(number) => Some(libraries::format_number(*number, 17).into()),
        _ => None,
    }
}

fn redis(lua: &Lua, course: &Rc<Course>) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    add_constants(&table)?;
    table.raw_set("call", call(lua, course, true)?)?;
    table.raw_set("pcall", call(lua, course, false)?)?;
    table.raw_set("error_reply", lua.create_function(error_reply)?)?;
    table.raw_set("status_reply", lua.create_function(status_reply)?)?;
    table.raw_set("sha1hex", lua.create_function(sha1hex)?)?;
    table.raw_set("set_repl", lua.create_function(set_repl)?)?;
    table.raw_set("acl_check_cmd", lua.create_function(acl_check_cmd)?)?;
    let replicate = |_: &Lua, _: MultiValue| Ok(true);
    table.raw_set("replicate_commands", lua.create_function(replicate)?)?;
    let breakpoint = |_: &Lua, _: MultiValue| Ok(false);
    table.raw_set("breakpoint", lua.create_function(breakpoint)?)?;
    let debug = |_: &Lua, _: MultiValue| Ok(());
    table.raw_set("debug", lua.create_function(debug)?)?;
    let set = Rc::clone(course);
    let setresp = move |_: &Lua, args: MultiValue| setresp(&set, &args);
    table.raw_set("setresp", lua.create_function(setresp)?)?;
    let logged = Rc::clone(course);
    let log = move |_: &Lua, args: MultiValue| log(&logged, &args);
    table.raw_set("log", lua.create_function(log)?)?;
    Ok(table)
}

fn sha1hex(_: &Lua, args: MultiValue) -> mlua::Result<String> {
    if args.len() != 1 {
        return refuse("wrong number of arguments");
    }
    let text = argument(&args[0]).unwrap_or_default();
    Ok(Sha1::of(&text).to_hex())
}

fn set_repl(_: &Lua, args: MultiValue) -> mlua::Result<()> {
    if args.len() != 1 {
        return refuse("redis.set_repl() requires two arguments.");
    }
    if !number(&args[0]).is_some_and(|flags| (0..=3).contains(&flags)) {
        let text = "Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.";
        return refuse(text);
    }
    Ok(())
}

fn acl_check_cmd(_: &Lua, args: MultiValue) -> mlua::Result<bool> {
    if args.is_empty() {
        let text = "Please specify at least one argument for this redis lib call";
        return refuse(text);
    }
    let args: Option<Args> = args.iter().map(argument).collect();
    let Some(args) = args else {
        let text = "redis.acl_check_cmd() command arguments must be strings or integers";
        return refuse(text);
    };
    match resolve(&args) {
        Ok(_) => Ok(true),
        Err(_) => refuse("Invalid command passed to redis.acl_check_cmd()"),
    }
}

fn setresp(course: &Course, args: &MultiValue) -> mlua::Result<()> {
    if args.len() != 1 {
        return refuse("redis.setresp() requires one argument.");
    }
    course.set_protocol(match number(&args[0]) {
        Some(2) => Protocol::Resp2,
        Some(3) => Protocol::Resp3,
        _ => return refuse("RESP version must be 2 or 3."),
    });
    Ok(())
}

fn log(course: &Course, args: &MultiValue) -> mlua::Result<()> {
    if args.len() < 2 {
        return refuse("redis.log() requires two arguments or more.");
    }
    let level = match number(&args[0]) {
        None => return refuse("First argument must be a number (log level)."),
        Some(0) => LineLevel::Debug,
        Some(1) => LineLevel::Verbose,
        Some(2) => LineLevel::Notice,
        Some(3) => LineLevel::Warning,
        Some(_) => return refuse("Invalid log level."),
    };
    let words = args.iter().skip(1).filter_map(argument);
    let words: Vec<String> = words
        .map(|word| String::from_utf8_lossy(&word).into_owned())
        .collect();
    course.log(level, words.join(" "));
    Ok(())
}

fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Integer(number) => Some(*number),
        Value::Number(number) => Some(*number as i64),
        Value::String(text) => text.to_string_lossy().trim().parse().ok(),
        _ => None,
    }
}

/// `redis.error_reply`: what is wrong with its arguments is its result too.
fn error_reply(lua: &Lua, args: MultiValue) -> mlua::Result<Table> {
    match (args.len(), args.front()) {
        (1, Some(Value::String(text))) => error_table(lua, &text.as_bytes()),
        _ => error_table(lua, b"ERR wrong number or type of arguments"),
    }
}

fn status_reply(lua: &Lua, args: MultiValue) -> mlua::Result<Table> {
    match (args.len(), args.front()) {
        (1, Some(Value::String(text))) => {
            let table = lua.create_table()?;
            table.raw_set("ok", text)?;
            Ok(table)
        }
        _ => error_table(lua, b"ERR wrong number or type of arguments"),
    }
}

/// `math.random`, with the texts of Lua's own.
fn random(lua: &Lua, course: &Course, args: &MultiValue) -> mlua::Result<f64> {
    let drawn = course.random.fraction();
    let bounds: Option<Vec<f64>> = args.iter().map(|value| whole_number(lua, value)).collect();
    let refuse = |text: &str| Err(Raised::at_caller(lua, text).into());
    let Some(bounds) = bounds else {
        return refuse("bad argument #1 to 'random' (number expected)");
    };
    let (low, high) = match bounds[..] {
        [] => return Ok(drawn),
        [high] if high < 1.0 => return refuse("bad argument #1 to 'random' (interval is empty)"),
        [high] => (1.0, high),
        [low, high] if low > high => {
            return refuse("bad argument #2 to 'random' (interval is empty)");
        }
        [low, high] => (low, high),
        _ => return refuse("wrong number of arguments"),
    };
    Ok((drawn * (high - low + 1.0)).floor() + low)
}

fn whole_number(lua: &Lua, value: &Value) -> Option<f64> {
    let number = lua.coerce_number(value.clone()).ok().flatten()?;
    Some(number.trunc())
}

/// `string.rep`, which takes no longer than copying what it makes.
fn rep(lua: &Lua, args: MultiValue) -> mlua::Result<LuaString> {
    let text = args.front().map(|text| lua.coerce_string(text.clone()));
    let Some(Ok(Some(text))) = text else {
        return Err(libraries::bad_argument(lua, &args, 0, ("rep", "string")));
    };
    let Some(count) = args.get(1).and_then(|count| whole_number(lua, count)) else {
        return Err(libraries::bad_argument(lua, &args, 1, ("rep", "number")));
    };
    let text = text.as_bytes();
    if text.len() as f64 * count > MEMORY_BYTES_MAX as f64 {
        return Err(mlua::Error::MemoryError(String::new()));
    }
    lua.create_string(text.repeat(count.max(0.0) as usize))
}

/// What is said of a run that is to stop.
pub(super) fn stop_text(course: &Course) -> &'static str {
    match course.stop() {
        Some(Stop::Killed) => "Script killed by user with SCRIPT KILL.",
        Some(Stop::Abandoned) | None => "Script abandoned.",
    }
}

/// What a script sees of an error that it catches.
fn seen(lua: &Lua, problem: Value) -> mlua::Result<Value> {
    if let Value::String(text) = &problem
        && text.as_bytes().starts_with(SANDBOX_PLACE)
    {
        let text = lua.create_string(without_place(&text.as_bytes()))?;
        return Ok(Value::String(text));
    }
    let Value::Error(error) = problem else {
        return Ok(problem);
    };
    let text = plain_text(&error);
    if Raised::origin(&error) != Origin::Library {
        return raised_table(lua, &error).map(Value::Table);
    }
    lua.create_string(text).map(Value::String)
}

/// An error's text without a place in the sandbox, which tells its author nothing.
fn without_place(text: &[u8]) -> &[u8] {
    let Some(rest) = text.strip_prefix(SANDBOX_PLACE) else {
        return text;
    };
    let end = rest.windows(2).position(|pair| pair == b": ");
    end.map_or(text, |end| &rest[end + 2..])
}

/// Makes a table of whatever was raised, with the place where it was.
fn handler(lua: &Lua, course: &Rc<Course>) -> mlua::Result<Function> {
    let course = Rc::clone(course);
    lua.create_function(move |lua, problem: Value| {
        let table = match problem {
            Value::Table(table) => table,
            Value::String(text) => prefixed(lua, without_place(&text.as_bytes()))?,
            Value::Error(_) if course.stop().is_some() => {
                prefixed(lua, stop_text(&course).as_bytes())?
            }
            Value::Error(error) if Raised::origin(&error) != Origin::Library => {
                raised_table(lua, &error)?
            }
            Value::Error(error) => prefixed(lua, plain_text(&error).as_bytes())?,
            other => prefixed(lua, other.to_string()?.as_bytes())?,
        };
        for level in 1..FRAMES_ABOVE_MAX {
            let place = lua.inspect_stack(level, |frame| {
                let source = frame.source();
                let name = source.source.filter(|name| name != SANDBOX_CHUNK)?;
                (source.what != "C").then(|| (name.into_owned(), frame.current_line()))
            });
            match place {
                Some(Some((name, line))) => {
                    table.raw_set("source", name)?;
                    table.raw_set("line", line)?;
                    break;
                }
                Some(None) => {}
                None => break,
            }
        }
        Ok(table)
    })
}

/// The table of an error that one of Redis's functions raised.
fn raised_table(lua: &Lua, error: &mlua::Error) -> mlua::Result<Table> {
    let table = error_table(lua, plain_text(error).as_bytes())?;
    if Raised::origin(error) == Origin::Command {
        table.raw_set(COUNTED, true)?;
    }
    Ok(table)
}

fn prefixed(lua: &Lua, text: &[u8]) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.raw_set("err", lua.create_string([b"ERR ", text].concat())?)?;
    Ok(table)
}
