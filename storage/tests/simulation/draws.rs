//! What operations are made of: keys, values and deadlines, drawn from a client's seed.

use std::rc::Rc;

use bytes::Bytes;
use cellar_storage::{Db, INLINE_BYTES_MAX};

use crate::client::{CONTENDED_COUNT, COUNTER_COUNT, Client, SHARED};
use crate::model::Key;
use crate::value::{Pages, Value, Version};

/// A deadline that no run lives to see, in milliseconds from now.
const FAR_MS: u64 = 3_600_000;
/// Deadlines that come soon, in milliseconds from now.
const NEAR_MS: u64 = 4_000;
/// A set in one record has at most so many bytes.
const PACKED_BYTES_MAX: usize = 2_000;
/// Pages of a fresh collection, at most.
const PAGES_MAX: u64 = 8;

impl Client {
    /// The client's own databases.
    pub(crate) fn own_dbs(&self) -> [Db; 2] {
        dbs_of(self.number)
    }

    /// One of the client's own databases.
    pub(crate) fn own_db(&mut self) -> Db {
        self.own_dbs()[self.random.below(2) as usize]
    }

    /// A key in one of the client's own databases.
    pub(crate) fn own_key(&mut self) -> Key {
        let db = self.own_db();
        let count = self.scene.plan.keys_per_database;
        let is_hot = self.random.below(100) < self.scene.plan.skew_percent;
        let number = self
            .random
            .below(if is_hot { count.div_ceil(10) } else { count });
        (db, self.key(number))
    }

    /// The key with this number among the client's own; some are long.
    pub(crate) fn key(&self, number: u64) -> Bytes {
        key_of(self.number, number)
    }

    /// A key of any client's, mostly one of its own.
    pub(crate) fn any_key(&mut self) -> Key {
        match self.random.below(20) {
            0..12 => self.own_key(),
            12..15 => self.contended_key(),
            15 | 16 => self.counter_key(),
            _ => self.others_key(),
        }
    }

    /// A key in one of the databases of any client.
    pub(crate) fn others_key(&mut self) -> Key {
        let (clients, keys) = (
            self.scene.plan.client_count,
            self.scene.plan.keys_per_database,
        );
        let (client, number) = (self.random.below(clients), self.random.below(keys));
        let db = dbs_of(client)[self.random.below(2) as usize];
        (db, key_of(client, number))
    }

    /// A key that all clients set.
    pub(crate) fn contended_key(&mut self) -> Key {
        (
            SHARED,
            Bytes::from(format!("contended:{}", self.random.below(CONTENDED_COUNT))),
        )
    }

    /// A key that all clients increment.
    pub(crate) fn counter_key(&mut self) -> Key {
        (
            SHARED,
            Bytes::from(format!("counter:{}", self.random.below(COUNTER_COUNT))),
        )
    }

    /// A fresh value: a string, or one of another type where the plan has some.
    pub(crate) fn value(&mut self) -> Value {
        let len = self.scene.plan.sizes.draw(&mut self.random);
        if self.random.below(100) >= self.scene.plan.collection_percent {
            return Value::Text(Bytes::from(self.scene.value(len)));
        }
        if len <= PACKED_BYTES_MAX && self.random.flip() {
            return Value::Packed(Bytes::from(self.scene.value(len)));
        }
        Value::Paged(self.pages(len))
    }

    /// Fresh pages of so many bytes in all, with gaps between their numbers.
    pub(crate) fn pages(&mut self, bytes: usize) -> Pages {
        let count = 1 + self.random.below(PAGES_MAX);
        let each = (bytes / count as usize).min(INLINE_BYTES_MAX);
        let mut next = 0;
        let page = |_| {
            let number = next + self.random.below(2) as u32;
            next = number + 1;
            (number, Bytes::from(self.scene.value(each)))
        };
        Rc::new((0..count).map(page).collect())
    }

    /// A deadline for a new value, or none.
    pub(crate) fn deadline(&mut self) -> Option<u64> {
        let wants = self.random.below(100) < self.scene.plan.deadline_percent;
        wants.then(|| self.some_deadline())
    }

    /// A deadline, mostly one that comes soon.
    pub(crate) fn some_deadline(&mut self) -> u64 {
        let now_ms = self.scene.now_ms();
        match self.random.below(8) {
            0 => now_ms + FAR_MS,
            1 => (now_ms + self.random.below(NEAR_MS)).next_multiple_of(1_000) + 1_000,
            2 => now_ms + 1 + self.random.below(20),
            _ => now_ms + 1 + self.random.below(NEAR_MS),
        }
    }

    /// A fresh value, with a deadline or without.
    pub(crate) fn version(&mut self) -> Version {
        Version {
            value: self.value(),
            expiry_ms: self.deadline(),
        }
    }
}

fn dbs_of(client: u64) -> [Db; 2] {
    let first = (1 + 2 * client) as u8;
    [Db(first), Db(first + 1)]
}

fn key_of(client: u64, number: u64) -> Bytes {
    let tail = if number.is_multiple_of(13) {
        "-".repeat(600)
    } else {
        String::new()
    };
    Bytes::from(format!("{client}:{number}{tail}"))
}
