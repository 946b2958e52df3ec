//! The read path: look up and pin, then write buffer, value cache, or one direct read.
//!
//! ```text
//! identity -> index (pins the segment) -> entry
//!   in the value cache? done
//!   in a write buffer?  copy from there, into the cache too
//!   else one aligned read of the record's length class, shared with whoever wants the same
//!        -> checksum, key, deadline -> answer
//! ```

mod fetch;
mod lookup;
mod record;
pub(crate) mod remains;
mod segment;
mod view;

pub use fetch::Read;
pub(crate) use fetch::{Fetch, ReadMap, Source};
pub(crate) use lookup::Located;
pub(crate) use record::{CompactRecord, StoredRecord, record_len};
pub(crate) use segment::{RangeRead, read_range, read_summary};
pub(crate) use view::{Found, View};
