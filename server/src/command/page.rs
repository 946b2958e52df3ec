//! The documentation's page of commands.
//!
//! Owns its layout; rows and words are the table's.

use std::fmt::Write;

use super::{CommandEntry, Group, commands};

const HEAD: &str = "\
# Commands

What the server speaks of Redis 7.2, with its replies and error texts. This page is generated from
the command table (`server/src/command/table/`). Anything else answers Redis's error for unknown
commands.

What differs from Redis because values lie on a device:

- A write is durable as `appendfsync` says, without `SAVE`. `SAVE` makes everything durable before
  it answers; `BGSAVE` and `BGREWRITEAOF` start that and answer at once. There is no dump file, and
  the log needs no rewriting. `LASTSAVE` tells the end of the last round of durability.
- `WAITAOF 1 0 timeout` waits until everything written before it is durable, at any level.
- With `appendfsync always` every reply waits until what it shows is durable, a read's too.
- `FLUSHALL`, `FLUSHDB` and `SWAPDB` take constant time, `SYNC` or `ASYNC`; space comes back in the
  background.
- `MEMORY USAGE` counts the entry in DRAM and the bytes of key and value, wherever they are.
- The slow log and the latency history count the waits for the device.
- `DEBUG SLEEP` lets only its own connection wait. `DEBUG RELOAD` is a round of durability.
- `CLIENT NO-TOUCH` and `NO-EVICT` are remembered and shown; nothing is evicted yet.
- `OBJECT FREQ` and `OBJECT IDLETIME` answer errors: the use of keys is not counted.
";

const GROUPS: [Group; 5] = [
    Group::String,
    Group::Bitmap,
    Group::Generic,
    Group::Connection,
    Group::Server,
];

/// `docs/commands.md`.
pub fn documentation_page() -> String {
    let mut out = String::from(HEAD);
    for group in GROUPS {
        let name = group.name();
        let title = format!("{}{}", name[..1].to_ascii_uppercase(), &name[1..]);
        push(&mut out, format_args!("\n## {title}\n\n"));
        out.push_str("| command | since | meaning | time |\n|---|---|---|---|\n");
        let mut entries: Vec<&CommandEntry> = commands()
            .iter()
            .filter(|entry| entry.spec.group == group)
            .collect();
        entries.sort_by_key(|entry| entry.spec.name);
        for entry in entries {
            // a container alone does nothing
            if entry.subcommands.is_empty() || entry.spec.arity == -1 {
                push_row(&mut out, entry);
            }
            for subcommand in &entry.subcommands {
                push_row(&mut out, subcommand);
            }
        }
    }
    out
}

fn push_row(out: &mut String, entry: &CommandEntry) {
    let spec = entry.spec;
    let name = entry.full_name.to_ascii_uppercase().replace('|', " ");
    let usage = format!("{name} {}", spec.syntax)
        .trim_end()
        .replace('|', "\\|");
    push(
        out,
        format_args!(
            "| `{usage}` | {} | {} | {} |\n",
            spec.since, spec.summary, spec.complexity
        ),
    );
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a string takes everything");
}
