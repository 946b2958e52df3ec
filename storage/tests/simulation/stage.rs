//! Stages of the cleaner's work after which a life ends: what a turn has moved is not written, what
//! it has written is not flushed, what it has freed is not used again. Owns the draw of one and how
//! it is seen; what a crash there must leave is the model's business.

use cellar_storage::device::sim::SimRandom;

use crate::opening::Opened;

/// Steps between two looks at whether the cleaner has come further: a write is over in some tens.
pub(crate) const STEPS_PER_LOOK: u64 = 10;
/// Steps that count as soon after it has: within the next operation, or the rest of the turn.
const STEPS_SOON: [u64; 3] = [5, 50, 400];

/// What the cleaner has done last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Moved,
    Wrote,
    Freed,
}

impl Stage {
    pub(crate) fn draw(random: &mut SimRandom) -> Self {
        [Self::Moved, Self::Wrote, Self::Wrote, Self::Freed][random.below(4) as usize]
    }

    /// How far the cleaner has come, in bytes since the start.
    pub(crate) fn bytes(self, opened: &Opened) -> u64 {
        let stats = opened.store.cleaner_stats();
        match self {
            Self::Moved => stats.relocated_bytes,
            Self::Wrote => stats.written_bytes,
            Self::Freed => opened.store.stats().cleaner_freed_bytes,
        }
    }

    /// Steps from there to the end.
    pub(crate) fn steps_after(random: &mut SimRandom) -> u64 {
        let bound = STEPS_SOON[random.below(3) as usize];
        random.below(bound)
    }
}
