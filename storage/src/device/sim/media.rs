//! What a simulated device holds: for each block what is durable, and what was written since. Owns
//! the rules of durability and of what a crash leaves; must never forget a version that may
//! survive.

use std::collections::{BTreeMap, BTreeSet};
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

#[derive(Clone, Default)]
struct Block {
    durable: Content,
    /// Oldest first.
    versions: Vec<Version>,
}

impl Block {
    fn current(&self) -> &Content {
        self.versions
            .last()
            .map_or(&self.durable, |version| &version.content)
    }

    /// Makes version `index` durable; older ones are gone.
    fn settle(&mut self, index: usize) {
        if let Some(version) = self.versions.drain(..=index).next_back() {
            self.durable = version.content;
        }
    }
}

/// All blocks of a device.
pub(super) struct Media {
    block_bytes: usize,
    blocks: BTreeMap<u64, Block>,
    /// Blocks with versions.
    dirty: BTreeSet<u64>,
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

impl Media {
    pub(super) fn new(block_bytes: u32) -> Self {
        let block_bytes = block_bytes as usize;
        Self {
            block_bytes,
            blocks: BTreeMap::new(),
            dirty: BTreeSet::new(),
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

    pub(super) fn read(&self, offset: u64, target: &mut [u8]) {
        let numbers = self.numbers(offset, target.len());
        for (number, target) in numbers.zip(target.chunks_exact_mut(self.block_bytes)) {
            match self
                .blocks
                .get(&number)
                .and_then(|block| block.current().as_deref())
            {
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
                let is_zero = bytes.iter().all(|&byte| byte == 0);
                self.put(
                    number,
                    if is_zero {
                        None
                    } else {
                        Some(Arc::from(bytes))
                    },
                );
            }
        }
    }

    /// A discard ended.
    pub(super) fn zero(&mut self, extent: Extent) {
        self.order += 1;
        for number in self.numbers(extent.offset, extent.bytes as usize) {
            if self.blocks.contains_key(&number) {
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
        self.blocks
            .entry(number)
            .or_default()
            .versions
            .push(version);
        self.dirty.insert(number);
    }

    /// A durable write of `extent` just ended.
    pub(super) fn settle(&mut self, extent: Extent) {
        for number in self.numbers(extent.offset, extent.bytes as usize) {
            if let Some(block) = self.blocks.get_mut(&number)
                && let Some(newest) = block.versions.len().checked_sub(1)
            {
                block.settle(newest);
                self.dirty.remove(&number);
            }
        }
    }

    /// A flush ended that began at `order`; or failed, and then what it was to save is doomed.
    pub(super) fn flush(&mut self, order: u64, succeeded: bool) {
        let blocks = &mut self.blocks;
        self.dirty.retain(|number| {
            let block = blocks.get_mut(number).expect("a dirty block is held");
            let covered = block
                .versions
                .iter()
                .filter(|version| version.order <= order)
                .count();
            if !succeeded {
                block.versions[..covered]
                    .iter_mut()
                    .for_each(|version| version.doomed = true);
            } else if let Some(last) = block.versions[..covered]
                .iter()
                .rposition(|version| !version.doomed)
            {
                block.settle(last);
            }
            !block.versions.is_empty()
        });
    }

    /// Flips bits of one byte, wherever the block is held.
    pub(super) fn rot(&mut self, offset: u64, mask: u8) {
        let (number, at) = (
            offset / self.block_bytes as u64,
            offset as usize % self.block_bytes,
        );
        let block = self.blocks.entry(number).or_default();
        let versions = block
            .versions
            .iter_mut()
            .map(|version| &mut version.content);
        for content in versions.chain([&mut block.durable]) {
            let mut bytes = match content {
                Some(bytes) => bytes.to_vec(),
                None => vec![0; self.block_bytes],
            };
            bytes[at] ^= mask;
            *content = Some(Arc::from(bytes));
        }
    }

    /// What is left after the power went, where `in_flight` were the writes that had not ended.
    pub(super) fn crash<'a>(
        &self,
        in_flight: impl Iterator<Item = (u64, &'a [u8])>,
        random: &mut SimRandom,
    ) -> Self {
        let mut before = Self {
            block_bytes: self.block_bytes,
            blocks: self.blocks.clone(),
            dirty: self.dirty.clone(),
            order: self.order,
        };
        // A write that had not ended is one that may have arrived, after all others.
        in_flight.for_each(|(offset, bytes)| before.write(offset, bytes, || true));
        let survival = match random.below(4) {
            0 => Survival::Nothing,
            1 => Survival::Everything,
            2 => Survival::Prefix(random.below(before.order + 1)),
            _ => Survival::Scattered,
        };
        let mut after = Self::new(self.block_bytes as u32);
        for (number, mut block) in before.blocks {
            let kept = match survival {
                Survival::Nothing => 0,
                Survival::Everything => block.versions.len(),
                Survival::Prefix(order) => block
                    .versions
                    .iter()
                    .filter(|version| version.order <= order)
                    .count(),
                Survival::Scattered => random.below(block.versions.len() as u64 + 1) as usize,
            };
            if let Some(index) = kept.checked_sub(1) {
                block.settle(index);
            }
            if block.durable.is_some() {
                let durable = block.durable;
                after.blocks.insert(
                    number,
                    Block {
                        durable,
                        versions: Vec::new(),
                    },
                );
            }
        }
        after
    }
}

#[cfg(test)]
mod tests {
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
        media.zero(Extent {
            offset: 0,
            bytes: BLOCK as u64,
        });
        assert_eq!(read(&media, 0), 0);
    }
}
