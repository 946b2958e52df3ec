//! What a simulated device holds: for each block what is durable, and what was written since. Owns
//! the rules of durability and of what a crash leaves; must never forget a version that may
//! survive.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::random::SimRandom;
use crate::units::Extent;

/// A block's content; `None` is zeros.
type Content = Option<Arc<[u8]>>;

/// A write of one block that ended and is not durable yet.
#[derive(Clone)]
struct Version {
    /// Grows with each write that ends.
    order: u64,
    content: Content,
    /// A flush of it failed: later flushes do not save it.
    doomed: bool,
}

/// Blocks of one piece. Pieces are shared by a device and by what its crashes leave, until they
/// change.
const PIECE_BLOCKS: usize = 256;

/// What is durable of each block.
#[derive(Clone, Default)]
struct Durable {
    pieces: BTreeMap<u64, Arc<[Content; PIECE_BLOCKS]>>,
}

impl Durable {
    fn get(&self, number: u64) -> Option<&Arc<[u8]>> {
        let piece = self.pieces.get(&(number / PIECE_BLOCKS as u64))?;
        piece[number as usize % PIECE_BLOCKS].as_ref()
    }

    fn set(&mut self, number: u64, content: Content) {
        let blank = || Arc::new(std::array::from_fn(|_| None));
        let piece = self.pieces.entry(number / PIECE_BLOCKS as u64);
        Arc::make_mut(piece.or_insert_with(blank))[number as usize % PIECE_BLOCKS] = content;
    }

    /// The blocks that hold anything but zeros.
    fn held(&self) -> impl Iterator<Item = u64> {
        self.pieces.iter().flat_map(|(number, piece)| {
            let first = number * PIECE_BLOCKS as u64;
            let held = piece.iter().zip(first..);
            held.filter_map(|(content, number)| content.as_ref().map(|_| number))
        })
    }
}

/// All blocks of a device.
pub(super) struct Media {
    block_bytes: usize,
    durable: Durable,
    /// What was written since and is not durable, oldest first; never empty.
    dirty: BTreeMap<u64, Vec<Version>>,
    order: u64,
}

/// How a crash treats what was not durable; the seed picks one.
#[derive(Clone, Copy)]
enum Survival {
    Nothing,
    Everything,
    /// What ended before some moment.
    Prefix(u64),
    /// Each block for itself.
    Scattered,
}

impl Survival {
    fn draw(order: u64, random: &mut SimRandom) -> Self {
        match random.below(4) {
            0 => Self::Nothing,
            1 => Self::Everything,
            2 => Self::Prefix(random.below(order + 1)),
            _ => Self::Scattered,
        }
    }

    /// How many of a block's versions count.
    fn kept(self, versions: &[Version], random: &mut SimRandom) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Everything => versions.len(),
            Self::Prefix(order) => versions.iter().filter(|v| v.order <= order).count(),
            Self::Scattered => random.below(versions.len() as u64 + 1) as usize,
        }
    }
}

impl Media {
    pub(super) fn new(block_bytes: u32) -> Self {
        Self {
            block_bytes: block_bytes as usize,
            durable: Durable::default(),
            dirty: BTreeMap::new(),
            order: 0,
        }
    }

    /// The moment: everything that ended so far has an order of at most this.
    pub(super) fn order(&self) -> u64 {
        self.order
    }

    fn numbers(&self, offset: u64, bytes: usize) -> std::ops::Range<u64> {
        let first = offset / self.block_bytes as u64;
        first..first + (bytes / self.block_bytes) as u64
    }

    /// What a block reads as.
    fn current(&self, number: u64) -> Option<&Arc<[u8]>> {
        match self.dirty.get(&number).and_then(|versions| versions.last()) {
            Some(version) => version.content.as_ref(),
            None => self.durable.get(number),
        }
    }

    pub(super) fn read(&self, offset: u64, target: &mut [u8]) {
        let numbers = self.numbers(offset, target.len());
        for (number, target) in numbers.zip(target.chunks_exact_mut(self.block_bytes)) {
            match self.current(number) {
                Some(content) => target.copy_from_slice(content),
                None => target.fill(0),
            }
        }
    }

    /// A write ended. `keep` says of each block whether it arrived.
    pub(super) fn write(&mut self, offset: u64, source: &[u8], mut keep: impl FnMut() -> bool) {
        self.order += 1;
        let numbers = self.numbers(offset, source.len());
        for (number, bytes) in numbers.zip(source.chunks_exact(self.block_bytes)) {
            if keep() {
                self.put(number, content(bytes));
            }
        }
    }

    /// A discard ended.
    pub(super) fn zero(&mut self, extent: Extent) {
        self.order += 1;
        for number in self.numbers(extent.offset, extent.bytes as usize) {
            if self.current(number).is_some() {
                self.put(number, None);
            }
        }
    }

    fn put(&mut self, number: u64, content: Content) {
        let version = Version {
            order: self.order,
            content,
            doomed: false,
        };
        self.dirty.entry(number).or_default().push(version);
    }

    /// A durable write of `extent` just ended.
    pub(super) fn settle(&mut self, extent: Extent) {
        for number in self.numbers(extent.offset, extent.bytes as usize) {
            if let Some(newest) = self.dirty.remove(&number).and_then(|mut all| all.pop()) {
                self.durable.set(number, newest.content);
            }
        }
    }

    /// A flush ended that began at `order`; or failed, and then what it was to save is doomed.
    pub(super) fn flush(&mut self, order: u64, succeeded: bool) {
        let durable = &mut self.durable;
        self.dirty.retain(|number, versions| {
            let covered = versions.iter().filter(|v| v.order <= order).count();
            if !succeeded {
                versions[..covered].iter_mut().for_each(|v| v.doomed = true);
            } else if let Some(last) = versions[..covered].iter().rposition(|v| !v.doomed) {
                let saved = versions.drain(..=last).next_back();
                durable.set(*number, saved.expect("the range is not empty").content);
            }
            !versions.is_empty()
        });
    }

    /// Flips bits of one byte, wherever the block is held.
    pub(super) fn rot(&mut self, offset: u64, mask: u8) {
        let block_bytes = self.block_bytes;
        let (number, at) = (offset / block_bytes as u64, offset as usize % block_bytes);
        let flipped = |held: Option<&Arc<[u8]>>| {
            let mut bytes = held.map_or_else(|| vec![0; block_bytes], |held| held.to_vec());
            bytes[at] ^= mask;
            Some(Arc::from(bytes))
        };
        for version in self.dirty.get_mut(&number).into_iter().flatten() {
            version.content = flipped(version.content.as_ref());
        }
        let durable = flipped(self.durable.get(number));
        self.durable.set(number, durable);
    }

    /// Where the blocks lie, in bytes, that hold anything but zeros durably.
    pub(super) fn held(&self) -> Vec<u64> {
        let block_bytes = self.block_bytes as u64;
        self.durable
            .held()
            .map(|number| number * block_bytes)
            .collect()
    }

    /// What is left after the power went, where `in_flight` were the writes that had not ended.
    pub(super) fn crash<'a>(
        &self,
        in_flight: impl Iterator<Item = (u64, &'a [u8])>,
        random: &mut SimRandom,
    ) -> Self {
        let mut before = Self {
            block_bytes: self.block_bytes,
            durable: Durable::default(),
            dirty: self.dirty.clone(),
            order: self.order,
        };
        // A write that had not ended is one that may have arrived, after all others.
        in_flight.for_each(|(offset, bytes)| before.write(offset, bytes, || true));
        let survival = Survival::draw(before.order, random);
        let mut after = Self::new(self.block_bytes as u32);
        after.durable = self.durable.clone();
        for (number, mut versions) in before.dirty {
            versions.truncate(survival.kept(&versions, random));
            if let Some(newest) = versions.pop() {
                after.durable.set(number, newest.content);
            }
        }
        after
    }

    /// After [`Media::crash`] of `before`: one block that was written and not durable lies where
    /// another such block belongs. What was durable is not touched by that. False: there were no
    /// two.
    pub(super) fn misdirect(&mut self, before: &Self, random: &mut SimRandom) -> bool {
        let written: Vec<_> = before.dirty.iter().collect();
        let Some(count) = Some(written.len() as u64).filter(|count| *count > 1) else {
            return false;
        };
        let from = random.below(count);
        let to = (from + 1 + random.below(count - 1)) % count;
        let content = written[from as usize]
            .1
            .last()
            .and_then(|v| v.content.clone());
        self.durable.set(*written[to as usize].0, content);
        true
    }
}

/// A block's bytes as they are kept.
fn content(bytes: &[u8]) -> Content {
    let is_zero = bytes.iter().all(|&byte| byte == 0);
    (!is_zero).then(|| Arc::from(bytes))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const BLOCK: usize = 512;

    fn bytes(of: u8, count: usize) -> Vec<u8> {
        vec![of; count * BLOCK]
    }

    fn read(media: &Media, number: u64) -> u8 {
        let mut target = [0; BLOCK];
        media.read(number * BLOCK as u64, &mut target);
        assert!(
            target.iter().all(|&byte| byte == target[0]),
            "a block is never torn"
        );
        target[0]
    }

    /// All values that a block can have after a crash.
    fn survivors(media: &Media, number: u64) -> Vec<u8> {
        let mut found: Vec<u8> = (0..100)
            .map(|seed| {
                read(
                    &media.crash(std::iter::empty(), &mut SimRandom::new(seed)),
                    number,
                )
            })
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    #[test]
    fn a_flush_saves_what_ended_before_it_began() {
        let mut media = Media::new(BLOCK as u32);
        media.write(0, &bytes(1, 1), || true);
        media.write(0, &bytes(2, 1), || true);
        let began = media.order();
        media.write(0, &bytes(3, 1), || true);
        assert_eq!(survivors(&media, 0), [0, 1, 2, 3]);
        media.flush(began, true);
        assert_eq!(survivors(&media, 0), [2, 3]);
        assert_eq!(read(&media, 0), 3);
        media.flush(media.order(), true);
        assert_eq!(survivors(&media, 0), [3]);
    }

    #[test]
    fn a_durable_write_saves_only_itself() {
        let mut media = Media::new(BLOCK as u32);
        media.write(0, &bytes(1, 1), || true);
        media.write(BLOCK as u64, &bytes(2, 1), || true);
        media.settle(Extent {
            offset: BLOCK as u64,
            bytes: BLOCK as u64,
        });
        assert_eq!(
            (survivors(&media, 0), survivors(&media, 1)),
            (vec![0, 1], vec![2])
        );
    }

    #[test]
    fn a_failed_flush_is_not_mended_by_the_next_one() {
        let mut media = Media::new(BLOCK as u32);
        media.write(0, &bytes(1, 1), || true);
        media.flush(media.order(), false);
        media.flush(media.order(), true);
        assert_eq!(survivors(&media, 0), [0, 1]);
        media.write(0, &bytes(2, 1), || true);
        media.flush(media.order(), true);
        assert_eq!(survivors(&media, 0), [2]);
    }

    #[test]
    fn a_crash_may_tear_a_write_between_blocks() {
        let mut media = Media::new(BLOCK as u32);
        let in_flight = bytes(1, 2);
        let outcomes: BTreeSet<(u8, u8)> = (0..100)
            .map(|seed| {
                let writes = std::iter::once((0, &in_flight[..]));
                let after = media.crash(writes, &mut SimRandom::new(seed));
                (read(&after, 0), read(&after, 1))
            })
            .collect();
        assert_eq!(
            outcomes.into_iter().collect::<Vec<_>>(),
            [(0, 0), (0, 1), (1, 0), (1, 1)]
        );
        media.write(0, &bytes(5, 2), || false);
        assert_eq!(read(&media, 0), 0);
    }

    #[test]
    fn a_misdirected_write_touches_nothing_durable() {
        let mut media = Media::new(BLOCK as u32);
        media.write(0, &bytes(9, 1), || true);
        media.flush(media.order(), true);
        media.write(BLOCK as u64, &bytes(1, 1), || true);
        let mut random = SimRandom::new(1);
        let mut after = media.crash(std::iter::empty(), &mut random);
        assert!(!after.misdirect(&media, &mut random));
        media.write(2 * BLOCK as u64, &bytes(2, 1), || true);
        let outcomes: BTreeSet<_> = (0..100)
            .map(|seed| {
                let mut random = SimRandom::new(seed);
                let mut after = media.crash(std::iter::empty(), &mut random);
                assert!(after.misdirect(&media, &mut random));
                [0, 1, 2].map(|number| read(&after, number))
            })
            .collect();
        let expected = [[9, 0, 1], [9, 1, 1], [9, 2, 0], [9, 2, 2]];
        assert_eq!(outcomes.into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn rot_reaches_the_durable_block_too() {
        let mut media = Media::new(BLOCK as u32);
        media.write(0, &bytes(1, 1), || true);
        media.settle(Extent {
            offset: 0,
            bytes: BLOCK as u64,
        });
        media.rot(3, 0x80);
        let after = media.crash(std::iter::empty(), &mut SimRandom::new(1));
        let mut target = [0; BLOCK];
        after.read(0, &mut target);
        assert_eq!(target[..5], [1, 1, 1, 0x81, 1]);
        assert_eq!((media.held(), after.held()), (vec![0], vec![0]));
        media.zero(Extent {
            offset: 0,
            bytes: BLOCK as u64,
        });
        assert_eq!(read(&media, 0), 0);
    }
}
