//! COMMAND: what the command table says.
//!
//! Owns the layout of those replies.

use bytes::Bytes;

use crate::command::{
    Acl, CommandEntry, CommandError, Cx, FindKeys, Flag, KeyAccess, KeySpec, arguments_of,
    commands, find, resolve,
};
use crate::keyspace::is_match;
use crate::resp::{Args, ReplyBuf};

/// `COMMAND`
pub fn all(_: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    describe_all(commands(), reply);
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
pub(super) fn find_by_full_name(name: &[u8]) -> Option<&'static CommandEntry> {
    match name.iter().position(|byte| *byte == b'|') {
        None => find(name),
        Some(at) => find(&name[..at])?.subcommand(&name[at + 1..]),
    }
}

fn describe_all(entries: &[CommandEntry], reply: &mut ReplyBuf) {
    reply.array(entries.len());
    for entry in entries {
        describe(entry, reply);
    }
}

fn describe(entry: &CommandEntry, reply: &mut ReplyBuf) {
    let spec = entry.spec;
    reply.array(10);
    reply.bulk(entry.full_name.as_bytes());
    reply.integer(i64::from(spec.arity));
    // Redis keeps this one to itself
    let shown = |flag: &Flag| *flag != Flag::MayReplicate;
    let names = spec.flags.iter().filter(shown).map(Flag::name);
    reply.simple_set(&names.collect::<Vec<_>>());
    let (first, last, step) = spec.key_range();
    for number in [first, last, step] {
        reply.integer(number as i64);
    }
    let categories: Vec<String> = spec
        .acl
        .iter()
        .map(|category| format!("@{}", category.name()))
        .collect();
    reply.simple_set(&categories);
    reply.bulk_array(spec.tips);
    reply.array(spec.keys.len());
    for keys in spec.keys {
        describe_keys(keys, reply);
    }
    describe_all(&entry.subcommands, reply);
}

fn describe_keys(keys: &KeySpec, reply: &mut ReplyBuf) {
    reply.map(3);
    reply.bulk(b"flags");
    push_access(keys, reply);
    reply.bulk(b"begin_search");
    reply.map(2);
    reply.bulk(b"type");
    if let FindKeys::Keyword(word) | FindKeys::HalfBehind(word) = keys.find {
        reply.bulk(b"keyword");
        reply.bulk(b"spec");
        reply.map(2);
        reply.bulk(b"keyword");
        reply.bulk(word.as_bytes());
        reply.bulk(b"startfrom");
        reply.integer(keys.first as i64);
    } else {
        reply.bulk(b"index");
        reply.bulk(b"spec");
        push_numbers(&[("index", keys.first)], reply);
    }
    reply.bulk(b"find_keys");
    reply.map(2);
    reply.bulk(b"type");
    match keys.find {
        FindKeys::Range { last, step } => {
            reply.bulk(b"range");
            reply.bulk(b"spec");
            push_numbers(&[("lastkey", last), ("keystep", step), ("limit", 0)], reply);
        }
        FindKeys::Keyword(_) => {
            reply.bulk(b"range");
            reply.bulk(b"spec");
            push_numbers(&[("lastkey", 0), ("keystep", 1), ("limit", 0)], reply);
        }
        FindKeys::HalfBehind(_) => {
            reply.bulk(b"range");
            reply.bulk(b"spec");
            push_numbers(&[("lastkey", -1), ("keystep", 1), ("limit", 2)], reply);
        }
        FindKeys::Counted => {
            reply.bulk(b"keynum");
            reply.bulk(b"spec");
            push_numbers(&[("keynumidx", 0), ("firstkey", 1), ("keystep", 1)], reply);
        }
    }
}

/// What a request does with its keys where that depends on its options: those of SET and BITFIELD.
fn access_in(request: &Args, keys: &KeySpec) -> KeyAccess {
    let has = |word: &str| {
        let options = request.iter().skip(2);
        options
            .clone()
            .any(|option| option.eq_ignore_ascii_case(word.as_bytes()))
    };
    match &request[0].to_ascii_lowercase()[..] {
        b"set" if !has("get") => KeyAccess::OVERWRITE,
        b"bitfield" if !has("set") && !has("incrby") => KeyAccess::READ,
        _ => keys.access,
    }
}

fn push_access(keys: &KeySpec, reply: &mut ReplyBuf) {
    let mut names = keys.access.names.to_vec();
    if keys.is_variable {
        names.push("variable_flags");
    }
    reply.simple_set(&names);
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
            for argument in &arguments {
                argument.describe(reply);
            }
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
    reply.bulk_array(&names);
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
    for (_, position) in keys {
        reply.bulk(&request[position]);
    }
    Ok(())
}

/// `COMMAND GETKEYSANDFLAGS command [arg ...]`
pub fn getkeysandflags(_: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let (request, keys) = keys_of(args)?;
    reply.array(keys.len());
    for (spec, position) in keys {
        reply.array(2);
        reply.bulk(&request[position]);
        reply.simple_set(access_in(&request, spec).names);
    }
    Ok(())
}

/// Positions of keys, each with what the command does with it.
type FoundKeys = Vec<(&'static KeySpec, usize)>;

/// The request inside a COMMAND GETKEYS, and where its keys stand.
fn keys_of(args: &Args) -> Result<(Args, FoundKeys), CommandError> {
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
    if positions.is_empty() && !entry.spec.flags.has(Flag::NoMandatoryKeys) {
        return Err(CommandError::other(
            "ERR Invalid arguments specified for command",
        ));
    }
    Ok((request, positions))
}
