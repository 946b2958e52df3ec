//! Drawing random entries: fair, restricted to what is wanted, and sure to find a lone key.

use std::collections::BTreeMap;

use cellar_index::{Entry, Index, PARTITION_COUNT, VALUE_TYPE_PAGE};

use crate::random::{Random, ids};

const DRAWS: u64 = if cfg!(miri) { 20 } else { 400_000 };
const KEYS: usize = if cfg!(miri) { 20 } else { 40_000 };

fn entry(location: u64) -> Entry {
    Entry {
        location,
        length_class: 0,
        value_type: if location.is_multiple_of(2) {
            0
        } else {
            VALUE_TYPE_PAGE
        },
        database: (location / 2 % 2) as u8,
        referenced: false,
        expiry_s: 0,
    }
}

fn index_of(keys: usize) -> Index {
    let index = Index::new(0).expect("addresses are to be had");
    for (number, id) in ids(keys, PARTITION_COUNT as u16).into_iter().enumerate() {
        let mut lock = index.lock(id);
        lock.ensure_room(id).expect("there is no bound");
        lock.put(id, entry(number as u64));
    }
    index
}

#[test]
fn every_wanted_key_is_about_as_likely() {
    let index = index_of(KEYS);
    let mut random = Random::new(99);
    let mut draws: BTreeMap<u64, u64> = BTreeMap::new();
    for _ in 0..DRAWS {
        let (_, entry) = index
            .random(random.next(), &mut |entry| entry.database == 1)
            .unwrap();
        assert!(entry.database == 1 && entry.value_type != VALUE_TYPE_PAGE);
        *draws.entry(entry.location).or_default() += 1;
    }
    let wanted = KEYS as u64 / 4;
    let fair = DRAWS / wanted;
    assert!(
        cfg!(miri) || draws.len() as u64 == wanted,
        "each key is drawn"
    );
    assert!(
        cfg!(miri)
            || draws
                .values()
                .all(|draws| (fair / 3..fair * 2).contains(draws))
    );
}

#[test]
fn the_only_key_is_found() {
    let index = index_of(1);
    let mut random = Random::new(5);
    for _ in 0..if cfg!(miri) { 2 } else { 2000 } {
        assert!(index.random(random.next(), &mut |_| true).is_some());
        assert!(
            index
                .random(random.next(), &mut |entry| entry.database == 1)
                .is_none()
        );
    }
}
