//! The options that SET and GETEX share.
//!
//! Owns their grammar and which of them exclude each other.

use bytes::Bytes;

use super::deadline::TimeForm;
use super::string_value::integer;
use crate::command::CommandError;

/// What becomes of the key's expiry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lifetime<'a> {
    /// No option: SET removes the expiry, GETEX leaves it alone.
    Unsaid,
    /// KEEPTTL
    Keep,
    /// PERSIST
    Persist,
    /// EX, PX, EXAT, PXAT
    Until(TimeForm, &'a Bytes),
}

/// The options of one command.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StringOptions<'a> {
    /// NX
    pub(super) only_if_absent: bool,
    /// XX
    pub(super) only_if_present: bool,
    /// GET
    pub(super) answers_old: bool,
    pub(super) lifetime: Lifetime<'a>,
}

/// Which command the options belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grammar {
    Set,
    Getex,
}

impl Grammar {
    fn command(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Getex => "getex",
        }
    }

    /// Reads all options. An amount of time is only read by [`StringOptions::deadline`], which
    /// GETEX calls late, as Redis does.
    pub(super) fn parse(self, arguments: &[Bytes]) -> Result<StringOptions<'_>, CommandError> {
        let mut options = StringOptions {
            only_if_absent: false,
            only_if_present: false,
            answers_old: false,
            lifetime: Lifetime::Unsaid,
        };
        let mut rest = arguments.iter();
        while let Some(option) = rest.next() {
            if self == Self::Set && options.take_set_only(option) {
                continue;
            }
            let lifetime = self
                .parse_lifetime(option, &mut rest)
                .ok_or(CommandError::Syntax)?;
            if !options.lifetime.may_become(lifetime) {
                return Err(CommandError::Syntax);
            }
            options.lifetime = lifetime;
        }
        Ok(options)
    }

    fn parse_lifetime<'a>(
        self,
        option: &Bytes,
        rest: &mut std::slice::Iter<'a, Bytes>,
    ) -> Option<Lifetime<'a>> {
        let mut until = |form| Some(Lifetime::Until(form, rest.next()?));
        match (option.to_ascii_lowercase().as_slice(), self) {
            (b"keepttl", Self::Set) => Some(Lifetime::Keep),
            (b"persist", Self::Getex) => Some(Lifetime::Persist),
            (b"ex", _) => until(TimeForm::SECONDS),
            (b"px", _) => until(TimeForm::MILLISECONDS),
            (b"exat", _) => until(TimeForm::UNIX_SECONDS),
            (b"pxat", _) => until(TimeForm::UNIX_MILLISECONDS),
            _ => None,
        }
    }

    /// The deadline that a lifetime names.
    pub(super) fn deadline(
        self,
        lifetime: Lifetime<'_>,
        now_ms: u64,
    ) -> Result<Option<u64>, CommandError> {
        match lifetime {
            Lifetime::Unsaid | Lifetime::Keep | Lifetime::Persist => Ok(None),
            Lifetime::Until(form, amount) => {
                let deadline = form.positive_deadline(integer(amount)?, now_ms, self.command())?;
                Ok(Some(deadline))
            }
        }
    }
}

impl StringOptions<'_> {
    /// Takes NX, XX and GET; false for anything else, and for NX beside XX.
    fn take_set_only(&mut self, option: &[u8]) -> bool {
        if option.eq_ignore_ascii_case(b"nx") && !self.only_if_present {
            self.only_if_absent = true;
        } else if option.eq_ignore_ascii_case(b"xx") && !self.only_if_absent {
            self.only_if_present = true;
        } else if option.eq_ignore_ascii_case(b"get") {
            self.answers_old = true;
        } else {
            return false;
        }
        true
    }

    /// Whether the options let a write happen.
    pub(super) fn allow(&self, is_present: bool) -> bool {
        if is_present {
            !self.only_if_absent
        } else {
            !self.only_if_present
        }
    }
}

impl Lifetime<'_> {
    /// The same option may be repeated, and the last one counts; two different ones may not.
    fn may_become(self, next: Self) -> bool {
        match (self, next) {
            (Self::Unsaid, _) => true,
            (Self::Until(form, _), Self::Until(next, _)) => form == next,
            (Self::Keep | Self::Persist | Self::Until(..), _) => self == next,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Bytes> {
        text.split_whitespace()
            .map(|word| Bytes::copy_from_slice(word.as_bytes()))
            .collect()
    }

    fn accepts(grammar: Grammar, text: &str) {
        assert!(grammar.parse(&words(text)).is_ok(), "{text}");
    }

    fn refuses(grammar: Grammar, text: &str) {
        assert!(
            matches!(grammar.parse(&words(text)), Err(CommandError::Syntax)),
            "{text}"
        );
    }

    #[test]
    fn set_takes_every_order() {
        for text in [
            "",
            "nx",
            "XX",
            "get",
            "nx get",
            "GET xx px 5",
            "ex 1 NX",
            "keepttl",
            "nx nx",
        ] {
            accepts(Grammar::Set, text);
        }
        for text in [
            "ex 1 ex 2",
            "keepttl KEEPTTL",
            "exat 9",
            "pxat 9 get",
            "ex nx",
        ] {
            accepts(Grammar::Set, text);
        }
    }

    #[test]
    fn set_refuses_conflicts() {
        for text in [
            "nx xx",
            "xx nx",
            "ex",
            "ex 1 px 1",
            "ex 1 keepttl",
            "keepttl ex 1",
        ] {
            refuses(Grammar::Set, text);
        }
        for text in ["persist", "pxat 1 exat 1", "foo", "ex 1 2", "get px"] {
            refuses(Grammar::Set, text);
        }
    }

    #[test]
    fn getex_has_its_own_options() {
        for text in [
            "",
            "persist",
            "PERSIST persist",
            "ex 1",
            "px 1",
            "exat 1",
            "pxat 1",
        ] {
            accepts(Grammar::Getex, text);
        }
        for text in ["nx", "get", "keepttl", "persist ex 1", "ex 1 persist", "ex"] {
            refuses(Grammar::Getex, text);
        }
    }

    #[test]
    fn the_last_amount_counts() {
        let words = words("ex 1 ex 7");
        let options = Grammar::Set.parse(&words).unwrap();
        assert_eq!(
            Grammar::Set.deadline(options.lifetime, 1000).unwrap(),
            Some(8000)
        );
    }
}
