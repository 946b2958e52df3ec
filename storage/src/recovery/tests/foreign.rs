//! Structures with good checksums that say what no program of this version writes: a start refuses
//! them or goes on without them, and never trips over a number.

use std::sync::Arc;

use super::Bench;
use super::builder::{SEGMENT_BYTES, Segment, clock, open_all, run, write};
use crate::device::Device;
use crate::error::OpenError;
use crate::format::{DatabaseMap, EPOCH_MAX, RootValue, SEQUENCE_MAX, Superblock};
use crate::options::StoreOptions;
use crate::units::{CollectionId, Lsn};
use crate::{Db, Store, StoreError};

/// Seals a segment, and has the next one say that it was durable: then its summary counts.
fn seal_durably(bench: &Bench, mut segment: Segment<'_>) {
    let end = segment.seal(bench.start());
    bench.hot(1, end).durable(end).put("later", "3").write();
}

/// The reason for which the devices are refused.
fn refusal(bench: &Bench) -> OpenError {
    open_all(&bench.devices).err().expect("it is refused")
}

#[test]
fn a_header_with_an_impossible_place_in_the_log_is_damage() {
    for opening in [u64::MAX - 31, Lsn::END.get(), 4097] {
        let mut bench = Bench::new();
        let start = bench.start();
        bench.hot(0, start).put("a", "1").seal(start);
        let mut forged = bench.hot(1, start);
        forged.header.generation.opening_lsn = Lsn::new(opening);
        forged.write();
        let recovered = bench.open();
        assert_eq!(recovered.damage.count(), 1);
        assert_eq!(bench.value(&recovered, "a").as_deref(), Some("1"));
        assert!(recovered.start < start.plus(4 * u64::from(SEGMENT_BYTES)));
    }
}

#[test]
fn a_batch_that_never_ends_does_not_count() {
    let mut bench = Bench::new();
    let start = bench.start();
    for following in [u64::MAX - 31, u64::MAX - 4127, 1 << 63] {
        let mut hot = bench.hot(0, start);
        hot.put("a", "1").batch(following, 1).put("b", "2").write();
        let recovered = open_all(&bench.devices).unwrap();
        assert_eq!(recovered.index.len(), 1, "{following}");
        assert_eq!(bench.value(&recovered, "a").as_deref(), Some("1"));
        bench = Bench::new();
    }
}

#[test]
fn a_map_that_is_not_what_its_summary_told_of_ends_the_start() {
    let bench = Bench::new();
    let start = bench.start();
    let mut hot = bench.hot(0, start);
    hot.map(&DatabaseMap::default());
    hot.forge(|entry| entry.lsn = entry.lsn.plus(32));
    seal_durably(&bench, hot);
    let error = refusal(&bench);
    assert!(matches!(error, OpenError::Log { .. }), "{error}");
}

#[test]
fn a_footer_names_no_other_record_as_the_map() {
    let mut bench = Bench::new();
    let start = bench.start();
    let mut hot = bench.hot(0, start);
    // A value that reads like a map in which nothing is shown.
    let mut map = DatabaseMap::default();
    (0..16).for_each(|number| map.renew(number));
    let value: String = map.encode().iter().map(|byte| char::from(*byte)).collect();
    hot.put("a", "1").put("map", &value);
    hot.name_as_map(hot.at() - 128);
    seal_durably(&bench, hot);
    let recovered = bench.open();
    assert_eq!(bench.value(&recovered, "a").as_deref(), Some("1"));
    assert_eq!(recovered.map, DatabaseMap::default());
}

#[test]
fn what_no_life_is_left_to_is_not_started() {
    let check = |change: fn(&mut Superblock), what: &str| {
        let bench = Bench::new();
        let mut superblock = bench.superblock.clone();
        superblock.sequence += 1;
        change(&mut superblock);
        write(&bench.devices[0], superblock.offset(), &superblock.encode());
        let error = refusal(&bench);
        assert!(error.to_string().contains(what), "{error}");
    };
    check(|superblock| superblock.epoch = EPOCH_MAX, "no starts left");
    check(
        |superblock| superblock.sequence = SEQUENCE_MAX - 4,
        "no superblocks left",
    );
    check(
        |superblock| superblock.start_lsn = Lsn::new(Lsn::END.get() - 4096),
        "no LSNs left",
    );
}

/// The value of a key, read as a client reads it.
fn get(bench: &Bench, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let devices = bench.devices.iter();
    let devices = devices.map(|device| Arc::clone(device) as Arc<dyn Device>);
    let options = StoreOptions {
        segment_bytes: SEGMENT_BYTES,
        value_cache_bytes: 0,
        ..StoreOptions::default()
    };
    run(async {
        let opening = Store::open(options, devices.collect(), Arc::new(clock()), [7; 32]);
        let handle = opening.await.unwrap().attach(0).unwrap();
        let Some(snapshot) = handle.get(Db(0), key.as_bytes()).await? else {
            return Ok(None);
        };
        Ok(Some(snapshot.read(0..snapshot.len()).await?.to_vec()))
    })
}

#[test]
fn a_pad_or_a_page_that_a_summary_calls_a_value_is_not_served() {
    let page = CollectionId::new(9);
    for is_pad in [true, false] {
        let bench = Bench::new();
        let start = bench.start();
        let mut hot = bench.hot(0, start);
        hot.put("a", "1");
        let at = hot.at();
        hot.forge(|entry| entry.offset = at);
        if is_pad {
            // Longer than any read of a value.
            hot.pad(256 << 10, start);
        } else {
            hot.page(page, 0);
            hot.drop_last_entry();
        }
        hot.put("b", "2");
        seal_durably(&bench, hot);
        assert!(matches!(get(&bench, "a"), Err(StoreError::Corrupt { .. })));
        assert_eq!(get(&bench, "b").unwrap(), Some(b"2".to_vec()));
    }
}

#[test]
fn a_root_of_more_pages_than_a_value_has_is_an_error() {
    let bench = Bench::new();
    let start = bench.start();
    let mut hot = bench.hot(0, start);
    let root = RootValue {
        collection: CollectionId::new(9),
        value_bytes: 1 << 60,
        page_bytes: 1,
    };
    hot.put_root_of("a", root).put("b", "2");
    seal_durably(&bench, hot);
    assert!(matches!(get(&bench, "a"), Err(StoreError::Format(_))));
    assert_eq!(get(&bench, "b").unwrap(), Some(b"2".to_vec()));
}
