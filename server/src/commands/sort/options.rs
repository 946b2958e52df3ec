//! The options of SORT.
//!
//! Owns their notation and the arithmetic of LIMIT.

use std::ops::Range;

use bytes::Bytes;

use super::Pattern;
use crate::command::CommandError;
use crate::commands::string_value::integer;

/// Which of the results are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limit {
    start: i64,
    count: i64,
}

impl Limit {
    /// The wanted ones of `len` results.
    pub(super) fn range(self, len: usize) -> Range<usize> {
        let start = usize::try_from(self.start.max(0)).map_or(len, |start| start.min(len));
        let end = usize::try_from(self.count).map_or(len, |count| {
            // a negative count stands for all
            start.saturating_add(count).min(len)
        });
        start..end
    }
}

/// What SORT is to do.
#[derive(Debug)]
pub(super) struct Options {
    /// Where weights come from, if not from the elements.
    pub(super) by: Option<Pattern>,
    /// False: the value's own order is kept, because BY names no key.
    pub(super) is_sorted: bool,
    /// Which results are wanted.
    pub(super) limit: Limit,
    /// What is answered for an element, if not itself.
    pub(super) get: Vec<Pattern>,
    /// From the largest on.
    pub(super) is_descending: bool,
    /// By bytes, not by numbers.
    pub(super) is_alpha: bool,
    /// Where the results go.
    pub(super) destination: Option<Bytes>,
}

impl Options {
    /// Whether it reads keys that it does not name.
    pub(super) fn reads_other_keys(&self) -> bool {
        self.by.is_some() || self.get.iter().any(|pattern| !pattern.is_element())
    }
}

/// Reads the options; `may_store` says whether STORE is one.
pub(super) fn parse(words: &[Bytes], may_store: bool) -> Result<Options, CommandError> {
    let mut options = Options {
        by: None,
        is_sorted: true,
        limit: Limit {
            start: 0,
            count: -1,
        },
        get: Vec::new(),
        is_descending: false,
        is_alpha: false,
        destination: None,
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut argument = || words.next().ok_or(CommandError::Syntax);
        match word.to_ascii_lowercase().as_slice() {
            b"asc" => options.is_descending = false,
            b"desc" => options.is_descending = true,
            b"alpha" => options.is_alpha = true,
            b"limit" => {
                let (start, count) = (argument()?, argument()?);
                options.limit = Limit {
                    start: integer(start)?,
                    count: integer(count)?,
                };
            }
            b"store" if may_store => options.destination = Some(argument()?.clone()),
            b"by" => {
                let pattern = argument()?;
                options.by = Some(Pattern::new(pattern));
                // once given a constant, it stays unsorted, whatever comes behind it
                options.is_sorted &= pattern.contains(&b'*');
            }
            b"get" => options.get.push(Pattern::new(argument()?)),
            _ => return Err(CommandError::Syntax),
        }
    }
    if !options.is_sorted {
        options.by = None;
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(start: i64, count: i64, len: usize, expected: Range<usize>) {
        assert_eq!(
            Limit { start, count }.range(len),
            expected,
            "{start} {count} {len}"
        );
    }

    #[test]
    fn limits_are_clipped() {
        check(0, -1, 5, 0..5);
        check(1, 2, 5, 1..3);
        check(-3, 2, 5, 0..2);
        check(3, 9, 5, 3..5);
        check(7, 9, 5, 5..5);
        check(2, 0, 5, 2..2);
        check(i64::MAX, i64::MAX, 5, 5..5);
        check(0, i64::MIN, 0, 0..0);
    }

    fn options(line: &str) -> Result<Options, CommandError> {
        let words: Vec<Bytes> = line
            .split(' ')
            .map(|word| Bytes::from(word.to_owned()))
            .collect();
        parse(&words, true)
    }

    #[test]
    fn options_are_read() {
        let found = options("by w_* limit 1 2 get # get o_*->f desc alpha store d").unwrap();
        assert!(found.is_sorted && found.is_descending && found.is_alpha);
        assert!(found.by.is_some() && found.get.len() == 2 && found.reads_other_keys());
        assert_eq!(found.destination.as_deref(), Some(b"d".as_slice()));
        assert!(!options("get #").unwrap().reads_other_keys());
        let constant = options("by nosort").unwrap();
        assert!(!constant.is_sorted && !constant.reads_other_keys());
        for wrong in ["foo", "by", "limit 1", "get", "store"] {
            assert!(
                matches!(options(wrong), Err(CommandError::Syntax)),
                "{wrong}"
            );
        }
        assert!(matches!(
            options("limit x 1"),
            Err(CommandError::NotInteger)
        ));
    }
}
