//! Trimming a stream: removing its first entries, one by one or by whole nodes.
//!
//! Owns how many go. Like Redis it removes approximately by whole nodes only, as far as a limit
//! allows; here that is exact about entries, whatever pages they lie in.

use super::{EntryId, Stream};
use crate::collections::tree::Direction;
use crate::command::CommandError;

/// Entries that are read at most to find where the first node ends; it is kept for the next time.
const NODE_READ_MAX: u64 = 1024;

/// What a stream is trimmed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TrimTo {
    /// The last entries, so many at most.
    Length(u64),
    /// The entries from this id on.
    Id(EntryId),
}

/// How a stream is trimmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trim {
    /// What is to stay.
    pub(crate) to: TrimTo,
    /// Whether whole nodes go only: more may stay.
    pub(crate) is_approximate: bool,
    /// Entries to go at most; 0 for no bound.
    pub(crate) limit: u64,
}

impl Stream {
    /// Removes entries from the first on; how many.
    pub(crate) async fn trim(&mut self, trim: Trim) -> Result<u64, CommandError> {
        let surplus = match trim.to {
            TrimTo::Length(len_max) => self.len().saturating_sub(len_max),
            TrimTo::Id(id) => self.rank(id).await?,
        };
        let count = if trim.is_approximate {
            let bound = match trim.limit {
                0 => surplus,
                limit => surplus.min(limit),
            };
            self.whole_nodes(bound).await?
        } else {
            surplus
        };
        self.remove_first(count).await?;
        Ok(count)
    }

    /// How many entries the first nodes have together that have no more than `count_max`.
    async fn whole_nodes(&mut self, count_max: u64) -> Result<u64, CommandError> {
        let mut count = 0;
        while count < count_max {
            let left = count_max - count;
            let known = u64::from(self.head.first_node_count);
            let node_count = if count == 0 && known > 0 {
                known
            } else {
                self.node_count_from(count, left).await?
            };
            if node_count > left {
                break;
            }
            count += node_count;
        }
        Ok(count)
    }

    /// How many entries belong to the node of the entry at `rank`, which is its first; above
    /// `count_max`, at least more than that.
    async fn node_count_from(&mut self, rank: u64, count_max: u64) -> Result<u64, CommandError> {
        let count_max = count_max.max(NODE_READ_MAX);
        let ranks = rank..rank.saturating_add(count_max).saturating_add(1);
        let mut entries = self.entries(ranks, Direction::Forward).await?;
        let (mut count, mut node) = (0, None);
        while let Some(next) = self.next(&mut entries).await? {
            for entry in next {
                if *node.get_or_insert(entry.node) != entry.node {
                    if rank == 0 {
                        self.head.first_node_count = u32::try_from(count).unwrap_or(0);
                    }
                    return Ok(count);
                }
                count += 1;
            }
        }
        Ok(count)
    }
}
