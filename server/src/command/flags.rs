//! What the table says about a command beside its name: flags and ACL categories.
//!
//! Owns their names as COMMAND INFO and ACL CAT print them.

/// A property of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Flag {
    /// Changes data.
    Write,
    /// Reads data.
    Readonly,
    /// Refused when memory or space is short.
    DenyOom,
    /// For administrators.
    Admin,
    /// Publish and subscribe.
    Pubsub,
    /// Not for scripts.
    Noscript,
    /// May block the client.
    Blocking,
    /// Runs while the store recovers.
    Loading,
    /// Runs on a stale replica.
    Stale,
    /// Not shown to MONITOR.
    SkipMonitor,
    /// Not kept in the slow log.
    SkipSlowlog,
    /// Takes constant or logarithmic time.
    Fast,
    /// Runs before authentication.
    NoAuth,
    /// May replicate although it does not write.
    MayReplicate,
    /// May be given no key although it takes keys.
    NoMandatoryKeys,
    /// Not inside a transaction.
    NoMulti,
    /// Its keys depend on its arguments.
    MovableKeys,
    /// Runs while a script is busy.
    AllowBusy,
    /// Touches arbitrary keys.
    TouchesArbitraryKeys,
    /// Its key positions need the whole command.
    NoAsyncLoading,
}

impl Flag {
    /// All of them, in the order in which COMMAND INFO prints them.
    pub const ALL: [Self; 20] = [
        Self::Write,
        Self::Readonly,
        Self::DenyOom,
        Self::Admin,
        Self::Pubsub,
        Self::Noscript,
        Self::Blocking,
        Self::Loading,
        Self::Stale,
        Self::SkipMonitor,
        Self::SkipSlowlog,
        Self::Fast,
        Self::NoAuth,
        Self::MayReplicate,
        Self::NoMandatoryKeys,
        Self::NoMulti,
        Self::MovableKeys,
        Self::AllowBusy,
        Self::TouchesArbitraryKeys,
        Self::NoAsyncLoading,
    ];

    /// The name that COMMAND INFO prints.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Readonly => "readonly",
            Self::DenyOom => "denyoom",
            Self::Admin => "admin",
            Self::Pubsub => "pubsub",
            Self::Noscript => "noscript",
            Self::Blocking => "blocking",
            Self::Loading => "loading",
            Self::Stale => "stale",
            Self::SkipMonitor => "skip_monitor",
            Self::SkipSlowlog => "skip_slowlog",
            Self::Fast => "fast",
            Self::NoAuth => "no_auth",
            Self::MayReplicate => "may_replicate",
            Self::NoMandatoryKeys => "no_mandatory_keys",
            Self::NoMulti => "no_multi",
            Self::MovableKeys => "movablekeys",
            Self::AllowBusy => "allow_busy",
            Self::TouchesArbitraryKeys => "touches_arbitrary_keys",
            Self::NoAsyncLoading => "no_async_loading",
        }
    }
}

/// A set of [`Flag`]s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(u32);

impl Flags {
    /// The set of the listed flags.
    pub const fn of(flags: &[Flag]) -> Self {
        let mut bits = 0;
        let mut index = 0;
        while index < flags.len() {
            bits |= 1 << flags[index] as u8;
            index += 1;
        }
        Self(bits)
    }

    /// The flags of both sets.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether `flag` is in the set.
    pub const fn has(self, flag: Flag) -> bool {
        self.0 & (1 << flag as u8) != 0
    }

    /// The set without `flag`.
    #[must_use]
    pub const fn without(self, flag: Flag) -> Self {
        Self(self.0 & !(1 << flag as u8))
    }

    /// The flags of the set, in COMMAND INFO's order.
    pub fn iter(self) -> impl Iterator<Item = Flag> {
        Flag::ALL.into_iter().filter(move |flag| self.has(*flag))
    }
}

/// An ACL category.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Acl {
    /// Keys whatever their type.
    Keyspace,
    /// Reads values.
    Read,
    /// Writes values.
    Write,
    /// Sets.
    Set,
    /// Sorted sets.
    SortedSet,
    /// Lists.
    List,
    /// Hashes.
    Hash,
    /// Strings.
    String,
    /// Bitmaps.
    Bitmap,
    /// HyperLogLogs.
    HyperLogLog,
    /// Geographic indexes.
    Geo,
    /// Streams.
    Stream,
    /// Publish and subscribe.
    Pubsub,
    /// For administrators.
    Admin,
    /// Takes constant or logarithmic time.
    Fast,
    /// Everything that is not fast.
    Slow,
    /// May block the client.
    Blocking,
    /// Best kept from applications.
    Dangerous,
    /// Concerns the connection.
    Connection,
    /// Transactions.
    Transaction,
    /// Scripts.
    Scripting,
}

impl Acl {
    /// All of them, in the order in which ACL CAT prints them.
    pub const ALL: [Self; 21] = [
        Self::Keyspace,
        Self::Read,
        Self::Write,
        Self::Set,
        Self::SortedSet,
        Self::List,
        Self::Hash,
        Self::String,
        Self::Bitmap,
        Self::HyperLogLog,
        Self::Geo,
        Self::Stream,
        Self::Pubsub,
        Self::Admin,
        Self::Fast,
        Self::Slow,
        Self::Blocking,
        Self::Dangerous,
        Self::Connection,
        Self::Transaction,
        Self::Scripting,
    ];

    /// The category's name, without `@`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Keyspace => "keyspace",
            Self::Read => "read",
            Self::Write => "write",
            Self::Set => "set",
            Self::SortedSet => "sortedset",
            Self::List => "list",
            Self::Hash => "hash",
            Self::String => "string",
            Self::Bitmap => "bitmap",
            Self::HyperLogLog => "hyperloglog",
            Self::Geo => "geo",
            Self::Stream => "stream",
            Self::Pubsub => "pubsub",
            Self::Admin => "admin",
            Self::Fast => "fast",
            Self::Slow => "slow",
            Self::Blocking => "blocking",
            Self::Dangerous => "dangerous",
            Self::Connection => "connection",
            Self::Transaction => "transaction",
            Self::Scripting => "scripting",
        }
    }
}

/// A set of [`Acl`] categories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AclSet(u32);

impl AclSet {
    /// The set of the listed categories.
    pub const fn of(categories: &[Acl]) -> Self {
        let mut bits = 0;
        let mut index = 0;
        while index < categories.len() {
            bits |= 1 << categories[index] as u8;
            index += 1;
        }
        Self(bits)
    }

    /// This set with what a command's flags imply, as Redis derives it.
    #[must_use]
    pub const fn with_implied(self, flags: Flags) -> Self {
        let mut bits = self.0;
        if flags.has(Flag::Write) {
            bits |= 1 << Acl::Write as u8;
        }
        if flags.has(Flag::Readonly) && bits & (1 << Acl::Scripting as u8) == 0 {
            bits |= 1 << Acl::Read as u8;
        }
        if flags.has(Flag::Admin) {
            bits |= 1 << Acl::Admin as u8 | 1 << Acl::Dangerous as u8;
        }
        if flags.has(Flag::Pubsub) {
            bits |= 1 << Acl::Pubsub as u8;
        }
        if flags.has(Flag::Blocking) {
            bits |= 1 << Acl::Blocking as u8;
        }
        bits |= if flags.has(Flag::Fast) {
            1 << Acl::Fast as u8
        } else {
            1 << Acl::Slow as u8
        };
        Self(bits)
    }

    /// Whether `category` is in the set.
    pub const fn has(self, category: Acl) -> bool {
        self.0 & (1 << category as u8) != 0
    }

    /// The categories of the set, in ACL CAT's order.
    pub fn iter(self) -> impl Iterator<Item = Acl> {
        Acl::ALL
            .into_iter()
            .filter(move |category| self.has(*category))
    }
}
