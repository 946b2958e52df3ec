//! Which eviction policies were in force when, and what they let go. A key that a policy lets go is
//! one of which nobody knows whether it is there until it is looked for.

use cellar_storage::EvictionPolicy;

use crate::value::{Value, Version};

/// The policies of a life, each from a commit on.
pub(crate) struct Policies(Vec<(usize, EvictionPolicy)>);

impl Policies {
    /// A life that begins under a policy.
    pub(crate) fn new(policy: EvictionPolicy) -> Self {
        Self(vec![(0, policy)])
    }

    /// After a commit another policy is set.
    pub(crate) fn set(&mut self, commit: usize, policy: EvictionPolicy) {
        self.0.push((commit, policy));
    }

    /// Whether any of them lets anything go.
    pub(crate) fn evicts(&self) -> bool {
        let mut policies = self.0.iter();
        policies.any(|(_, policy)| *policy != EvictionPolicy::NoEviction)
    }

    /// From which commit on a version may be gone that was written by commit `since`; `None`: no
    /// policy has let it go.
    pub(crate) fn gone_from(&self, since: usize, version: &Version) -> Option<usize> {
        let ends = self.0.iter().skip(1).map(|(from, _)| *from);
        let windows = self.0.iter().zip(ends.chain([usize::MAX]));
        let mut fitting = windows
            .filter(|((_, policy), end)| *end >= since && lets_go(*policy, version))
            .map(|((from, _), _)| since.max(*from));
        fitting.next()
    }
}

/// Whether a policy lets a version go.
fn lets_go(policy: EvictionPolicy, version: &Version) -> bool {
    match policy {
        EvictionPolicy::NoEviction => false,
        EvictionPolicy::AllKeysLru | EvictionPolicy::AllKeysLfu | EvictionPolicy::AllKeysRandom => {
            true
        }
        EvictionPolicy::VolatileLru
        | EvictionPolicy::VolatileLfu
        | EvictionPolicy::VolatileRandom
        | EvictionPolicy::VolatileTtl => version.expiry_ms.is_some(),
    }
}

/// Whether a policy always finds something to let go, so that no write fails for want of space.
pub(crate) fn always_finds(policy: EvictionPolicy) -> bool {
    let any = Version {
        value: Value::Text(bytes::Bytes::new()),
        expiry_ms: None,
    };
    lets_go(policy, &any)
}
