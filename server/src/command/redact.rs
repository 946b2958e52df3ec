//! What of a command may be shown to others: in the slow log and to MONITOR.
//!
//! Owns the list of arguments that are secret.

use std::borrow::Cow;

use bytes::Bytes;

use super::CommandEntry;
use crate::resp::Args;

const REDACTED: Bytes = Bytes::from_static(b"(redacted)");

/// The arguments with passwords left out.
pub fn visible_arguments<'a>(entry: &CommandEntry, args: &'a Args) -> Cow<'a, Args> {
    match entry.full_name.as_str() {
        "auth" => Cow::Owned(redact(args, |position| position > 0)),
        "hello" => {
            let auth = args
                .iter()
                .position(|argument| argument.eq_ignore_ascii_case(b"auth"));
            match auth {
                Some(auth) => Cow::Owned(redact(args, |position| {
                    (auth + 1..=auth + 2).contains(&position)
                })),
                None => Cow::Borrowed(args),
            }
        }
        "config|set" => Cow::Owned(redact(args, |position| {
            position > 2 && args[position - 1].eq_ignore_ascii_case(b"requirepass")
        })),
        _ => Cow::Borrowed(args),
    }
}

fn redact(args: &Args, is_secret: impl Fn(usize) -> bool) -> Args {
    let shown = |(position, argument): (usize, &Bytes)| {
        if is_secret(position) {
            REDACTED
        } else {
            argument.clone()
        }
    };
    args.iter().enumerate().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::CommandEntry;

    fn check(name: &str, request: &str, expected: &str) {
        let args: Args = request
            .split(' ')
            .map(|word| Bytes::from(word.to_owned()))
            .collect();
        let entry = CommandEntry {
            spec: crate::command::find(b"ping").unwrap().spec,
            id: 0,
            full_name: name.to_owned(),
            subcommands: Vec::new(),
        };
        let shown = visible_arguments(&entry, &args);
        let words: Vec<_> = shown
            .iter()
            .map(|word| String::from_utf8_lossy(word))
            .collect();
        assert_eq!(words.join(" "), expected);
    }

    #[test]
    fn hides_passwords() {
        check("auth", "auth u p", "auth (redacted) (redacted)");
        check(
            "hello",
            "hello 3 auth u p setname n",
            "hello 3 auth (redacted) (redacted) setname n",
        );
        check(
            "config|set",
            "config set timeout 1 requirepass x",
            "config set timeout 1 requirepass (redacted)",
        );
        check("get", "get k", "get k");
    }
}
