//! Key locks: async, shared or exclusive, in a striped table.
//!
//! A read-modify-write holds its key's stripe from its read to its write. Blind writes take no
//! lock: under their bucket locks they only look whether anybody holds or wants the stripe, and
//! wait as a holder if so. Several stripes are taken in ascending order. The table also keeps, a
//! stripe, the last LSN published under it (design rule 11).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use cellar_index::Identity;
use smallvec::SmallVec;
use tokio::sync::Semaphore;

use crate::units::Lsn;

/// Enough that two of a few thousand concurrent clients seldom meet, 1.5 MiB in all.
const STRIPE_COUNT: usize = 1 << 14;
/// Permits of a stripe: a shared holder takes one, an exclusive one takes all.
const PERMITS: u32 = 1 << 20;

/// How a stripe is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Shared,
    Exclusive,
}

impl Mode {
    fn permits(self) -> u32 {
        match self {
            Self::Shared => 1,
            Self::Exclusive => PERMITS,
        }
    }
}

struct Stripe {
    /// Holders and those who wait to be one.
    claims: AtomicU32,
    last_lsn: AtomicU64,
    permits: Semaphore,
}

/// The stripes of a store.
pub(crate) struct LockTable {
    stripes: Box<[Stripe]>,
}

/// The stripe of a key.
pub(crate) type StripeIndex = u16;

impl LockTable {
    pub(crate) fn new() -> Self {
        let stripe = || Stripe {
            claims: AtomicU32::new(0),
            last_lsn: AtomicU64::new(0),
            permits: Semaphore::new(PERMITS as usize),
        };
        Self {
            stripes: (0..STRIPE_COUNT).map(|_| stripe()).collect(),
        }
    }

    /// Bytes of the table.
    pub(crate) fn bytes(&self) -> usize {
        self.stripes.len() * size_of::<Stripe>()
    }

    pub(crate) fn stripe_of(identity: Identity) -> StripeIndex {
        identity.partition()
    }

    /// Whether somebody holds or wants the stripe. The caller holds the bucket lock of a key of it.
    pub(crate) fn is_claimed(&self, stripe: StripeIndex) -> bool {
        fence(Ordering::SeqCst);
        self.stripes[usize::from(stripe)]
            .claims
            .load(Ordering::SeqCst)
            > 0
    }

    /// Remembers that a record ending at `lsn` was published for a key of the stripe.
    pub(crate) fn note_published(&self, stripe: StripeIndex, lsn: Lsn) {
        self.stripes[usize::from(stripe)]
            .last_lsn
            .fetch_max(lsn.get(), Ordering::Release);
    }

    /// The last LSN published for any key of the stripe.
    pub(crate) fn last_lsn(&self, stripe: StripeIndex) -> Lsn {
        Lsn::new(
            self.stripes[usize::from(stripe)]
                .last_lsn
                .load(Ordering::Acquire),
        )
    }

    /// Takes the stripes of `identities`, each once, in ascending order.
    pub(crate) async fn acquire(
        self: &Arc<Self>,
        identities: impl IntoIterator<Item = Identity>,
        mode: Mode,
    ) -> StripeLocks {
        let mut locks = StripeLocks::prepare(self, identities, mode);
        while let Some(stripe) = locks.next_wanted() {
            let claim = Claim::new(self, stripe);
            let permits = &self.stripes[usize::from(stripe)].permits;
            let permit = permits
                .acquire_many(mode.permits())
                .await
                .expect("never closed");
            permit.forget();
            claim.keep();
            locks.taken += 1;
        }
        fence(Ordering::SeqCst);
        locks
    }

    /// Takes the stripes if nobody is in the way.
    pub(crate) fn try_acquire(
        self: &Arc<Self>,
        identities: impl IntoIterator<Item = Identity>,
        mode: Mode,
    ) -> Option<StripeLocks> {
        let mut locks = StripeLocks::prepare(self, identities, mode);
        while let Some(stripe) = locks.next_wanted() {
            let claim = Claim::new(self, stripe);
            let permits = &self.stripes[usize::from(stripe)].permits;
            permits.try_acquire_many(mode.permits()).ok()?.forget();
            claim.keep();
            locks.taken += 1;
        }
        fence(Ordering::SeqCst);
        Some(locks)
    }
}

/// A counted claim, taken back unless it led to a hold.
struct Claim<'a> {
    stripe: &'a Stripe,
}

impl<'a> Claim<'a> {
    fn new(table: &'a LockTable, stripe: StripeIndex) -> Self {
        let stripe = &table.stripes[usize::from(stripe)];
        stripe.claims.fetch_add(1, Ordering::SeqCst);
        Self { stripe }
    }

    fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.stripe.claims.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Stripes held, given back when dropped.
pub(crate) struct StripeLocks {
    table: Arc<LockTable>,
    stripes: SmallVec<[StripeIndex; 4]>,
    /// How many of `stripes`, from the front, are held.
    taken: usize,
    mode: Mode,
}

impl StripeLocks {
    fn prepare(
        table: &Arc<LockTable>,
        identities: impl IntoIterator<Item = Identity>,
        mode: Mode,
    ) -> Self {
        let mut stripes: SmallVec<[StripeIndex; 4]> =
            identities.into_iter().map(LockTable::stripe_of).collect();
        stripes.sort_unstable();
        stripes.dedup();
        Self {
            table: Arc::clone(table),
            stripes,
            taken: 0,
            mode,
        }
    }

    fn next_wanted(&self) -> Option<StripeIndex> {
        self.stripes.get(self.taken).copied()
    }

    /// No stripes.
    pub(crate) fn none(table: &Arc<LockTable>, mode: Mode) -> Self {
        Self::prepare(table, [], mode)
    }

    /// Takes over the stripes that others hold, in the same mode and none twice.
    pub(crate) fn absorb(&mut self, mut other: Self) {
        assert!(self.mode == other.mode, "locks of one mode");
        self.stripes.append(&mut other.stripes);
        other.taken = 0;
        self.stripes.sort_unstable();
        self.taken = self.stripes.len();
    }

    /// Whether these locks cover the stripe.
    pub(crate) fn holds(&self, stripe: StripeIndex) -> bool {
        self.stripes.binary_search(&stripe).is_ok()
    }
}

impl Drop for StripeLocks {
    fn drop(&mut self) {
        for stripe in &self.stripes[..self.taken] {
            let stripe = &self.table.stripes[usize::from(*stripe)];
            stripe.claims.fetch_sub(1, Ordering::SeqCst);
            stripe.permits.add_permits(self.mode.permits() as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(partition: u16) -> Identity {
        let mut hasher_input = 0u64;
        let hasher = cellar_index::Hasher::new([3; 16]);
        loop {
            let identity = hasher.key(0, &hasher_input.to_le_bytes());
            if identity.partition() == partition {
                return identity;
            }
            hasher_input += 1;
        }
    }

    #[test]
    fn an_exclusive_lock_keeps_others_out_until_dropped() {
        let table = Arc::new(LockTable::new());
        let key = identity(5);
        let held = table
            .try_acquire([key, key], Mode::Exclusive)
            .expect("free");
        assert!(held.holds(5) && table.is_claimed(5));
        assert!(table.try_acquire([key], Mode::Shared).is_none());
        drop(held);
        assert!(!table.is_claimed(5));
    }

    #[test]
    fn shared_locks_keep_only_writers_out() {
        let table = Arc::new(LockTable::new());
        let key = identity(5);
        let first = table.try_acquire([key], Mode::Shared).expect("free");
        let second = table.try_acquire([key], Mode::Shared).expect("shared");
        assert!(table.try_acquire([key], Mode::Exclusive).is_none());
        drop((first, second));
        assert!(table.try_acquire([key], Mode::Exclusive).is_some());
    }

    #[test]
    fn a_failed_attempt_leaves_no_claim() {
        let table = Arc::new(LockTable::new());
        let held = table
            .try_acquire([identity(9)], Mode::Exclusive)
            .expect("free");
        assert!(
            table
                .try_acquire([identity(5), identity(9)], Mode::Exclusive)
                .is_none()
        );
        assert!(!table.is_claimed(5));
        drop(held);
    }

    #[tokio::test]
    async fn a_cancelled_wait_leaves_no_claim() {
        let table = Arc::new(LockTable::new());
        let held = table
            .try_acquire([identity(5)], Mode::Exclusive)
            .expect("free");
        let waiting = table.acquire([identity(5)], Mode::Exclusive);
        let raced =
            tokio::select! { biased; _ = waiting => false, () = std::future::ready(()) => true };
        assert!(raced);
        drop(held);
        assert!(!table.is_claimed(5));
    }
}
