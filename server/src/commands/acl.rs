//! ACL, as far as one user goes: WHOAMI, CAT, USERS.
//!
//! Owns only what can be told of the user `default`.

use crate::command::{Acl, CommandEntry, CommandError, Cx, commands};
use crate::resp::{Args, ReplyBuf};

/// `ACL WHOAMI`
pub fn whoami(_: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    reply.bulk(b"default");
    Ok(())
}

/// `ACL USERS`
pub fn users(_: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    reply.array(1);
    reply.bulk(b"default");
    Ok(())
}

/// `ACL CAT [category]`
pub fn cat(_: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let names: Vec<&str> = match &args[2..] {
        [] => Acl::ALL.iter().map(|category| category.name()).collect(),
        [name] => {
            let found = Acl::ALL
                .into_iter()
                .find(|acl| name.eq_ignore_ascii_case(acl.name().as_bytes()));
            let category = found.ok_or_else(|| {
                let name = String::from_utf8_lossy(name);
                CommandError::other(format!("ERR Unknown category '{name}'"))
            })?;
            commands_in(category)
                .map(|entry| entry.full_name.as_str())
                .collect()
        }
        _ => return Err(CommandError::arity("acl|cat")),
    };
    reply.bulk_array(&names);
    Ok(())
}

fn commands_in(category: Acl) -> impl Iterator<Item = &'static CommandEntry> {
    commands()
        .iter()
        .flat_map(|entry| std::iter::once(entry).chain(&entry.subcommands))
        .filter(move |entry| entry.spec.acl.has(category))
}
