//! The policies, by Redis's names, and what each asks of a key.

/// What happens when the devices or the memory are full, in Redis's words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum EvictionPolicy {
    /// Writes are refused.
    #[default]
    NoEviction = 0,
    /// Any key, those first that were not used for long.
    AllKeysLru = 1,
    /// Any key, those first that are seldom used.
    AllKeysLfu = 2,
    /// Any key.
    AllKeysRandom = 3,
    /// A key with a deadline, those first that were not used for long.
    VolatileLru = 4,
    /// A key with a deadline, those first that are seldom used.
    VolatileLfu = 5,
    /// A key with a deadline.
    VolatileRandom = 6,
    /// A key with a deadline, the nearest deadlines first.
    VolatileTtl = 7,
}

/// By what keys are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The referenced bit, and the age of the record.
    Recency,
    /// The sketch of how often each key is used.
    Frequency,
    /// The order in which they are met: a key's place in the table is random.
    Random,
    /// The deadline.
    Deadline,
}

impl EvictionPolicy {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::NoEviction,
        Self::AllKeysLru,
        Self::AllKeysLfu,
        Self::AllKeysRandom,
        Self::VolatileLru,
        Self::VolatileLfu,
        Self::VolatileRandom,
        Self::VolatileTtl,
    ];

    /// By what keys are chosen; `None`: none is.
    pub(crate) fn order(self) -> Option<Order> {
        match self {
            Self::NoEviction => None,
            Self::AllKeysLru | Self::VolatileLru => Some(Order::Recency),
            Self::AllKeysLfu | Self::VolatileLfu => Some(Order::Frequency),
            Self::AllKeysRandom | Self::VolatileRandom => Some(Order::Random),
            Self::VolatileTtl => Some(Order::Deadline),
        }
    }

    /// Whether only keys with a deadline are chosen.
    pub(crate) fn is_volatile(self) -> bool {
        match self {
            Self::NoEviction | Self::AllKeysLru | Self::AllKeysLfu | Self::AllKeysRandom => false,
            Self::VolatileLru | Self::VolatileLfu | Self::VolatileRandom | Self::VolatileTtl => {
                true
            }
        }
    }

    pub(crate) fn from_u8(raw: u8) -> Self {
        match raw {
            0 => Self::NoEviction,
            1 => Self::AllKeysLru,
            2 => Self::AllKeysLfu,
            3 => Self::AllKeysRandom,
            4 => Self::VolatileLru,
            5 => Self::VolatileLfu,
            6 => Self::VolatileRandom,
            7 => Self::VolatileTtl,
            other => unreachable!("policy {other} was never stored"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_survives_its_number() {
        for policy in EvictionPolicy::ALL {
            assert_eq!(EvictionPolicy::from_u8(policy as u8), policy);
        }
    }

    #[test]
    fn only_noeviction_chooses_nothing() {
        let choosing = EvictionPolicy::ALL.map(|policy| policy.order().is_some());
        assert_eq!(choosing.iter().filter(|chooses| **chooses).count(), 7);
        assert!(!choosing[0]);
    }
}
