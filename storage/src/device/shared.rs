//! Buffers that many threads fill at once, each its own part: the images of open segments.
//! Owns the copies in and out; must never decide who may touch which part.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;

use super::memory::MemorySource;
#[cfg(not(loom))]
use super::memory::{SharedMemory, Word};
#[cfg(loom)]
use super::words_loom::{SharedMemory, Word};

/// Bytes that are copied to the stack at a time to be checksummed: half of a first-level cache.
const CHECKSUM_STEP_BYTES: usize = 16 << 10;

/// What is stored or loaded at a time, in bytes.
const WORD_BYTES: usize = size_of::<u64>();

/// Aligned memory that threads fill in disjoint parts and a device writes out.
///
/// The contract, which the log's reservations keep: a range has one writer, ranges of two writers
/// share no 8-byte word, everybody else reads a range only after its writer published it (release,
/// then acquire), and nobody writes a range while a device transfers it. Whoever breaks it reads or
/// writes garbage; memory stays safe, because all access is by relaxed stores and loads of words
/// (measured as fast as a plain copy where the buffer is larger than the cache).
pub struct SharedBuffer {
    memory: SharedMemory,
}

impl SharedBuffer {
    /// Zeroed memory of at least `bytes` bytes.
    pub fn new(source: &'static MemorySource, bytes: usize) -> Arc<Self> {
        Arc::new(Self {
            memory: SharedMemory::new(source, bytes),
        })
    }

    /// Its length: what was asked for, rounded up to whole pages.
    pub fn bytes(&self) -> usize {
        self.memory.bytes()
    }

    /// Copies `source` to `offset`. The caller is that range's only user. Panics when out of range.
    pub fn write_at(&self, offset: usize, source: &[u8]) {
        let span = self.span(offset, source.len());
        let (head, rest) = source.split_at(span.head_bytes);
        splice(span.words, offset % WORD_BYTES, head);
        let (whole, tail) = rest.as_chunks::<WORD_BYTES>();
        for (word, bytes) in span.whole.iter().zip(whole) {
            word.store(u64::from_ne_bytes(*bytes), Ordering::Relaxed);
        }
        splice(&span.whole[whole.len()..], 0, tail);
    }

    /// Copies from `offset` to `target`. That range is published. Panics when out of range.
    pub fn read_at(&self, offset: usize, target: &mut [u8]) {
        let span = self.span(offset, target.len());
        let (head, rest) = target.split_at_mut(span.head_bytes);
        extract(span.words, offset % WORD_BYTES, head);
        let (whole, tail) = rest.as_chunks_mut::<WORD_BYTES>();
        for (word, bytes) in span.whole.iter().zip(whole.iter_mut()) {
            *bytes = word.load(Ordering::Relaxed).to_ne_bytes();
        }
        extract(&span.whole[whole.len()..], 0, tail);
    }

    /// The words that `len` bytes at `offset` touch.
    fn span(&self, offset: usize, len: usize) -> Span<'_> {
        let end = offset
            .checked_add(len)
            .expect("an offset in memory does not overflow");
        assert!(
            end <= self.bytes(),
            "{len} bytes at {offset} are outside of {} bytes",
            self.bytes()
        );
        let words = &self.memory.words()[offset / WORD_BYTES..end.div_ceil(WORD_BYTES)];
        let head_bytes = (offset.next_multiple_of(WORD_BYTES) - offset).min(len);
        let whole = &words[usize::from(head_bytes > 0)..];
        Span {
            words,
            head_bytes,
            whole,
        }
    }

    /// A copy of `range`. That range is published. Panics when out of range.
    pub fn copy(&self, range: Range<usize>) -> Bytes {
        let start = range.start % WORD_BYTES;
        let words = self.span(range.start, range.len()).words;
        let load = |word: &Word| word.load(Ordering::Relaxed).to_ne_bytes();
        let whole: Vec<_> = words.iter().map(load).collect();
        Bytes::from(whole.into_flattened()).slice(start..start + range.len())
    }

    /// Fills `range` with zeros. The caller is that range's only user. Panics when out of range.
    pub fn fill_zero(&self, range: Range<usize>) {
        let span = self.span(range.start, range.len());
        let zeros = [0; WORD_BYTES];
        splice(
            span.words,
            range.start % WORD_BYTES,
            &zeros[..span.head_bytes],
        );
        let rest_bytes = range.len() - span.head_bytes;
        let (whole, tail) = span.whole.split_at(rest_bytes / WORD_BYTES);
        for word in whole {
            word.store(0, Ordering::Relaxed);
        }
        splice(tail, 0, &zeros[..rest_bytes % WORD_BYTES]);
    }

    /// The CRC32C of `range`, continued from `seed`. That range is published.
    pub fn checksum(&self, range: Range<usize>, seed: u32) -> u32 {
        let mut step = [0; CHECKSUM_STEP_BYTES];
        let mut checksum = seed;
        for start in range.clone().step_by(CHECKSUM_STEP_BYTES) {
            let part = &mut step[..CHECKSUM_STEP_BYTES.min(range.end - start)];
            self.read_at(start, part);
            checksum = crc32c::crc32c_append(checksum, part);
        }
        checksum
    }
}

/// What a range touches.
struct Span<'a> {
    /// All words of it, the parts of words at its ends included.
    words: &'a [Word],
    /// Bytes before the first word that starts within.
    head_bytes: usize,
    /// From that word on.
    whole: &'a [Word],
}

/// Stores `bytes` at `start` within the first of `words`. No bytes: no word is needed.
fn splice(words: &[Word], start: usize, bytes: &[u8]) {
    if let [word, ..] = words
        && !bytes.is_empty()
    {
        let mut whole = word.load(Ordering::Relaxed).to_ne_bytes();
        whole[start..start + bytes.len()].copy_from_slice(bytes);
        word.store(u64::from_ne_bytes(whole), Ordering::Relaxed);
    }
}

/// Loads `bytes` from `start` within the first of `words`. No bytes: no word is needed.
fn extract(words: &[Word], start: usize, bytes: &mut [u8]) {
    if let [word, ..] = words {
        let whole = word.load(Ordering::Relaxed).to_ne_bytes();
        bytes.copy_from_slice(&whole[start..start + bytes.len()]);
    }
}

impl std::fmt::Debug for SharedBuffer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("SharedBuffer")
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}

/// A part of a shared buffer, held for a write.
#[derive(Clone, Debug)]
pub struct BufferSlice {
    buffer: Arc<SharedBuffer>,
    range: Range<usize>,
}

impl BufferSlice {
    /// The part `range` of `buffer`. Panics when it does not lie within.
    pub fn new(buffer: Arc<SharedBuffer>, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= buffer.bytes());
        Self { buffer, range }
    }

    /// Length in bytes.
    pub fn bytes(&self) -> usize {
        self.range.len()
    }

    /// A copy of it.
    pub fn copy(&self) -> Bytes {
        self.buffer.copy(self.range.clone())
    }

    /// Where its bytes lie, for a device to read them.
    pub fn start(&self) -> NonNull<u8> {
        // What the device does nobody sees, so it is done here as well.
        #[cfg(feature = "plain-words")]
        drop(self.copy());
        self.buffer.memory.address(self.range.start)
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::HEAP;
    use super::*;

    #[test]
    fn threads_fill_disjoint_parts() {
        let buffer = SharedBuffer::new(&HEAP, 64 << 10);
        std::thread::scope(|scope| {
            for part in 0..4_u8 {
                let buffer = &buffer;
                scope.spawn(move || {
                    for piece in 0..16 {
                        let offset = (piece * 4 + usize::from(part)) * 1000;
                        buffer.write_at(offset, &[part + 1; 1000]);
                    }
                });
            }
        });
        let all = buffer.copy(0..64_000);
        for (index, piece) in all.chunks(1000).enumerate() {
            assert!(
                piece.iter().all(|&byte| usize::from(byte) == index % 4 + 1),
                "piece {index}"
            );
        }
    }

    #[test]
    fn every_alignment_reads_what_it_wrote_and_touches_nothing_else() {
        for offset in 0..17 {
            for len in 0..40 {
                let buffer = SharedBuffer::new(&HEAP, 4096);
                buffer.write_at(0, &[9; 64]);
                let source: Vec<u8> = (0..len as u8).collect();
                buffer.write_at(offset, &source);
                let mut expected = [9; 64];
                expected[offset..offset + len].copy_from_slice(&source);
                assert_eq!(
                    &buffer.copy(0..64)[..],
                    &expected,
                    "{len} bytes at {offset}"
                );
                assert_eq!(&buffer.copy(offset..offset + len)[..], &source);
                buffer.fill_zero(offset..offset + len);
                expected[offset..offset + len].fill(0);
                assert_eq!(
                    &buffer.copy(0..64)[..],
                    &expected,
                    "{len} zeros at {offset}"
                );
            }
        }
        let buffer = SharedBuffer::new(&HEAP, 4096);
        buffer.write_at(4091, b"12345");
        assert_eq!(&buffer.copy(4090..4096)[..], b"\x0012345");
    }

    #[test]
    #[should_panic(expected = "outside of 4096 bytes")]
    fn a_copy_beyond_the_end_panics() {
        SharedBuffer::new(&HEAP, 4096).write_at(4090, b"1234567");
    }

    #[test]
    fn a_checksum_by_steps_is_that_of_the_whole() {
        let buffer = SharedBuffer::new(&HEAP, 64 << 10);
        let content: Vec<u8> = (0..50_000_u32)
            .map(|index| (index * 7 % 251) as u8)
            .collect();
        buffer.write_at(3, &content);
        assert_eq!(
            buffer.checksum(3..50_003, 9),
            crc32c::crc32c_append(9, &content)
        );
        buffer.fill_zero(3..50_003);
        assert!(buffer.copy(0..64 << 10).iter().all(|&byte| byte == 0));
    }
}
