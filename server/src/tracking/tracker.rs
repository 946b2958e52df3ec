//! One tracking client: how it tracks, and how it is told.
//!
//! Owns the layout of invalidations.

use std::sync::Arc;

use bytes::Bytes;

use super::{Mode, TrackingOptions};
use crate::client::{Client, ClientFlag, Delivery};
use crate::resp::{Protocol, ReplyBuf};

/// The channel that clients of RESP2 hear of changed keys on.
const CHANNEL: &[u8] = b"__redis__:invalidate";

/// Keys that changed, with whose doing it was.
type Keys<'a> = [(&'a [u8], Option<u64>)];

/// One client that tracks.
#[derive(Debug)]
pub struct Tracker {
    client: Arc<Client>,
    options: TrackingOptions,
}

impl Tracker {
    /// A client that tracks like this.
    pub(super) fn new(client: Arc<Client>, options: TrackingOptions) -> Self {
        Self { client, options }
    }

    /// How it tracks.
    pub fn options(&self) -> &TrackingOptions {
        &self.options
    }

    /// Which keys it is told of.
    pub fn mode(&self) -> Mode {
        self.options.mode
    }

    /// Whether the client that is told in its place is gone.
    pub fn is_broken(&self) -> bool {
        self.client.flags().has(ClientFlag::BrokenRedirect)
    }

    /// Whether it wants to hear nothing of what this client did.
    fn ignores(&self, actor: Option<u64>) -> bool {
        self.options.no_loop && actor == Some(self.client.id())
    }

    /// Tells that keys changed, or with nothing that all have.
    pub(super) fn tell(&self, keys: Option<&Keys<'_>>, delivery: &mut Delivery<'_>) {
        let keys: Option<Vec<&[u8]>> = keys.map(|keys| {
            let wanted = keys.iter().filter(|(_, actor)| !self.ignores(*actor));
            wanted.map(|(key, _)| *key).collect()
        });
        if keys.as_ref().is_some_and(Vec::is_empty) {
            return;
        }
        if self.options.redirect == 0 {
            if self.client.protocol() == Protocol::Resp3 {
                delivery.send(&self.client, encode(Protocol::Resp3, keys.as_deref()));
            }
            return;
        }
        let Some(target) = delivery.client(self.options.redirect) else {
            self.tell_broken(delivery);
            return;
        };
        let protocol = target.protocol();
        // in RESP2 only who listens to channels expects a message
        if protocol == Protocol::Resp3 || target.flags().has(ClientFlag::Pubsub) {
            delivery.send(&target, encode(protocol, keys.as_deref()));
        }
    }

    /// Tells that the client that is told in its place is gone.
    fn tell_broken(&self, delivery: &mut Delivery<'_>) {
        self.client.flags().set(ClientFlag::BrokenRedirect, true);
        if self.client.protocol() == Protocol::Resp3 {
            let mut push = ReplyBuf::new(Protocol::Resp3);
            push.push(2);
            push.bulk(b"tracking-redir-broken");
            push.integer(self.options.redirect.cast_signed());
            delivery.send(&self.client, push.into_bytes());
        }
    }
}

fn encode(protocol: Protocol, keys: Option<&[&[u8]]>) -> Bytes {
    let mut push = ReplyBuf::new(protocol);
    match protocol {
        Protocol::Resp2 => {
            push.push(3);
            push.bulk(b"message");
            push.bulk(CHANNEL);
        }
        Protocol::Resp3 => {
            push.push(2);
            push.bulk(b"invalidate");
        }
    }
    match keys {
        Some(keys) => push.bulk_array(keys),
        None => push.null(),
    }
    push.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_have_their_form() {
        let keys: &[&[u8]] = &[b"k"];
        let invalidate = &b">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n"[..];
        assert_eq!(encode(Protocol::Resp3, Some(keys)), invalidate);
        let all = &b">2\r\n$10\r\ninvalidate\r\n_\r\n"[..];
        assert_eq!(encode(Protocol::Resp3, None), all);
        let message =
            &b"*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n*1\r\n$1\r\nk\r\n"[..];
        assert_eq!(encode(Protocol::Resp2, Some(keys)), message);
    }
}
