//! Lists against a model: random operations, compact and paged.

use std::collections::VecDeque;

use bytes::Bytes;

use super::*;
use crate::collections::seeded::Random;

type Model = VecDeque<Bytes>;

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(future)
}

fn item(random: &mut Random, is_long: bool) -> Bytes {
    let len = match random.below(40) {
        0 if is_long => 2000 + random.below(3000),
        1..4 => random.below(300),
        _ => random.below(8),
    };
    let byte = b'a' + random.below(3) as u8;
    Bytes::from(vec![byte; len])
}

fn end(random: &mut Random) -> End {
    if random.below(2) == 0 {
        End::Left
    } else {
        End::Right
    }
}

async fn check_all(list: &mut List, model: &Model) {
    assert_eq!(list.len(), model.len() as u64);
    let all = list.items(0, u64::MAX).await.unwrap();
    assert!(all.iter().eq(model.iter()));
}

/// Takes up to `count` elements off an end of the model.
fn take(model: &mut Model, end: End, count: usize) -> Vec<Bytes> {
    let taken = (0..count).map_while(|_| match end {
        End::Left => model.pop_front(),
        End::Right => model.pop_back(),
    });
    taken.collect()
}

async fn change(list: &mut List, model: &mut Model, random: &mut Random, growth: usize) {
    let len = model.len();
    match random.below(6 + growth) {
        0 => {
            let (end, count) = (end(random), random.below(5));
            let taken = list.pop(end, count as u64).await.unwrap();
            assert_eq!(taken, take(model, end, count));
        }
        1 if len > 0 => {
            let start = random.below(len);
            let stop = start + random.below((len - start).min(40) + 1);
            list.remove(start as u64..stop as u64).await.unwrap();
            model.drain(start..stop);
        }
        2 if len > 0 => {
            let (index, item) = (random.below(len), item(random, true));
            list.replace(index as u64, &item).await.unwrap();
            model[index] = item;
        }
        3 => {
            let (index, item) = (random.below(len + 1), item(random, true));
            list.insert(index as u64, &item).await.unwrap();
            model.insert(index, item);
        }
        4 if len > 0 && random.below(8) == 0 => remove_equal(list, model, random).await,
        5 if len > 0 => {
            let index = random.below(len);
            let found = list.get(index as u64).await.unwrap();
            assert_eq!(found.as_ref(), model.get(index));
            assert_eq!(list.get(len as u64).await.unwrap(), None);
        }
        _ => {
            let end = end(random);
            let items: Vec<Bytes> = (0..random.below(4)).map(|_| item(random, true)).collect();
            list.push(end, &items).await.unwrap();
            for item in items {
                match end {
                    End::Left => model.push_front(item),
                    End::Right => model.push_back(item),
                }
            }
        }
    }
}

async fn remove_equal(list: &mut List, model: &mut Model, random: &mut Random) {
    let wanted = model[random.below(model.len())].clone();
    let count = 1 + random.below(3);
    let direction = match end(random) {
        End::Left => Direction::Forward,
        End::Right => Direction::Backward,
    };
    let mut found: Vec<usize> = (0..model.len()).filter(|at| model[*at] == wanted).collect();
    match direction {
        Direction::Forward => found.truncate(count),
        Direction::Backward => drop(found.drain(..found.len().saturating_sub(count))),
    }
    let removed = list
        .remove_equal(&wanted, count as u64, direction)
        .await
        .unwrap();
    assert_eq!(removed, found.len() as u64);
    for index in found.into_iter().rev() {
        model.remove(index);
    }
}

async fn check_walk(list: &mut List, model: &Model, random: &mut Random) {
    let (start, count) = (random.below(model.len() + 2), random.below(60));
    for direction in [Direction::Forward, Direction::Backward] {
        let expected: Vec<Bytes> = match direction {
            Direction::Forward => model.iter().skip(start).take(count).cloned().collect(),
            Direction::Backward if start < model.len() => {
                model.range(..=start).rev().take(count).cloned().collect()
            }
            Direction::Backward => Vec::new(),
        };
        let mut walk = list
            .walk(start as u64, count as u64, direction)
            .await
            .unwrap();
        let mut found = Vec::new();
        while let Some(items) = list.next(&mut walk).await.unwrap() {
            found.extend(items);
        }
        assert_eq!(found, expected, "{start} {count} {direction:?}");
    }
}

#[test]
fn a_list_does_as_a_deque_does() {
    let mut random = Random::seeded();
    run(async {
        for growth in [0, 2, 12] {
            let mut list = List::new(ListpackLimit::of(-2));
            let mut model = Model::new();
            for round in 0..3000 {
                change(&mut list, &mut model, &mut random, growth).await;
                if round % 50 == 0 {
                    check_all(&mut list, &model).await;
                    check_walk(&mut list, &model, &mut random).await;
                }
            }
            check_all(&mut list, &model).await;
        }
    });
}

#[test]
fn encodings_change_where_redis_changes_them() {
    run(async {
        let mut list = List::new(ListpackLimit::of(4));
        let item = Bytes::from_static(b"a");
        list.push(End::Right, &vec![item.clone(); 4]).await.unwrap();
        assert!(!list.is_quicklist);
        list.push(End::Right, std::slice::from_ref(&item))
            .await
            .unwrap();
        assert!(list.is_quicklist);
        list.pop(End::Left, 2).await.unwrap();
        assert!(list.is_quicklist);
        list.pop(End::Left, 1).await.unwrap();
        assert!(!list.is_quicklist);
        let mut list = List::new(ListpackLimit::of(-1));
        let long = Bytes::from(vec![b'x'; 2000]);
        list.push(End::Left, &[long.clone(), long.clone()])
            .await
            .unwrap();
        assert!(!list.is_quicklist);
        list.replace(1, &Bytes::from(vec![b'x'; 2080]))
            .await
            .unwrap();
        assert!(list.is_quicklist, "it is measured as if it came on top");
        list.replace(1, &item).await.unwrap();
        assert!(!list.is_quicklist);
    });
}
