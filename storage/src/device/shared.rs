//! Buffers that many threads fill at once, each its own part: the images of open segments.
//! Owns the copies in and out; must never decide who may touch which part.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use super::memory::{Memory, MemorySource};

/// Bytes that are copied to the stack at a time to be checksummed: half of a first-level cache.
const CHECKSUM_STEP_BYTES: usize = 16 << 10;

/// Aligned memory that threads fill in disjoint parts and a device writes out.
///
/// The contract, which the log's reservations keep: a range has one writer, everybody else reads it
/// only after that writer published it (release, then acquire), and nobody writes a range while a
/// device transfers it. Breaking it is a data race.
pub struct SharedBuffer {
    memory: Memory,
}

impl SharedBuffer {
    /// Zeroed memory of at least `bytes` bytes.
    pub fn new(source: &'static MemorySource, bytes: usize) -> Arc<Self> {
        Arc::new(Self {
            memory: Memory::new(source, bytes),
        })
    }

    /// Its length: what was asked for, rounded up to whole pages.
    pub fn bytes(&self) -> usize {
        self.memory.bytes()
    }

    /// Copies `source` to `offset`. The caller is that range's only user. Panics when out of range.
    pub fn write_at(&self, offset: usize, source: &[u8]) {
        self.memory.copy_in(offset, source);
    }

    /// Copies from `offset` to `target`. That range is published. Panics when out of range.
    pub fn read_at(&self, offset: usize, target: &mut [u8]) {
        self.memory.copy_out(offset, target);
    }

    /// A copy of `range`. That range is published. Panics when out of range.
    pub fn copy(&self, range: Range<usize>) -> Bytes {
        let mut bytes = BytesMut::zeroed(range.len());
        self.read_at(range.start, &mut bytes);
        bytes.freeze()
    }

    /// Fills `range` with zeros. The caller is that range's only user. Panics when out of range.
    pub fn fill_zero(&self, range: Range<usize>) {
        self.memory.fill_zero(range.start, range.len());
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

    /// Where `range` lies. Panics when out of range.
    fn at(&self, range: &Range<usize>) -> NonNull<u8> {
        self.memory.address(range.start, range.len())
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

    /// Bytes from the buffer's start.
    pub fn offset(&self) -> usize {
        self.range.start
    }

    /// Where its bytes lie.
    pub fn start(&self) -> NonNull<u8> {
        self.buffer.at(&self.range)
    }

    /// The buffer it is a part of.
    pub fn buffer(&self) -> &SharedBuffer {
        &self.buffer
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
