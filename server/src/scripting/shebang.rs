//! The first line of a script: `#!lua flags=no-writes,allow-oom`.
//!
//! Owns the names of the flags and the texts about them.

use super::functions::FunctionSpec;
use crate::command::CommandError;

/// What a script says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ScriptFlags {
    /// It has no first line with flags: what it may do is found out as it runs.
    pub(super) is_silent: bool,
    /// It does not write.
    pub(super) is_readonly: bool,
    /// It may run when memory is short.
    pub(super) may_run_oom: bool,
}

impl ScriptFlags {
    /// What a function says of itself.
    pub(super) fn of(function: &FunctionSpec) -> Self {
        let mut flags = Self::default();
        for name in &function.flags {
            flags.add(name.as_bytes());
        }
        flags
    }

    /// Adds a flag by its name; false where there is none.
    pub(super) fn add(&mut self, name: &[u8]) -> bool {
        match name {
            b"no-writes" => self.is_readonly = true,
            b"allow-oom" => self.may_run_oom = true,
            // there is no stale replica and no cluster to keep a script from
            b"allow-stale" | b"no-cluster" | b"allow-cross-slot-keys" => {}
            _ => return false,
        }
        true
    }
}

/// Splits a text into what its first line says and the Lua, which keeps that line's end: so lines
/// count as their author counts them.
pub(super) fn parse(text: &[u8]) -> Result<(ScriptFlags, usize), CommandError> {
    if !text.starts_with(b"#!") {
        let flags = ScriptFlags {
            is_silent: true,
            ..ScriptFlags::default()
        };
        return Ok((flags, 0));
    }
    let end = text.iter().position(|byte| *byte == b'\n');
    let end = end.ok_or_else(|| CommandError::other("ERR Invalid script shebang"))?;
    let mut words = text[2..end]
        .split(|byte| *byte == b' ' || *byte == b'\r')
        .filter(|word| !word.is_empty());
    let engine = words.next().unwrap_or_default();
    if engine != b"lua" {
        let engine = String::from_utf8_lossy(engine);
        return Err(CommandError::other(format!(
            "ERR Unexpected engine in script shebang: #!{engine}"
        )));
    }
    let mut flags = ScriptFlags::default();
    for word in words {
        let Some(names) = word.strip_prefix(b"flags=") else {
            let word = String::from_utf8_lossy(word);
            return Err(CommandError::other(format!(
                "ERR Unknown lua shebang option: {word}"
            )));
        };
        for name in names
            .split(|byte| *byte == b',')
            .filter(|name| !name.is_empty())
        {
            if !flags.add(name) {
                let name = String::from_utf8_lossy(name);
                return Err(CommandError::other(format!(
                    "ERR Unexpected flag in script shebang: {name}"
                )));
            }
        }
    }
    Ok((flags, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<(bool, bool, usize), &str>) {
        let found = parse(text.as_bytes());
        let found = found.map(|(flags, start)| (flags.is_readonly, flags.may_run_oom, start));
        let found = found.map_err(|error| error.to_string());
        assert_eq!(found, expected.map_err(str::to_owned), "{text}");
    }

    #[test]
    fn the_first_line_is_read_as_redis_reads_it() {
        check("return 1", Ok((false, false, 0)));
        check("#!lua\nreturn 1", Ok((false, false, 5)));
        check("#!lua flags=no-writes\nx", Ok((true, false, 21)));
        check("#!lua flags=allow-oom,no-writes \nx", Ok((true, true, 32)));
        check("#!lua", Err("ERR Invalid script shebang"));
        check(
            "#!js\nx",
            Err("ERR Unexpected engine in script shebang: #!js"),
        );
        check("#!lua a=b\nx", Err("ERR Unknown lua shebang option: a=b"));
        check(
            "#!lua flags=bad\nx",
            Err("ERR Unexpected flag in script shebang: bad"),
        );
    }
}
