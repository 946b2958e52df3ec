//! Buffers of one owner, and the free list that each thread keeps of them, so that a read takes
//! nothing from the heap once the thread is warm. Owns size classes and their bound; must never
//! share a list between threads.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut, Range};
use std::ptr;

use bytes::{Buf, Bytes};

use super::memory::{BUFFER_ALIGN, Memory, MemorySource};

/// Buffers up to this many bytes have a class for each multiple of [`BUFFER_ALIGN`]: a record of
/// 64 KiB that starts anywhere in a block still fits well.
const FINE_BYTES_MAX: usize = 128 << 10;
/// Classes of up to [`FINE_BYTES_MAX`].
const FINE_CLASS_COUNT: usize = FINE_BYTES_MAX / BUFFER_ALIGN;
/// Then one class a doubling, up to this many bytes; larger buffers go back to the source.
const CLASS_BYTES_MAX: usize = 1 << 20;
/// All classes.
const CLASS_COUNT: usize =
    FINE_CLASS_COUNT + (CLASS_BYTES_MAX / FINE_BYTES_MAX).trailing_zeros() as usize;
/// One class keeps at most this many bytes: 2048 reads in flight x 4 KiB, as 64 clients have that
/// send 32 requests at a time.
const KEPT_BYTES_PER_CLASS_MAX: usize = 8 << 20;
/// One thread keeps at most this many bytes: two busy classes.
const KEPT_BYTES_MAX: usize = 16 << 20;

/// The class of a buffer of `bytes`, and the bytes that its memory has; `None` above the largest.
fn class_of(bytes: usize) -> Option<(usize, usize)> {
    let rounded = bytes.max(1).next_multiple_of(BUFFER_ALIGN);
    if rounded <= FINE_BYTES_MAX {
        return Some((rounded / BUFFER_ALIGN - 1, rounded));
    }
    let rounded = rounded.next_power_of_two();
    let doublings = (rounded / FINE_BYTES_MAX).trailing_zeros() as usize;
    (rounded <= CLASS_BYTES_MAX).then_some((FINE_CLASS_COUNT + doublings - 1, rounded))
}

/// What one thread keeps of one source's memory.
struct FreeList {
    source: &'static MemorySource,
    classes: [Vec<Memory>; CLASS_COUNT],
    kept_bytes: usize,
}

impl FreeList {
    fn take(&mut self, class: usize) -> Option<Memory> {
        let memory = self.classes[class].pop()?;
        self.kept_bytes -= memory.bytes();
        Some(memory)
    }

    /// Keeps `memory`, or hands it back when a bound is reached.
    fn keep(&mut self, class: usize, memory: Memory) -> Result<(), Memory> {
        let kept = &mut self.classes[class];
        let full = (kept.len() + 1) * memory.bytes() > KEPT_BYTES_PER_CLASS_MAX;
        if full || self.kept_bytes + memory.bytes() > KEPT_BYTES_MAX {
            return Err(memory);
        }
        self.kept_bytes += memory.bytes();
        kept.push(memory);
        Ok(())
    }
}

thread_local! {
    /// One list a source; a process has one or two sources.
    static FREE_LISTS: RefCell<Vec<FreeList>> = const { RefCell::new(Vec::new()) };
}

/// Runs `action` on this thread's list of `source`; `None` while the thread is ending.
fn with_free_list<R>(
    source: &'static MemorySource,
    action: impl FnOnce(&mut FreeList) -> R,
) -> Option<R> {
    FREE_LISTS
        .try_with(|lists| {
            let mut lists = lists.borrow_mut();
            let found = lists.iter().position(|list| ptr::eq(list.source, source));
            let index = found.unwrap_or_else(|| {
                let classes = [const { Vec::new() }; CLASS_COUNT];
                lists.push(FreeList {
                    source,
                    classes,
                    kept_bytes: 0,
                });
                lists.len() - 1
            });
            action(&mut lists[index])
        })
        .ok()
}

/// Bytes that this thread's free lists keep, over all sources.
pub fn kept_bytes() -> usize {
    FREE_LISTS
        .try_with(|lists| lists.borrow().iter().map(|list| list.kept_bytes).sum())
        .unwrap_or(0)
}

/// An owned buffer for one transfer, aligned to [`BUFFER_ALIGN`]. Its memory goes to the free list
/// of the thread that drops it. Its content at birth is whatever its last user left.
pub struct IoBuffer {
    /// `None` only inside `drop`.
    memory: Option<Memory>,
    len: usize,
}

impl IoBuffer {
    /// A buffer of `len` bytes from this thread's free list, or else from `source`.
    pub fn new(source: &'static MemorySource, len: usize) -> Self {
        let memory = match class_of(len) {
            Some((class, bytes)) => with_free_list(source, |list| list.take(class))
                .flatten()
                .unwrap_or_else(|| Memory::new(source, bytes)),
            None => Memory::new(source, len),
        };
        Self {
            memory: Some(memory),
            len,
        }
    }

    fn memory(&self) -> &Memory {
        self.memory
            .as_ref()
            .expect("a buffer has its memory until it is dropped")
    }

    /// Forgets the bytes from `len` on. Does nothing when there are fewer.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Where its bytes lie; they do not move with it.
    pub fn start(&self) -> ptr::NonNull<u8> {
        self.memory().start()
    }

    /// The bytes of `range`, without a copy; the memory is given back with the last of them.
    /// Panics when `range` does not lie within the buffer.
    pub fn into_bytes(self, range: Range<usize>) -> Bytes {
        let mut bytes = Bytes::from_owner(self);
        assert!(range.start <= range.end && range.end <= bytes.len());
        bytes.truncate(range.end);
        bytes.advance(range.start);
        bytes
    }
}

impl Deref for IoBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.memory().as_slice(self.len)
    }
}

impl DerefMut for IoBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        let memory = self
            .memory
            .as_mut()
            .expect("a buffer has its memory until it is dropped");
        memory.as_mut_slice(self.len)
    }
}

impl AsRef<[u8]> for IoBuffer {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl std::fmt::Debug for IoBuffer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("IoBuffer")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

impl Drop for IoBuffer {
    fn drop(&mut self) {
        let Some(memory) = self.memory.take() else {
            return;
        };
        let Some((class, bytes)) = class_of(memory.bytes()) else {
            return;
        };
        debug_assert_eq!(bytes, memory.bytes());
        let source = memory.source();
        // What is not kept is freed here, with the list's borrow already over.
        drop(with_free_list(source, |list| list.keep(class, memory)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::HEAP;
    use super::*;

    #[test]
    fn classes_round_up_little() {
        let check = |bytes, expected| assert_eq!(class_of(bytes), expected, "{bytes} bytes");
        check(0, Some((0, 4096)));
        check(4096, Some((0, 4096)));
        check(4097, Some((1, 8192)));
        check(128 << 10, Some((31, 128 << 10)));
        check((128 << 10) + 1, Some((32, 256 << 10)));
        check(1 << 20, Some((34, 1 << 20)));
        check((1 << 20) + 1, None);
        assert_eq!(CLASS_COUNT, 35);
    }

    #[test]
    fn a_dropped_buffer_is_used_again() {
        let first = IoBuffer::new(&HEAP, 3000);
        let address = first.start();
        drop(first);
        assert_eq!(kept_bytes(), 4096);
        let second = IoBuffer::new(&HEAP, 4096);
        assert_eq!(second.start(), address);
        assert_eq!(kept_bytes(), 0);
    }

    #[test]
    fn bytes_give_their_buffer_back() {
        let mut buffer = IoBuffer::new(&HEAP, 512);
        buffer[5..8].copy_from_slice(b"abc");
        let bytes = buffer.into_bytes(5..8);
        let copy = bytes.clone();
        drop(bytes);
        assert_eq!((&copy[..], kept_bytes()), (&b"abc"[..], 0));
        drop(copy);
        assert_eq!(kept_bytes(), 4096);
    }

    #[test]
    fn a_buffer_that_ends_on_another_thread_joins_that_threads_list() {
        let buffer = IoBuffer::new(&HEAP, 4096);
        let there = std::thread::spawn(move || {
            drop(buffer);
            kept_bytes()
        });
        assert_eq!((there.join().unwrap(), kept_bytes()), (4096, 0));
    }

    #[test]
    fn the_free_list_is_bounded() {
        let count = KEPT_BYTES_PER_CLASS_MAX / 4096 + 1;
        let buffers: Vec<_> = (0..count).map(|_| IoBuffer::new(&HEAP, 4096)).collect();
        drop(buffers);
        assert_eq!(kept_bytes(), KEPT_BYTES_PER_CLASS_MAX);
        for bytes in [8192, 16384, 32768, 65536] {
            let count = KEPT_BYTES_PER_CLASS_MAX / bytes + 1;
            drop(
                (0..count)
                    .map(|_| IoBuffer::new(&HEAP, bytes))
                    .collect::<Vec<_>>(),
            );
        }
        assert_eq!(kept_bytes(), KEPT_BYTES_MAX);
        drop(IoBuffer::new(&HEAP, 2 << 20));
        assert_eq!(kept_bytes(), KEPT_BYTES_MAX);
    }
}
