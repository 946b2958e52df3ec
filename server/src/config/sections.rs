//! Every option of the server: its section, its name, its default, its documentation.
//!
//! Owns the one place where an option is stated. The config file, the flags, CONFIG, the annotated
//! `configs/cellar.toml` and `docs/configuration.md` all follow from it.

use super::devices::{DeviceConfig, Devices};
use super::output_limits::OutputLimits;
use super::value::{FileMode, Integer, Setting, Size, Words, choice};
use crate::events::EventClasses;

/// Whether CONFIG SET may change an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Only at start.
    Fixed,
    /// At any time.
    Live,
}

/// One option.
pub struct OptionSpec {
    /// The TOML table that it stands in.
    pub section: &'static str,
    /// Its name in the file, as a flag and in CONFIG.
    pub name: &'static str,
    /// What it is, in lines.
    pub docs: &'static [&'static str],
    /// Whether CONFIG SET may change it.
    pub change: Change,
    /// Its value in a config.
    pub get: fn(&Config) -> &dyn Setting,
    /// Its value in a config, to be changed.
    pub get_mut: fn(&mut Config) -> &mut dyn Setting,
}

/// A TOML table of options.
pub struct SectionSpec {
    /// The table's name.
    pub name: &'static str,
    /// What it is about, in lines.
    pub docs: &'static [&'static str],
}

macro_rules! sections {
    ($(
        $(#[doc = $section_doc:literal])*
        $section:ident: $Section:ident {$(
            $(#[doc = $doc:literal])*
            $field:ident: $Type:ty = $default:expr, $name:literal, $change:ident;
        )*}
    )*) => {
        $(
            $(#[doc = $section_doc])*
            #[derive(Debug, Clone, PartialEq, Eq)]
            pub struct $Section {$(
                $(#[doc = $doc])*
                pub $field: $Type,
            )*}

            impl Default for $Section {
                fn default() -> Self {
                    Self { $($field: $default),* }
                }
            }
        )*

        /// All options.
        #[derive(Debug, Clone, PartialEq, Eq, Default)]
        pub struct Config {$(
            $(#[doc = $section_doc])*
            pub $section: $Section,
        )*}

        /// The sections, in the order of the file.
        pub const SECTIONS: &[SectionSpec] = &[$(
            SectionSpec { name: stringify!($section), docs: &[$($section_doc),*] },
        )*];

        /// The options, in the order of the file.
        pub const OPTIONS: &[OptionSpec] = &[$($(
            OptionSpec {
                section: stringify!($section),
                name: $name,
                docs: &[$($doc),*],
                change: Change::$change,
                get: |config| &config.$section.$field,
                get_mut: |config| &mut config.$section.$field,
            },
        )*)*];
    };
}

sections! {
    /// Where clients connect.
    network: Network {
        /// Addresses to listen on; "*" is every IPv4 address, "::*" every IPv6 one. An address
        /// that starts with "-" may be missing on the machine.
        bind: Words = Words(vec!["127.0.0.1".into()]), "bind", Fixed;
        /// TCP port; 0 listens on no TCP port.
        port: Integer<0, 65535> = Integer::new(6379), "port", Fixed;
        /// Path of a unix socket to listen on as well; empty for none.
        unixsocket: String = String::new(), "unixsocket", Fixed;
        /// The unix socket's mode in octal digits; 0 leaves it to the umask.
        unixsocketperm: FileMode = FileMode(0), "unixsocketperm", Fixed;
        /// Refuse clients from other machines while no password is set.
        protected_mode: bool = true, "protected-mode", Live;
        /// Connections that wait to be accepted; the kernel bounds it by net.core.somaxconn.
        tcp_backlog: Integer<1, 65535> = Integer::new(511), "tcp-backlog", Fixed;
        /// Seconds of silence after which TCP asks whether the client is alive; 0 for never.
        tcp_keepalive: Integer<0, 2_147_483_647> = Integer::new(300), "tcp-keepalive", Live;
        /// Seconds after which an idle client is closed; 0 for never.
        timeout: Integer<0, 2_147_483_647> = Integer::new(0), "timeout", Live;
        /// Clients at most.
        maxclients: Integer<1, 1_000_000> = Integer::new(10_000), "maxclients", Live;
    }

    /// Who may use the server.
    security: Security {
        /// Password of the default user; empty for none.
        requirepass: String = String::new(), "requirepass", Live;
    }

    /// Where values are kept, and when they are safe.
    storage: Storage {
        /// Directory of the store, created when it is missing. Device paths are taken from here.
        dir: String = "./cellar-data".into(), "dir", Fixed;
        /// Devices that hold the store, striped by segment: files, created and grown up to their
        /// size, or raw block devices, used whole or up to a size.
        devices: Devices = Devices(vec![DeviceConfig {
            path: "store.cellar".into(),
            size_bytes: Some(64 << 30),
        }]), "devices", Fixed;
        /// Bytes of a segment, the unit of cleaning. Fixed when a store is created.
        segment_size: Size<{ 1 << 20 }, { 256 << 20 }> = Size::new(8 << 20), "segment-size", Fixed;
        /// When a write is safe from a crash: "always" before its reply, "everysec" within a
        /// second, "no" when the device gets around to it.
        appendfsync: AppendFsync = AppendFsync::Everysec, "appendfsync", Live;
        /// Databases that SELECT offers.
        databases: Integer<1, 16> = Integer::new(16), "databases", Fixed;
    }

    /// How much DRAM is used.
    memory: Memory {
        /// Bytes that index, caches, buffers and clients may take together; 0 for no bound.
        maxmemory: Size<0, { u64::MAX }> = Size::new(0), "maxmemory", Live;
        /// What happens when memory or devices are full: "noeviction" refuses writes; the others
        /// evict keys, any ("allkeys-lru", "allkeys-lfu", "allkeys-random") or only those with a
        /// deadline ("volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl").
        maxmemory_policy: MemoryPolicy = MemoryPolicy::NoEviction, "maxmemory-policy", Live;
        /// Bytes of the cache of values read from the devices.
        value_cache: Size<0, { 1 << 44 }> = Size::new(256 << 20), "value-cache", Fixed;
    }

    /// Threads.
    workers: Workers {
        /// Threads that serve clients; 0 for one a core.
        workers: Integer<0, 256> = Integer::new(0), "workers", Fixed;
        /// Bind each worker to a core of its own.
        pin_workers: bool = false, "pin-workers", Fixed;
    }

    /// What one client may take.
    limits: Limits {
        /// Bytes of one argument, and of one string value, at most.
        proto_max_bulk_len: Size<{ 1 << 20 }, { 512 << 20 }> = Size::new(512 << 20),
            "proto-max-bulk-len", Live;
        /// Bytes of unfinished requests of one client at most.
        client_query_buffer_limit: Size<{ 1 << 20 }, { 1 << 40 }> = Size::new(1 << 30),
            "client-query-buffer-limit", Live;
        /// Bytes of replies that may wait for one client, for each class of clients: hard bound,
        /// soft bound, seconds above the soft bound; 0 for no bound.
        client_output_buffer_limit: OutputLimits = OutputLimits::DEFAULT,
            "client-output-buffer-limit", Live;
    }

    /// What clients are told of changes.
    events: Events {
        /// Which changes of keys are published, as letters: "K" on the channels named by the key,
        /// "E" on those named by the event; "g" commands for any type, "$" strings, "l" lists, "s"
        /// sets, "h" hashes, "z" sorted sets, "t" streams, "x" expired, "e" evicted, "A" all of
        /// these; "n" new keys, "m" reads of absent keys. Empty for none.
        notify_keyspace_events: EventClasses = EventClasses::NONE, "notify-keyspace-events", Live;
        /// Keys that are remembered at most for clients that cache what they have read; 0 for no
        /// bound. Beyond it clients are told to forget some.
        tracking_table_max_keys: Integer<0, { i64::MAX }> = Integer::new(1_000_000),
            "tracking-table-max-keys", Live;
    }

    /// What the server tells about itself.
    log: Log {
        /// "debug", "verbose", "notice", "warning" or "nothing".
        loglevel: LogLevel = LogLevel::Notice, "loglevel", Live;
        /// File to append the log to; empty for standard output.
        logfile: String = String::new(), "logfile", Fixed;
    }

    /// What is recorded about slow commands.
    monitoring: Monitoring {
        /// Microseconds from which a command enters the slow log; 0 for every one, -1 for none.
        slowlog_log_slower_than: Integer<-1, { i64::MAX }> = Integer::new(10_000),
            "slowlog-log-slower-than", Live;
        /// Entries that the slow log keeps.
        slowlog_max_len: Integer<0, 1_000_000> = Integer::new(128), "slowlog-max-len", Live;
        /// Milliseconds from which an event enters the latency history; 0 for none.
        latency_monitor_threshold: Integer<0, { i64::MAX }> = Integer::new(0),
            "latency-monitor-threshold", Live;
    }
}

choice! {
    /// When a write is safe from a crash.
    AppendFsync {
        /// Within a second.
        Everysec = "everysec",
        /// Before its reply.
        Always = "always",
        /// When the device gets around to it.
        No = "no",
    }
}

choice! {
    /// How much the log tells.
    LogLevel {
        /// Everything.
        Debug = "debug",
        /// Much.
        Verbose = "verbose",
        /// What an administrator wants to see.
        Notice = "notice",
        /// What needs an administrator.
        Warning = "warning",
        /// Nothing.
        Nothing = "nothing",
    }
}

choice! {
    /// What happens when memory or devices are full. The names are Redis's, in its order.
    MemoryPolicy {
        /// A key with a deadline goes, one that was not used for long.
        VolatileLru = "volatile-lru",
        /// A key with a deadline goes, one that is seldom used.
        VolatileLfu = "volatile-lfu",
        /// A key with a deadline goes.
        VolatileRandom = "volatile-random",
        /// A key with a deadline goes, one whose deadline is near.
        VolatileTtl = "volatile-ttl",
        /// A key goes that was not used for long.
        AllKeysLru = "allkeys-lru",
        /// A key goes that is seldom used.
        AllKeysLfu = "allkeys-lfu",
        /// A key goes.
        AllKeysRandom = "allkeys-random",
        /// Writes are refused.
        NoEviction = "noeviction",
    }
}
