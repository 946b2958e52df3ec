//! What a client is at the moment, as the letters of CLIENT LIST tell.
//!
//! Owns the letters.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// A state of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ClientFlag {
    /// It runs MONITOR.
    Monitor,
    /// It is subscribed to something.
    Pubsub,
    /// It queues commands: MULTI was called.
    Multi,
    /// It waits in a blocking command or for the end of CLIENT PAUSE.
    Blocked,
    /// It waits in a blocking command, which CLIENT UNBLOCK can end.
    Unblockable,
    /// CLIENT TRACKING is on.
    Tracking,
    /// The client that is told of changes in its place is gone.
    BrokenRedirect,
    /// It is told of all changes of keys, by prefix.
    Broadcast,
    /// A key that it watches was changed, so that EXEC will run nothing.
    WatchBroken,
    /// It closes once its replies are written.
    CloseAfterReply,
    /// It closes as soon as possible.
    CloseAsap,
    /// It came over the unix socket.
    UnixSocket,
    /// CLIENT NO-EVICT is on.
    NoEvict,
    /// CLIENT NO-TOUCH is on.
    NoTouch,
    /// It did not take what it was sent, and closes for it.
    OverOutputLimit,
}

impl ClientFlag {
    /// All of them, in the order in which CLIENT LIST prints them.
    const ALL: [Self; 15] = [
        Self::Monitor,
        Self::Pubsub,
        Self::Multi,
        Self::Blocked,
        Self::Unblockable,
        Self::Tracking,
        Self::BrokenRedirect,
        Self::Broadcast,
        Self::WatchBroken,
        Self::CloseAfterReply,
        Self::CloseAsap,
        Self::UnixSocket,
        Self::NoEvict,
        Self::NoTouch,
        Self::OverOutputLimit,
    ];

    /// The letter that CLIENT LIST prints, if it prints one.
    const fn letter(self) -> Option<char> {
        match self {
            Self::Monitor => Some('O'),
            Self::Pubsub => Some('P'),
            Self::Multi => Some('x'),
            Self::Blocked => Some('b'),
            Self::Unblockable | Self::OverOutputLimit => None,
            Self::Tracking => Some('t'),
            Self::BrokenRedirect => Some('R'),
            Self::Broadcast => Some('B'),
            Self::WatchBroken => Some('d'),
            Self::CloseAfterReply => Some('c'),
            Self::CloseAsap => Some('A'),
            Self::UnixSocket => Some('U'),
            Self::NoEvict => Some('e'),
            Self::NoTouch => Some('T'),
        }
    }
}

/// The states of one client.
#[derive(Debug, Default)]
pub struct ClientFlags(AtomicU32);

impl ClientFlags {
    /// Whether the client is in this state.
    pub fn has(&self, flag: ClientFlag) -> bool {
        self.0.load(Relaxed) & (1 << flag as u8) != 0
    }

    /// Enters or leaves a state; returns whether that was a change.
    pub fn set(&self, flag: ClientFlag, on: bool) -> bool {
        let bit = 1 << flag as u8;
        let before = if on {
            self.0.fetch_or(bit, Relaxed)
        } else {
            self.0.fetch_and(!bit, Relaxed)
        };
        (before & bit != 0) != on
    }

    /// The letters of CLIENT LIST, `N` for none.
    pub fn letters(&self) -> String {
        let letters: String = ClientFlag::ALL
            .into_iter()
            .filter(|flag| self.has(*flag))
            .filter_map(ClientFlag::letter)
            .collect();
        if letters.is_empty() {
            "N".into()
        } else {
            letters
        }
    }
}
