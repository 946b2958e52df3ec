//! HELP of every command that has subcommands.
//!
//! Owns the layout; the words are the table's.

use crate::command::{CommandError, Cx, find};
use crate::resp::{Args, ReplyBuf};

/// `<command> HELP`
pub fn help(_: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let entry = find(&args[0]).expect("the command was found before");
    let name = entry.spec.name.to_ascii_uppercase();
    let mut lines = vec![format!(
        "{name} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"
    )];
    for subcommand in &entry.subcommands {
        let spec = subcommand.spec;
        lines.push(
            format!("{} {}", spec.name.to_ascii_uppercase(), spec.syntax)
                .trim_end()
                .to_owned(),
        );
        lines.push(format!("    {}", spec.summary));
    }
    reply.simple_array(&lines);
    Ok(())
}
