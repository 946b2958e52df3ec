//! A device in memory that behaves as badly as a real one may: seeded, deterministic, on one
//! thread. Owns simulated latency, failures, rot and crashes; must never ask the system for time or
//! chance.
//!
//! Operations end at once, or, with a clock, after a latency drawn from the seed: then they end
//! when the clock is advanced, on the thread that does so, which is the one that attached.
//! [`executor::SimExecutor`] runs tasks and advances the clock.

mod channel;
pub mod executor;
mod fault;
mod media;
mod random;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use parking_lot::Mutex;

use super::counters::CounterSet;
use super::memory::HEAP;
use super::{Channel, Device, DeviceCounters, DeviceError, Geometry, Operation, SharedBuffer};
use crate::clock::SimClock;
use crate::units::Extent;
use channel::SimChannel;
pub use executor::SimExecutor;
use fault::FaultPlan;
pub use fault::{Effect, Fault};
use media::Media;
pub use random::SimRandom;

/// Room is taken and given back in pieces of this many bytes.
const ROOM_BYTES: u64 = 64 << 10;

/// How long operations take, in simulated microseconds.
#[derive(Clone, Debug)]
pub struct Latency {
    /// A read.
    pub read_us: Range<u64>,
    /// A write.
    pub write_us: Range<u64>,
    /// Anything else.
    pub flush_us: Range<u64>,
}

impl Default for Latency {
    /// About that of an NVMe drive.
    fn default() -> Self {
        Self {
            read_us: 60..200,
            write_us: 15..60,
            flush_us: 200..1_000,
        }
    }
}

impl Latency {
    fn draw(&self, operation: Operation, random: &mut SimRandom) -> u64 {
        let range = match operation {
            Operation::Read => &self.read_us,
            Operation::Write => &self.write_us,
            Operation::Flush | Operation::Allocate | Operation::Discard | Operation::Attach => {
                &self.flush_us
            }
        };
        range.start + random.below((range.end - range.start).max(1))
    }
}

/// A simulated device.
pub struct SimDevice {
    geometry: Geometry,
    timing: Option<(SimClock, Latency)>,
    counters: CounterSet,
    state: Arc<Mutex<SimState>>,
}

/// What all channels of a device share.
struct SimState {
    media: Media,
    faults: FaultPlan,
    random: SimRandom,
    /// Writes that began and did not end: a crash may keep any block of them.
    writing: BTreeMap<u64, (u64, Vec<u8>)>,
    next_write: u64,
    /// Pieces of [`ROOM_BYTES`] that are taken.
    taken: BTreeSet<u64>,
    room_bytes: u64,
    crashed: bool,
    /// Of all operations that ended, and when.
    digest: u64,
}

impl SimState {
    fn new(media: Media, room_bytes: u64, seed: u64) -> Self {
        Self {
            media,
            faults: FaultPlan::default(),
            random: SimRandom::new(seed),
            writing: BTreeMap::new(),
            next_write: 0,
            taken: BTreeSet::new(),
            room_bytes,
            crashed: false,
            digest: 0,
        }
    }

    /// Takes an operation's end into the digest.
    fn note(&mut self, operation: Operation, extent: Extent, (now_us, is_ok): (u64, bool)) {
        let what = operation as u64 ^ u64::from(is_ok) << 8 ^ now_us << 16;
        let where_to = extent.offset.rotate_left(32) ^ extent.bytes;
        let mixed = SimRandom::new(self.digest ^ what).next_u64();
        self.digest = SimRandom::new(mixed ^ where_to).next_u64();
    }

    /// Takes the room that `extent` needs; `false` when there is not enough.
    fn take_room(&mut self, extent: Extent) -> bool {
        let last = (extent.offset + extent.bytes).div_ceil(ROOM_BYTES);
        let missing: Vec<u64> = (extent.offset / ROOM_BYTES..last)
            .filter(|piece| !self.taken.contains(piece))
            .collect();
        let taken = (self.taken.len() + missing.len()) as u64;
        let fits = missing.is_empty() || taken * ROOM_BYTES <= self.room_bytes;
        if fits {
            self.taken.extend(missing);
        }
        fits
    }

    /// The writes that began and did not end.
    fn in_flight(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.writing
            .values()
            .map(|(offset, bytes)| (*offset, &bytes[..]))
    }

    fn give_room(&mut self, extent: Extent) {
        let first = extent.offset.div_ceil(ROOM_BYTES);
        let end = (extent.offset + extent.bytes) / ROOM_BYTES;
        self.taken.retain(|piece| !(first..end).contains(piece));
    }
}

impl SimDevice {
    /// A blank device whose operations end at once.
    pub fn instant(block_bytes: u32, capacity_bytes: u64, seed: u64) -> Arc<Self> {
        let media = Media::new(block_bytes);
        let name = format!("sim-{seed}");
        Self::new(
            &name,
            (block_bytes, capacity_bytes),
            None,
            SimState::new(media, u64::MAX, seed),
        )
    }

    /// A blank device whose operations take their time.
    pub fn timed(
        block_bytes: u32,
        capacity_bytes: u64,
        seed: u64,
        clock: SimClock,
        latency: Latency,
    ) -> Arc<Self> {
        let state = SimState::new(Media::new(block_bytes), u64::MAX, seed);
        let name = format!("sim-{seed}");
        Self::new(
            &name,
            (block_bytes, capacity_bytes),
            Some((clock, latency)),
            state,
        )
    }

    fn new(
        name: &str,
        (block_bytes, capacity_bytes): (u32, u64),
        timing: Option<(SimClock, Latency)>,
        state: SimState,
    ) -> Arc<Self> {
        let geometry = Geometry {
            block_bytes,
            capacity_bytes,
            has_durability_point: true,
            name: Arc::from(name),
        };
        let state = Arc::new(Mutex::new(state));
        Arc::new(Self {
            geometry,
            timing,
            counters: CounterSet::default(),
            state,
        })
    }

    /// Plans a failure.
    pub fn inject(&self, fault: Fault) {
        self.state.lock().faults.add(fault);
    }

    /// Flips the bits of `mask` in the byte at `offset`, for good.
    pub fn rot(&self, offset: u64, mask: u8) {
        self.state.lock().media.rot(offset, mask);
    }

    /// From now on all that is allocated or written must fit in `bytes`.
    pub fn limit_room(&self, bytes: u64) {
        self.state.lock().room_bytes = bytes;
    }

    /// What reads as `bytes` bytes at `offset`, both whole blocks.
    pub fn content(&self, offset: u64, bytes: usize) -> Vec<u8> {
        let mut content = vec![0; bytes];
        self.state.lock().media.read(offset, &mut content);
        content
    }

    /// Where the blocks lie, in bytes from the start, that hold anything but zeros durably.
    pub fn held(&self) -> Vec<u64> {
        self.state.lock().media.held()
    }

    /// A number that differs, in all likelihood, between runs in which any operation differed, in
    /// its kind, place, outcome or time.
    pub fn digest(&self) -> u64 {
        self.state.lock().digest
    }

    /// The power goes: this device ends every operation with [`DeviceError::Closed`] from now on,
    /// and the returned one holds what survived. What was durable did; of the rest each block holds
    /// any version since, by `seed`. Planned failures and the room's limit are gone.
    pub fn crash(&self, seed: u64) -> Arc<Self> {
        let mut random = SimRandom::new(seed);
        let mut state = self.state.lock();
        state.crashed = true;
        let media = state.media.crash(state.in_flight(), &mut random);
        self.left(&state, media, &mut random)
    }

    /// A crash as [`SimDevice::crash`], after which the device is found with another capacity, at
    /// least the former one.
    pub fn crash_enlarged(&self, seed: u64, capacity_bytes: u64) -> Arc<Self> {
        assert!(capacity_bytes >= self.geometry.capacity_bytes);
        let after = Arc::into_inner(self.crash(seed));
        let mut after = after.expect("nobody else has it yet");
        after.geometry.capacity_bytes = capacity_bytes;
        Arc::new(after)
    }

    /// A crash as [`SimDevice::crash`], at which the drive also put one block that was written and
    /// not durable where another such block belongs. `None`: there are no two.
    pub fn crash_misdirected(&self, seed: u64) -> Option<Arc<Self>> {
        let mut random = SimRandom::new(seed);
        let mut state = self.state.lock();
        let mut media = state.media.crash(state.in_flight(), &mut random);
        let did = media.misdirect(&state.media, &mut random);
        state.crashed |= did;
        did.then(|| self.left(&state, media, &mut random))
    }

    /// The device that is found after a crash.
    fn left(&self, before: &SimState, media: Media, random: &mut SimRandom) -> Arc<Self> {
        let mut after = SimState::new(media, u64::MAX, random.next_u64());
        after.taken.clone_from(&before.taken);
        after.digest = before.digest;
        let sizes = (self.geometry.block_bytes, self.geometry.capacity_bytes);
        Self::new(&self.geometry.name, sizes, self.timing.clone(), after)
    }
}

impl Device for SimDevice {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn attach(&self) -> Result<Rc<dyn Channel>, DeviceError> {
        if self.state.lock().crashed {
            return Err(DeviceError::Closed);
        }
        Ok(Rc::new(SimChannel::new(self)))
    }

    fn shared_buffer(&self, bytes: usize) -> Arc<SharedBuffer> {
        SharedBuffer::new(&HEAP, bytes)
    }

    fn counters(&self) -> DeviceCounters {
        self.counters.sum()
    }
}

#[cfg(test)]
mod tests;
