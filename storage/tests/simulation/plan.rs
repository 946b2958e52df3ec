//! What a seed stands for: the devices, the store's options, the clients and their taste. Owns
//! every draw that shapes a run; must never draw during one.

use std::ops::Range;

use cellar_storage::device::sim::{Latency, SimRandom};
use cellar_storage::{AppendFsync, EvictionPolicy, SEGMENT_BYTES_MIN, StoreOptions};

/// The segments that a device has at least.
const SEGMENTS_MIN: u64 = 16;
/// Before the segments: what a device reserves for superblocks, in bytes.
const RESERVED_BYTES: u64 = 1 << 20;
/// Each client has two databases of its own; what is left over is shared.
const CLIENTS_MAX: u64 = 5;
/// Of all segments, so many are kept for the cleaner.
const CLEANERS_SEGMENTS: u64 = 4;
/// Keys of a run at most: each is read after each crash.
const KEYS_MAX: u64 = 3_000;
/// A cache that never evicts: what it would evict depends on hashes that no seed rules.
const CACHE_BYTES: u64 = 256 << 20;

/// How long values are, in bytes: one of these for each draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sizes {
    /// Up to 400 bytes: many records, many tombstones.
    Small,
    /// Up to 4 KiB, as the store is made for.
    Medium,
    /// From nothing to 100 KiB, pages included.
    Mixed,
    /// The same, and every other one in pages.
    Large,
}

impl Sizes {
    /// About what a value takes in the log on average, in bytes.
    fn mean_bytes(self) -> u64 {
        match self {
            Self::Small => 350,
            Self::Medium => 2_200,
            Self::Mixed => 8_500,
            Self::Large => 35_000,
        }
    }

    /// The length of the next value.
    pub(crate) fn draw(self, random: &mut SimRandom) -> usize {
        let range: Range<u64> = match (self, random.below(100)) {
            (_, 0..5) => 0..1,
            (Self::Small, _) => 1..400,
            (Self::Medium, _) | (Self::Large, 5..50) => 1..4_096,
            (Self::Mixed, 5..55) => 1..200,
            (Self::Mixed, 55..80) => 200..4_096,
            (Self::Mixed, 80..92) => 4_096..32_769,
            (Self::Mixed | Self::Large, _) => 32_769..102_401,
        };
        (range.start + random.below(range.end - range.start)) as usize
    }
}

/// How a run goes.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) device_count: u64,
    pub(crate) block_bytes: u32,
    pub(crate) segments: u64,
    /// Of the devices' bytes, how many there is room for, in percent.
    pub(crate) room_percent: u64,
    /// In the first life there is room for all.
    pub(crate) loses_room: bool,
    pub(crate) latency: Latency,
    pub(crate) worker_count: usize,
    pub(crate) appendfsync: AppendFsync,
    pub(crate) has_cache: bool,
    pub(crate) client_count: u64,
    /// Keys in each of a client's two databases.
    pub(crate) keys_per_database: u64,
    pub(crate) sizes: Sizes,
    /// Of a hundred values, how many are no strings.
    pub(crate) collection_percent: u64,
    /// Of a hundred writes, how many go to a tenth of the keys.
    pub(crate) skew_percent: u64,
    /// Of a hundred values, how many get a deadline.
    pub(crate) deadline_percent: u64,
    /// Removals among a hundred writes.
    pub(crate) removal_percent: u64,
    /// Of a thousand operations, how many wait until they are durable though the level does not ask
    /// for it. Where none does, much is not durable at a crash.
    pub(crate) waits_per_mille: u64,
    /// Of a thousand operations, how many read a large value slowly, and empty a database.
    pub(crate) slow_reads_per_mille: u64,
    pub(crate) flushes_per_mille: u64,
    /// What happens when the devices are full, at the beginning of each life.
    pub(crate) policy: EvictionPolicy,
    /// Of a thousand operations, how many set another policy.
    pub(crate) policy_changes_per_mille: u64,
    /// And how many set another bound on memory.
    pub(crate) memory_changes_per_mille: u64,
    /// Pauses between operations, in microseconds at most.
    pub(crate) pause_us_max: u64,
    /// How long a reader may hold its pins, in microseconds at most.
    pub(crate) pinned_us_max: u64,
    pub(crate) lives: u64,
    /// Steps of the longest life.
    pub(crate) steps_max: u64,
    /// Different remains of each crash that are looked at.
    pub(crate) remains: u64,
}

impl Plan {
    /// The plan of a seed.
    pub(crate) fn draw(random: &mut SimRandom) -> Self {
        let device_count = 1 + random.below(2);
        let segments = SEGMENTS_MIN + random.below(3) * random.below(5);
        let client_count = 2 + random.below(CLIENTS_MAX - 1);
        let sizes =
            [Sizes::Small, Sizes::Medium, Sizes::Mixed, Sizes::Mixed][random.below(4) as usize];
        let room_percent = [100, 100, 100, 80, 60][random.below(5) as usize];
        let fill_percent = [5, 30, 60, 80, 95, 130][random.below(6) as usize];
        let usable = device_count * segments * room_percent / 100 - CLEANERS_SEGMENTS;
        let bytes = usable * u64::from(SEGMENT_BYTES_MIN) * fill_percent / 100;
        let keys = (bytes / sizes.mean_bytes()).clamp(40, KEYS_MAX);
        let plan = Self {
            device_count,
            block_bytes: [512, 4096][random.below(2) as usize],
            segments,
            room_percent,
            loses_room: false,
            latency: latency(random),
            worker_count: 2 + random.below(2) as usize,
            appendfsync: appendfsync(random),
            has_cache: random.flip(),
            client_count,
            keys_per_database: (keys / (2 * client_count)).max(5),
            sizes,
            collection_percent: [0, 20, 60][random.below(3) as usize],
            skew_percent: [10, 50, 90][random.below(3) as usize],
            deadline_percent: [0, 10, 50][random.below(3) as usize],
            removal_percent: [5, 15, 40][random.below(3) as usize],
            waits_per_mille: [0, 0, 3, 50][random.below(4) as usize],
            slow_reads_per_mille: [5, 20][random.below(2) as usize],
            flushes_per_mille: 3,
            policy: EvictionPolicy::NoEviction,
            policy_changes_per_mille: 0,
            memory_changes_per_mille: 0,
            pause_us_max: [1, 1_000, 50_000][random.below(3) as usize],
            pinned_us_max: [10_000, 2_000_000][random.below(2) as usize],
            lives: 4 + random.below(12),
            steps_max: [2_000, 20_000, 40_000][random.below(3) as usize],
            remains: 1 + random.below(5),
        };
        match random.below(9) {
            0 | 1 => plan.of_churn(random),
            2 => plan.of_readers(random),
            3 => plan.of_cache(random),
            4 => plan.of_fullness(random),
            5 => plan.of_removals(random),
            _ => plan,
        }
    }

    /// More values than the devices hold, and none may go.
    fn of_fullness(self, random: &mut SimRandom) -> Self {
        let sizes = [Sizes::Medium, Sizes::Mixed, Sizes::Large][random.below(3) as usize];
        let held = self.device_count * SEGMENTS_MIN * u64::from(SEGMENT_BYTES_MIN);
        let keys = (2 * held / sizes.mean_bytes()).min(KEYS_MAX);
        let loses_room = random.below(3) > 0;
        Self {
            segments: SEGMENTS_MIN,
            room_percent: if loses_room { 60 } else { self.room_percent },
            loses_room,
            keys_per_database: keys / (2 * self.client_count),
            sizes,
            skew_percent: 10,
            deadline_percent: 0,
            removal_percent: [5, 20][random.below(2) as usize],
            flushes_per_mille: 0,
            pause_us_max: 1,
            lives: 3 + random.below(3),
            steps_max: 20_000,
            remains: 1,
            ..self
        }
    }

    /// Keys that come and go, so that the cleaner carries tombstones on; much is not durable.
    fn of_removals(self, random: &mut SimRandom) -> Self {
        Self {
            keys_per_database: 20 + random.below(80),
            sizes: Sizes::Small,
            skew_percent: [10, 50, 90][random.below(3) as usize],
            deadline_percent: 0,
            removal_percent: [40, 60][random.below(2) as usize],
            waits_per_mille: 0,
            appendfsync: AppendFsync::Everysec,
            device_count: 1,
            room_percent: 60,
            steps_max: 20_000,
            remains: 3 + random.below(3),
            ..self.of_churn(random)
        }
    }

    /// More values than the devices hold, of which a policy lets some go.
    fn of_cache(self, random: &mut SimRandom) -> Self {
        let sizes = [Sizes::Medium, Sizes::Mixed, Sizes::Large][random.below(3) as usize];
        let held = self.device_count * SEGMENTS_MIN * u64::from(SEGMENT_BYTES_MIN);
        let keys = held / sizes.mean_bytes();
        let percent = [60, 100, 200][random.below(3) as usize];
        let keys = (keys * percent / 100).min(KEYS_MAX);
        Self {
            segments: SEGMENTS_MIN,
            keys_per_database: keys / (2 * self.client_count),
            sizes,
            skew_percent: [10, 50][random.below(2) as usize],
            deadline_percent: [0, 50, 90][random.below(3) as usize],
            removal_percent: 5,
            policy: EvictionPolicy::ALL[random.below(8) as usize],
            policy_changes_per_mille: [0, 2][random.below(2) as usize],
            // A bound on memory shrinks the cache, too.
            memory_changes_per_mille: if self.has_cache { 0 } else { 2 },
            pause_us_max: 1,
            lives: 4 + random.below(8),
            steps_max: 40_000,
            remains: 1 + random.below(2),
            ..self
        }
    }

    /// Few large values on small devices, that are read slowly while they are written anew and
    /// their databases are emptied.
    fn of_readers(self, random: &mut SimRandom) -> Self {
        Self {
            device_count: 1 + random.below(2),
            segments: SEGMENTS_MIN,
            room_percent: [100, 60][random.below(2) as usize],
            keys_per_database: 5 + random.below(8),
            sizes: Sizes::Large,
            slow_reads_per_mille: [100, 300][random.below(2) as usize],
            flushes_per_mille: [3, 30][random.below(2) as usize],
            pinned_us_max: 10_000_000,
            waits_per_mille: 0,
            appendfsync: AppendFsync::Everysec,
            pause_us_max: 1,
            lives: 4 + random.below(8),
            steps_max: 40_000,
            remains: 1 + random.below(2),
            ..self
        }
    }

    /// Few keys, over and over again, on small devices: after the first life, which fills them, the
    /// cleaner works all the time, and crashes come often.
    fn of_churn(self, random: &mut SimRandom) -> Self {
        Self {
            segments: SEGMENTS_MIN,
            room_percent: [100, 60][random.below(2) as usize],
            keys_per_database: 5 + random.below(30),
            sizes: [Sizes::Small, Sizes::Medium, Sizes::Mixed][random.below(3) as usize],
            removal_percent: [15, 40][random.below(2) as usize],
            pause_us_max: 1,
            lives: 16 + random.below(16),
            steps_max: 40_000,
            remains: 1 + random.below(4),
            ..self
        }
    }

    /// Steps of a life before its end comes near: the first one fills the devices, later ones are
    /// often short.
    pub(crate) fn steps(&self, is_first: bool, random: &mut SimRandom) -> u64 {
        let share = if is_first {
            1
        } else {
            [1, 4, 16][random.below(3) as usize]
        };
        1 + random.below(self.steps_max / share)
    }

    /// What one device can hold, in bytes.
    pub(crate) fn device_bytes(&self) -> u64 {
        RESERVED_BYTES + self.segments * u64::from(SEGMENT_BYTES_MIN)
    }

    /// What there is room for on one device in the first life, in bytes.
    pub(crate) fn first_room_bytes(&self) -> u64 {
        if self.loses_room {
            u64::MAX
        } else {
            self.room_bytes()
        }
    }

    /// What there is room for on one device, in bytes.
    pub(crate) fn room_bytes(&self) -> u64 {
        match self.room_percent {
            100 => u64::MAX,
            percent => {
                let segments = self.segments * percent / 100;
                RESERVED_BYTES + segments * u64::from(SEGMENT_BYTES_MIN)
            }
        }
    }

    /// What the store is opened with.
    pub(crate) fn options(&self) -> StoreOptions {
        StoreOptions {
            worker_count: self.worker_count,
            segment_bytes: SEGMENT_BYTES_MIN,
            appendfsync: self.appendfsync,
            eviction_policy: self.policy,
            value_cache_bytes: if self.has_cache { CACHE_BYTES } else { 0 },
            ..StoreOptions::default()
        }
    }
}

/// What waits for the device leaves little to be undone, so it is the rarer level.
fn appendfsync(random: &mut SimRandom) -> AppendFsync {
    match random.below(3) {
        0 => AppendFsync::Always,
        _ => AppendFsync::Everysec,
    }
}

/// A drive like any other, one whose flushes take long, or one that is slow in everything, so that
/// more is under way at a crash.
fn latency(random: &mut SimRandom) -> Latency {
    let usual = Latency::default();
    match random.below(3) {
        0 => usual,
        1 => Latency {
            flush_us: 2_000..20_000,
            ..usual
        },
        _ => Latency {
            read_us: 100..3_000,
            write_us: 100..5_000,
            flush_us: 500..10_000,
        },
    }
}
