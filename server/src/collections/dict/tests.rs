//! Tables against a map, whatever is done to them.

use std::collections::{BTreeMap, BTreeSet};

use super::{Dict, DictBuilder, Part, SPLIT_BYTES, Walk, page_of};
use crate::collections::pages::Pages;
use crate::collections::seeded::Random;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(future)
}

/// A key of one of so many.
fn key(number: usize) -> Vec<u8> {
    let mut key = format!("key:{number}").into_bytes();
    if number.is_multiple_of(97) {
        key.resize(2049 + number % 3000, b'k');
    }
    key
}

fn value(random: &mut Random) -> Vec<u8> {
    let len = match random.below(200) {
        0 => 2048 + random.below(40_000),
        1..20 => random.below(2049),
        _ => random.below(60),
    };
    vec![random.next() as u8; len]
}

async fn everything(dict: &Dict, pages: &mut Pages) -> Model {
    let (mut found, mut walk) = (Model::new(), Walk::new(Part::Both));
    while let Some(pairs) = walk.next(dict, pages).await.unwrap() {
        for pair in pairs {
            let before = found.insert(pair.key.to_vec(), pair.value.to_vec());
            assert!(before.is_none(), "an entry is met once");
        }
    }
    found
}

/// What the header says is what the pages hold.
async fn check(dict: &Dict, pages: &mut Pages, model: &Model) {
    assert_eq!(dict.len(), model.len() as u64);
    assert_eq!(Dict::decode(&dict.encode()), Ok(*dict));
    assert_eq!(&everything(dict, pages).await, model);
    let mut bytes = 0;
    for bucket in 0..dict.header.buckets() {
        let page = pages.read(page_of(bucket)).await.unwrap();
        bytes += page.len() as u64 - 1;
    }
    assert_eq!(dict.header.bytes, bytes);
    let mean = bytes / u64::from(dict.header.buckets());
    assert!(mean <= SPLIT_BYTES, "{mean}");
}

#[test]
fn a_table_is_a_map() {
    let mut random = Random::seeded();
    run(async {
        let mut pages = Pages::in_memory();
        let mut dict = Dict::new(random.next(), &mut pages);
        let mut model = Model::new();
        for round in 0..12 {
            // grows, then shrinks to nothing, then grows again
            let inserts_of_8 = [7, 7, 2, 0][round % 4];
            for _ in 0..1_500 {
                let key = key(random.below(3_000));
                let before = dict.get(&mut pages, &key).await.unwrap();
                assert_eq!(before.as_deref(), model.get(&key).map(Vec::as_slice));
                if random.below(8) < inserts_of_8 {
                    let value = value(&mut random);
                    let is_new = dict.insert(&mut pages, &key, &value).await.unwrap();
                    assert_eq!(is_new, model.insert(key, value).is_none());
                } else {
                    let was_there = dict.remove(&mut pages, &key).await.unwrap();
                    assert_eq!(was_there, model.remove(&key).is_some());
                }
            }
            check(&dict, &mut pages, &model).await;
        }
        for key in model.keys() {
            assert!(dict.remove(&mut pages, key).await.unwrap());
        }
        assert!(dict.is_empty() && dict.header.buckets() == 1 && dict.header.bytes == 0);
        let page_count = pages.page_count();
        // what large elements gave back is used again
        for number in (0..2_000).step_by(97) {
            dict.insert(&mut pages, &key(number), b"").await.unwrap();
        }
        assert!(pages.page_count() <= page_count + dict.header.buckets() as usize);
    });
}

#[test]
fn an_entry_too_long_for_its_bucket_moves_out() {
    run(async {
        let mut pages = Pages::in_memory();
        let mut dict = Dict::new(1, &mut pages);
        let mut model = Model::new();
        // of one bucket, so that dividing others does not help
        let keys = (0..200_000_u32).map(|number| number.to_string().into_bytes());
        let keys = keys
            .filter(|key| dict.header.hash(key) & 0xfff == 5)
            .take(40);
        for key in keys.collect::<Vec<_>>() {
            let value = vec![b'v'; 2000];
            dict.insert(&mut pages, &key, &value).await.unwrap();
            model.insert(key, value);
        }
        check(&dict, &mut pages, &model).await;
        for key in model.keys() {
            assert!(dict.remove(&mut pages, key).await.unwrap());
        }
        assert_eq!(dict.header.bytes, 0);
    });
}

#[test]
fn a_table_takes_entries_in_the_order_of_its_hashes() {
    run(async {
        let (mut source, mut model) = (DictBuilder::default(), Model::new());
        for number in 0..10_000 {
            source.push(&key(number), b"some value");
            model.insert(key(number), b"some value".to_vec());
        }
        let mut source_pages = Pages::in_memory();
        let source = source.finish(5, &mut source_pages).await.unwrap();
        let mut pages = Pages::in_memory();
        let mut dict = Dict::new(5, &mut pages);
        let mut walk = Walk::new(Part::Both);
        while let Some(pairs) = walk.next(&source, &mut source_pages).await.unwrap() {
            for pair in pairs {
                assert!(
                    dict.insert(&mut pages, &pair.key, &pair.value)
                        .await
                        .unwrap()
                );
            }
        }
        check(&dict, &mut pages, &model).await;
        assert!(dict.header.buckets() < 4 * source.header.buckets());
    });
}

#[test]
fn a_scan_meets_what_stays_while_the_table_changes() {
    let mut random = Random::seeded();
    run(async {
        for round in 0..20 {
            let mut pages = Pages::in_memory();
            let mut dict = Dict::new(random.next(), &mut pages);
            let stays: BTreeSet<Vec<u8>> = (0..300).map(|n| format!("s{n}").into_bytes()).collect();
            for key in &stays {
                dict.insert(&mut pages, key, b"").await.unwrap();
            }
            let others: Vec<Vec<u8>> = (0..4_000)
                .map(|n| format!("other{n}").into_bytes())
                .collect();
            let is_growing = round % 2 == 0;
            if !is_growing {
                for key in &others {
                    dict.insert(&mut pages, key, &[0; 40]).await.unwrap();
                }
            }
            let (mut met, mut cursor, mut next_other) = (Vec::new(), 0, 0);
            loop {
                let (next, pairs) = dict.scan(&mut pages, cursor, Part::Keys).await.unwrap();
                met.extend(pairs.into_iter().map(|pair| pair.key.to_vec()));
                cursor = next;
                if cursor == 0 {
                    break;
                }
                for key in others.iter().skip(next_other).take(random.below(300)) {
                    next_other += 1;
                    if is_growing {
                        dict.insert(&mut pages, key, &[0; 40]).await.unwrap();
                    } else {
                        dict.remove(&mut pages, key).await.unwrap();
                    }
                }
            }
            met.retain(|key| stays.contains(key));
            assert_eq!(met.len(), stays.len(), "each is met once");
            assert_eq!(met.into_iter().collect::<BTreeSet<_>>(), stays);
        }
    });
}

#[test]
fn samples_are_uniform() {
    let mut random = Random::new(7);
    run(async {
        for count in [1_usize, 3, 400, 1_000] {
            let mut pages = Pages::in_memory();
            let mut dict = Dict::new(random.next(), &mut pages);
            for number in 0..count {
                let value = vec![0; if count == 400 { 1500 } else { 10 }];
                dict.insert(&mut pages, &key(number), &value).await.unwrap();
            }
            let (mut hits, draws) = (BTreeMap::<Vec<u8>, u32>::new(), 200 * count);
            let mut left = draws;
            while left > 0 {
                let wanted = (left.min(50), Part::Keys);
                let pairs = dict
                    .sample(&mut pages, wanted, || random.next())
                    .await
                    .unwrap();
                left -= pairs.len();
                for pair in pairs {
                    *hits.entry(pair.key.to_vec()).or_default() += 1;
                }
            }
            assert_eq!(hits.len(), count);
            // chi squared of so many degrees of freedom: mean `count`, deviation sqrt(2 count)
            let deviation = |hits: &u32| (f64::from(*hits) - 200.0).powi(2) / 200.0;
            let chi_squared: f64 = hits.values().map(deviation).sum();
            let freedom = f64::from(count as u32);
            let bound = freedom + 6.0 * (2.0 * freedom).sqrt();
            assert!(chi_squared < bound, "{chi_squared} of {count}");
        }
    });
}

#[test]
fn a_table_is_built_at_once() {
    let mut random = Random::seeded();
    run(async {
        for count in [0, 1, 50, 5_000] {
            let (mut builder, mut model) = (DictBuilder::default(), Model::new());
            for number in 0..count {
                let (key, value) = (key(number), value(&mut random));
                builder.push(&key, &value);
                model.insert(key, value);
            }
            let mut pages = Pages::in_memory();
            let mut dict = builder.finish(random.next(), &mut pages).await.unwrap();
            check(&dict, &mut pages, &model).await;
            dict.insert(&mut pages, b"one more", b"").await.unwrap();
            model.insert(b"one more".to_vec(), Vec::new());
            check(&dict, &mut pages, &model).await;
        }
    });
}

#[test]
fn damaged_pages_end_in_errors() {
    let mut random = Random::new(3);
    run(async {
        let mut pages = Pages::in_memory();
        let mut dict = Dict::new(1, &mut pages);
        for number in 0..200 {
            dict.insert(&mut pages, &key(number), &[1; 30])
                .await
                .unwrap();
        }
        let mut error_count = 0;
        for _ in 0..2_000 {
            let bucket = page_of(random.below(dict.header.buckets() as usize) as u32);
            let valid = pages.read(bucket).await.unwrap();
            let mut damaged = valid.to_vec();
            let at = random.below(damaged.len());
            damaged[at] = random.next() as u8;
            pages.write(bucket, damaged.into());
            let (mut dict, key) = (dict, key(random.below(200)));
            error_count += usize::from(dict.get(&mut pages, &key).await.is_err());
            error_count += usize::from(dict.scan(&mut pages, 0, Part::Both).await.is_err());
            // a removal changes the page or fails: either way the valid one is put back
            let written = pages.read(bucket).await.unwrap();
            if dict.contains(&mut pages, &key).await.is_err() {
                assert!(dict.remove(&mut pages, &key).await.is_err());
            }
            assert_eq!(written, pages.read(bucket).await.unwrap());
            pages.write(bucket, valid);
        }
        assert!(error_count > 0);
    });
}
