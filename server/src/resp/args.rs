//! The arguments of one request, as cheap slices of the buffer that they were read into.
//!
//! Owns nothing but references. Copies an argument only where it is to be kept.

use std::ops::Deref;

use bytes::{Bytes, BytesMut};
use smallvec::SmallVec;

/// Arguments held without a heap allocation: SET with an expiry has five, its longest common form
/// six.
const INLINE_COUNT: usize = 6;

/// Bytes of arguments from which they are most of the buffer that they were read into.
const DETACHED_BYTES_MAX: usize = 64 * 1024;

/// A command's arguments, the name included (`args[0]`), as the client sent them.
#[derive(Debug, Clone, Default)]
pub struct Args(SmallVec<[Bytes; INLINE_COUNT]>);

impl Args {
    /// No arguments.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends one argument.
    pub fn push(&mut self, argument: Bytes) {
        self.0.push(argument);
    }

    /// Forgets all arguments and keeps the room.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The same arguments for a longer time: small ones are copied, so that they do not keep the
    /// buffer that they were read into.
    #[must_use]
    pub fn detached(&self) -> Self {
        if self.byte_count() >= DETACHED_BYTES_MAX {
            return self.clone();
        }
        let mut room = BytesMut::with_capacity(self.byte_count());
        for argument in self.iter() {
            room.extend_from_slice(argument);
        }
        let mut room = room.freeze();
        let cut = |argument: &Bytes| room.split_to(argument.len());
        Self(self.0.iter().map(cut).collect())
    }

    /// Bytes of memory that they take, shared buffers included.
    pub fn memory_bytes(&self) -> usize {
        let handle_bytes = if self.0.spilled() {
            self.0.capacity() * size_of::<Bytes>()
        } else {
            0
        };
        self.byte_count() + handle_bytes
    }

    /// Bytes of all arguments.
    pub fn byte_count(&self) -> usize {
        self.0.iter().map(Bytes::len).sum()
    }
}

impl Deref for Args {
    type Target = [Bytes];

    fn deref(&self) -> &[Bytes] {
        &self.0
    }
}

impl<T: Into<Bytes>> FromIterator<T> for Args {
    fn from_iter<I: IntoIterator<Item = T>>(iter: I) -> Self {
        Self(iter.into_iter().map(Into::into).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detached_arguments_are_the_same_and_keep_no_buffer() {
        let buffer = Bytes::from(vec![b'x'; 100_000]);
        let args: Args = [buffer.slice(..3), buffer.slice(3..3), buffer.slice(9..11)]
            .into_iter()
            .collect();
        let detached = args.detached();
        assert_eq!(detached[..], args[..]);
        drop(args);
        assert!(buffer.is_unique());
        assert_eq!(detached.memory_bytes(), 5);
        let large: Args = [buffer].into_iter().collect();
        assert_eq!(large.detached()[0].as_ptr(), large[0].as_ptr());
        let many: Args = (0..100).map(|number| number.to_string()).collect();
        assert!(many.memory_bytes() >= 100 * size_of::<Bytes>() + many.byte_count());
    }
}
