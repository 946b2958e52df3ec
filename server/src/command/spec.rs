//! One row of the command table.
//!
//! Owns the row's shape and its const builder, so that a row states only what is not usual.

use super::{Acl, AclSet, FindKeys, Flag, Flags, Handler, KeySpec};

/// The group of commands that COMMAND DOCS and the documentation sort by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Bitmaps.
    Bitmap,
    /// A cluster of servers.
    Cluster,
    /// The connection itself.
    Connection,
    /// Keys whatever their type.
    Generic,
    /// Hashes.
    Hash,
    /// HyperLogLogs.
    HyperLogLog,
    /// Lists.
    List,
    /// Publish and subscribe.
    Pubsub,
    /// Scripts and functions.
    Scripting,
    /// The server.
    Server,
    /// Sets.
    Set,
    /// Places.
    Geo,
    /// Sorted sets.
    SortedSet,
    /// Streams.
    Stream,
    /// Strings.
    String,
    /// Transactions.
    Transactions,
}

impl Group {
    /// The name that COMMAND DOCS prints.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bitmap => "bitmap",
            Self::Cluster => "cluster",
            Self::Connection => "connection",
            Self::Generic => "generic",
            Self::Hash => "hash",
            Self::HyperLogLog => "hyperloglog",
            Self::List => "list",
            Self::Pubsub => "pubsub",
            Self::Scripting => "scripting",
            Self::Server => "server",
            Self::Set => "set",
            Self::Geo => "geo",
            Self::SortedSet => "sorted-set",
            Self::Stream => "stream",
            Self::String => "string",
            Self::Transactions => "transactions",
        }
    }
}

/// One command or subcommand.
pub struct CommandSpec {
    /// Its name in lower case; a subcommand's own name only.
    pub name: &'static str,
    /// Redis's arity: the number of arguments with the name, negative for "at least".
    pub arity: i32,
    /// Its code.
    pub handler: Handler,
    /// Its properties.
    pub flags: Flags,
    /// Its ACL categories, those that its flags imply included.
    pub acl: AclSet,
    /// Its keys.
    pub keys: &'static [KeySpec],
    /// Its group.
    pub group: Group,
    /// Redis's version that had it first.
    pub since: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Its time complexity.
    pub complexity: &'static str,
    /// Its arguments in the notation of Redis's command pages, the name left out.
    pub syntax: &'static str,
    /// Hints for clients, as COMMAND INFO prints them.
    pub tips: &'static [&'static str],
    /// Its subcommands.
    pub subcommands: &'static [CommandSpec],
}

impl CommandSpec {
    /// A command without keys, flags and documentation.
    pub const fn new(name: &'static str, arity: i32, group: Group, handler: Handler) -> Self {
        Self {
            name,
            arity,
            handler,
            flags: Flags::of(&[]),
            acl: AclSet::of(&[]).with_implied(Flags::of(&[])),
            keys: &[],
            group,
            since: "1.0.0",
            summary: "",
            complexity: "O(1)",
            syntax: "",
            tips: &[],
            subcommands: &[],
        }
    }

    /// Its subcommands, beside what it does without one.
    #[must_use]
    pub const fn subcommands(mut self, rows: &'static [Self]) -> Self {
        self.subcommands = rows;
        self
    }

    /// A command that only has subcommands.
    pub const fn container(name: &'static str, group: Group, rows: &'static [Self]) -> Self {
        let mut spec = Self::new(name, -2, group, Handler::Subcommands);
        spec.subcommands = rows;
        spec
    }

    /// Its properties and the ACL categories beyond those that the properties imply.
    #[must_use]
    pub const fn flags(mut self, flags: &[Flag], acl: &[Acl]) -> Self {
        self.flags = Flags::of(flags);
        self.acl = AclSet::of(acl).with_implied(self.flags);
        self
    }

    /// Its keys.
    #[must_use]
    pub const fn keys(mut self, keys: &'static [KeySpec]) -> Self {
        self.keys = keys;
        self
    }

    /// Its arguments in the notation of Redis's command pages, such as `key value [NX | XX]`.
    #[must_use]
    pub const fn syntax(mut self, syntax: &'static str) -> Self {
        self.syntax = syntax;
        self
    }

    /// Its documentation: since which version of Redis, what it does, time complexity.
    #[must_use]
    pub const fn doc(
        mut self,
        since: &'static str,
        summary: &'static str,
        complexity: &'static str,
    ) -> Self {
        self.since = since;
        self.summary = summary;
        self.complexity = complexity;
        self
    }

    /// Hints for clients.
    #[must_use]
    pub const fn tips(mut self, tips: &'static [&'static str]) -> Self {
        self.tips = tips;
        self
    }

    /// First key, last key and step as Redis told keys before it had key specifications: the
    /// smallest range around all of them, zeros where there is none.
    pub fn key_range(&self) -> (isize, isize, isize) {
        let mut range: Option<(isize, isize, isize)> = None;
        for keys in self.keys {
            // other kinds of keys are not told in this way
            let FindKeys::Range { last, step } = keys.find else {
                continue;
            };
            let last = if last < 0 { last } else { keys.first + last };
            range = Some(match range {
                None => (keys.first, last, step),
                Some((first, before, _)) if before < 0 || last < 0 => {
                    (first.min(keys.first), before.min(last), 1)
                }
                Some((first, before, _)) => (first.min(keys.first), before.max(last), 1),
            });
        }
        range.unwrap_or((0, 0, 0))
    }

    /// Whether a request of `count` arguments (the name included) fits.
    pub const fn accepts(&self, count: usize) -> bool {
        if self.arity >= 0 {
            count == self.arity.unsigned_abs() as usize
        } else {
            count >= self.arity.unsigned_abs() as usize
        }
    }
}
