//! Publish and subscribe: who listens to which channels, and the messages on their way to them.
//!
//! ```text
//!  PUBLISH --> Channels: name -> clients --> the inbox of each client --> its worker, woken once
//!                                                    |
//!  SUBSCRIBE --> confirmation ------------------------+--> its connection, in this order
//! ```
//!
//! Owns the channels and the layout of messages. A message is encoded once for each protocol
//! version and shared by all who get it. Nothing waits: a client that does not take its messages
//! is closed at its bound. Must never touch a socket.

mod channels;
mod message;
mod subscriptions;

pub use channels::Channels;
pub use message::Message;
pub use subscriptions::Subscriptions;

/// What a client can subscribe to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A channel by its name.
    Channel,
    /// All channels whose names match a pattern.
    Pattern,
    /// A channel of its own name space, which clusters keep in one shard.
    Shard,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Channel, Self::Pattern, Self::Shard];

    /// The word that confirms a subscription.
    pub const fn subscribed(self) -> &'static str {
        match self {
            Self::Channel => "subscribe",
            Self::Pattern => "psubscribe",
            Self::Shard => "ssubscribe",
        }
    }

    /// The word that confirms the end of one.
    pub const fn unsubscribed(self) -> &'static str {
        match self {
            Self::Channel => "unsubscribe",
            Self::Pattern => "punsubscribe",
            Self::Shard => "sunsubscribe",
        }
    }
}
