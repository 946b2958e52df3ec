//! Where the prefix ends, and what becomes of the rest.

use super::builder::{LIVE, RECORD};
use super::*;
use crate::damage::Loss;
use crate::format::{SegmentState, Superblock};
use crate::segment::State;
use crate::units::SegmentNumber;

#[test]
fn an_open_segment_counts_up_to_the_first_record_that_does_not_verify() {
    let mut bench = Bench::new();
    let start = bench.start();
    let mut hot = bench.hot(0, start);
    hot.put("a", "1").put("b", "2");
    let (torn, torn_lsn) = (hot.at(), hot.lsn());
    hot.put("c", "3").put("d", "4").write();
    bench.rot(0, torn + 33);
    let recovered = bench.open();
    assert_eq!(bench.value(&recovered, "b").as_deref(), Some("2"));
    assert_eq!(
        (bench.value(&recovered, "c"), bench.value(&recovered, "d")),
        (None, None)
    );
    assert_eq!(recovered.superblocks[0].cut_lsn, torn_lsn);
    assert_eq!(recovered.damage.count(), 0);
    let life = recovered.segments.get(SegmentNumber::new(0));
    assert_eq!((life.state(), life.sealed_lsn()), (State::Sealed, torn_lsn));
    assert_eq!(bench.header(0).cut_lsn, Some(torn_lsn));
    assert!(recovered.start.get() >= start.get() + u64::from(builder::SEGMENT_BYTES));
}

#[test]
fn the_void_suffix_does_not_come_back() {
    let mut bench = Bench::new();
    let start = bench.start();
    let mut hot = bench.hot(0, start);
    hot.put("a", "1");
    let torn = hot.at();
    hot.put("b", "2").put("a", "void").write();
    bench.rot(0, torn);
    bench.open();
    let second = bench.start();
    bench.hot(1, second).put("c", "3").write();
    let recovered = bench.open();
    assert_eq!(bench.value(&recovered, "a").as_deref(), Some("1"));
    assert_eq!(bench.value(&recovered, "b"), None);
    assert_eq!(bench.value(&recovered, "c").as_deref(), Some("3"));
    // Not even when the summary of the cut segment is lost.
    bench.rot(0, builder::SEGMENT_BYTES - 4096);
    let recovered = bench.open();
    assert_eq!(bench.value(&recovered, "a").as_deref(), Some("1"));
    assert_eq!(recovered.superblocks[0].epoch, 4);
}

#[test]
fn a_batch_that_is_cut_goes_whole() {
    let mut bench = Bench::new();
    let start = bench.start();
    let mut hot = bench.hot(0, start);
    hot.put("a", "1")
        .batch(2 * RECORD, 2)
        .put("b", "2")
        .put("c", "3");
    let before = hot.lsn();
    hot.batch(2 * RECORD, 2).put("a", "void").write();
    let recovered = bench.open();
    assert_eq!(recovered.superblocks[0].cut_lsn, before);
    assert_eq!(bench.value(&recovered, "a").as_deref(), Some("1"));
    assert_eq!(bench.value(&recovered, "c").as_deref(), Some("3"));
    let recovered = bench.open();
    assert_eq!(bench.value(&recovered, "a").as_deref(), Some("1"));
}

#[test]
fn sealed_segments_above_the_cut_are_freed() {
    let mut bench = Bench::new();
    let start = bench.start();
    let mut hot = bench.hot(0, start);
    let torn = hot.put("a", "1").at();
    let next = hot.put("b", "2").seal(start);
    let third = bench.hot(1, next).put("c", "3").seal(start);
    bench.hot(2, third).put("d", "4").write();
    bench.rot(0, torn);
    let recovered = bench.open();
    assert_eq!(recovered.index.len(), 1);
    assert_eq!(recovered.segments.ready_count(), 2);
    for number in [1, 2] {
        assert_eq!(bench.header(number).state, SegmentState::Free);
    }
    // The segment that the cut goes through was sealed up to its end: no more.
    let life = recovered.segments.get(SegmentNumber::new(0));
    assert_eq!(life.sealed_lsn(), start.plus(RECORD));
    assert!(bench.open().start > recovered.start.plus(0).min(third));
}

#[test]
fn the_walk_goes_on_through_the_segments_whether_sealed_or_not() {
    let mut bench = Bench::on(vec![builder::blank(1), builder::blank(2)]);
    let start = bench.start();
    let mut first = bench.hot(20, start);
    let next = first.put("a", "1").seal(start);
    let mut second = bench.hot(2, next);
    second.put("b", "2").pad(512, start).put("c", "3");
    let third = second.seal(start);
    // The footer did not arrive.
    bench.write(2, builder::SEGMENT_BYTES - 4096, &[0; 4096]);
    bench.hot(17, third).put("d", "4").write();
    let recovered = bench.open();
    assert_eq!((recovered.index.len(), recovered.damage.count()), (4, 0));
    assert_eq!(recovered.superblocks[0].cut_lsn, third.plus(RECORD));
    assert_eq!(bench.open().index.len(), 4);
}

#[test]
fn below_what_was_durable_a_bad_record_is_damage_and_skipped() {
    let mut bench = Bench::new();
    let start = bench.start();
    let mut hot = bench.hot(0, start);
    let header_rot = hot.put("a", "1").at();
    let value_rot = hot.put("b", "2").put("c", "3").at();
    let durable = hot.put("d", "4").put("e", "5").lsn();
    hot.put("f", "6").durable(durable).write();
    bench.rot(0, header_rot + 8);
    bench.rot(0, value_rot + 33);
    let recovered = bench.open();
    assert_eq!(recovered.damage.count(), 2);
    assert_eq!(recovered.superblocks[0].cut_lsn, durable.plus(RECORD));
    for (key, value) in [("a", "1"), ("c", "3"), ("e", "5"), ("f", "6")] {
        assert_eq!(
            bench.value(&recovered, key).as_deref(),
            Some(value),
            "{key}"
        );
    }
    // Both damaged records have their entries, under whatever key is left: a read tells of it.
    assert_eq!(recovered.index.len(), 6);
}

#[test]
fn a_pad_behind_a_break_may_know_that_it_is_damage() {
    let mut bench = Bench::new();
    let start = bench.start();
    let mut hot = bench.hot(0, start);
    let broken = hot.put("a", "1").at();
    hot.put("b", "2").put("c", "3").pad(512, start);
    let durable = hot.lsn();
    hot.put("d", "4").pad(512, durable).put("e", "5").write();
    bench.rot(0, broken);
    let recovered = bench.open();
    // What the header was can still be read: the key leads to the damage.
    assert_eq!((recovered.damage.count(), recovered.index.len()), (1, 5));
    let lost = recovered.damage.last()[0].loss.clone();
    assert_eq!(lost, Loss::Key(bytes::Bytes::from_static(b"b")));
    assert_eq!(bench.value(&recovered, "e").as_deref(), Some("5"));
}

#[test]
fn a_map_in_the_superblock_shows_that_what_lies_below_it_was_durable() {
    let mut bench = Bench::new();
    let mut hot = bench.hot(0, bench.start());
    hot.put("a", "1");
    let broken = hot.at();
    let map_lsn = hot.put("b", "2").put("c", "3").lsn();
    hot.put("d", "4").write();
    let told = Superblock {
        sequence: bench.superblock.sequence + 1,
        map_lsn,
        ..bench.superblock.clone()
    };
    builder::write(&bench.devices[0], told.offset(), &told.encode());
    bench.rot(0, broken + 33);
    let recovered = bench.open();
    assert_eq!(recovered.damage.count(), 1);
    for (key, value) in [("a", "1"), ("c", "3"), ("d", "4")] {
        let found = bench.value(&recovered, key);
        assert_eq!(found.as_deref(), Some(value), "{key}");
    }
}

#[test]
fn an_open_cold_segment_counts_up_to_its_break() {
    let mut bench = Bench::new();
    let start = bench.start();
    let mut hot = bench.hot(0, start);
    let moved = hot.put("a", "1").lsn();
    let next = hot.put("b", "2").seal(start);
    let mut cold = bench.cold(1, next);
    cold.moved_from(start).put("a", "moved").pad(512, next);
    let torn = cold.at();
    cold.moved_from(moved).put("b", "torn").write();
    bench.rot(1, torn);
    let recovered = bench.open();
    assert_eq!(bench.value(&recovered, "a").as_deref(), Some("moved"));
    assert_eq!(bench.value(&recovered, "b").as_deref(), Some("2"));
    assert_eq!(recovered.damage.count(), 0);
    let life = recovered.segments.get(SegmentNumber::new(1));
    assert_eq!(
        (life.state(), life.sealed_lsn(), life.live_bytes()),
        (State::Sealed, next, LIVE)
    );
    assert_eq!(bench.open().index.len(), 2);
}

#[test]
fn records_across_the_steps_of_a_walk_are_read_whole() {
    let mut bench = Bench::new();
    let start = bench.start();
    let value = "x".repeat(60_001);
    let mut hot = bench.hot(0, start);
    let keys: Vec<String> = (0..15).map(|number| format!("key{number}")).collect();
    for key in &keys {
        hot.put(key, &value);
    }
    let end = hot.write();
    let recovered = bench.open();
    assert_eq!(recovered.superblocks[0].cut_lsn, end);
    for key in &keys {
        assert_eq!(
            bench.value(&recovered, key).as_deref(),
            Some(&*value),
            "{key}"
        );
    }
}

#[test]
fn what_lies_above_the_cut_is_void_in_cold_segments_too() {
    let mut bench = Bench::new();
    let start = bench.start();
    let mut hot = bench.hot(0, start);
    let torn = hot.put("a", "1").at();
    let cut = hot.lsn();
    hot.put("b", "void");
    let void = hot.lsn();
    hot.put("c", "void").write();
    bench.rot(0, torn);
    let mut sealed = bench.cold(1, cut);
    sealed
        .moved_from(start)
        .put("a", "moved")
        .moved_from(void)
        .put("c", "void")
        .seal(start);
    bench
        .cold(2, start)
        .moved_from(void)
        .put("d", "void")
        .write();
    let recovered = bench.open();
    assert_eq!(bench.value(&recovered, "a").as_deref(), Some("moved"));
    assert_eq!(
        (recovered.index.len(), recovered.segments.live_bytes()),
        (1, LIVE)
    );
}

#[test]
fn a_young_summary_may_be_torn_without_being_damage() {
    let mut bench = Bench::new();
    let start = bench.start();
    let next = bench.hot(0, start).put("a", "1").put("b", "2").seal(start);
    bench.hot(1, next).put("c", "3").write();
    // The footer arrived, the entries before it did not.
    bench.write(0, builder::SEGMENT_BYTES - 8192, &[0; 4096]);
    let recovered = bench.open();
    assert_eq!((recovered.damage.count(), recovered.index.len()), (0, 3));
    assert_eq!(bench.open().damage.count(), 0);
}

#[test]
fn segments_without_a_record_that_counts_are_freed() {
    let mut bench = Bench::new();
    let start = bench.start();
    bench.hot(0, start).pad(512, start).write();
    bench.cold(1, start).write();
    let recovered = bench.open();
    assert_eq!(
        (
            recovered.segments.ready_count(),
            recovered.segments.free_count()
        ),
        (2, 16)
    );
    assert_eq!(recovered.superblocks[0].cut_lsn, start.plus(512));
}

#[test]
fn what_is_not_a_segment_of_this_life_does_not_continue_the_log() {
    let mut bench = Bench::new();
    let start = bench.start();
    let next = bench.hot(0, start).put("a", "1").seal(start);
    bench.hot(1, next.plus(32)).put("b", "2").write();
    let recovered = bench.open();
    assert_eq!(
        (recovered.index.len(), recovered.superblocks[0].cut_lsn),
        (1, next)
    );
}
