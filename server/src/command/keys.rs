//! Where a command's keys stand among its arguments, and what it does with them.
//!
//! Owns the key specifications of COMMAND INFO and how keys are found by them.

/// What a command does with the keys of one specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyAccess {
    /// `RO`, `RW`, `OW` (overwrites) or `RM` (removes) and, after it, what of `access`, `update`,
    /// `insert`, `delete` and so on COMMAND INFO prints.
    pub names: &'static [&'static str],
}

impl KeyAccess {
    /// Reads the value and answers it.
    pub const READ: Self = Self {
        names: &["RO", "access"],
    };
    /// Reads only what is about the key: existence, type, length.
    pub const LOOK: Self = Self { names: &["RO"] };
    /// Reads and writes the value and answers of it.
    pub const READ_WRITE: Self = Self {
        names: &["RW", "access", "update"],
    };
    /// Changes the value without answering the old one.
    pub const UPDATE: Self = Self {
        names: &["RW", "update"],
    };
    /// Overwrites the value.
    pub const OVERWRITE: Self = Self {
        names: &["OW", "update"],
    };
    /// Writes a value where none was.
    pub const INSERT: Self = Self {
        names: &["OW", "insert"],
    };
    /// Removes the key.
    pub const REMOVE: Self = Self {
        names: &["RM", "delete"],
    };
    /// Removes a part of the value.
    pub const REMOVE_PART: Self = Self {
        names: &["RW", "delete"],
    };
    /// Removes the key and answers its value.
    pub const READ_REMOVE: Self = Self {
        names: &["RW", "access", "delete"],
    };
}

/// How keys follow from where they begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindKeys {
    /// From the first to `last` (relative to the first where it is not negative, else counted from
    /// the command's end, -1 being its last argument), every `step`th.
    Range {
        /// The last key.
        last: isize,
        /// Distance between keys.
        step: isize,
    },
    /// A count of keys stands where they begin, the keys follow it.
    Counted,
    /// One key behind the last of this word, which may stand anywhere from where they may begin.
    Keyword(&'static str),
    /// Behind this word, the first half of all arguments that follow it.
    HalfBehind(&'static str),
}

/// The keys of one kind among a command's arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeySpec {
    /// What the command does with them.
    pub access: KeyAccess,
    /// The argument at which they begin (the command's name is argument 0).
    pub first: isize,
    /// How they follow from there.
    pub find: FindKeys,
    /// Set where these keys depend on options, as SET's access does on GET.
    pub is_variable: bool,
}

impl KeySpec {
    /// One key, the first argument.
    pub const fn one(access: KeyAccess) -> Self {
        Self::at(1, access)
    }

    /// One key, argument number `first`.
    pub const fn at(first: isize, access: KeyAccess) -> Self {
        Self::range(first, 0, 1, access)
    }

    /// All arguments are keys.
    pub const fn all(access: KeyAccess) -> Self {
        Self::range(1, -1, 1, access)
    }

    /// Every `step`th argument from `first` to `last`: relative to `first` where it is not
    /// negative, else counted from the command's end.
    pub const fn range(first: isize, last: isize, step: isize, access: KeyAccess) -> Self {
        Self {
            access,
            first,
            find: FindKeys::Range { last, step },
            is_variable: false,
        }
    }

    /// As many keys as argument number `first` says, behind it.
    pub const fn counted(first: isize, access: KeyAccess) -> Self {
        Self {
            access,
            first,
            find: FindKeys::Counted,
            is_variable: false,
        }
    }

    /// The key behind `word`, which is argument number `first` or a later one if it is there.
    pub const fn keyword(word: &'static str, first: isize, access: KeyAccess) -> Self {
        Self {
            access,
            first,
            find: FindKeys::Keyword(word),
            is_variable: false,
        }
    }

    /// The first half of the arguments behind `word`, which is argument number `first` or a later
    /// one.
    pub const fn half_behind(word: &'static str, first: isize, access: KeyAccess) -> Self {
        Self {
            access,
            first,
            find: FindKeys::HalfBehind(word),
            is_variable: false,
        }
    }

    /// The same keys, whose access depends on options.
    #[must_use]
    pub const fn variable(self) -> Self {
        Self {
            is_variable: true,
            ..self
        }
    }

    /// The position behind each `word`, argument number `first` or a later one.
    fn behind<T: AsRef<[u8]>>(
        &self,
        word: &str,
        arguments: &[T],
    ) -> impl DoubleEndedIterator<Item = isize> {
        let places = arguments.iter().enumerate();
        places
            .skip(self.first.cast_unsigned())
            .filter(move |(_, argument)| argument.as_ref().eq_ignore_ascii_case(word.as_bytes()))
            .map(|(at, _)| at.cast_signed() + 1)
    }

    /// The positions of the keys in a request of `arguments`; positions beyond its end are left
    /// out.
    pub fn positions<T: AsRef<[u8]>>(&self, arguments: &[T]) -> KeyPositions {
        let count = arguments.len().cast_signed();
        let (first, last, step) = match self.find {
            FindKeys::Range { last, step } if last < 0 => (self.first, count + last, step),
            FindKeys::Range { last, step } => (self.first, self.first + last, step),
            FindKeys::Counted => {
                let keys = arguments
                    .get(self.first.cast_unsigned())
                    .and_then(|count| std::str::from_utf8(count.as_ref()).ok())
                    .and_then(|count| count.parse::<isize>().ok())
                    .unwrap_or(0);
                (self.first + 1, self.first.saturating_add(keys), 1)
            }
            FindKeys::Keyword(word) => {
                let key = self.behind(word, arguments).next_back().unwrap_or(count);
                (key, key, 1)
            }
            FindKeys::HalfBehind(word) => {
                let first = self.behind(word, arguments).next().unwrap_or(count);
                let keys = (count - first) / 2;
                (first, first + keys - 1, 1)
            }
        };
        KeyPositions {
            next: first,
            last: last.min(count - 1),
            step,
        }
    }
}

/// Positions of keys among arguments, rising.
#[derive(Debug, Clone)]
pub struct KeyPositions {
    next: isize,
    last: isize,
    step: isize,
}

impl Iterator for KeyPositions {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.next > self.last {
            return None;
        }
        let position = self.next;
        self.next += self.step;
        Some(position.cast_unsigned())
    }
}
