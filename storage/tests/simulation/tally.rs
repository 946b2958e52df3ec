//! What happened in runs, counted, so that a test can insist that all of it did.

/// Declares the counters, and how two tallies are added.
macro_rules! tally {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What happened in a run, or in several.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(crate) struct Tally {
            $($(#[$doc])* pub(crate) $name: u64,)*
            /// The longest that an operation took, in simulated microseconds.
            pub(crate) operation_us_max: u64,
        }

        impl Tally {
            /// Adds another run's.
            pub(crate) fn add(&mut self, other: &Self) {
                $(self.$name += other.$name;)*
                self.operation_us_max = self.operation_us_max.max(other.operation_us_max);
            }

            /// The counters that are zero.
            pub(crate) fn missing(&self) -> Vec<&'static str> {
                let all = [$((stringify!($name), self.$name),)*];
                all.into_iter().filter(|(_, n)| *n == 0).map(|(name, _)| name).collect()
            }
        }
    };
}

tally! {
    operations,
    commits,
    /// Commits that a crash undid.
    undone,
    /// Commits that had been acknowledged as durable when a crash came.
    acknowledged,
    out_of_space,
    /// Lives that ended in a crash.
    crashes,
    /// Crashes at which a block went to a wrong place.
    misdirections,
    crashes_of_recoveries,
    /// Recoveries that an error of a device ended.
    failed_recoveries,
    closes,
    /// Closings that were refused because a write had failed.
    refused_closes,
    /// Lives at whose end the store refused writes because one had failed.
    latches,
    /// Reads that the device failed.
    failed_reads,
    /// Large values that were read a part at a time.
    slow_reads,
    /// Collections some of whose pages were written anew.
    rewritten_collections,
    /// Transactions that came to their end, and those that were begun again.
    transactions,
    conflicts,
    /// Changes that watchers were told of, and those of them that nobody had asked for.
    told_changes,
    told_departures,
    /// Recoveries that were read whole and judged.
    recoveries,
    recounts,
    /// Starts at which a device joined, or the last one had grown.
    joins,
    growths,
    /// Starts without a device that had begun to join.
    withdrawals,
    /// Lives in which bytes rotted, and keys that were lost by it.
    decays,
    decayed_keys,
    /// Recoveries with a rotten byte, and those of them that found damage.
    rotten,
    damaged,
    cleaned_segments,
    relocated_bytes,
    expired_keys,
    evicted_keys,
    /// Those of them that went for want of memory.
    evicted_keys_for_memory,
    /// Keys that were looked for and had been evicted.
    losses,
    policy_changes,
}

impl Tally {
    /// Crashes, of lives and of recoveries, each with the recovery that followed.
    pub(crate) fn cycles(&self) -> u64 {
        self.recoveries + self.crashes_of_recoveries + self.failed_recoveries + self.rotten
    }
}
