//! The table of segments: state, generation and live bytes of each, and the free lists.

use std::collections::VecDeque;

use crate::format::{ENTRY_BYTES, GenerationSeed, Stream};
use crate::segment::expiring::Expiring;
use crate::sync::{AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, Mutex, Ordering};
use crate::units::{DeviceNumber, Generation, Lsn, SegmentNumber};

/// Where a segment stands in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum State {
    /// Holds nothing; its place on the device may not exist yet.
    Unallocated = 0,
    /// Holds nothing; its place on the device exists.
    Free = 1,
    /// Records are being appended.
    Open = 2,
    /// Complete, with its summary.
    Sealed = 3,
    /// A victim whose live records are being relocated, or which waits to be freed.
    Cleaning = 4,
}

impl State {
    fn from_u8(raw: u8) -> Self {
        match raw {
            0 => Self::Unallocated,
            1 => Self::Free,
            2 => Self::Open,
            3 => Self::Sealed,
            4 => Self::Cleaning,
            other => unreachable!("segment state {other} was never stored"),
        }
    }
}

/// What a tombstone of `bytes` takes of a segment, its summary entry included.
pub(crate) fn shadow_bytes(bytes: u32) -> i64 {
    i64::from(bytes + ENTRY_BYTES as u32)
}

/// No write buffer holds the segment.
const NO_BUFFER: u8 = u8::MAX;

/// One segment's facts, readable by every worker.
pub(crate) struct Segment {
    state: AtomicU8,
    cold: AtomicU8,
    buffer: AtomicU8,
    epoch: AtomicU32,
    opening_lsn: AtomicU64,
    seed: AtomicU32,
    live_bytes: AtomicI64,
    shadow_bytes: AtomicI64,
    expiring: Expiring,
    /// For age: the log's tail when the segment was sealed.
    sealed_lsn: AtomicU64,
    /// Its header is lost: what it holds is not served.
    is_lost: AtomicBool,
    /// Damaged: never a victim, until a repair frees it.
    is_aside: AtomicBool,
}

impl Segment {
    fn new() -> Self {
        Self {
            state: AtomicU8::new(State::Unallocated as u8),
            cold: AtomicU8::new(0),
            buffer: AtomicU8::new(NO_BUFFER),
            epoch: AtomicU32::new(0),
            opening_lsn: AtomicU64::new(0),
            seed: AtomicU32::new(0),
            live_bytes: AtomicI64::new(0),
            shadow_bytes: AtomicI64::new(0),
            expiring: Expiring::default(),
            sealed_lsn: AtomicU64::new(0),
            is_lost: AtomicBool::new(false),
            is_aside: AtomicBool::new(false),
        }
    }

    pub(crate) fn state(&self) -> State {
        State::from_u8(self.state.load(Ordering::Acquire))
    }

    pub(crate) fn set_state(&self, state: State) {
        self.state.store(state as u8, Ordering::Release);
    }

    pub(crate) fn stream(&self) -> Stream {
        if self.cold.load(Ordering::Acquire) == 1 {
            Stream::Cold
        } else {
            Stream::Hot
        }
    }

    pub(crate) fn opening_lsn(&self) -> Lsn {
        Lsn::new(self.opening_lsn.load(Ordering::Acquire))
    }

    /// The segment's present life. `number` is its own.
    pub(crate) fn generation(&self, number: SegmentNumber) -> Generation {
        let epoch = self.epoch.load(Ordering::Acquire);
        Generation {
            epoch,
            segment: number,
            opening_lsn: self.opening_lsn(),
        }
    }

    /// What record checksums of this life are seeded with.
    pub(crate) fn seed(&self) -> GenerationSeed {
        GenerationSeed::restore(self.seed.load(Ordering::Acquire))
    }

    pub(crate) fn sealed_lsn(&self) -> Lsn {
        Lsn::new(self.sealed_lsn.load(Ordering::Acquire))
    }

    pub(crate) fn set_sealed_lsn(&self, lsn: Lsn) {
        self.sealed_lsn.store(lsn.get(), Ordering::Release);
    }

    /// Starts a life. `seed` is its generation's, for the checksums of all its records.
    pub(crate) fn begin_life(&self, generation: Generation, seed: GenerationSeed, stream: Stream) {
        self.epoch.store(generation.epoch, Ordering::Release);
        self.opening_lsn
            .store(generation.opening_lsn.get(), Ordering::Release);
        self.seed.store(seed.get(), Ordering::Release);
        self.cold
            .store(u8::from(stream == Stream::Cold), Ordering::Release);
        self.sealed_lsn.store(u64::MAX, Ordering::Release);
        self.is_lost.store(false, Ordering::Release);
        self.set_state(State::Open);
    }

    /// The number of the write buffer that holds the segment, if one does.
    pub(crate) fn buffer(&self) -> Option<usize> {
        match self.buffer.load(Ordering::SeqCst) {
            NO_BUFFER => None,
            number => Some(usize::from(number)),
        }
    }

    pub(crate) fn set_buffer(&self, number: Option<usize>) {
        let raw = number.map_or(NO_BUFFER, |n| {
            u8::try_from(n).expect("fewer than 255 buffers")
        });
        self.buffer.store(raw, Ordering::SeqCst);
    }

    /// Bytes of live records, rounded up to their length classes.
    pub(crate) fn live_bytes(&self) -> u64 {
        u64::try_from(self.live_bytes.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// Bytes of those live records whose deadlines have passed for certain.
    pub(crate) fn expired_bytes(&self, now_s: u32) -> u64 {
        self.expiring.expired_bytes(now_s)
    }

    /// Bytes of tombstones written here, whether still needed or not.
    pub(crate) fn shadow_bytes(&self) -> u64 {
        u64::try_from(self.shadow_bytes.load(Ordering::Relaxed)).unwrap_or(0)
    }
}

/// What recovery found a segment to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// It holds nothing, and its place may not exist.
    Unallocated,
    /// It holds nothing, and its place exists.
    Free,
    /// It is in use.
    Sealed {
        generation: Generation,
        seed: GenerationSeed,
        stream: Stream,
        sealed_lsn: Lsn,
    },
    /// Its header is lost, and its footer tells what it was: in use, never a victim, not served.
    Doubtful {
        generation: Generation,
        seed: GenerationSeed,
        stream: Stream,
        sealed_lsn: Lsn,
    },
    /// Nobody knows what it holds: in use, and never a victim.
    Damaged,
}

/// All segments of a store, and which of them are free.
pub(crate) struct SegmentTable {
    segments: Box<[Segment]>,
    /// First segment number of each device, in device order; one more at the end.
    device_starts: Vec<u32>,
    free: Mutex<FreeLists>,
    free_count: AtomicU64,
    /// Segments of each device that were never allocated.
    unallocated_counts: Vec<AtomicU64>,
    /// A bit a device that has no room for another segment, whatever it was configured to have.
    exhausted: AtomicU64,
    allocated_count: AtomicU64,
    /// Segments that damage keeps from being cleaned.
    aside_count: AtomicU64,
    live_total: AtomicI64,
    shadow_total: AtomicI64,
}

struct FreeLists {
    /// A queue a device: segments whose place on the device exists.
    ready: Vec<VecDeque<SegmentNumber>>,
    /// A queue a device: segments to allocate when more are wanted.
    unallocated: Vec<VecDeque<SegmentNumber>>,
    next_device: usize,
}

impl SegmentTable {
    /// `device_segment_counts`: segments of each device. All start unallocated.
    pub(crate) fn new(device_segment_counts: &[u32]) -> Self {
        let mut device_starts = vec![0];
        let mut unallocated = Vec::new();
        for count in device_segment_counts {
            let start = *device_starts.last().expect("never empty");
            unallocated.push((start..start + count).map(SegmentNumber::new).collect());
            device_starts.push(start + count);
        }
        let unallocated_counts = device_segment_counts
            .iter()
            .map(|count| AtomicU64::new(u64::from(*count)))
            .collect();
        let total = *device_starts.last().expect("never empty");
        Self {
            segments: (0..total).map(|_| Segment::new()).collect(),
            free: Mutex::new(FreeLists {
                ready: vec![VecDeque::new(); device_segment_counts.len()],
                unallocated,
                next_device: 0,
            }),
            device_starts,
            free_count: AtomicU64::new(0),
            unallocated_counts,
            exhausted: AtomicU64::new(0),
            allocated_count: AtomicU64::new(0),
            aside_count: AtomicU64::new(0),
            live_total: AtomicI64::new(0),
            shadow_total: AtomicI64::new(0),
        }
    }

    pub(crate) fn get(&self, segment: SegmentNumber) -> &Segment {
        &self.segments[segment.get() as usize]
    }

    pub(crate) fn count(&self) -> u32 {
        u32::try_from(self.segments.len()).expect("segment numbers are u32")
    }

    pub(crate) fn numbers(&self) -> impl Iterator<Item = SegmentNumber> + use<> {
        (0..self.count()).map(SegmentNumber::new)
    }

    /// The device a segment lies on and its index there.
    pub(crate) fn place(&self, segment: SegmentNumber) -> (DeviceNumber, u32) {
        let device = self
            .device_starts
            .partition_point(|start| *start <= segment.get())
            - 1;
        (
            device_number(device),
            segment.get() - self.device_starts[device],
        )
    }

    /// Moves `bytes` of live data into or out of a segment's count.
    pub(crate) fn add_live(&self, segment: SegmentNumber, bytes: i64) {
        self.get(segment)
            .live_bytes
            .fetch_add(bytes, Ordering::Relaxed);
        self.live_total.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Forgets what was counted of deadlines.
    pub(crate) fn clear_expiring(&self) {
        self.segments.iter().for_each(|life| life.expiring.clear());
    }

    /// Moves `bytes` of live data that dies at `expiry_s` into or out of a segment's histogram.
    pub(crate) fn add_expiring(
        &self,
        segment: SegmentNumber,
        expiry_s: u32,
        (bytes, now_s): (i64, u32),
    ) {
        self.get(segment).expiring.add(expiry_s, bytes, now_s);
    }

    /// Counts tombstones that were written to a segment.
    pub(crate) fn add_shadow(&self, segment: SegmentNumber, bytes: i64) {
        self.get(segment)
            .shadow_bytes
            .fetch_add(bytes, Ordering::Relaxed);
        self.shadow_total.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes of all tombstones.
    pub(crate) fn shadow_bytes(&self) -> u64 {
        u64::try_from(self.shadow_total.load(Ordering::Relaxed)).unwrap_or(0)
    }

    pub(crate) fn live_bytes(&self) -> u64 {
        u64::try_from(self.live_total.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// Segments that hold nothing, allocated on the device or allocatable.
    pub(crate) fn free_count(&self) -> u64 {
        self.free_count.load(Ordering::Relaxed) + self.allocatable_count()
    }

    fn allocatable_count(&self) -> u64 {
        let counts = self.unallocated_counts.iter().enumerate();
        let possible = counts.filter(|(device, _)| !self.is_exhausted(*device));
        possible
            .map(|(_, count)| count.load(Ordering::Relaxed))
            .sum()
    }

    fn is_exhausted(&self, device: usize) -> bool {
        self.exhausted.load(Ordering::Relaxed) & (1 << device) != 0
    }

    /// Allocation on the segment's device failed for want of room, or succeeded again. True: that
    /// is news.
    pub(crate) fn set_exhausted(&self, segment: SegmentNumber, is_exhausted: bool) -> bool {
        let bit = 1 << self.place(segment).0.get();
        let before = if is_exhausted {
            self.exhausted.fetch_or(bit, Ordering::Relaxed)
        } else {
            self.exhausted.fetch_and(!bit, Ordering::Relaxed)
        };
        (before & bit != 0) != is_exhausted
    }

    /// Segments that exist or can be made to, and that come to be free in their turn.
    pub(crate) fn usable_count(&self) -> u64 {
        let count = self.allocated_count() + self.allocatable_count();
        count.saturating_sub(self.aside_count.load(Ordering::Relaxed))
    }

    /// A segment is damaged: it stays in use, and is never a victim.
    pub(crate) fn set_aside(&self, segment: SegmentNumber) {
        let life = self.get(segment);
        life.set_state(State::Cleaning);
        if !life.is_aside.swap(true, Ordering::Relaxed) {
            self.aside_count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether the segment lost its header: nothing is served from it.
    pub(crate) fn is_lost(&self, segment: SegmentNumber) -> bool {
        self.get(segment).is_lost.load(Ordering::Acquire)
    }

    fn set_lost(&self, segment: SegmentNumber) {
        let life = self.get(segment);
        life.is_lost.store(true, Ordering::Release);
        self.set_aside(segment);
    }

    /// Whether a segment whose header is lost still tells what it holds.
    pub(crate) fn is_told(&self, segment: SegmentNumber) -> bool {
        self.get(segment).epoch.load(Ordering::Acquire) > 0
    }

    /// Segments whose place on the device exists.
    pub(crate) fn allocated_count(&self) -> u64 {
        self.allocated_count.load(Ordering::Relaxed)
    }

    /// Free segments that can be opened at once.
    pub(crate) fn ready_count(&self) -> usize {
        self.free.lock().ready.iter().map(VecDeque::len).sum()
    }

    /// Whether fewer than `ready_min` segments are ready, and more can be allocated.
    pub(crate) fn wants_allocation(&self, ready_min: usize) -> bool {
        self.allocatable_count() > 0 && self.ready_count() < ready_min
    }

    /// Takes a free, allocated segment, devices in turn.
    pub(crate) fn take_ready(&self) -> Option<SegmentNumber> {
        let mut free = self.free.lock();
        let device_count = free.ready.len();
        for step in 0..device_count {
            let device = (free.next_device + step) % device_count;
            if let Some(segment) = free.ready[device].pop_front() {
                free.next_device = (device + 1) % device_count;
                self.free_count.fetch_sub(1, Ordering::Relaxed);
                return Some(segment);
            }
        }
        None
    }

    /// Takes a free segment for a life that opens at `opening`, which must not be the opening of
    /// an earlier life of the same segment: checksums of two lives would verify alike.
    pub(crate) fn take_fresh(&self, opening: Lsn) -> Option<SegmentNumber> {
        for _ in 0..self.ready_count() {
            let segment = self.take_ready()?;
            if self.get(segment).opening_lsn() < opening {
                return Some(segment);
            }
            self.free_count.fetch_add(1, Ordering::Relaxed);
            self.push_ready(segment);
        }
        None
    }

    /// The next segment to allocate, on the device with the fewest ready ones of those that may
    /// have room. `again`: devices that had none are asked, too.
    pub(crate) fn take_unallocated(&self, again: bool) -> Option<SegmentNumber> {
        let mut free = self.free.lock();
        let device = (0..free.ready.len())
            .filter(|device| again || !self.is_exhausted(*device))
            .filter(|device| !free.unallocated[*device].is_empty())
            .min_by_key(|device| free.ready[*device].len())?;
        free.unallocated[device].pop_front()
    }

    /// A segment that was allocated just now, or found to exist by recovery.
    pub(crate) fn put_allocated(&self, segment: SegmentNumber) {
        self.unallocated_counts[usize::from(self.place(segment).0.get())]
            .fetch_sub(1, Ordering::Relaxed);
        self.allocated_count.fetch_add(1, Ordering::Relaxed);
        self.free_count.fetch_add(1, Ordering::Relaxed);
        self.get(segment).set_state(State::Free);
        self.push_ready(segment);
    }

    /// Allocation failed for want of space: the segment stays unallocated, at the queue's head.
    pub(crate) fn put_back_unallocated(&self, segment: SegmentNumber) {
        let (device, _) = self.place(segment);
        self.free.lock().unallocated[usize::from(device.get())].push_front(segment);
    }

    /// A cleaned segment is free again.
    pub(crate) fn put_freed(&self, segment: SegmentNumber) {
        let life = self.get(segment);
        let left = life.live_bytes.swap(0, Ordering::Relaxed);
        self.live_total.fetch_sub(left, Ordering::Relaxed);
        let shadows = life.shadow_bytes.swap(0, Ordering::Relaxed);
        self.shadow_total.fetch_sub(shadows, Ordering::Relaxed);
        life.expiring.clear();
        life.is_lost.store(false, Ordering::Release);
        if life.is_aside.swap(false, Ordering::Relaxed) {
            self.aside_count.fetch_sub(1, Ordering::Relaxed);
        }
        life.set_state(State::Free);
        self.free_count.fetch_add(1, Ordering::Relaxed);
        self.push_ready(segment);
    }

    /// Enters what recovery found, in the order of the segments. The table is new.
    pub(crate) fn restore(&self, found: &[Found]) {
        assert_eq!(
            found.len(),
            self.segments.len(),
            "recovery looked at every segment"
        );
        self.free
            .lock()
            .unallocated
            .iter_mut()
            .for_each(VecDeque::clear);
        for (segment, found) in self.numbers().zip(found) {
            match *found {
                Found::Unallocated => {
                    let (device, _) = self.place(segment);
                    self.free.lock().unallocated[usize::from(device.get())].push_back(segment);
                }
                Found::Free => self.put_allocated(segment),
                Found::Sealed {
                    generation,
                    seed,
                    stream,
                    sealed_lsn,
                }
                | Found::Doubtful {
                    generation,
                    seed,
                    stream,
                    sealed_lsn,
                } => {
                    self.claim(segment);
                    let life = self.get(segment);
                    life.begin_life(generation, seed, stream);
                    life.set_sealed_lsn(sealed_lsn);
                    if matches!(found, Found::Doubtful { .. }) {
                        self.set_lost(segment);
                    } else {
                        life.set_state(State::Sealed);
                    }
                }
                Found::Damaged => {
                    self.claim(segment);
                    self.set_lost(segment);
                }
            }
        }
    }

    /// One segment that was counted as unallocated is in use.
    fn claim(&self, segment: SegmentNumber) {
        self.unallocated_counts[usize::from(self.place(segment).0.get())]
            .fetch_sub(1, Ordering::Relaxed);
        self.allocated_count.fetch_add(1, Ordering::Relaxed);
    }

    fn push_ready(&self, segment: SegmentNumber) {
        let (device, _) = self.place(segment);
        self.free.lock().ready[usize::from(device.get())].push_back(segment);
    }
}

fn device_number(index: usize) -> DeviceNumber {
    DeviceNumber::new(u16::try_from(index).expect("a store has at most 64 devices"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_placed_on_their_devices() {
        let table = SegmentTable::new(&[3, 2]);
        let places: Vec<_> = table.numbers().map(|s| table.place(s)).collect();
        let device = device_number;
        assert_eq!(
            places,
            [
                (device(0), 0),
                (device(0), 1),
                (device(0), 2),
                (device(1), 0),
                (device(1), 1)
            ]
        );
    }

    #[test]
    fn free_segments_are_taken_from_devices_in_turn() {
        let table = SegmentTable::new(&[2, 2]);
        while let Some(segment) = table.take_unallocated(false) {
            table.put_allocated(segment);
        }
        let taken: Vec<_> = std::iter::from_fn(|| table.take_ready())
            .map(SegmentNumber::get)
            .collect();
        assert_eq!(taken, [0, 2, 1, 3]);
        assert_eq!(table.free_count(), 0);
    }

    #[test]
    fn a_restored_table_counts_what_was_found() {
        let table = SegmentTable::new(&[3, 2]);
        let generation = Generation {
            epoch: 2,
            segment: SegmentNumber::new(1),
            opening_lsn: Lsn::new(64),
        };
        let sealed = Found::Sealed {
            generation,
            seed: GenerationSeed::restore(7),
            stream: Stream::Cold,
            sealed_lsn: Lsn::new(96),
        };
        table.restore(&[
            Found::Unallocated,
            sealed,
            Found::Free,
            Found::Damaged,
            Found::Unallocated,
        ]);
        assert_eq!(
            (
                table.free_count(),
                table.allocated_count(),
                table.ready_count()
            ),
            (3, 3, 1)
        );
        let life = table.get(generation.segment);
        assert_eq!((life.state(), life.stream()), (State::Sealed, Stream::Cold));
        assert_eq!(life.generation(generation.segment), generation);
        assert_eq!(life.sealed_lsn(), Lsn::new(96));
        assert_eq!(table.get(SegmentNumber::new(3)).state(), State::Cleaning);
        assert_eq!(table.take_ready(), Some(SegmentNumber::new(2)));
        assert_eq!(table.take_unallocated(false), Some(SegmentNumber::new(0)));
        assert_eq!(table.take_unallocated(false), Some(SegmentNumber::new(4)));
        assert_eq!(table.take_unallocated(false), None);
    }

    #[test]
    fn freeing_forgets_what_was_live() {
        let table = SegmentTable::new(&[1]);
        let segment = table
            .take_unallocated(false)
            .inspect(|segment| table.put_allocated(*segment));
        assert_eq!(table.take_ready(), segment);
        let segment = segment.expect("one segment");
        table.add_live(segment, 96);
        assert_eq!(table.live_bytes(), 96);
        table.set_aside(segment);
        table.set_aside(segment);
        assert_eq!(table.usable_count(), 0);
        table.put_freed(segment);
        assert_eq!((table.live_bytes(), table.free_count()), (0, 1));
        assert_eq!(table.usable_count(), 1);
    }
}
