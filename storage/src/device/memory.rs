//! Aligned memory that a device can transfer to and from. Owns allocation and the raw pointers of
//! the seam; must never hand out a byte that was not initialized.
#![expect(
    unsafe_code,
    reason = "aligned allocation, and buffers that threads fill side by side"
)]

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

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
    /// `allocate(bytes)`, called with a positive multiple of [`BUFFER_ALIGN`] from any thread, returns
    /// null or that many zeroed bytes at a multiple of [`BUFFER_ALIGN`] that nobody else uses until
    /// `free` gets the same pointer and length, on any thread.
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
// SAFETY: `&Memory` only reads, save through `copy_in` and `fill_zero`, whose callers keep apart.
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

    /// Like `at`, for the device.
    pub(super) fn address(&self, offset: usize, len: usize) -> NonNull<u8> {
        NonNull::new(self.at(offset, len)).expect("an address inside of memory is not null")
    }

    /// The address `offset` bytes in, where `len` bytes follow.
    fn at(&self, offset: usize, len: usize) -> *mut u8 {
        let end = offset
            .checked_add(len)
            .expect("an offset in memory does not overflow");
        assert!(
            end <= self.bytes,
            "{len} bytes at {offset} are outside of {} bytes",
            self.bytes
        );
        // SAFETY: `offset` is at most `bytes`, so the address stays in or at the end of the piece.
        unsafe { self.start.as_ptr().add(offset) }
    }

    /// Copies `source` to `offset`. Nobody else touches that range meanwhile.
    pub(super) fn copy_in(&self, offset: usize, source: &[u8]) {
        let target = self.at(offset, source.len());
        // SAFETY: `at` checked the range, a `&[u8]` cannot overlap memory that is only reached
        // through raw pointers, and the caller keeps others out of the range.
        unsafe { target.copy_from_nonoverlapping(source.as_ptr(), source.len()) }
    }

    /// Copies from `offset` to `target`. Nobody writes that range meanwhile.
    pub(super) fn copy_out(&self, offset: usize, target: &mut [u8]) {
        let source = self.at(offset, target.len());
        // SAFETY: `at` checked the range, a `&mut [u8]` overlaps nothing, and the caller keeps
        // writers out of the range.
        unsafe { source.copy_to_nonoverlapping(target.as_mut_ptr(), target.len()) }
    }

    /// Fills `len` bytes at `offset` with zeros. Nobody else touches that range meanwhile.
    pub(super) fn fill_zero(&self, offset: usize, len: usize) {
        let target = self.at(offset, len);
        // SAFETY: `at` checked the range, and the caller keeps others out of it.
        unsafe { target.write_bytes(0, len) }
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
    fn copies_stay_in_their_range() {
        let memory = Memory::new(&HEAP, 4096);
        memory.copy_in(10, b"hello");
        let mut read = [1; 7];
        memory.copy_out(9, &mut read);
        assert_eq!(&read, b"\0hello\0");
        memory.fill_zero(11, 3);
        memory.copy_out(9, &mut read);
        assert_eq!(&read, b"\0h\0\0\0o\0");
    }

    #[test]
    #[should_panic(expected = "outside of 4096 bytes")]
    fn a_copy_beyond_the_end_panics() {
        Memory::new(&HEAP, 4096).copy_in(4090, b"1234567");
    }
}
