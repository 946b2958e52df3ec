//! One reserved range of addresses, seen as equal blocks of atomic words.
//!
//! Owns the crate's unsafe code: the mapping, the view of it, prefetching. Must never hand out
//! anything but shared references to atomics, so that no data race is possible whatever the
//! layers above do with a stale block number.
#![expect(
    unsafe_code,
    reason = "the table's memory is mapped, aligned and advised by hand"
)]

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

/// The granule in which memory is taken from and given back to the system: one huge page. Less
/// under Miri, which takes a minute to clear one.
pub(crate) const PIECE_BYTES: usize = if cfg!(miri) { 32 << 10 } else { 2 << 20 };

/// Blocks reserved for an arena: 256 GiB of addresses for buckets of 128 bytes, some 13 billion
/// keys. Addresses cost no memory until touched.
#[cfg(not(miri))]
const BLOCKS_MAX: u32 = 1 << 31;
/// Miri allocates what is reserved: 1 MiB for buckets of 128 bytes.
#[cfg(miri)]
const BLOCKS_MAX: u32 = 1 << 13;

/// The least reservation worth starting with where the address space is limited.
const BLOCKS_MIN: u32 = if cfg!(miri) { BLOCKS_MAX } else { 1 << 16 };

/// `2^n` blocks of `WORDS` 32-bit words, all zero at first.
pub(crate) struct Memory<const WORDS: usize> {
    base: NonNull<AtomicU32>,
    blocks: u32,
    huge_pages: bool,
    mapping: Mapping,
}

// SAFETY: the range is owned by this value and only ever seen as shared atomics.
unsafe impl<const WORDS: usize> Send for Memory<WORDS> {}
// SAFETY: as above.
unsafe impl<const WORDS: usize> Sync for Memory<WORDS> {}

impl<const WORDS: usize> Memory<WORDS> {
    const BLOCK_BYTES: usize = {
        assert!(WORDS.is_power_of_two() && WORDS * 4 <= PIECE_BYTES);
        WORDS * 4
    };

    /// Reserves addresses, half as many as often as the system refuses.
    pub(crate) fn reserve() -> io::Result<Self> {
        let mut blocks = BLOCKS_MAX;
        loop {
            match Mapping::new(blocks as usize * Self::BLOCK_BYTES) {
                Ok(mapping) => return Ok(Self::over(mapping, blocks)),
                Err(error) if blocks <= BLOCKS_MIN => return Err(error),
                Err(_) => blocks /= 2,
            }
        }
    }

    fn over(mapping: Mapping, blocks: u32) -> Self {
        let huge_pages = mapping.advise_huge_pages();
        Self {
            base: mapping.start.cast(),
            blocks,
            huge_pages,
            mapping,
        }
    }

    /// How many blocks there are: a power of two.
    pub(crate) fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Whether the system agreed to back the range with huge pages.
    pub(crate) fn huge_pages(&self) -> bool {
        self.huge_pages
    }

    /// The words of block number `block`.
    #[inline]
    pub(crate) fn block(&self, block: u32) -> &[AtomicU32; WORDS] {
        assert!(
            block < self.blocks,
            "a block number lies in the reservation"
        );
        // SAFETY: below `blocks`, so the result is inside the mapping.
        let words = unsafe { self.base.add(block as usize * WORDS) };
        // SAFETY: mapped for reading and writing while `self` lives, aligned to the block's size,
        // initialised (zero pages), and only ever accessed as atomics.
        unsafe { words.cast::<[AtomicU32; WORDS]>().as_ref() }
    }

    /// Asks for the cache lines of `block` without waiting for them.
    #[inline]
    pub(crate) fn prefetch(&self, block: u32) {
        let words = self.block(block);
        for line in words.chunks(64 / 4) {
            prefetch_line(line.as_ptr());
        }
    }

    /// Gives the memory of `count` blocks from `block` back to the system. They read as zero
    /// afterwards.
    pub(crate) fn release(&self, block: u32, count: u32) {
        let end = u64::from(block) + u64::from(count);
        assert!(
            end <= u64::from(self.blocks),
            "a released range lies in the reservation"
        );
        let bytes = count as usize * Self::BLOCK_BYTES;
        self.mapping
            .release(block as usize * Self::BLOCK_BYTES, bytes);
    }
}

#[inline]
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn prefetch_line(line: *const AtomicU32) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch never faults, and changes nothing that the program can see.
    unsafe { _mm_prefetch(line.cast::<i8>(), _MM_HINT_T0) }
}

#[inline]
#[cfg(all(target_arch = "aarch64", not(miri)))]
fn prefetch_line(line: *const AtomicU32) {
    // SAFETY: a prefetch never faults, and changes nothing that the program can see.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{0}]", in(reg) line,
            options(nostack, preserves_flags, readonly));
    }
}

#[inline]
#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn prefetch_line(_line: *const AtomicU32) {}

/// The mapping under a [`Memory`], its start aligned to [`PIECE_BYTES`].
struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
    /// What the system returned, before alignment.
    whole: NonNull<u8>,
    whole_bytes: usize,
}

#[cfg(not(miri))]
impl Mapping {
    fn new(bytes: usize) -> io::Result<Self> {
        let whole_bytes = bytes + PIECE_BYTES;
        // NORESERVE: only what is touched counts against the system's memory.
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new anonymous mapping at an address of the system's choice.
        let whole =
            unsafe { libc::mmap(std::ptr::null_mut(), whole_bytes, protection, flags, -1, 0) };
        if whole == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let whole = NonNull::new(whole.cast::<u8>()).ok_or(io::ErrorKind::AddrNotAvailable)?;
        let skip = whole.as_ptr().align_offset(PIECE_BYTES);
        // SAFETY: `skip` is below PIECE_BYTES, by which the mapping is longer than `bytes`.
        let start = unsafe { whole.add(skip) };
        Ok(Self {
            start,
            bytes,
            whole,
            whole_bytes,
        })
    }

    fn advise_huge_pages(&self) -> bool {
        // SAFETY: the range is inside this mapping; the advice changes no contents.
        let answer =
            unsafe { libc::madvise(self.start.as_ptr().cast(), self.bytes, libc::MADV_HUGEPAGE) };
        answer == 0
    }

    fn release(&self, offset: usize, bytes: usize) {
        assert!(
            offset + bytes <= self.bytes,
            "a released range lies in the mapping"
        );
        // SAFETY: `offset` lies in the mapping, as just checked.
        let start = unsafe { self.start.add(offset) };
        // SAFETY: inside this mapping, whose contents are atomics: the zeroes that appear are
        // like stores by another thread.
        let answer = unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_DONTNEED) };
        assert!(answer == 0, "private anonymous memory can be given back");
    }
}

#[cfg(not(miri))]
impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this length; its owner is going, so nobody looks at it.
        unsafe { libc::munmap(self.whole.as_ptr().cast(), self.whole_bytes) };
    }
}

#[cfg(miri)]
impl Mapping {
    fn layout(bytes: usize) -> std::alloc::Layout {
        std::alloc::Layout::from_size_align(bytes, PIECE_BYTES).expect("a small power of two")
    }

    fn new(bytes: usize) -> io::Result<Self> {
        // SAFETY: the size is not zero.
        let start = unsafe { std::alloc::alloc_zeroed(Self::layout(bytes)) };
        let start = NonNull::new(start).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self {
            start,
            bytes,
            whole: start,
            whole_bytes: bytes,
        })
    }

    fn advise_huge_pages(&self) -> bool {
        false
    }

    fn release(&self, offset: usize, bytes: usize) {
        assert!(
            offset + bytes <= self.bytes,
            "a released range lies in the mapping"
        );
        for word in (offset..offset + bytes).step_by(4) {
            // SAFETY: `word` lies in the allocation, as just checked.
            let word = unsafe { self.start.add(word) };
            // SAFETY: aligned, initialised, only ever accessed as an atomic.
            let word = unsafe { word.cast::<AtomicU32>().as_ref() };
            word.store(0, std::sync::atomic::Ordering::Relaxed);
        }
    }
}

#[cfg(miri)]
impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: allocated by `new` with this layout.
        unsafe { std::alloc::dealloc(self.whole.as_ptr(), Self::layout(self.whole_bytes)) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn blocks_are_aligned_zero_and_distinct() {
        let memory = Memory::<32>::reserve().unwrap();
        assert!(memory.blocks().is_power_of_two());
        for block in [0, 1, memory.blocks() - 1] {
            let words = memory.block(block);
            assert_eq!(words.as_ptr() as usize % 128, 0);
            assert_eq!(words[31].swap(block + 1, Ordering::Relaxed), 0);
            memory.prefetch(block);
        }
        assert_eq!(memory.block(1)[31].load(Ordering::Relaxed), 2);
    }

    #[test]
    fn released_blocks_read_as_zero() {
        let memory = Memory::<32>::reserve().unwrap();
        let piece_blocks = (PIECE_BYTES / 128) as u32;
        memory.block(piece_blocks)[0].store(9, Ordering::Relaxed);
        memory.block(piece_blocks - 1)[0].store(8, Ordering::Relaxed);
        memory.release(piece_blocks, piece_blocks);
        assert_eq!(memory.block(piece_blocks)[0].load(Ordering::Relaxed), 0);
        assert_eq!(memory.block(piece_blocks - 1)[0].load(Ordering::Relaxed), 8);
    }

    #[test]
    #[should_panic(expected = "in the reservation")]
    fn a_block_beyond_the_reservation_is_refused() {
        let memory = Memory::<32>::reserve().unwrap();
        memory.block(memory.blocks());
    }
}
