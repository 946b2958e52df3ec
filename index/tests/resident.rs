//! Bytes per key, and what comes back after deletes: the index's own accounting against the
//! system's. Alone in its process, which is what the system accounts for.
#![cfg(all(target_os = "linux", not(miri)))]

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

/// Bytes of this process that are in memory.
fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux has /proc");
    let pages = statm
        .split(' ')
        .nth(1)
        .expect("the second field is resident pages");
    pages.parse::<u64>().expect("a number") * 4096
}

#[test]
fn a_million_keys_take_at_most_32_bytes_each_and_go_back() {
    const KEYS: u32 = 1_000_000;
    const PIECE_BYTES: u64 = 2 << 20;
    /// Headers, counters, and what tells which parts of the pieces are free.
    const TABLE_BYTES: u64 = 100 << 10;
    /// What the test itself and the allocator may take meanwhile.
    const TOLERANCE: u64 = 4 << 20;
    let resident_before = resident_bytes();
    let index = Index::new(0).expect("addresses are to be had");
    let empty_bytes = index.bytes().total;
    assert!(empty_bytes <= 8 << 20);
    for number in 0..KEYS {
        assert!(put(&index, number));
    }
    let bytes = index.bytes();
    assert_eq!(index.len(), u64::from(KEYS));
    assert!(bytes.total <= u64::from(KEYS) * 32, "{bytes:?}");
    assert_eq!(
        bytes.total,
        bytes.buckets + bytes.overflow + bytes.directory + bytes.free
    );
    let resident = resident_bytes() - resident_before;
    assert!(
        resident <= bytes.total + TOLERANCE,
        "{resident} resident, {bytes:?}"
    );

    let remove = |from, to| {
        for number in from..to {
            assert_eq!(index.lock(id(number)).remove(id(number)), Some(ENTRY));
        }
    };
    remove(0, KEYS / 10 * 9);
    let bytes = index.bytes();
    // Two pieces of buckets, one of overflow nodes, one kept in each arena.
    assert!(bytes.total <= 5 * PIECE_BYTES + TABLE_BYTES, "{bytes:?}");
    remove(KEYS / 10 * 9, KEYS);
    let bytes = index.bytes();
    assert!(
        bytes.total <= empty_bytes + 2 * PIECE_BYTES + TABLE_BYTES,
        "{bytes:?}"
    );
    let resident = resident_bytes() - resident_before;
    assert!(
        resident <= bytes.total + TOLERANCE,
        "{resident} resident, {bytes:?}"
    );
}
