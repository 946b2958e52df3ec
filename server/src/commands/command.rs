//! COMMAND: what the command table says.
//!
//! Owns the layout of those replies.

use bytes::Bytes;

use crate::command::{
    Acl, CommandEntry, CommandError, Cx, FindKeys, Flag, KeySpec, arguments_of, commands, find,
    resolve,
};
use crate::keyspace::is_match;
use crate::resp::{Args, ReplyBuf};

/// `COMMAND`
pub fn all(_: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    reply.array(commands().len());
    commands().iter().for_each(|entry| describe(entry, reply));
    Ok(())
}

/// `COMMAND COUNT`
pub fn count(_: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    reply.integer(commands().len().cast_signed() as i64);
    Ok(())
}

/// `COMMAND INFO [command-name ...]`
pub fn info(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    if args.len() == 2 {
        return all(cx, args, reply);
    }
    reply.array(args.len() - 2);
    for name in &args[2..] {
        match find_by_full_name(name) {
            Some(entry) => describe(entry, reply),
            None => reply.null(),
        }
    }
    Ok(())
}

/// The entry with a full name such as `client|list`.
fn find_by_full_name(name: &[u8]) -> Option<&'static CommandEntry> {
    match name.iter().position(|byte| *byte == b'|') {
        None => find(name),
        Some(at) => find(&name[..at])?.subcommand(&name[at + 1..]),
    }
}

fn describe(entry: &CommandEntry, reply: &mut ReplyBuf) {
    let spec = entry.spec;
    reply.array(10);
    reply.bulk(entry.full_name.as_bytes());
    reply.integer(i64::from(spec.arity));
    let flags: Vec<Flag> = spec.flags.iter().collect();
    reply.set(flags.len());
    flags.iter().for_each(|flag| reply.simple(flag.name()));
    let (first, last, step) = spec.key_range();
    [first, last, step]
        .into_iter()
        .for_each(|number| reply.integer(number as i64));
    let categories: Vec<Acl> = spec.acl.iter().collect();
    reply.set(categories.len());
    categories
        .iter()
        .for_each(|category| reply.simple(&format!("@{}", category.name())));
    reply.array(spec.tips.len());
    spec.tips.iter().for_each(|tip| reply.bulk(tip.as_bytes()));
    reply.array(spec.keys.len());
    spec.keys.iter().for_each(|keys| describe_keys(keys, reply));
    reply.array(entry.subcommands.len());
    entry
        .subcommands
        .iter()
        .for_each(|subcommand| describe(subcommand, reply));
}

fn describe_keys(keys: &KeySpec, reply: &mut ReplyBuf) {
    reply.map(3);
    reply.bulk(b"flags");
    push_access(keys, reply);
    reply.bulk(b"begin_search");
    reply.map(2);
    reply.bulk(b"type");
    reply.bulk(b"index");
    reply.bulk(b"spec");
    push_numbers(&[("index", keys.first)], reply);
    reply.bulk(b"find_keys");
    reply.map(2);
    reply.bulk(b"type");
    match keys.find {
        FindKeys::Range { last, step } => {
            reply.bulk(b"range");
            reply.bulk(b"spec");
            push_numbers(&[("lastkey", last), ("keystep", step), ("limit", 0)], reply);
        }
        FindKeys::Counted => {
            reply.bulk(b"keynum");
            reply.bulk(b"spec");
            push_numbers(&[("keynumidx", 0), ("firstkey", 1), ("keystep", 1)], reply);
        }
    }
}

fn push_access(keys: &KeySpec, reply: &mut ReplyBuf) {
    let names = keys.access.names;
    reply.set(names.len() + usize::from(keys.is_variable));
    names.iter().for_each(|name| reply.simple(name));
    if keys.is_variable {
        reply.simple("variable_flags");
    }
}

fn push_numbers(pairs: &[(&str, isize)], reply: &mut ReplyBuf) {
    reply.map(pairs.len());
    for (name, number) in pairs {
        reply.bulk(name.as_bytes());
        reply.integer(*number as i64);
    }
}

/// `COMMAND DOCS [command-name ...]`
pub fn docs(_: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let entries: Vec<&CommandEntry> = match args.get(2..) {
        Some(names) if !names.is_empty() => names
            .iter()
            .filter_map(|name| find_by_full_name(name))
            .collect(),
        _ => commands().iter().collect(),
    };
    push_docs(&entries, reply);
    Ok(())
}

fn push_docs(entries: &[&CommandEntry], reply: &mut ReplyBuf) {
    reply.map(entries.len());
    for entry in entries {
        let spec = entry.spec;
        let arguments = arguments_of(spec);
        let has_arguments = !arguments.is_empty();
        let has_subcommands = !entry.subcommands.is_empty();
        reply.bulk(entry.full_name.as_bytes());
        reply.map(4 + usize::from(has_arguments) + usize::from(has_subcommands));
        for (name, text) in [
            ("summary", spec.summary),
            ("since", spec.since),
            ("group", spec.group.name()),
            ("complexity", spec.complexity),
        ] {
            reply.bulk(name.as_bytes());
            reply.bulk(text.as_bytes());
        }
        if has_arguments {
            reply.bulk(b"arguments");
            reply.array(arguments.len());
            arguments
                .iter()
                .for_each(|argument| argument.describe(reply));
        }
        if has_subcommands {
            reply.bulk(b"subcommands");
            push_docs(&entry.subcommands.iter().collect::<Vec<_>>(), reply);
        }
    }
}

/// `COMMAND LIST [FILTERBY MODULE module-name | ACLCAT category | PATTERN pattern]`
pub fn list(_: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let names: Vec<&str> = match &args[2..] {
        [] => all_entries()
            .map(|entry| entry.full_name.as_str())
            .collect(),
        [word, kind, value] if word.eq_ignore_ascii_case(b"filterby") => filtered(kind, value)?,
        _ => return Err(CommandError::Syntax),
    };
    reply.array(names.len());
    names.iter().for_each(|name| reply.bulk(name.as_bytes()));
    Ok(())
}

fn all_entries() -> impl Iterator<Item = &'static CommandEntry> {
    commands()
        .iter()
        .flat_map(|entry| std::iter::once(entry).chain(&entry.subcommands))
}

fn filtered(kind: &[u8], value: &Bytes) -> Result<Vec<&'static str>, CommandError> {
    let matches = |entry: &CommandEntry| match kind.to_ascii_lowercase().as_slice() {
        // there are no modules
        b"module" => Some(false),
        b"aclcat" => {
            let category = Acl::ALL
                .into_iter()
                .find(|acl| acl.name().as_bytes() == value);
            Some(category.is_some_and(|category| entry.spec.acl.has(category)))
        }
        b"pattern" => Some(is_match(
            &value.to_ascii_lowercase(),
            entry.full_name.as_bytes(),
        )),
        _ => None,
    };
    let mut names = Vec::new();
    for entry in all_entries() {
        if matches(entry).ok_or(CommandError::Syntax)? {
            names.push(entry.full_name.as_str());
        }
    }
    Ok(names)
}

/// `COMMAND GETKEYS command [arg ...]`
pub fn getkeys(_: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let (request, keys) = keys_of(args)?;
    reply.array(keys.len());
    keys.iter()
        .for_each(|(_, position)| reply.bulk(&request[*position]));
    Ok(())
}

/// `COMMAND GETKEYSANDFLAGS command [arg ...]`
pub fn getkeysandflags(_: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let (request, keys) = keys_of(args)?;
    reply.array(keys.len());
    for (spec, position) in keys {
        reply.array(2);
        reply.bulk(&request[position]);
        push_access(spec, reply);
    }
    Ok(())
}

/// The request inside a COMMAND GETKEYS, and where its keys stand.
fn keys_of(args: &Args) -> Result<(Args, Vec<(&'static KeySpec, usize)>), CommandError> {
    let request: Args = args[2..].iter().cloned().collect();
    let entry =
        resolve(&request).map_err(|_| CommandError::other("ERR Invalid command specified"))?;
    if entry.spec.keys.is_empty() {
        return Err(CommandError::other("ERR The command has no key arguments"));
    }
    if !entry.spec.accepts(request.len()) {
        return Err(CommandError::other(
            "ERR Invalid number of arguments specified for command",
        ));
    }
    let keys = entry.spec.keys.iter();
    let positions: Vec<_> = keys
        .flat_map(|keys| {
            keys.positions(&request)
                .map(move |position| (keys, position))
        })
        .collect();
    if positions.is_empty() {
        return Err(CommandError::other(
            "ERR Invalid arguments specified for command",
        ));
    }
    Ok((request, positions))
}
