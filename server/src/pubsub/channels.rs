//! All channels and patterns that somebody is subscribed to.
//!
//! Owns who gets a message. A channel's messages reach all its subscribers in one order, because
//! its part of the map is locked while one is handed out; who has unsubscribed gets none.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bytes::Bytes;
use dashmap::DashMap;
use parking_lot::RwLock;

use super::{Kind, Message};
use crate::client::{Client, Delivery};
use crate::keyspace::is_match;

/// The subscribers of one name, by their ids.
type Subscribers = BTreeMap<u64, Arc<Client>>;

/// All subscriptions, by name.
#[derive(Debug, Default)]
pub struct Channels {
    by_name: DashMap<Bytes, Subscribers>,
    shards: DashMap<Bytes, Subscribers>,
    patterns: RwLock<BTreeMap<Bytes, Subscribers>>,
    pattern_count: AtomicUsize,
}

impl Channels {
    /// Adds a client to a name's subscribers.
    pub fn subscribe(&self, kind: Kind, name: Bytes, client: &Arc<Client>) {
        let (id, client) = (client.id(), Arc::clone(client));
        match kind {
            Kind::Channel => drop(self.by_name.entry(name).or_default().insert(id, client)),
            Kind::Shard => drop(self.shards.entry(name).or_default().insert(id, client)),
            Kind::Pattern => {
                let mut patterns = self.patterns.write();
                patterns.entry(name).or_default().insert(id, client);
                self.pattern_count.store(patterns.len(), Relaxed);
            }
        }
    }

    /// Removes a client: from here on it gets no message by this name.
    pub fn unsubscribe(&self, kind: Kind, name: &[u8], id: u64) {
        match kind {
            Kind::Channel => remove(&self.by_name, name, id),
            Kind::Shard => remove(&self.shards, name, id),
            Kind::Pattern => {
                let mut patterns = self.patterns.write();
                if let Some(subscribers) = patterns.get_mut(name) {
                    subscribers.remove(&id);
                    if subscribers.is_empty() {
                        patterns.remove(name);
                    }
                }
                self.pattern_count.store(patterns.len(), Relaxed);
            }
        }
    }

    /// Hands a message to all who are subscribed to its channel, by name or by pattern; returns how
    /// often it was handed out.
    pub fn publish(&self, channel: &[u8], payload: &[u8], delivery: &mut Delivery<'_>) -> usize {
        let message = Message::new([b"message", channel, payload]);
        let mut count = hand_out(&self.by_name, channel, &message, delivery);
        if self.pattern_count.load(Relaxed) == 0 {
            return count;
        }
        for (pattern, subscribers) in self.patterns.read().iter() {
            if is_match(pattern, channel) {
                let message = Message::new([b"pmessage", pattern, channel, payload]);
                count += hand_to(subscribers, &message, delivery);
            }
        }
        count
    }

    /// How often a message to this channel would be handed out now.
    pub fn receiver_count(&self, is_shard: bool, channel: &[u8]) -> usize {
        let count = self.subscriber_count(is_shard, channel);
        if is_shard || self.pattern_count.load(Relaxed) == 0 {
            return count;
        }
        let patterns = self.patterns.read();
        let matching = patterns.iter().filter(|(name, _)| is_match(name, channel));
        count + matching.map(|(_, clients)| clients.len()).sum::<usize>()
    }

    /// The same for a channel of the shards' name space.
    pub fn publish_shard(
        &self,
        channel: &[u8],
        payload: &[u8],
        delivery: &mut Delivery<'_>,
    ) -> usize {
        let message = Message::new([b"smessage", channel, payload]);
        hand_out(&self.shards, channel, &message, delivery)
    }

    /// How many names of one kind have subscribers.
    pub fn count(&self, kind: Kind) -> usize {
        match kind {
            Kind::Channel => self.by_name.len(),
            Kind::Shard => self.shards.len(),
            Kind::Pattern => self.pattern_count.load(Relaxed),
        }
    }

    /// How many clients are subscribed to a channel by its name.
    pub fn subscriber_count(&self, is_shard: bool, name: &[u8]) -> usize {
        let subscribers = self.names(is_shard).get(name);
        subscribers.map_or(0, |subscribers| subscribers.len())
    }

    /// The channels that have subscribers by their names, those that match.
    pub fn list(&self, is_shard: bool, is_wanted: impl Fn(&[u8]) -> bool) -> Vec<Bytes> {
        let names = self.names(is_shard).iter();
        names
            .filter(|subscribers| is_wanted(subscribers.key()))
            .map(|subscribers| subscribers.key().clone())
            .collect()
    }

    fn names(&self, is_shard: bool) -> &DashMap<Bytes, Subscribers> {
        if is_shard {
            &self.shards
        } else {
            &self.by_name
        }
    }
}

fn remove(channels: &DashMap<Bytes, Subscribers>, name: &[u8], id: u64) {
    if let Some(mut subscribers) = channels.get_mut(name) {
        subscribers.remove(&id);
    }
    channels.remove_if(name, |_, subscribers| subscribers.is_empty());
}

/// The map's lock is held as by a writer: two publishers of one channel take turns.
fn hand_out<const LEN: usize>(
    channels: &DashMap<Bytes, Subscribers>,
    channel: &[u8],
    message: &Message<'_, LEN>,
    delivery: &mut Delivery<'_>,
) -> usize {
    let subscribers = channels.get_mut(channel);
    subscribers.map_or(0, |subscribers| hand_to(&subscribers, message, delivery))
}

fn hand_to<const LEN: usize>(
    subscribers: &Subscribers,
    message: &Message<'_, LEN>,
    delivery: &mut Delivery<'_>,
) -> usize {
    for client in subscribers.values() {
        delivery.send(client, message.encoded(client.protocol()));
    }
    subscribers.len()
}
