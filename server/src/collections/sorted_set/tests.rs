//! Sorted sets against a plain map, by random operations, compact and paged.

use std::collections::BTreeMap;

use super::*;
use crate::collections::seeded::Random;

const LIMITS: ListpackLimits = ListpackLimits {
    entries: 128,
    member_bytes: 64,
};

/// Operations of one run.
const OPERATIONS: usize = 3000;

/// The elements in order.
fn ordered(model: &BTreeMap<Vec<u8>, f64>) -> Vec<(f64, Vec<u8>)> {
    let mut elements: Vec<_> = model
        .iter()
        .map(|(member, score)| (*score, member.clone()))
        .collect();
    elements.sort_by(|a, b| a.partial_cmp(b).unwrap());
    elements
}

fn pairs(elements: &[Element]) -> Vec<(f64, Vec<u8>)> {
    let pair = |element: &Element| (element.score, element.member.to_vec());
    elements.iter().map(pair).collect()
}

fn random_score(random: &mut Random) -> f64 {
    match random.below(12) {
        0 => f64::INFINITY,
        1 => f64::NEG_INFINITY,
        2 => -0.0,
        3 => 0.0,
        4..8 => f64::from(random.below(5) as u32) - 2.5,
        _ => f64::from(random.below(1000) as u32) / 8.0,
    }
}

fn random_member(random: &mut Random, member_count: usize) -> Vec<u8> {
    let number = random.below(member_count);
    let len = match number % 97 {
        0 => 2300,
        1 => 300,
        _ => number % 7,
    };
    format!("{number}{}", "x".repeat(len)).into_bytes()
}

async fn check(set: &mut SortedSet, model: &BTreeMap<Vec<u8>, f64>, random: &mut Random) {
    let all = ordered(model);
    let count = all.len() as u64;
    assert_eq!(set.count(), count);
    let (a, b) = (random.below(all.len() + 1), random.below(all.len() + 1));
    let range = a.min(b)..a.max(b);
    let found = set
        .collect(range.start as u64..range.end as u64)
        .await
        .unwrap();
    assert_eq!(pairs(&found), all[range]);
    let mut way = set
        .elements(a as u64, b as u64, Direction::Backward)
        .await
        .unwrap();
    let mut found = Vec::new();
    while let Some(next) = way.next(set).await.unwrap() {
        found.extend(pairs(&next));
    }
    let expected: Vec<_> = all.iter().take(a + 1).rev().take(b).cloned().collect();
    assert_eq!(found, if a < all.len() { expected } else { Vec::new() });

    let (low, high) = (random_score(random), random_score(random));
    let cuts = (Cut::Score(low, Side::Before), Cut::Score(high, Side::After));
    let ranks = set.ranks((&cuts.0, &cuts.1)).await.unwrap();
    let inside = all.iter().filter(|(score, _)| (low..=high).contains(score));
    assert_eq!(ranks.end - ranks.start, inside.count() as u64);
    let cuts = (Cut::Score(low, Side::After), Cut::Score(high, Side::Before));
    let ranks = set.ranks((&cuts.0, &cuts.1)).await.unwrap();
    let inside = all
        .iter()
        .filter(|(score, _)| low < *score && *score < high);
    assert_eq!(ranks.end - ranks.start, inside.count() as u64);
    for (rank, (score, member)) in all.iter().enumerate().skip(a).take(3) {
        assert_eq!(set.rank(*score, member).await.unwrap(), rank as u64);
    }
}

async fn scanned(set: &mut SortedSet) -> Vec<(f64, Vec<u8>)> {
    let (mut cursor, mut found) = (0, Vec::new());
    loop {
        let (next, elements) = set.scan(cursor).await.unwrap();
        found.extend(pairs(&elements));
        cursor = next;
        if cursor == 0 {
            found.sort_by(|a, b| a.partial_cmp(b).unwrap());
            return found;
        }
    }
}

async fn as_a_map(member_count: usize) {
    let mut random = Random::seeded();
    let (mut set, mut model) = (SortedSet::new(LIMITS, 0, 0), BTreeMap::new());
    for step in 0..OPERATIONS {
        let member = random_member(&mut random, member_count);
        let old = set.score(&member).await.unwrap();
        assert_eq!(old, model.get(&member).copied());
        let grows = (step / 600) % 2 == 0;
        match random.below(if grows { 12 } else { 20 }) {
            0..8 => {
                let score = random_score(&mut random);
                set.set(&member, (old, score), 7).await.unwrap();
                model.insert(member, score);
            }
            8 => check(&mut set, &model, &mut random).await,
            9 => {
                let start = random.below(model.len() + 1);
                let end = (start + random.below(9)).min(model.len());
                set.remove_ranks(start as u64..end as u64).await.unwrap();
                for (_, member) in ordered(&model).drain(start..end) {
                    model.remove(&member);
                }
            }
            _ => assert_eq!(set.remove(&member).await.unwrap(), model.remove(&member)),
        }
        if let Form::Compact(compact) = &set.form {
            let encoded = compact.encode();
            assert_eq!(encoded.len(), compact.bytes());
            let decoded = Compact::decode(&encoded).unwrap();
            assert_eq!(decoded.elements(), compact.elements());
        }
    }
    check(&mut set, &model, &mut random).await;
    assert_eq!(scanned(&mut set).await, ordered(&model));
    let rebuilt = set.collect(0..set.count()).await.unwrap();
    let mut rebuilt = SortedSet::build(LIMITS, rebuilt, 9).await.unwrap();
    check(&mut rebuilt, &model, &mut random).await;
}

#[tokio::test]
async fn a_compact_set_is_a_map() {
    as_a_map(40).await;
}

#[tokio::test]
async fn a_paged_set_is_a_map() {
    as_a_map(2000).await;
}

#[tokio::test]
async fn encodings_are_sticky() {
    let mut set = SortedSet::new(LIMITS, 1, 1);
    set.set(b"a", (None, -0.0), 7).await.unwrap();
    assert_eq!(set.encoding(), Encoding::Listpack);
    // a listpack has no minus zero
    assert!(set.score(b"a").await.unwrap().unwrap().is_sign_positive());
    for number in 1..=128 {
        assert_eq!(set.encoding(), Encoding::Listpack);
        let member = format!("m{number}");
        set.set(member.as_bytes(), (None, 1.0), 7).await.unwrap();
    }
    assert_eq!(set.encoding(), Encoding::Skiplist);
    set.set(b"a", (Some(0.0), -0.0), 7).await.unwrap();
    assert!(set.score(b"a").await.unwrap().unwrap().is_sign_negative());
    set.remove_ranks(1..129).await.unwrap();
    assert_eq!(set.encoding(), Encoding::Skiplist);
    let mut set = SortedSet::new(LIMITS, 1, 1);
    set.set(&[b'x'; 65], (None, 1.0), 7).await.unwrap();
    assert_eq!(set.encoding(), Encoding::Skiplist);
    assert_eq!(
        SortedSet::new(LIMITS, 129, 1).encoding(),
        Encoding::Skiplist
    );
}

#[test]
fn compact_bytes_are_frozen_and_broken_ones_are_refused() {
    let mut compact = Compact::default();
    compact.insert(2.0, b"b");
    compact.insert(1.0, b"c");
    let encoded = compact.encode();
    let expected = b"\x09\xbf\xf0\0\0\0\0\0\0c\x09\xc0\0\0\0\0\0\0\0b";
    assert_eq!(encoded, &expected[..]);
    let mut random = Random::new(1);
    let mut refused = 0;
    for _ in 0..10_000 {
        let mut bytes = encoded.to_vec();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len());
            bytes[at] = random.next() as u8;
        }
        bytes.truncate(random.below(2 * bytes.len()).max(1));
        refused += usize::from(Compact::decode(&bytes.into()).is_err());
    }
    assert!(refused > 5000);
}
