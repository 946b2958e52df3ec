//! Random entries of a table, each as likely as any other.
//!
//! By rejection: a random hash chooses a bucket, hence by its share of all hashes; a random slot
//! among as many as such a bucket hardly ever has chooses an entry, or none, and then the draw is
//! repeated. Owns that arithmetic.

use super::bucket::Bucket;
use super::walk::pair;
use super::{Dict, Pair, Part, page_of};
use crate::collections::Malformed;
use crate::collections::pages::Pages;
use crate::command::CommandError;

/// Draws of one round at most; their pages are read at once.
const DRAWS_MAX: usize = 64;

/// Rounds in a row without a hit after which the header's count cannot be right: a draw misses at
/// most 19 times of 20.
const EMPTY_ROUNDS_MAX: u32 = 1000;

impl Dict {
    /// At most `wanted` random entries, at least one of a table that has any; the same one may come
    /// twice. `random` gives 64 random bits.
    pub(crate) async fn sample(
        &self,
        pages: &mut Pages,
        (wanted, part): (usize, Part),
        mut random: impl FnMut() -> u64,
    ) -> Result<Vec<Pair>, CommandError> {
        let mut chosen = Vec::new();
        if self.is_empty() || wanted == 0 {
            return Ok(chosen);
        }
        // one draw in two or so hits
        let draw_count = wanted.saturating_mul(2).min(DRAWS_MAX);
        for _ in 0..EMPTY_ROUNDS_MAX {
            let buckets: Vec<u32> = (0..draw_count)
                .map(|_| self.header.bucket_of(random()))
                .collect();
            let mut numbers: Vec<u32> = buckets.iter().map(|bucket| page_of(*bucket)).collect();
            numbers.sort_unstable();
            numbers.dedup();
            let read = pages.read_many(&numbers).await?;
            for bucket in buckets {
                let at = numbers.partition_point(|number| *number < page_of(bucket));
                let page = &read[at];
                let decoded = Bucket::decode(page)?;
                let slots = self.slots(bucket).max(decoded.len() as u64);
                let slot = (random() % slots) as usize;
                if let Some(entry) = decoded.iter().nth(slot) {
                    chosen.push(pair(pages, page, &entry, part).await?);
                }
                if chosen.len() == wanted {
                    break;
                }
            }
            if !chosen.is_empty() {
                return Ok(chosen);
            }
            tokio::task::yield_now().await;
        }
        Err(Malformed("the count of a hash table").into())
    }

    /// As many entries as a bucket seldom exceeds: its share, and three standard deviations more.
    fn slots(&self, bucket: u32) -> u64 {
        let share = self.header.count >> self.header.bits_of(bucket);
        share + 3 * (share + 1).isqrt() + 1
    }
}
