//! The options of CLIENT TRACKING.
//!
//! Owns which of them go together, with Redis's complaints.

use bytes::Bytes;

use crate::command::CommandError;
use crate::number::parse_i64;

/// Which keys a client is told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Those that it has read.
    #[default]
    Default,
    /// Those that it reads right after CLIENT CACHING YES.
    OptIn,
    /// Those that it reads, but not right after CLIENT CACHING NO.
    OptOut,
    /// All, or all with some prefixes.
    Broadcast,
}

/// How a client tracks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrackingOptions {
    /// Which keys it is told of.
    pub mode: Mode,
    /// The client that is told in its place, 0 for itself.
    pub redirect: u64,
    /// Whether it hears nothing of its own writes.
    pub no_loop: bool,
    /// The prefixes of the broadcasting mode; never empty there.
    pub prefixes: Vec<Bytes>,
}

/// The words after CLIENT TRACKING ON | OFF.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a word of the command"
)]
pub struct TrackingWords {
    redirect: u64,
    broadcast: bool,
    opt_in: bool,
    opt_out: bool,
    no_loop: bool,
    prefixes: Vec<Bytes>,
}

impl TrackingWords {
    /// Reads them. `exists` says whether there is a client with an id.
    pub fn parse(words: &[Bytes], exists: impl Fn(u64) -> bool) -> Result<Self, CommandError> {
        let mut read = Self::default();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            match word.to_ascii_lowercase().as_slice() {
                b"redirect" => {
                    let id = rest.next().ok_or(CommandError::Syntax)?;
                    read.redirect = parse_redirect(id, read.redirect, &exists)?;
                }
                b"bcast" => read.broadcast = true,
                b"optin" => read.opt_in = true,
                b"optout" => read.opt_out = true,
                b"noloop" => read.no_loop = true,
                b"prefix" => {
                    let prefix = rest.next().ok_or(CommandError::Syntax)?;
                    // a copy: a slice would keep the whole read buffer in memory
                    read.prefixes.push(Bytes::copy_from_slice(prefix));
                }
                _ => return Err(CommandError::Syntax),
            }
        }
        Ok(read)
    }

    /// What they ask for, if they go together and with how the client tracks so far, whose
    /// prefixes stay.
    pub fn resolve(
        self,
        present: Option<&TrackingOptions>,
    ) -> Result<TrackingOptions, CommandError> {
        let present_mode = present.map(|present| present.mode);
        let was_broadcast = present_mode.map(|mode| mode == Mode::Broadcast);
        if !self.broadcast && !self.prefixes.is_empty() {
            let text = "ERR PREFIX option requires BCAST mode to be enabled";
            return Err(CommandError::other(text));
        }
        if was_broadcast.is_some_and(|was| was != self.broadcast) {
            return Err(CommandError::other(OTHER_BROADCAST));
        }
        if self.broadcast && (self.opt_in || self.opt_out) {
            let text = "ERR OPTIN and OPTOUT are not compatible with BCAST";
            return Err(CommandError::other(text));
        }
        if self.opt_in && self.opt_out {
            let text = "ERR You can't specify both OPTIN mode and OPTOUT mode";
            return Err(CommandError::other(text));
        }
        let is_switch = (self.opt_in && present_mode == Some(Mode::OptOut))
            || (self.opt_out && present_mode == Some(Mode::OptIn));
        if is_switch {
            return Err(CommandError::other(OTHER_CHOICE));
        }
        let (redirect, no_loop) = (self.redirect, self.no_loop);
        let mode = match (self.broadcast, self.opt_in, self.opt_out) {
            (true, ..) => Mode::Broadcast,
            (_, true, _) => Mode::OptIn,
            (.., true) => Mode::OptOut,
            _ => Mode::Default,
        };
        let known = present.map_or(&[][..], |present| &present.prefixes);
        let prefixes = if self.broadcast {
            add_prefixes(known, self.prefixes)?
        } else {
            Vec::new()
        };
        Ok(TrackingOptions {
            mode,
            redirect,
            no_loop,
            prefixes,
        })
    }
}

fn parse_redirect(
    text: &[u8],
    present: u64,
    exists: impl Fn(u64) -> bool,
) -> Result<u64, CommandError> {
    if present != 0 {
        let text = "ERR A client can only redirect to a single other client";
        return Err(CommandError::other(text));
    }
    let id = parse_i64(text).ok_or(CommandError::NotInteger)?;
    u64::try_from(id)
        .ok()
        .filter(|id| exists(*id))
        .ok_or_else(|| CommandError::other("ERR The client ID you want redirect to does not exist"))
}

/// The known prefixes and the new ones in order; none at all is the empty one.
fn add_prefixes(known: &[Bytes], mut new: Vec<Bytes>) -> Result<Vec<Bytes>, CommandError> {
    check_overlap(known, &new)?;
    if new.is_empty() {
        new.push(Bytes::new());
    }
    new.retain(|prefix| !known.contains(prefix));
    new.extend_from_slice(known);
    new.sort_unstable();
    Ok(new)
}

fn check_overlap(known: &[Bytes], prefixes: &[Bytes]) -> Result<(), CommandError> {
    let shown = |prefix: &Bytes| String::from_utf8_lossy(prefix).into_owned();
    for (index, prefix) in prefixes.iter().enumerate() {
        if let Some(other) = known.iter().find(|other| overlap(prefix, other)) {
            return Err(CommandError::other(format!(
                "ERR Prefix '{}' overlaps with an existing prefix '{}'. Prefixes for a single \
                 client must not overlap.",
                shown(prefix),
                shown(other)
            )));
        }
        let mut later = prefixes[index + 1..].iter();
        if let Some(other) = later.find(|other| overlap(prefix, other)) {
            return Err(CommandError::other(format!(
                "ERR Prefix '{}' overlaps with another provided prefix '{}'. Prefixes for a \
                 single client must not overlap.",
                shown(prefix),
                shown(other)
            )));
        }
    }
    Ok(())
}

fn overlap(one: &[u8], other: &[u8]) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

const OTHER_BROADCAST: &str = "ERR You can't switch BCAST mode on/off before disabling tracking \
                               for this client, and then re-enabling it with a different mode.";
const OTHER_CHOICE: &str = "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for \
                            this client, and then re-enabling it with a different mode.";

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(present: Option<&TrackingOptions>, words: &str) -> Result<TrackingOptions, String> {
        let words: Vec<Bytes> = words
            .split_whitespace()
            .map(|word| Bytes::from(word.to_owned()))
            .collect();
        TrackingWords::parse(&words, |id| id == 7)
            .and_then(|words| words.resolve(present))
            .map_err(|error| error.to_string())
    }

    fn check(present: Option<&str>, words: &str, expected: &str) {
        let present = present.map(|words| resolve(None, words).unwrap());
        let shown = match resolve(present.as_ref(), words) {
            Ok(options) => format!("{options:?}"),
            Err(error) => error,
        };
        assert!(shown.contains(expected), "{words}: {shown}");
    }

    #[test]
    fn modes_are_not_switched() {
        check(None, "bcast", "Broadcast");
        check(Some("bcast"), "", "BCAST mode on/off");
        check(Some(""), "bcast", "BCAST mode on/off");
        check(Some("optin"), "optout", "switch OPTIN/OPTOUT");
        check(Some("optin"), "", "Default");
        check(None, "optin optout", "specify both");
        check(None, "bcast optin", "not compatible with BCAST");
        check(
            None,
            "noloop OPTOUT",
            "mode: OptOut, redirect: 0, no_loop: true",
        );
    }

    #[test]
    fn prefixes_of_one_client_do_not_overlap() {
        let two = "bcast prefix a prefix b";
        let all = r#"prefixes: [b"a", b"b", b"c"]"#;
        check(Some(two), "bcast prefix c", all);
        let existing = "Prefix 'ax' overlaps with an existing prefix 'a'";
        check(Some(two), "bcast prefix ax", existing);
        let provided = "Prefix 'a' overlaps with another provided prefix 'ab'";
        check(None, "bcast prefix a prefix ab", provided);
        check(None, "prefix a", "requires BCAST");
    }

    #[test]
    fn a_redirection_needs_a_client() {
        check(None, "redirect 7", "redirect: 7");
        check(None, "redirect 7 redirect 7", "single other client");
        check(None, "redirect 8", "does not exist");
        check(None, "redirect x", "not an integer");
        check(None, "redirect", "syntax error");
    }
}
