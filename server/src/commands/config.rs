//! CONFIG: options while the server runs.
//!
//! Owns the order in which a change is checked, taken over and applied: all or nothing.

use std::collections::BTreeSet;
use std::path::Path;

use bytes::Bytes;

use crate::command::{CommandError, Cx, Pending};
use crate::config::{
    Change, Config, Invalid, OPTIONS, OptionSpec, remembered, rewrite as rewrite_text,
};
use crate::keyspace::is_match;
use crate::resp::{Args, ReplyBuf};
use crate::seat::{level, policy};
use crate::shared::Shared;

/// A parameter that CONFIG knows.
#[derive(Clone, Copy)]
enum Known {
    Option(&'static OptionSpec),
    Remembered(&'static remembered::Parameter),
}

impl Known {
    fn find(name: &str) -> Option<Self> {
        let option = OPTIONS
            .iter()
            .find(|option| option.name == name)
            .map(Self::Option);
        option.or_else(|| {
            let is_named = |parameter: &&remembered::Parameter| {
                parameter.name == name || parameter.alias == Some(name)
            };
            remembered::PARAMETERS
                .iter()
                .find(is_named)
                .map(Self::Remembered)
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Option(option) => option.name,
            Self::Remembered(parameter) => parameter.name,
        }
    }
}

/// `CONFIG GET parameter [parameter ...]`
pub fn get(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let patterns: Vec<Vec<u8>> = args[2..]
        .iter()
        .map(|arg| arg.to_ascii_lowercase())
        .collect();
    let is_wanted = |name: &str| {
        patterns
            .iter()
            .any(|pattern| is_match(pattern, name.as_bytes()))
    };
    let mut found: Vec<(&str, String)> = Vec::new();
    for option in OPTIONS.iter().filter(|option| is_wanted(option.name)) {
        found.push((option.name, option_text(cx, option)));
    }
    for parameter in remembered::PARAMETERS {
        for name in [Some(parameter.name), parameter.alias]
            .into_iter()
            .flatten()
        {
            let is_named = || patterns.iter().any(|pattern| pattern == name.as_bytes());
            if is_wanted(name) && (!parameter.is_hidden || is_named()) {
                let value = cx.shared.config.remembered(parameter.name);
                found.push((name, value.unwrap_or_else(|| parameter.default.to_owned())));
            }
        }
    }
    reply.map(found.len());
    for (name, value) in found {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    }
    Ok(())
}

fn option_text(cx: &Cx, option: &OptionSpec) -> String {
    let text = cx.shared.config.read(|config| (option.get)(config).text());
    if option.name != "dir" {
        return text;
    }
    // Redis answers the directory as the system sees it
    std::path::absolute(&text).map_or(text, |path| path.display().to_string())
}

/// `CONFIG SET parameter value [parameter value ...]`
pub fn set(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let (pairs, rest) = args[2..].as_chunks::<2>();
    if !rest.is_empty() {
        return Err(CommandError::arity("config|set"));
    }
    let mut changed = cx.shared.config.read(Config::clone);
    let mut to_remember = Vec::new();
    let mut names = BTreeSet::new();
    for [name, value] in pairs {
        let known = know(name)?;
        if !names.insert(known.name()) {
            return Err(refused(known.name(), "duplicate parameter"));
        }
        take(known, value, &mut changed, &mut to_remember)?;
    }
    if let Err(Invalid { key, complaint }) = changed.validate_change() {
        return Err(refused(key, &complaint));
    }
    apply(&cx.shared, &changed);
    cx.shared.config.replace(changed, to_remember);
    let keys_max = cx.shared.config.fast.tracked_keys_max();
    let mut delivery = cx.delivery();
    cx.shared.tracking.shrink(keys_max, None, &mut delivery);
    reply.ok();
    Ok(())
}

fn know(name: &Bytes) -> Result<Known, CommandError> {
    let lower = String::from_utf8_lossy(name).to_ascii_lowercase();
    Known::find(&lower).ok_or_else(|| {
        let name = String::from_utf8_lossy(name);
        let text = format!("ERR Unknown option or number of arguments for CONFIG SET - '{name}'");
        CommandError::other(text)
    })
}

fn take(
    known: Known,
    value: &Bytes,
    config: &mut Config,
    to_remember: &mut Vec<(&'static str, String)>,
) -> Result<(), CommandError> {
    let Ok(text) = std::str::from_utf8(value) else {
        return Err(refused(known.name(), "argument is not text"));
    };
    let outcome = match known {
        Known::Option(option) if option.change == Change::Fixed => {
            // to say what holds already is no change
            let is_same = (option.get)(config).text() == text;
            is_same
                .then_some(())
                .ok_or_else(|| "can't set immutable config".into())
        }
        Known::Option(option) => (option.get_mut)(config).set(text),
        Known::Remembered(parameter) => parameter
            .normalize(text)
            .map(|value| to_remember.push((parameter.name, value))),
    };
    outcome.map_err(|complaint| refused(known.name(), &complaint))
}

fn refused(name: &str, complaint: &str) -> CommandError {
    CommandError::other(format!(
        "ERR CONFIG SET failed (possibly related to argument '{name}') - {complaint}"
    ))
}

/// Tells the parts that keep a copy of their own.
fn apply(shared: &Shared, config: &Config) {
    shared.set_log_level(config.log.loglevel);
    if let Some(store) = shared.store() {
        store.set_appendfsync(level(config.storage.appendfsync));
        store.set_memory_bytes_max(config.memory.maxmemory.get());
        store.set_eviction_policy(policy(config.memory.maxmemory_policy));
    }
}

/// `CONFIG RESETSTAT`
pub fn resetstat(cx: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    cx.shared.reset_stats();
    reply.ok();
    Ok(())
}

/// `CONFIG REWRITE`
pub fn rewrite(cx: Cx, _: Args) -> Pending {
    Box::pin(async move {
        let Some(path) = cx.shared.config.path() else {
            let text = "ERR The server is running without a config file";
            return Err(CommandError::other(text));
        };
        let config = cx.shared.config.read(Config::clone);
        // a file system may be slow: not on a worker
        let rewritten = tokio::task::spawn_blocking(move || rewrite_file(&path, &config)).await;
        let outcome = rewritten.unwrap_or_else(|cause| Err(cause.to_string()));
        outcome.map_err(|complaint| {
            CommandError::other(format!("ERR Rewriting config file: {complaint}"))
        })?;
        let mut reply = cx.reply();
        reply.ok();
        Ok(reply)
    })
}

/// Replaces the file in one step, so that a crash leaves the old one or the new one.
fn rewrite_file(path: &Path, config: &Config) -> Result<(), String> {
    if let Err(Invalid { key, complaint }) = config.validate() {
        return Err(format!("'{key}': {complaint}"));
    }
    let text = std::fs::read_to_string(path).map_err(|cause| cause.to_string())?;
    let text = rewrite_text(&text, config).map_err(|error| error.to_string())?;
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let name = path
        .file_name()
        .ok_or("the path names no file")?
        .to_string_lossy();
    let temporary = directory
        .unwrap_or(Path::new("."))
        .join(format!(".{name}.new"));
    write_durably(&temporary, &text)
        .and_then(|()| std::fs::rename(&temporary, path))
        .map_err(|cause| cause.to_string())
}

fn write_durably(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    let mut file = std::fs::File::create(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
