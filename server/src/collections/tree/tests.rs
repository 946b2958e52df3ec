//! Trees against plain vectors, by random operations; and their decoders against broken pages.

use std::future::Future;

use bytes::Bytes;

use super::node::{Entry, Inner, Leaf};
use super::stored::Stored;
use super::{Builder, Direction, Order, Side, Tree};
use crate::collections::pages::{PAGE_TARGET_BYTES, Pages};
use crate::collections::seeded::Random;

/// Operations of one run.
const OPERATIONS: usize = 4000;

/// Items of many lengths, some with a long common beginning, some beyond a page's bound.
fn random_item(random: &mut Random) -> Vec<u8> {
    let len = match random.below(40) {
        0 => 2100 + random.below(3000),
        1 => 300 + random.below(1700),
        2..12 => random.below(300),
        _ => random.below(24),
    };
    let same = random.below(3) * len / 4;
    let mut item = vec![b'x'; same];
    item.extend((same..len).map(|_| b'a' + random.below(4) as u8));
    item
}

fn run<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(future)
}

async fn items(tree: &Tree, pages: &mut Pages, range: (u64, u64), way: Direction) -> Vec<Bytes> {
    let mut walk = tree.walk(pages, range.0, range.1, way).await.unwrap();
    let mut found = Vec::new();
    while let Some(items) = walk.next(pages).await.unwrap() {
        assert!(!items.is_empty());
        found.extend(items);
    }
    assert_eq!(walk.left(), 0);
    found
}

/// Pages that were given out and not given back.
async fn live_page_count(pages: &mut Pages) -> usize {
    let mut count = pages.page_count();
    let header = pages.header().encode();
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes[..4].try_into().unwrap());
    let mut unused = word(&header[4..]);
    while unused != 0 {
        count -= 1;
        unused = word(&pages.read(unused).await.unwrap());
    }
    count
}

/// Checks every page's bounds and that no page is lost.
async fn check_pages(tree: &Tree, pages: &mut Pages) {
    let mut pending: Vec<(Inner, bool)> = vec![(tree.top.clone(), true)];
    let mut page_count = 0;
    while let Some((node, is_top)) = pending.pop() {
        assert!(is_top || !node.entries.is_empty());
        assert!(node.encoded_len() <= PAGE_TARGET_BYTES + 32);
        assert!(
            tree.order == Order::Position || node.entries.len() != 1 || is_top || node.count() > 0
        );
        for (index, entry) in node.entries.iter().enumerate() {
            page_count += 1 + usize::from(entry.separator.is_large());
            assert!(index > 0 || entry.separator == Stored::empty());
            if node.level > 1 {
                let below = entry.read_inner(pages, node.level).await.unwrap();
                assert_eq!(below.has_large(), entry.has_large);
                pending.push((below, false));
            } else {
                let leaf = entry.read_leaf(pages).await.unwrap();
                assert_eq!(leaf.has_large(), entry.has_large);
                assert!(leaf.encoded_len() <= PAGE_TARGET_BYTES + 64);
                page_count += leaf.items.iter().filter(|item| item.is_large()).count();
            }
        }
    }
    assert_eq!(live_page_count(pages).await, page_count);
    let encoded = Bytes::from(tree.encode());
    assert!(encoded.len() <= super::TOP_BYTES_MAX);
    assert_eq!(Tree::decode(tree.order, &encoded).unwrap().top, tree.top);
}

async fn check_walks(tree: &Tree, pages: &mut Pages, model: &[Vec<u8>], random: &mut Random) {
    let start = random.below(model.len() + 2);
    let count = random.below(model.len() + 2);
    let forward = items(
        tree,
        pages,
        (start as u64, count as u64),
        Direction::Forward,
    )
    .await;
    let expected = model.iter().skip(start).take(count);
    assert!(forward.iter().eq(expected));
    let backward = items(
        tree,
        pages,
        (start as u64, count as u64),
        Direction::Backward,
    )
    .await;
    let expected = model.iter().take(start + 1).rev().take(count);
    if start < model.len() {
        assert!(backward.iter().eq(expected));
    } else {
        assert!(backward.is_empty());
    }
}

#[test]
fn by_position_as_a_vector() {
    let mut random = Random::seeded();
    run(async {
        let (mut pages, mut tree) = (Pages::in_memory(), Tree::new(Order::Position));
        let mut model: Vec<Vec<u8>> = Vec::new();
        for step in 0..OPERATIONS {
            let at = random.below(model.len() + 1);
            // grows for a while, then shrinks
            let grows = (step / 700) % 2 == 0;
            match random.below(if grows { 5 } else { 8 }) {
                0..3 => {
                    let at = match step / 500 % 3 {
                        0 => at,
                        1 => 0,
                        _ => model.len(),
                    };
                    let item = random_item(&mut random);
                    tree.insert_at(&mut pages, at as u64, &item).await.unwrap();
                    model.insert(at, item);
                }
                3 if at < model.len() => {
                    let item = random_item(&mut random);
                    tree.replace_at(&mut pages, at as u64, &item).await.unwrap();
                    model[at] = item;
                }
                4 => {
                    let found = tree.get(&mut pages, at as u64).await.unwrap();
                    assert_eq!(found.as_deref(), model.get(at).map(Vec::as_slice));
                    check_walks(&tree, &mut pages, &model, &mut random).await;
                }
                _ => {
                    let most = if random.below(30) == 0 {
                        model.len()
                    } else {
                        12
                    };
                    let end = (at + random.below(most + 1)).min(model.len());
                    let range = at as u64..end as u64;
                    tree.remove_range(&mut pages, range).await.unwrap();
                    model.drain(at..end);
                }
            }
            assert_eq!(tree.count(), model.len() as u64);
            if step % 50 == 0 {
                check_pages(&tree, &mut pages).await;
            }
        }
        let all = tree.count();
        tree.remove_range(&mut pages, 0..all).await.unwrap();
        check_pages(&tree, &mut pages).await;
        assert_eq!(live_page_count(&mut pages).await, 0);
    });
}

#[test]
fn by_order_as_a_sorted_vector() {
    let mut random = Random::seeded();
    run(async {
        let (mut pages, mut tree) = (Pages::in_memory(), Tree::new(Order::Bytes));
        let mut model: Vec<Vec<u8>> = Vec::new();
        for step in 0..OPERATIONS {
            let item = match model.get(random.below(model.len() * 3 + 1)) {
                Some(item) => item.clone(),
                None => random_item(&mut random),
            };
            let place = model.binary_search(&item);
            let grows = (step / 900) % 2 == 0;
            match random.below(if grows { 4 } else { 7 }) {
                0..3 => {
                    let is_new = tree.insert(&mut pages, &item).await.unwrap();
                    assert_eq!(is_new, place.is_err());
                    if let Err(at) = place {
                        model.insert(at, item);
                    }
                }
                3 => {
                    let before = tree.rank(&mut pages, &item, Side::Before).await.unwrap();
                    let after = tree.rank(&mut pages, &item, Side::After).await.unwrap();
                    let (Ok(at) | Err(at)) = place;
                    assert_eq!(before, at as u64);
                    assert_eq!(after - before, u64::from(place.is_ok()));
                    let is_there = tree.contains(&mut pages, &item).await.unwrap();
                    assert_eq!(is_there, place.is_ok());
                    check_walks(&tree, &mut pages, &model, &mut random).await;
                }
                _ => {
                    let was_there = tree.remove(&mut pages, &item).await.unwrap();
                    assert_eq!(was_there, place.is_ok());
                    if let Ok(at) = place {
                        model.remove(at);
                    }
                }
            }
            assert_eq!(tree.count(), model.len() as u64);
            if step % 50 == 0 {
                check_pages(&tree, &mut pages).await;
            }
        }
        check_pages(&tree, &mut pages).await;
    });
}

#[test]
fn a_large_tree_is_built_searched_and_emptied() {
    const COUNT: u64 = 30_000;
    let key = |number: u64| format!("member:{number:012}");
    run(async {
        let mut pages = Pages::in_memory();
        let mut builder = Builder::new(Order::Bytes);
        for number in 0..COUNT {
            let item = key(number * 2);
            builder.push(&mut pages, item.as_bytes()).await.unwrap();
        }
        let mut tree = builder.finish(&mut pages).await.unwrap();
        assert_eq!(tree.count(), COUNT);
        assert!(tree.top.level > 1);
        check_pages(&tree, &mut pages).await;
        for number in (1..COUNT * 2).step_by(2) {
            let item = key(number);
            assert!(tree.insert(&mut pages, item.as_bytes()).await.unwrap());
        }
        check_pages(&tree, &mut pages).await;
        for number in (0..COUNT * 2).step_by(77) {
            let item = key(number);
            let rank = tree.rank(&mut pages, item.as_bytes(), Side::Before).await;
            assert_eq!(rank.unwrap(), number);
            let found = tree.get(&mut pages, number).await.unwrap();
            assert_eq!(found.unwrap(), item.as_bytes());
        }
        let range = 1000..COUNT * 2 - 1000;
        tree.remove_range(&mut pages, range).await.unwrap();
        assert_eq!(tree.count(), 2000);
        check_pages(&tree, &mut pages).await;
        let last = tree.get(&mut pages, 1999).await.unwrap().unwrap();
        assert_eq!(last, key(COUNT * 2 - 1).as_bytes());
        tree.remove_range(&mut pages, 0..2000).await.unwrap();
        assert_eq!(live_page_count(&mut pages).await, 0);
    });
}

#[test]
fn items_that_come_in_order_fill_their_pages() {
    run(async {
        for at_end in [true, false] {
            let (mut pages, mut tree) = (Pages::in_memory(), Tree::new(Order::Position));
            for _ in 0..10_000u64 {
                let rank = if at_end { tree.count() } else { 0 };
                tree.insert_at(&mut pages, rank, &[7; 39]).await.unwrap();
            }
            // 102 items of 40 bytes fill a page
            let count = live_page_count(&mut pages).await;
            assert!(count <= 105, "{count}");
        }
    });
}

fn frozen_leaf() -> Leaf {
    let items = [b"".as_slice(), b"a", b"member"];
    Leaf {
        items: items
            .map(|item| Stored::Inline(Bytes::from_static(item)))
            .into(),
    }
}

fn frozen_inner() -> Inner {
    let entry = |child, count, has_large, separator| Entry {
        child,
        count,
        has_large,
        separator: Stored::Inline(Bytes::from_static(separator)),
    };
    Inner {
        level: 1,
        entries: vec![entry(1, 300, false, b""), entry(515, 2, true, b"sep")],
    }
}

#[test]
fn layouts_are_frozen() {
    let leaf = frozen_leaf().encode();
    assert_eq!(leaf, b"\x00\x03\x00\x00\x02a\x0cmember");
    let inner = frozen_inner().encode();
    let expected = b"\x01\x02\x00\x01\x00\x00\x00\xd8\x04\x00\x03\x02\x00\x00\x05\x06sep";
    assert_eq!(inner, expected);
    assert_eq!(Leaf::decode(&leaf.into()).unwrap(), frozen_leaf());
    assert_eq!(Inner::decode(&inner.into()).unwrap(), frozen_inner());
}

#[test]
fn broken_pages_are_refused_or_read_never_a_panic() {
    let mut random = Random::seeded();
    let valid = [frozen_leaf().encode(), frozen_inner().encode()];
    let mut refused = 0;
    for round in 0..20_000 {
        let mut page = if round % 2 == 0 {
            let len = random.below(64);
            (0..len).map(|_| random.next() as u8).collect()
        } else {
            valid[random.below(2)].clone()
        };
        for _ in 0..random.below(4) {
            if !page.is_empty() {
                let at = random.below(page.len());
                page[at] = random.next() as u8;
            }
        }
        page.truncate(random.below(page.len() * 4 + 1).max(1));
        let page = Bytes::from(page);
        refused += usize::from(Leaf::decode(&page).is_err());
        refused += usize::from(Inner::decode(&page).is_err());
        if let Ok(tree) = Tree::decode(Order::Bytes, &page) {
            // its pages are missing: an error, whatever the top says
            let mut pages = Pages::in_memory();
            let found = run(tree.rank(&mut pages, b"a", Side::Before));
            assert!(found.is_err() || tree.count() == 0);
        }
    }
    assert!(refused > 20_000);
}
