//! The store of these tests: one worker on a small simulated device, on simulated time.

use std::sync::Arc;

use cellar_storage::clock::SimClock;
use cellar_storage::device::sim::{Latency, SimDevice, SimExecutor};
use cellar_storage::{AppendFsync, EvictionPolicy, Handle, SEGMENT_BYTES_MIN, Store, StoreOptions};

/// Segments of the device: what the store holds at most is some 45 MiB.
const SEGMENTS: u64 = 64;
/// Place for the superblocks.
const RESERVED_BYTES: u64 = 1 << 20;

pub(crate) struct World {
    pub(crate) clock: SimClock,
    pub(crate) device: Arc<SimDevice>,
    pub(crate) executor: SimExecutor,
    pub(crate) handle: Handle,
}

impl World {
    pub(crate) fn new(options: StoreOptions) -> Self {
        let clock = SimClock::new(1_700_000_000_000);
        let bytes = RESERVED_BYTES + SEGMENTS * u64::from(SEGMENT_BYTES_MIN);
        let device = SimDevice::timed(4096, bytes, 1, clock.clone(), Latency::default());
        Self::open(clock, device, options)
    }

    fn open(clock: SimClock, device: Arc<SimDevice>, options: StoreOptions) -> Self {
        let mut executor = SimExecutor::new(clock.clone(), 1);
        let opening = Store::open(
            options,
            vec![device.clone()],
            Arc::new(clock.clone()),
            [9; 32],
        );
        let store = executor.block_on(opening).unwrap();
        let handle = store.attach(0).unwrap();
        executor
            .spawner()
            .spawn(Store::run_background(handle.clone()));
        Self {
            clock,
            device,
            executor,
            handle,
        }
    }

    /// The power goes, and the store is opened on what is left.
    pub(crate) fn crash(self, options: StoreOptions, seed: u64) -> Self {
        let device = self.device.crash(seed);
        Self::open(self.clock, device, options)
    }
}

pub(crate) fn options(policy: EvictionPolicy) -> StoreOptions {
    StoreOptions {
        segment_bytes: SEGMENT_BYTES_MIN,
        appendfsync: AppendFsync::Everysec,
        value_cache_bytes: 0,
        eviction_policy: policy,
        ..StoreOptions::default()
    }
}
