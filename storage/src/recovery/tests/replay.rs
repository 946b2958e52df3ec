//! What is in the index after the summaries were replayed.

use super::builder::{LIVE, RECORD};
use super::*;
use crate::format::DatabaseMap;
use crate::paged::Collection;
use crate::segment::State;
use crate::units::{CollectionId, SegmentNumber};

fn collection(id: u64) -> CollectionId {
    CollectionId::new(id)
}

#[test]
fn the_later_of_two_hot_records_wins_across_segments() {
    let mut bench = Bench::new();
    let start = bench.start();
    let next = bench
        .hot(3, start)
        .put("a", "old")
        .put("b", "only")
        .seal(start);
    bench
        .hot(1, next)
        .put("a", "new")
        .put("c", "gone")
        .remove("c")
        .seal(next);
    let recovered = bench.open();
    assert_eq!(bench.value(&recovered, "a").as_deref(), Some("new"));
    assert_eq!(bench.value(&recovered, "b").as_deref(), Some("only"));
    assert_eq!(bench.value(&recovered, "c"), None);
    let (first, second) = (SegmentNumber::new(3), SegmentNumber::new(1));
    assert_eq!(recovered.segments.get(first).live_bytes(), LIVE);
    assert_eq!(recovered.segments.get(second).live_bytes(), LIVE);
    assert_eq!(recovered.segments.get(second).shadow_bytes(), LIVE);
    assert_eq!(recovered.segments.get(first).state(), State::Sealed);
    assert_eq!(recovered.segments.get(first).sealed_lsn(), next);
    assert_eq!(recovered.record_count, 5);
}

#[test]
fn a_cold_copy_comes_after_what_it_replaced_and_before_what_replaced_it() {
    let mut bench = Bench::new();
    let start = bench.start();
    let mut hot = bench.hot(0, start);
    hot.put("stays", "1")
        .put("changes", "1")
        .put("goes", "1")
        .put("stays", "2");
    let moved = hot.lsn();
    hot.put("tie", "old");
    let opening = hot.lsn();
    hot.put("changes", "2").remove("goes");
    hot.seal(start);
    let mut cold = bench.cold(1, opening);
    cold.moved_from(moved).put("stays", "3");
    cold.moved_from(moved).put("changes", "never");
    cold.moved_from(moved).put("goes", "never");
    cold.seal(opening);
    let recovered = bench.open();
    assert_eq!(bench.value(&recovered, "stays").as_deref(), Some("3"));
    assert_eq!(bench.value(&recovered, "changes").as_deref(), Some("2"));
    assert_eq!(bench.value(&recovered, "goes"), None);
}

#[test]
fn a_cold_copy_of_a_later_record_waits_for_its_lsn() {
    let mut bench = Bench::new();
    let start = bench.start();
    let mut hot = bench.hot(0, start);
    hot.put("filler", "1");
    let opening = hot.lsn();
    hot.put("key", "older").put("replaced", "older");
    let moved = hot.lsn();
    hot.put("other", "1").put("replaced", "newest");
    hot.seal(start);
    let mut cold = bench.cold(1, opening);
    cold.moved_from(moved)
        .put("key", "newer")
        .moved_from(moved)
        .put("replaced", "newer");
    cold.seal(opening);
    let recovered = bench.open();
    assert_eq!(bench.value(&recovered, "key").as_deref(), Some("newer"));
    assert_eq!(
        bench.value(&recovered, "replaced").as_deref(),
        Some("newest")
    );
}

#[test]
fn cold_tombstones_remove_what_is_older() {
    let mut bench = Bench::new();
    let start = bench.start();
    let mut hot = bench.hot(0, start);
    hot.put("dead", "1").put("back", "1");
    let moved = hot.lsn();
    hot.put("filler", "1");
    let opening = hot.lsn();
    hot.put("back", "2").seal(start);
    let mut cold = bench.cold(1, opening);
    cold.moved_from(moved)
        .remove("dead")
        .moved_from(moved)
        .remove("back")
        .seal(opening);
    let recovered = bench.open();
    assert_eq!(bench.value(&recovered, "dead"), None);
    assert_eq!(bench.value(&recovered, "back").as_deref(), Some("2"));
}

#[test]
fn records_of_databases_that_no_map_shows_are_dead() {
    let mut bench = Bench::new();
    let start = bench.start();
    let mut map = DatabaseMap::default();
    map.renew(0);
    map.swap(1, 2);
    let fresh = map.id(0).get();
    let mut hot = bench.hot(0, start);
    hot.put("key", "flushed")
        .put_in(1, "one", "1")
        .map(&map)
        .put_in(fresh, "key", "kept");
    hot.seal(start);
    let recovered = bench.open();
    assert_eq!(recovered.map, map);
    assert_eq!(bench.value(&recovered, "key"), None);
    let id = bench.hasher.key(fresh, b"key");
    assert_eq!(
        bench.value_at(&recovered, id).as_deref(),
        Some(&b"kept"[..])
    );
    assert_eq!((recovered.index.count(0), recovered.index.count(2)), (1, 1));
    assert_eq!(
        (recovered.index.count(1), recovered.segments.live_bytes()),
        (0, 2 * LIVE)
    );
    // The superblock carries the map on.
    assert_eq!(bench.open().map, map);
}

#[test]
fn a_map_that_only_a_cold_summary_shows_rules_the_replay() {
    let mut bench = Bench::new();
    let start = bench.start();
    let mut map = DatabaseMap::default();
    map.renew(0);
    let mut hot = bench.hot(0, start);
    let next = hot.put("key", "flushed").seal(start);
    let mut cold = bench.cold(1, next);
    cold.moved_from(start.plus(RECORD)).map(&map).seal(next);
    let recovered = bench.open();
    assert_eq!(recovered.map, map);
    assert_eq!(bench.value(&recovered, "key"), None);
}

#[test]
fn collections_are_registered_with_their_highest_page() {
    let mut bench = Bench::new();
    let start = bench.start();
    let (kept, lost, swept) = (
        collection(1 << 40),
        collection(2 << 40),
        collection(3 << 40),
    );
    let swept_page = bench.hasher.page(swept.get(), 0);
    let mut hot = bench.hot(0, start);
    hot.page(kept, 1).page(kept, 0).put_root("big", kept);
    hot.page(lost, 6)
        .put_root("small", lost)
        .put("small", "plain");
    hot.page(swept, 0)
        .put_root("none", swept)
        .remove("none")
        .remove_identity(swept_page);
    hot.seal(start);
    let recovered = bench.open();
    let root = bench.hasher.key(0, b"big");
    assert_eq!(
        recovered.roots,
        [(
            root,
            Collection {
                id: kept,
                page_count: 2
            }
        )]
    );
    assert_eq!(
        recovered.orphans,
        [Collection {
            id: lost,
            page_count: 7
        }]
    );
    let page = bench.hasher.page(kept.get(), 1);
    assert_eq!(
        bench.value_at(&recovered, page).as_deref(),
        Some(&b"page"[..])
    );
    assert_eq!(recovered.index.len(), 2);
}

#[test]
fn deadlines_and_types_are_in_the_entries() {
    let mut bench = Bench::new();
    let start = bench.start();
    bench.hot(0, start).put_expiring("key", 5_001).seal(start);
    let recovered = bench.open();
    let entry = recovered.index.lookup(bench.hasher.key(0, b"key")).unwrap();
    assert_eq!(
        (entry.expiry_s, entry.value_type, entry.database),
        (6, 4, 0)
    );
}

#[test]
fn a_summary_that_does_not_verify_is_made_anew() {
    let mut bench = Bench::new();
    let start = bench.start();
    let mut hot = bench.hot(0, start);
    let next = hot.put("a", "1").put("b", "2").seal(start);
    bench.hot(1, next).put("c", "3").seal(next);
    bench.rot(0, builder::SEGMENT_BYTES - 4096 - 48);
    let recovered = bench.open();
    assert_eq!(recovered.damage.count(), 1);
    for (key, value) in [("a", "1"), ("b", "2"), ("c", "3")] {
        assert_eq!(
            bench.value(&recovered, key).as_deref(),
            Some(value),
            "{key}"
        );
    }
    assert_eq!(bench.open().damage.count(), 0);
}

/// A store with an open cold segment that was written in three steps, of which the record at one
/// place is lost: how much damage a start reports, and the other keys that it finds in the segment.
fn check_open_cold(lost: &str) -> (u64, String) {
    let mut bench = Bench::new();
    let start = bench.start();
    let second = bench.hot(0, start).put("z", "1").seal(start);
    let mut cold = bench.cold(1, second);
    let mut place = 0;
    for (key, ends_step) in [("a", true), ("b", false), ("c", true), ("d", false)] {
        if key == lost {
            place = cold.at();
        }
        cold.moved_from(start).put(key, "moved");
        if ends_step {
            cold.pad(512, second);
        }
    }
    cold.write();
    bench.rot(1, place);
    let recovered = bench.open();
    let whole = ["a", "b", "c", "d"].into_iter().filter(|key| *key != lost);
    let is_found = |key: &&str| bench.value(&recovered, key).is_some();
    let found = whole.filter(is_found).collect();
    (recovered.damage.count(), found)
}

/// What the cleaner moved is durable long before its segment is sealed, and what it was moved out
/// of is used again: a rotten record there must not take those behind it along, nor go unnoticed.
#[test]
fn a_lost_record_of_an_open_cold_segment_takes_no_other_one_along() {
    assert_eq!(check_open_cold("a"), (1, "bcd".into()));
    assert_eq!(check_open_cold("b"), (1, "acd".into()));
    assert_eq!(check_open_cold("c"), (1, "abd".into()));
    // This one was in the last step, and may never have been durable.
    assert_eq!(check_open_cold("d"), (0, "abc".into()));
}
