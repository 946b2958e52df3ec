//! Moving overflow nodes together, so that memory goes back after many removals.
//!
//! Owns the hand that goes round a region's buckets. Must never wait: a busy bucket is passed
//! over.
//!
//! Removals empty nodes all over the arena, and hardly ever a whole piece. So while much of the
//! arena is free, each operation that gives a node back lets the hand pass some buckets, and nodes
//! beyond the place where the arena would end if it had no gaps move into lower gaps. There
//! are always enough of those.

use std::sync::atomic::Ordering;

use crate::bucket::Nodes;
use crate::region::{Place, Region, State};
use crate::table::Index;

/// Buckets that the hand passes in one operation, in some 2 microseconds. About a fifth of the
/// removals empty a node, so a region's nodes lie together after the removal of some 10 % of its
/// entries (6.6 a bucket).
const BUCKETS_PER_STEP: u32 = 8;

impl Index {
    /// Lets the hand of `region`, which the caller steps, pass some buckets; nodes from `above` on
    /// are moved.
    pub(crate) fn compact(&self, region: &Region, above: u32) {
        let buckets = State::from_word(region.state.load(Ordering::Relaxed)).buckets();
        let mut hand = region.hand.load(Ordering::Relaxed);
        for _ in 0..BUCKETS_PER_STEP {
            hand = if hand + 1 < buckets { hand + 1 } else { 0 };
            self.compact_bucket(self.block_at(region, Place::of(hand, self.shape)), above);
        }
        region.hand.store(hand, Ordering::Relaxed);
    }

    fn compact_bucket(&self, block: u32, above: u32) {
        let lock = self.lock_of(block);
        let Some(opened) = lock.lock_within_spin() else {
            return;
        };
        let mut moved = Nodes::new();
        self.chain(block)
            .move_nodes(above, &mut moved, || self.lower_node(above));
        if moved.is_empty() {
            lock.unlock_unchanged(opened);
        } else {
            // The entries are the same, but a reader may be on its way to where they were.
            lock.unlock_changed(opened);
        }
        self.free_nodes(&mut moved);
    }

    fn lower_node(&self, above: u32) -> Option<u32> {
        let node = self.nodes.allocate(0, &self.budget)?;
        if node < above {
            return Some(node);
        }
        self.nodes.free(node, 0, &self.budget);
        None
    }
}
