//! What a device did, counted. Owns the counters; each channel writes its own set, so that workers
//! share no cache line, and must never be asked for more than a sum.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::error::Operation;

/// What happened at a device since it was opened, summed over its channels. All counts, or bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    /// Reads that ended well.
    pub reads: u64,
    /// Bytes they brought.
    pub read_bytes: u64,
    /// Writes that ended well.
    pub writes: u64,
    /// Bytes they carried.
    pub written_bytes: u64,
    /// Flushes that ended well.
    pub flushes: u64,
    /// Reads that failed.
    pub read_errors: u64,
    /// Writes, flushes, allocations and discards that failed.
    pub write_errors: u64,
    /// Times the kernel was entered to submit.
    pub enters: u64,
    /// The largest number of turns that passed between queueing an operation and submitting it.
    pub queued_turns_max: u64,
}

/// One channel's counters. Only the channel's thread adds; anybody reads.
#[derive(Debug, Default)]
#[repr(align(128))] // two cache lines: neighbours are prefetched in pairs
pub struct ChannelCounters {
    reads: AtomicU64,
    read_bytes: AtomicU64,
    writes: AtomicU64,
    written_bytes: AtomicU64,
    flushes: AtomicU64,
    read_errors: AtomicU64,
    write_errors: AtomicU64,
    enters: AtomicU64,
    queued_turns_max: AtomicU64,
}

/// Adds without a locked instruction: there is one writer.
fn add(counter: &AtomicU64, amount: u64) {
    counter.store(
        counter.load(Ordering::Relaxed).wrapping_add(amount),
        Ordering::Relaxed,
    );
}

impl ChannelCounters {
    /// An operation of `bytes` bytes ended, well or not.
    pub fn count(&self, operation: Operation, bytes: u64, succeeded: bool) {
        match (operation, succeeded) {
            (Operation::Read, true) => {
                add(&self.reads, 1);
                add(&self.read_bytes, bytes);
            }
            (Operation::Write, true) => {
                add(&self.writes, 1);
                add(&self.written_bytes, bytes);
            }
            (Operation::Flush, true) => add(&self.flushes, 1),
            (Operation::Allocate | Operation::Discard | Operation::Attach, true) => {}
            (Operation::Read, false) => add(&self.read_errors, 1),
            (
                Operation::Write
                | Operation::Flush
                | Operation::Allocate
                | Operation::Discard
                | Operation::Attach,
                false,
            ) => add(&self.write_errors, 1),
        }
    }

    /// The kernel was entered to submit operations, the oldest of which waited `turns` turns.
    pub fn count_enter(&self, turns: u64) {
        add(&self.enters, 1);
        if turns > self.queued_turns_max.load(Ordering::Relaxed) {
            self.queued_turns_max.store(turns, Ordering::Relaxed);
        }
    }

    fn add_to(&self, sum: &mut DeviceCounters) {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        sum.reads += get(&self.reads);
        sum.read_bytes += get(&self.read_bytes);
        sum.writes += get(&self.writes);
        sum.written_bytes += get(&self.written_bytes);
        sum.flushes += get(&self.flushes);
        sum.read_errors += get(&self.read_errors);
        sum.write_errors += get(&self.write_errors);
        sum.enters += get(&self.enters);
        sum.queued_turns_max = sum.queued_turns_max.max(get(&self.queued_turns_max));
    }
}

/// The counters of all channels that a device ever had; one a worker, so a handful.
#[derive(Debug, Default)]
pub struct CounterSet {
    channels: Mutex<Vec<Arc<ChannelCounters>>>,
}

impl CounterSet {
    /// Counters for one more channel.
    pub fn attach(&self) -> Arc<ChannelCounters> {
        let counters = Arc::new(ChannelCounters::default());
        self.channels.lock().push(Arc::clone(&counters));
        counters
    }

    /// The sums.
    pub fn sum(&self) -> DeviceCounters {
        let mut sum = DeviceCounters::default();
        self.channels
            .lock()
            .iter()
            .for_each(|channel| channel.add_to(&mut sum));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_add_up() {
        let set = CounterSet::default();
        let (first, second) = (set.attach(), set.attach());
        first.count(Operation::Read, 512, true);
        first.count(Operation::Flush, 0, false);
        second.count(Operation::Read, 1024, true);
        second.count(Operation::Read, 512, false);
        first.count_enter(7);
        second.count_enter(3);
        let expected = DeviceCounters {
            reads: 2,
            read_bytes: 1536,
            read_errors: 1,
            write_errors: 1,
            enters: 2,
            queued_turns_max: 7,
            ..DeviceCounters::default()
        };
        assert_eq!(set.sum(), expected);
    }
}
