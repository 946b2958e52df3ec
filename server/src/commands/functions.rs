//! FCALL, FCALL_RO and FUNCTION.
//!
//! Owns their arguments and texts. What libraries are is in `scripting::functions`.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;

use super::scripting::{end_running, split_at};
use crate::command::{CommandError, Cx, Pending};
use crate::keyspace::is_match;
use crate::number::parse_i64;
use crate::resp::{Args, ReplyBuf};
use crate::scripting::functions::{self, Catalog, FunctionSpec, Library};
use crate::scripting::{self, Request, Subject};
use crate::shared::Shared;

/// `FCALL function numkeys [key ...] [arg ...]`
pub fn fcall(cx: Cx, args: Args) -> Pending {
    Box::pin(async move { call(&cx, args, false).await })
}

/// `FCALL_RO function numkeys [key ...] [arg ...]`
pub fn fcall_ro(cx: Cx, args: Args) -> Pending {
    Box::pin(async move { call(&cx, args, true).await })
}

async fn call(cx: &Cx, args: Args, is_readonly: bool) -> Result<ReplyBuf, CommandError> {
    let catalog = cx.shared.scripts.functions.catalog();
    let found = catalog.find(&String::from_utf8_lossy(&args[1]));
    let (library, spec) = found.ok_or_else(|| CommandError::other("ERR Function not found"))?;
    let count = parse_i64(&args[2])
        .ok_or_else(|| CommandError::other("ERR Bad number of keys provided"))?;
    let (keys, arguments) = split_at(&args, count)?;
    let request = Request {
        subject: Subject::Function(Arc::clone(library), spec.clone()),
        command: args,
        keys,
        arguments,
        is_readonly,
    };
    scripting::run(cx, request).await
}

fn directory(shared: &Shared) -> PathBuf {
    shared
        .config
        .read(|config| config.storage.dir.clone())
        .into()
}

/// `FUNCTION LOAD [REPLACE] function-code`
pub fn load(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let (text, options) = args[2..].split_last().expect("the arity asks for a text");
        for option in options {
            if !option.eq_ignore_ascii_case(b"replace") {
                let option = String::from_utf8_lossy(option);
                let text = format!("ERR Unknown option given: {option}");
                return Err(CommandError::other(text));
            }
        }
        let library = load_text(&cx.shared, text).await?;
        let name = library.name.clone();
        let may_replace = !options.is_empty();
        let functions = &cx.shared.scripts.functions;
        let change = |catalog: &mut Catalog| catalog.add(library, may_replace);
        functions.change(directory(&cx.shared), change).await?;
        let mut reply = cx.reply();
        reply.bulk(name.as_bytes());
        Ok(reply)
    })
}

async fn load_text(shared: &Shared, text: &[u8]) -> Result<Library, CommandError> {
    let (name, start) = functions::library_name(text)?;
    // a slice would keep the whole read buffer in memory
    let text = Bytes::copy_from_slice(text);
    scripting::load(shared, name, text, start).await
}

/// Loads the libraries that were kept in the data directory.
pub(crate) async fn load_kept(shared: &Shared) -> Result<(), String> {
    let mut catalog = Catalog::default();
    for text in functions::kept_texts(directory(shared)).await? {
        let library = load_text(shared, &text).await;
        let library = library.map_err(|error| error.to_string())?;
        let added = catalog.add(library, false);
        added.map_err(|error| error.to_string())?;
    }
    shared.scripts.functions.publish(catalog);
    Ok(())
}

/// `FUNCTION DELETE library-name`
pub fn delete(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let name = String::from_utf8_lossy(&args[2]).into_owned();
        let change = |catalog: &mut Catalog| {
            let missing = || CommandError::other("ERR Library not found");
            catalog.remove(&name).then_some(()).ok_or_else(missing)
        };
        apply(&cx, change).await
    })
}

/// `FUNCTION FLUSH [ASYNC | SYNC]`
pub fn flush(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        match &args[2..] {
            [] => {}
            [mode] if mode.eq_ignore_ascii_case(b"async") => {}
            [mode] if mode.eq_ignore_ascii_case(b"sync") => {}
            [_] => {
                let text = "ERR FUNCTION FLUSH only supports SYNC|ASYNC option";
                return Err(CommandError::other(text));
            }
            _ => return Err(wrong_count("flush")),
        }
        apply(&cx, |catalog| {
            *catalog = Catalog::default();
            Ok(())
        })
        .await
    })
}

async fn apply(
    cx: &Cx,
    change: impl FnOnce(&mut Catalog) -> Result<(), CommandError>,
) -> Result<ReplyBuf, CommandError> {
    let functions = &cx.shared.scripts.functions;
    functions.change(directory(&cx.shared), change).await?;
    let mut reply = cx.reply();
    reply.ok();
    Ok(reply)
}

fn wrong_count(name: &str) -> CommandError {
    CommandError::other(format!(
        "ERR unknown subcommand or wrong number of arguments for '{name}'. Try FUNCTION HELP."
    ))
}

/// `FUNCTION DUMP`
pub fn dump(cx: Cx, _: Args) -> Pending {
    Box::pin(async move {
        let catalog = cx.shared.scripts.functions.catalog();
        let mut reply = cx.reply();
        reply.bulk_bytes(functions::encode(&catalog).await);
        Ok(reply)
    })
}

/// `FUNCTION RESTORE serialized-value [FLUSH | APPEND | REPLACE]`
pub fn restore(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        if args.len() > 4 {
            return Err(wrong_count("restore"));
        }
        let policy = args.get(3).map(|policy| policy.to_ascii_lowercase());
        let (is_flush, may_replace) = match policy.as_deref() {
            None | Some(b"append") => (false, false),
            Some(b"flush") => (true, false),
            Some(b"replace") => (false, true),
            Some(_) => {
                return Err(CommandError::other(
                    "ERR Wrong restore policy given, value should be either FLUSH, APPEND or \
                     REPLACE.",
                ));
            }
        };
        let texts = functions::decode(&args[2])
            .await
            .ok_or_else(|| CommandError::other("ERR DUMP payload version or checksum are wrong"))?;
        let mut libraries = Vec::new();
        for text in &texts {
            libraries.push(load_text(&cx.shared, text).await?);
        }
        apply(&cx, |catalog| {
            if is_flush {
                *catalog = Catalog::default();
            }
            libraries.into_iter().try_for_each(|library| {
                let name = &library.name;
                if !may_replace && catalog.has(name) {
                    let text = format!("ERR Library {name} already exists");
                    return Err(CommandError::other(text));
                }
                catalog.add(library, may_replace)
            })
        })
        .await
    })
}

/// `FUNCTION LIST [LIBRARYNAME pattern] [WITHCODE]`
pub fn list(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let (mut pattern, mut with_code) = (None, false);
    let mut words = args[2..].iter();
    while let Some(word) = words.next() {
        if word.eq_ignore_ascii_case(b"withcode") && !with_code {
            with_code = true;
        } else if word.eq_ignore_ascii_case(b"libraryname") && pattern.is_none() {
            let text = "ERR library name argument was not given";
            pattern = Some(words.next().ok_or_else(|| CommandError::other(text))?);
        } else {
            let word = String::from_utf8_lossy(word);
            return Err(CommandError::other(format!("ERR Unknown argument {word}")));
        }
    }
    let catalog = cx.shared.scripts.functions.catalog();
    let is_wanted = |library: &&Arc<Library>| {
        pattern.is_none_or(|pattern| is_match(pattern, library.name.as_bytes()))
    };
    let libraries: Vec<&Arc<Library>> = catalog.libraries().filter(is_wanted).collect();
    reply.array(libraries.len());
    for library in libraries {
        reply.map(3 + usize::from(with_code));
        reply.bulk(b"library_name");
        reply.bulk(library.name.as_bytes());
        reply.bulk(b"engine");
        reply.bulk(b"LUA");
        reply.bulk(b"functions");
        reply.array(library.functions.len());
        for function in &library.functions {
            describe(function, reply);
        }
        if with_code {
            reply.bulk(b"library_code");
            reply.bulk(&library.text);
        }
    }
    Ok(())
}

fn describe(function: &FunctionSpec, reply: &mut ReplyBuf) {
    reply.map(3);
    reply.bulk(b"name");
    reply.bulk(function.name.as_bytes());
    reply.bulk(b"description");
    match &function.description {
        Some(description) => reply.bulk(description.as_bytes()),
        None => reply.null(),
    }
    reply.bulk(b"flags");
    reply.simple_set(&function.flags);
}

/// `FUNCTION STATS`
pub fn stats(cx: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let scripts = &cx.shared.scripts;
    reply.map(2);
    reply.bulk(b"running_script");
    match scripts.running.oldest_busy() {
        None => reply.null(),
        Some(running) => {
            let now_us = cx.shared.clock.monotonic_us();
            reply.map(3);
            reply.bulk(b"name");
            let name = running.function.as_deref().unwrap_or_default();
            reply.bulk(name.as_bytes());
            reply.bulk(b"command");
            reply.bulk_array(&running.command);
            reply.bulk(b"duration_ms");
            let us = now_us.saturating_sub(running.started_us());
            reply.integer((us / 1000).cast_signed());
        }
    }
    let (library_count, function_count) = scripts.functions.catalog().counts();
    reply.bulk(b"engines");
    reply.map(1);
    reply.bulk(b"LUA");
    reply.map(2);
    reply.bulk(b"libraries_count");
    reply.integer(library_count.cast_signed() as i64);
    reply.bulk(b"functions_count");
    reply.integer(function_count.cast_signed() as i64);
    Ok(())
}

/// `FUNCTION KILL`
pub fn kill(cx: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    end_running(cx, true)?;
    reply.ok();
    Ok(())
}
