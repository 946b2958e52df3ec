//! Aligned memory that a device can transfer to and from. Owns allocation and the raw pointers of
//! the seam; must never hand out a byte that was not initialized.
#![expect(
    unsafe_code,
    reason = "aligned allocation, and buffers that threads fill side by side"
)]

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;
#[cfg(not(any(loom, feature = "plain-words")))]
use std::sync::atomic::AtomicU64;

#[cfg(all(not(loom), feature = "plain-words"))]
pub(super) use super::words_plain::Word;

/// Every buffer starts on such a boundary, in bytes: the largest block a device may have, and a
/// page, so that a transfer touches no more pages than it must.
pub const BUFFER_ALIGN: usize = 4096;

/// Where a device's memory comes from: the heap, or memory pinned for DMA.
pub struct MemorySource {
    allocate: unsafe fn(usize) -> *mut u8,
    free: unsafe fn(*mut u8, usize),
}

impl MemorySource {
    /// A source made of its two functions.
    ///
    /// # Safety
    /// `allocate(bytes)`, called with a positive multiple of [`BUFFER_ALIGN`] from any thread,
    /// returns null or that many zeroed bytes at a multiple of [`BUFFER_ALIGN`] that nobody else
    /// uses until `free` gets the same pointer and length, on any thread.
    pub const unsafe fn new(
        allocate: unsafe fn(usize) -> *mut u8,
        free: unsafe fn(*mut u8, usize),
    ) -> Self {
        Self { allocate, free }
    }
}

/// The process's heap.
// SAFETY: both functions are the heap's own, with one layout for one length.
pub static HEAP: MemorySource = unsafe { MemorySource::new(heap_allocate, heap_free) };

fn heap_layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, BUFFER_ALIGN).expect("a buffer is smaller than half of memory")
}

unsafe fn heap_allocate(bytes: usize) -> *mut u8 {
    // SAFETY: the layout is not empty, by the contract of `MemorySource::new`.
    unsafe { alloc_zeroed(heap_layout(bytes)) }
}

unsafe fn heap_free(start: *mut u8, bytes: usize) {
    // SAFETY: `start` came from `heap_allocate(bytes)`, so with this layout.
    unsafe { dealloc(start, heap_layout(bytes)) }
}

/// One owned piece of aligned, initialized memory.
pub(super) struct Memory {
    start: NonNull<u8>,
    bytes: usize,
    source: &'static MemorySource,
}

// SAFETY: it owns its bytes, and its source frees them on any thread.
unsafe impl Send for Memory {}
// SAFETY: `&Memory` only reads.
unsafe impl Sync for Memory {}

impl Memory {
    /// Zeroed memory of `bytes` rounded up to [`BUFFER_ALIGN`], at least one such piece.
    /// Aborts when memory is exhausted, as the rest of the heap does.
    pub(super) fn new(source: &'static MemorySource, bytes: usize) -> Self {
        let bytes = bytes.max(1).next_multiple_of(BUFFER_ALIGN);
        // SAFETY: `bytes` is a positive multiple of BUFFER_ALIGN.
        let start = unsafe { (source.allocate)(bytes) };
        match NonNull::new(start) {
            Some(start) => Self {
                start,
                bytes,
                source,
            },
            None => handle_alloc_error(heap_layout(bytes)),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn source(&self) -> &'static MemorySource {
        self.source
    }

    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// The first `len` bytes. `len` is at most `bytes()`.
    pub(super) fn as_slice(&self, len: usize) -> &[u8] {
        assert!(len <= self.bytes);
        // SAFETY: all `bytes` are initialized from birth, and `&self` keeps writers out.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), len) }
    }

    /// The first `len` bytes. `len` is at most `bytes()`.
    pub(super) fn as_mut_slice(&mut self, len: usize) -> &mut [u8] {
        assert!(len <= self.bytes);
        // SAFETY: all `bytes` are initialized from birth, and `&mut self` is the only access.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), len) }
    }
}

/// What threads use side by side. Under loom, `words_loom.rs` has it and the memory; under
/// ThreadSanitizer, `words_plain.rs`.
#[cfg(not(any(loom, feature = "plain-words")))]
pub(super) type Word = AtomicU64;

/// Memory that threads use side by side, a word at a time, so that even a broken promise among them
/// yields garbage bytes and not a data race.
#[cfg(not(loom))]
pub(super) struct SharedMemory(Memory);

#[cfg(not(loom))]
impl SharedMemory {
    /// Zeroed memory of `bytes` rounded up to [`BUFFER_ALIGN`].
    pub(super) fn new(source: &'static MemorySource, bytes: usize) -> Self {
        Self(Memory::new(source, bytes))
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.bytes
    }

    /// All of it.
    pub(super) fn words(&self) -> &[Word] {
        let start = self.0.start.cast::<Word>();
        // SAFETY: the piece is initialized and aligned to more than a word, its length is a
        // multiple of one, and nobody has another kind of reference to it: the inner `Memory` is
        // private.
        unsafe { std::slice::from_raw_parts(start.as_ptr(), self.0.bytes / size_of::<u64>()) }
    }

    /// The address `offset` bytes in, at most at the end.
    pub(super) fn address(&self, offset: usize) -> NonNull<u8> {
        assert!(offset <= self.0.bytes);
        // SAFETY: `offset` is at most the length, so the address stays in or at the end.
        unsafe { self.0.start.add(offset) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: start and length are those that `new` got from this source.
        unsafe { (self.source.free)(self.start.as_ptr(), self.bytes) }
    }
}

#[cfg(test)]
mod tests {
    #[cfg(not(loom))]
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn memory_is_aligned_zeroed_and_rounded_up() {
        let mut memory = Memory::new(&HEAP, 5000);
        assert_eq!(memory.bytes(), 8192);
        assert_eq!(memory.start().as_ptr() as usize % BUFFER_ALIGN, 0);
        assert!(memory.as_slice(8192).iter().all(|&byte| byte == 0));
        memory.as_mut_slice(3).copy_from_slice(b"abc");
        assert_eq!(memory.as_slice(4), b"abc\0");
    }

    #[test]
    #[cfg(not(loom))]
    fn shared_memory_is_words_over_the_same_bytes() {
        let memory = SharedMemory::new(&HEAP, 4096);
        memory.words()[2].store(u64::from_ne_bytes(*b"abcdefgh"), Ordering::Relaxed);
        let bytes = memory.0.as_slice(memory.bytes());
        assert_eq!(
            (&bytes[15..25], memory.words().len()),
            (&b"\0abcdefgh\0"[..], 512)
        );
        assert_eq!(
            memory.address(16).as_ptr() as usize,
            memory.0.start.as_ptr() as usize + 16
        );
    }
}
