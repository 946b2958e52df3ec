//! How often keys are used: a count-min sketch of four-bit counters that are halved as uses go by
//! (Einziger, Friedman and Manes, TinyLFU, 2017), with conservative update (Estan and Varghese,
//! 2002).
//!
//! A key's four counters lie in one cache line. A counter that is full is not written any more, so
//! a hot key costs its readers no shared write. Counts may be lost to races: they are estimates.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cellar_index::Identity;

/// Words of a line: 64 bytes.
const LINE_WORDS: usize = 8;
/// Counters of a word.
const WORD_COUNTERS: u64 = 16;
/// Lines that are obtained, and halved, at once: 32 KiB, in some 10 microseconds.
const PIECE_LINES: usize = 512;
const PIECE_BYTES: u64 = (PIECE_LINES * LINE_WORDS * 8) as u64;
/// Counters that a key has.
const ROWS: u32 = 4;
/// The largest count.
pub(crate) const COUNT_MAX: u64 = 15;
/// Bytes for each key that the store may hold: eight counters, of which a key uses four.
const BYTES_PER_KEY: u64 = 4;
/// At 1 GiB the sketch has the said bytes for 268 million keys; beyond that it gets coarser.
const BYTES_MAX: u64 = 1 << 30;
/// Uses for each key of the store after which every count has been halved: the paper's choice.
const USES_PER_KEY: u64 = 10;

type Line = [AtomicU64; LINE_WORDS];

/// The sketch.
pub(crate) struct Sketch {
    pieces: Box<[OnceLock<Box<[Line]>>]>,
    /// Uses noted since a piece was last halved.
    uses: AtomicU64,
    next_halved: AtomicU32,
}

impl Sketch {
    /// A sketch for about `key_count` keys that takes at most `bytes_max`, but at least one piece.
    pub(crate) fn new(key_count: u64, bytes_max: u64) -> Self {
        let bytes = key_count.saturating_mul(BYTES_PER_KEY);
        let bytes = bytes.min(bytes_max).clamp(PIECE_BYTES, BYTES_MAX);
        Self {
            pieces: (0..bytes.div_ceil(PIECE_BYTES))
                .map(|_| OnceLock::new())
                .collect(),
            uses: AtomicU64::new(0),
            next_halved: AtomicU32::new(0),
        }
    }

    /// Bytes that it takes, or will when all of it is in use.
    pub(crate) fn bytes(&self) -> u64 {
        self.pieces.len() as u64 * PIECE_BYTES
    }

    /// Counts one use of a key.
    pub(crate) fn note(&self, identity: Identity) {
        let hash = hash_of(identity);
        let line = self.line(hash);
        let count = estimate(line, hash);
        if count == COUNT_MAX {
            return;
        }
        for (word, shift) in counters(hash) {
            let before = line[word].load(Ordering::Relaxed);
            if (before >> shift) & COUNT_MAX == count {
                // Lost when another thread changes the word just now.
                let after = before + (1 << shift);
                let order = Ordering::Relaxed;
                let _ = line[word].compare_exchange(before, after, order, order);
            }
        }
    }

    /// About how often a key was used of late: at most [`COUNT_MAX`].
    pub(crate) fn count(&self, identity: Identity) -> u64 {
        let hash = hash_of(identity);
        estimate(self.line(hash), hash)
    }

    /// `uses` were noted, in a store of `key_count` keys: halves a piece when it is time.
    pub(crate) fn age(&self, uses: u64, key_count: u64) {
        let period = key_count * USES_PER_KEY / self.pieces.len() as u64;
        let noted = self.uses.fetch_add(uses, Ordering::Relaxed) + uses;
        if noted >= period.max(1) {
            self.uses.store(0, Ordering::Relaxed);
            self.halve_next();
        }
    }

    fn halve_next(&self) {
        let turn = self.next_halved.fetch_add(1, Ordering::Relaxed) as usize;
        let Some(piece) = self.pieces[turn % self.pieces.len()].get() else {
            return;
        };
        for word in piece.iter().flatten() {
            let before = word.load(Ordering::Relaxed);
            if before != 0 {
                word.store((before >> 1) & 0x7777_7777_7777_7777, Ordering::Relaxed);
            }
        }
    }

    fn line(&self, hash: u64) -> &Line {
        let lines = (self.pieces.len() * PIECE_LINES) as u64;
        // The upper half of the product: `hash` scaled down to the lines, without a division.
        let line = ((u128::from(hash) * u128::from(lines)) >> 64) as usize;
        let piece = self.pieces[line / PIECE_LINES].get_or_init(|| {
            (0..PIECE_LINES)
                .map(|_| Line::default())
                .collect::<Box<[Line]>>()
        });
        &piece[line % PIECE_LINES]
    }
}

/// 64 of an identity's bits; they look random.
fn hash_of(identity: Identity) -> u64 {
    let bytes = identity.to_bytes();
    let (first, last) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>());
    let word = |chunk: Option<&[u8; 8]>| u64::from_le_bytes(*chunk.expect("twelve bytes"));
    // Both overlap in the middle; the rotation keeps equal bits apart.
    (word(first) ^ word(last).rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The places of a key's counters in its line.
fn counters(hash: u64) -> impl Iterator<Item = (usize, u64)> {
    // The line is chosen by the upper bits; these are from the lower ones. Each row has two words
    // of its own, so that no two of a key's counters are one.
    (0..ROWS).map(move |row| {
        let bits = hash >> (row * 5);
        let word = row as usize * 2 + (bits >> 4 & 1) as usize;
        (word, (bits % WORD_COUNTERS) * 4)
    })
}

fn estimate(line: &Line, hash: u64) -> u64 {
    let counts = counters(hash)
        .map(|(word, shift)| (line[word].load(Ordering::Relaxed) >> shift) & COUNT_MAX);
    counts.min().expect("a key has counters")
}

const _: () = assert!(ROWS as usize * 2 == LINE_WORDS);

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u64) -> Identity {
        cellar_index::Hasher::new([5; 16]).key(0, &number.to_le_bytes())
    }

    #[test]
    fn a_key_is_counted_up_to_the_largest_count() {
        let sketch = Sketch::new(1000, BYTES_MAX);
        for uses in 1..=2 * COUNT_MAX {
            sketch.note(key(1));
            assert_eq!(sketch.count(key(1)), uses.min(COUNT_MAX));
        }
        assert_eq!(sketch.count(key(2)), 0);
    }

    #[test]
    fn few_keys_are_overestimated_when_as_many_are_counted_as_it_is_for() {
        let count = 50_000;
        let sketch = Sketch::new(count, BYTES_MAX);
        for number in 0..count {
            sketch.note(key(number));
        }
        let wrong = (0..count).filter(|n| sketch.count(key(*n)) != 1).count();
        assert!(wrong < 2_000, "{wrong} of {count}");
    }

    #[test]
    fn counts_are_halved_as_uses_go_by() {
        let (count, uses) = (10_000, 8);
        let sketch = Sketch::new(count, BYTES_MAX);
        for _ in 0..uses {
            sketch.note(key(1));
        }
        sketch.age(USES_PER_KEY * count, count);
        sketch.age(USES_PER_KEY * count, count);
        assert_eq!(sketch.pieces.len(), 2);
        assert_eq!(sketch.count(key(1)), uses / 2);
    }

    #[test]
    fn its_bytes_are_bounded() {
        assert_eq!(Sketch::new(u64::MAX, u64::MAX).bytes(), BYTES_MAX);
        assert_eq!(Sketch::new(u64::MAX, 1 << 20).bytes(), 1 << 20);
        assert_eq!(Sketch::new(0, BYTES_MAX).bytes(), PIECE_BYTES);
    }
}
