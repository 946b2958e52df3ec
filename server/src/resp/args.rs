//! The arguments of one request, as cheap slices of the buffer that they were read into.
//!
//! Owns nothing but references. Must never copy an argument.

use std::ops::Deref;

use bytes::Bytes;
use smallvec::SmallVec;

/// Arguments held without a heap allocation: SET with an expiry has five, its longest common form
/// six.
const INLINE_COUNT: usize = 6;

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
