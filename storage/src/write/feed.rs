//! Feeding: the value cache keeps step with what is written.
//!
//! What was overwritten or removed leaves the cache at once. If it had been read there, the value
//! that takes its place follows it: that is likely to be read as well, and would cost a device read
//! as soon as its write buffer is used for something else. A value that is written over and over
//! and never read costs the cache nothing.
//!
//! Owns when that is done: outside of the bucket locks. Must never change what a read answers.

use smallvec::SmallVec;

use crate::cache::CacheKey;
use crate::format::RecordSeed;
use crate::read::CompactRecord;
use crate::units::Lsn;
use crate::worker::Worker;
use crate::write::Prepared;

/// A record to which nothing leads any more, and the one in its place.
pub(super) struct Replaced {
    /// Number of the write among those of the commit.
    pub(super) write: usize,
    pub(super) old: CacheKey,
    pub(super) new: CacheKey,
    pub(super) lsn: Lsn,
    pub(super) seed: RecordSeed,
}

impl Worker {
    /// Tells the cache of writes that were published.
    pub(super) fn feed_cache(&self, writes: &[&Prepared<'_>], replaced: &[Replaced]) {
        let cache = self.store().cache();
        for Replaced {
            write,
            old,
            new,
            lsn,
            seed,
        } in replaced
        {
            let write = writes[*write];
            let was_read = cache.forget(*old);
            if was_read && !write.removes() {
                let mut record: SmallVec<[u8; RECORD_BYTES_INLINE]> = SmallVec::new();
                record.resize(write.draft.bytes() as usize, 0);
                write.draft.encode_into(&mut record, *lsn, *seed);
                cache.follow(*new, CompactRecord::copy_of(&record));
            }
        }
    }
}

/// Records up to this many bytes are put together on the stack: most.
const RECORD_BYTES_INLINE: usize = 4096 + 256;
