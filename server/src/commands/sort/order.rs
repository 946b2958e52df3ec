//! Sorting in slices, so that a worker serves others while a million elements are put in order.
//!
//! Owns the order. A merge sort (Knuth, The Art of Computer Programming, volume 3, 5.2.4) of runs
//! that are sorted at once.

use std::cmp::Ordering;

use super::options::Options;
use super::weights::{Weighed, Weight};

/// Elements that are sorted at once: some tens of microseconds.
const RUN_COUNT: usize = 512;

/// Elements that are merged, or weighed, before others may run.
const SLICE_COUNT: usize = 1024;

/// Lets others run once in a number of elements.
pub(super) async fn give_way(count: usize) {
    if count.is_multiple_of(SLICE_COUNT) {
        tokio::task::yield_now().await;
    }
}

/// Puts elements in order.
pub(super) async fn sort(elements: Vec<Weighed>, options: &Options) -> Vec<Weighed> {
    let compare = |a: &Weighed, b: &Weighed| {
        let order = compare(a, b);
        if options.is_descending {
            order.reverse()
        } else {
            order
        }
    };
    merge_sort(elements, compare).await
}

fn compare(a: &Weighed, b: &Weighed) -> Ordering {
    match (&a.weight, &b.weight) {
        (Weight::Number(a_weight), Weight::Number(b_weight)) => a_weight
            .partial_cmp(b_weight)
            .unwrap_or(Ordering::Equal)
            .then_with(|| a.element.cmp(&b.element)),
        (Weight::Text(a), Weight::Text(b)) => a.cmp(b),
        (Weight::Element, Weight::Element) => a.element.cmp(&b.element),
        (Weight::Number(_) | Weight::Text(_) | Weight::Element, _) => {
            unreachable!("one sort has weights of one kind")
        }
    }
}

async fn merge_sort<T>(elements: Vec<T>, compare: impl Fn(&T, &T) -> Ordering) -> Vec<T> {
    let mut rest = elements.into_iter();
    let mut runs = Vec::new();
    loop {
        let mut run: Vec<T> = rest.by_ref().take(RUN_COUNT).collect();
        if run.is_empty() {
            break;
        }
        run.sort_by(&compare);
        runs.push(run);
        tokio::task::yield_now().await;
    }
    while runs.len() > 1 {
        let mut merged = Vec::with_capacity(runs.len().div_ceil(2));
        let mut runs_left = runs.into_iter();
        while let Some(first) = runs_left.next() {
            merged.push(match runs_left.next() {
                Some(second) => merge(first, second, &compare).await,
                None => first,
            });
        }
        runs = merged;
    }
    runs.pop().unwrap_or_default()
}

/// Merges two runs; what is equal stays in the order of the runs.
async fn merge<T>(first: Vec<T>, second: Vec<T>, compare: &impl Fn(&T, &T) -> Ordering) -> Vec<T> {
    let mut merged = Vec::with_capacity(first.len() + second.len());
    let (mut first, mut second) = (first.into_iter().peekable(), second.into_iter().peekable());
    loop {
        let next = match (first.peek(), second.peek()) {
            (Some(a), Some(b)) if compare(a, b).is_gt() => second.next(),
            (Some(_), _) => first.next(),
            (None, _) => second.next(),
        };
        match next {
            Some(element) => merged.push(element),
            None => return merged,
        }
        give_way(merged.len()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collections::seeded::Random;

    #[tokio::test]
    async fn it_sorts_as_the_library_does_and_keeps_equals_in_order() {
        let mut random = Random::seeded();
        for count in [0, 1, 2, 511, 512, 513, 5000] {
            let elements: Vec<(usize, usize)> =
                (0..count).map(|index| (random.below(200), index)).collect();
            let mut expected = elements.clone();
            expected.sort_by_key(|(weight, _)| *weight);
            let sorted = merge_sort(elements, |a, b| a.0.cmp(&b.0)).await;
            assert_eq!(sorted, expected);
        }
    }
}
