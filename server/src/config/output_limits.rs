//! The bounds of what may wait for a client that reads slowly.
//!
//! Owns their texts, which are Redis's.

use toml::de::DeValue;

use super::value::{Setting, parse_size, quote_all, size_text, strings};

/// The bounds of one class of clients; 0 is no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputLimit {
    /// Bytes above which the client is closed at once.
    pub hard_bytes: u64,
    /// Bytes above which the client is closed after a while.
    pub soft_bytes: u64,
    /// That while, in seconds.
    pub soft_seconds: u64,
}

impl OutputLimit {
    /// Whether there is no bound.
    pub const fn is_none(self) -> bool {
        self.hard_bytes == 0 && self.soft_bytes == 0
    }
}

/// A class of clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientClass {
    /// Clients that send commands.
    Normal,
    /// Replicas.
    Replica,
    /// Clients that listen: subscribers, MONITOR.
    Pubsub,
}

impl ClientClass {
    const ALL: [Self; 3] = [Self::Normal, Self::Replica, Self::Pubsub];

    fn parse(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "normal" => Some(Self::Normal),
            "replica" | "slave" => Some(Self::Replica),
            "pubsub" => Some(Self::Pubsub),
            _ => None,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            // Redis answers its old name here, and clients read it
            Self::Replica => "slave",
            Self::Pubsub => "pubsub",
        }
    }
}

/// The bounds of all classes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputLimits([OutputLimit; 3]);

impl OutputLimits {
    /// Redis's defaults.
    pub const DEFAULT: Self = Self([
        OutputLimit {
            hard_bytes: 0,
            soft_bytes: 0,
            soft_seconds: 0,
        },
        OutputLimit {
            hard_bytes: 256 << 20,
            soft_bytes: 64 << 20,
            soft_seconds: 60,
        },
        OutputLimit {
            hard_bytes: 32 << 20,
            soft_bytes: 8 << 20,
            soft_seconds: 60,
        },
    ]);

    /// The bounds of one class.
    pub fn get(&self, class: ClientClass) -> OutputLimit {
        self.0[class as usize]
    }

    fn set_words(&mut self, words: &[&str]) -> Result<(), String> {
        const EXPECTED: &str = "Wrong number of arguments in buffer limit configuration.";
        if words.is_empty() || !words.len().is_multiple_of(4) {
            return Err(EXPECTED.into());
        }
        let mut limits = self.clone();
        for group in words.chunks_exact(4) {
            let class = ClientClass::parse(group[0])
                .ok_or("Invalid client class specified in buffer limit configuration.")?;
            let numbers = (
                parse_size(group[1]),
                parse_size(group[2]),
                group[3].parse().ok(),
            );
            let (Some(hard_bytes), Some(soft_bytes), Some(soft_seconds)) = numbers else {
                return Err(
                    "Error in hard, soft or soft_seconds setting in buffer limit \
                            configuration."
                        .into(),
                );
            };
            limits.0[class as usize] = OutputLimit {
                hard_bytes,
                soft_bytes,
                soft_seconds,
            };
        }
        *self = limits;
        Ok(())
    }
}

impl Setting for OutputLimits {
    fn text(&self) -> String {
        let classes = ClientClass::ALL.map(|class| {
            let limit = self.get(class);
            let OutputLimit {
                hard_bytes,
                soft_bytes,
                soft_seconds,
            } = limit;
            format!("{} {hard_bytes} {soft_bytes} {soft_seconds}", class.name())
        });
        classes.join(" ")
    }

    fn toml(&self) -> String {
        let classes = ClientClass::ALL.map(|class| {
            let limit = self.get(class);
            let (hard, soft) = (size_text(limit.hard_bytes), size_text(limit.soft_bytes));
            let name = if class == ClientClass::Replica {
                "replica"
            } else {
                class.name()
            };
            format!("{name} {hard} {soft} {}", limit.soft_seconds)
        });
        quote_all(&classes)
    }

    fn set(&mut self, text: &str) -> Result<(), String> {
        self.set_words(&text.split_whitespace().collect::<Vec<_>>())
    }

    fn set_toml(&mut self, value: &DeValue<'_>) -> Result<(), String> {
        let classes = strings(value)?;
        self.set_words(
            &classes
                .iter()
                .flat_map(|class| class.split_whitespace())
                .collect::<Vec<_>>(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_redis_texts() {
        let mut limits = OutputLimits::DEFAULT;
        let expected = "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60";
        assert_eq!(limits.text(), expected);
        limits.set("normal 1mb 1kb 5").unwrap();
        assert_eq!(limits.get(ClientClass::Normal).hard_bytes, 1 << 20);
        assert_eq!(limits.get(ClientClass::Pubsub).soft_seconds, 60);
        let mut again = OutputLimits::DEFAULT;
        again
            .set_toml(DeValue::parse(&limits.toml()).unwrap().get_ref())
            .unwrap();
        assert_eq!(again, limits);
        assert!(limits.set("nobody 1 1 1").is_err());
        assert!(limits.set("normal 1 1").is_err());
    }
}
