//! The bound on the index's memory, and room obtained before it is used.

use cellar_index::{Entry, Hasher, Identity, Index};

const ENTRY: Entry = Entry {
    location: 1,
    length_class: 2,
    value_type: 0,
    database: 0,
    referenced: false,
    expiry_s: 1_900_000_000,
};

fn id(number: u32) -> Identity {
    Hasher::new([5; 16]).key(0, &number.to_le_bytes())
}

fn put(index: &Index, number: u32) -> bool {
    let id = id(number);
    let mut lock = index.lock(id);
    lock.ensure_room(id).is_ok() && lock.put(id, ENTRY).is_none()
}

#[test]
#[cfg(not(miri))]
fn the_bound_is_kept_and_removals_make_room_again() {
    let bytes_max = 12 << 20;
    let index = Index::new(bytes_max).expect("addresses are to be had");
    let full_at = (0..u32::MAX)
        .find(|number| !put(&index, *number))
        .expect("the bound is reached");
    assert!(full_at > 250_000, "12 MiB hold as many keys at least");
    assert!(index.bytes().total <= bytes_max, "{:?}", index.bytes());
    let error = {
        let id = id(full_at);
        index
            .lock(id)
            .ensure_room(id)
            .expect_err("it is still full")
    };
    assert_eq!(error.bytes_max, bytes_max);
    for number in 0..full_at {
        assert_eq!(index.lookup(id(number)), Some(ENTRY));
        assert_eq!(index.lock(id(number)).remove(id(number)), Some(ENTRY));
    }
    assert!(put(&index, full_at));
    index.set_bytes_max(0);
    assert!((0..full_at).all(|number| put(&index, number)));
    assert!(index.bytes().total > bytes_max);
}

#[test]
fn room_for_many_new_entries_in_one_bucket_is_obtained_at_once() {
    // One partition of an empty index is one bucket.
    let ids: Vec<Identity> = (0..50).map(|number| id(number).in_partition(7)).collect();
    let index = Index::new(0).expect("addresses are to be had");
    {
        let mut locks = index.lock_many(&ids);
        locks.ensure_room(&ids).expect("there is no bound");
        for id in &ids {
            assert_eq!(locks.put(*id, ENTRY), None);
        }
        for id in &ids {
            assert_eq!(locks.remove(*id), Some(ENTRY));
        }
        for id in ids.iter().rev() {
            assert_eq!(locks.put(*id, ENTRY), None);
        }
    }
    assert!(ids.iter().all(|id| index.lookup(*id) == Some(ENTRY)));
    let overflow = index.bytes().overflow;
    index
        .lock_many(&ids)
        .ensure_room(&ids)
        .expect("there is no bound");
    assert_eq!(index.bytes().overflow, overflow, "room not used goes back");
}

/// At counts from one doubling to the next: the best and the worst that a growing index comes to.
#[test]
#[cfg(not(miri))]
fn a_key_costs_so_many_bytes() {
    const KEYS: u32 = 1 << 20;
    const BYTES_PER_KEY_MAX: u64 = 30;
    let index = Index::new(0).expect("addresses are to be had");
    for number in 0..KEYS {
        assert!(put(&index, number));
        let count = u64::from(number) + 1;
        if count >= u64::from(KEYS / 2) && count.is_multiple_of(1 << 16) {
            let bytes = index.bytes();
            let per_key = (bytes.total - bytes.free).div_ceil(count);
            assert!(per_key <= BYTES_PER_KEY_MAX, "{count} keys: {bytes:?}");
        }
    }
}
