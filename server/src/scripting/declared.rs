//! What a script or function says beforehand of what it will do.
//!
//! Owns what that makes of its command's flags. Must never run anything.

use super::shebang::{self, ScriptFlags};
use super::{Scripts, Sha1};
use crate::command::{CommandEntry, Flag, Flags, Group};
use crate::resp::Args;

/// The flags of a command; of one that runs a script or function, those that this one declares, if
/// it declares any.
pub(crate) fn flags_of(scripts: &Scripts, entry: &CommandEntry, args: &Args) -> Flags {
    let flags = entry.spec.flags;
    if entry.spec.group != Group::Scripting {
        return flags;
    }
    let declared = match entry.spec.name {
        "eval" | "eval_ro" => of_text(&args[1]),
        "evalsha" | "evalsha_ro" => Sha1::parse(&args[1])
            .and_then(|name| scripts.sources.find(name))
            .and_then(|text| of_text(&text)),
        "fcall" | "fcall_ro" => of_function(scripts, &args[1]),
        _ => None,
    };
    match declared {
        None => flags,
        Some(declared) => applied(flags, declared),
    }
}

fn of_text(text: &[u8]) -> Option<ScriptFlags> {
    let (declared, _) = shebang::parse(text).ok()?;
    (!declared.is_silent).then_some(declared)
}

fn of_function(scripts: &Scripts, name: &[u8]) -> Option<ScriptFlags> {
    let catalog = scripts.functions.catalog();
    let (_, spec) = catalog.find(&String::from_utf8_lossy(name))?;
    Some(ScriptFlags::of(spec))
}

fn applied(flags: Flags, declared: ScriptFlags) -> Flags {
    let flags = flags.without(Flag::MayReplicate);
    if declared.is_readonly {
        return flags;
    }
    let flags = flags.with(Flags::of(&[Flag::Write]));
    if declared.may_run_oom {
        flags
    } else {
        flags.with(Flags::of(&[Flag::DenyOom]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::resolve;

    /// Whether a request may write, and whether that is known for certain.
    fn check(words: &[&str], expected: (bool, bool)) {
        let args: Args = words.iter().map(|word| (*word).to_owned()).collect();
        let flags = flags_of(&Scripts::default(), resolve(&args).unwrap(), &args);
        let found = (flags.has(Flag::Write), flags.has(Flag::MayReplicate));
        assert_eq!(found, expected, "{words:?}");
    }

    #[test]
    fn what_a_script_declares_counts() {
        check(&["eval", "return 1", "0"], (false, true));
        check(&["eval_ro", "return 1", "0"], (false, false));
        check(&["eval", "#!lua\nreturn 1", "0"], (true, false));
        check(
            &["eval", "#!lua flags=no-writes\nreturn 1", "0"],
            (false, false),
        );
        check(&["fcall", "unknown", "0"], (false, true));
        check(&["set", "k", "v"], (true, false));
    }
}
