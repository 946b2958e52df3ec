//! Random stores against a model: lives of random writes, batches, removals and relocations, each
//! of which ends in a torn log; what is recovered must be the state at the cut. `SEED=` replays
//! one.

use std::collections::BTreeMap;

use super::Bench;
use super::builder::{LIVE, RECORD, Segment, blank};
use crate::device::sim::SimRandom;
use crate::units::Lsn;

const KEYS: u64 = 6;
const OPERATIONS: u64 = 40;

type State = BTreeMap<String, String>;

/// One version of a key, for relocation.
#[derive(Clone)]
struct Version {
    lsn: Lsn,
    value: String,
}

/// A life of the store.
struct Life<'a> {
    bench: &'a Bench,
    random: &'a mut SimRandom,
    free: &'a mut std::ops::Range<u32>,
    state: State,
    /// Where the live versions of this life lie.
    versions: BTreeMap<String, Version>,
    hot: Segment<'a>,
    hot_number: u32,
    cold: Option<Segment<'a>>,
    /// The state when the log ended there.
    history: Vec<(Lsn, State)>,
    /// Records that may be torn: LSN, segment, offset.
    records: Vec<(Lsn, u32, u32)>,
    /// The highest durable LSN that the device tells.
    durable: Lsn,
    next_value: u64,
}

impl<'a> Life<'a> {
    fn new(
        bench: &'a Bench,
        random: &'a mut SimRandom,
        free: &'a mut std::ops::Range<u32>,
        state: State,
    ) -> Self {
        let hot_number = free.next().unwrap();
        let start = bench.start();
        Self {
            history: vec![(start, state.clone())],
            next_value: start.get(),
            bench,
            random,
            free,
            state,
            versions: BTreeMap::new(),
            hot: bench.hot(hot_number, start),
            hot_number,
            cold: None,
            records: Vec::new(),
            durable: start,
        }
    }

    fn key(&mut self) -> String {
        format!("key{}", self.random.below(KEYS))
    }

    fn put(&mut self) {
        let (key, lsn) = (self.key(), self.hot.lsn());
        self.next_value += 1;
        let value = self.next_value.to_string();
        self.records.push((lsn, self.hot_number, self.hot.at()));
        self.hot.put(&key, &value);
        self.state.insert(key.clone(), value.clone());
        self.versions.insert(key, Version { lsn, value });
    }

    fn remove(&mut self) {
        let key = self.key();
        self.records
            .push((self.hot.lsn(), self.hot_number, self.hot.at()));
        self.hot.remove(&key);
        self.state.remove(&key);
        self.versions.remove(&key);
    }

    fn batch(&mut self) {
        let count = 2 + self.random.below(2);
        self.hot.batch(count * RECORD, count as u32);
        (0..count).for_each(|_| self.put());
    }

    /// A group commit: what it padded is durable, and the next structure says so.
    fn commit(&mut self) {
        let durable = self.durable;
        self.hot.pad(512, durable);
    }

    fn roll_over(&mut self) {
        if self.random.flip() {
            // All of it was durable before the footer was written.
            self.durable = self.hot.lsn();
        }
        let end = self.hot.seal(self.durable);
        self.hot_number = self.free.next().unwrap();
        self.hot = self.bench.hot(self.hot_number, end);
    }

    /// Moves a live version, which has to be durable, to the cold log.
    fn relocate(&mut self) {
        let durable = self.durable;
        let movable: Vec<(String, Version)> = self
            .versions
            .iter()
            .filter(|(_, version)| version.lsn < durable)
            .map(|(key, version)| (key.clone(), version.clone()))
            .collect();
        if movable.is_empty() {
            return;
        }
        if self.cold.is_none() {
            let mut cold = self.bench.cold(self.free.next().unwrap(), durable);
            cold.durable(durable);
            self.cold = Some(cold);
        }
        let (key, version) = &movable[self.random.below(movable.len() as u64) as usize];
        let cold = self.cold.as_mut().unwrap();
        // A copy is the same record; here it shows where it came from, and that must not matter.
        cold.moved_from(version.lsn).put(key, &version.value);
    }

    fn end_cold(&mut self) {
        if let Some(mut cold) = self.cold.take() {
            if self.random.flip() {
                cold.seal(cold.header.generation.opening_lsn);
            } else {
                cold.write();
            }
        }
    }

    fn step(&mut self) {
        match self.random.below(16) {
            0..8 => self.put(),
            8..10 => self.remove(),
            10 => self.batch(),
            11 => self.commit(),
            12 => self.roll_over(),
            13 => self.end_cold(),
            _ => self.relocate(),
        }
        let end = self.hot.lsn();
        match self.history.last_mut() {
            Some((last, state)) if *last == end => state.clone_from(&self.state),
            Some(_) | None => self.history.push((end, self.state.clone())),
        }
    }

    /// The crash: tears the log somewhere above what is known to be durable, or not at all. The
    /// state that is left.
    fn crash(mut self) -> State {
        self.end_cold();
        self.hot.write();
        let young: Vec<_> = self
            .records
            .iter()
            .filter(|(lsn, ..)| *lsn >= self.durable)
            .copied()
            .collect();
        if young.is_empty() || self.random.below(4) == 0 {
            return self.state;
        }
        let (lsn, segment, offset) = young[self.random.below(young.len() as u64) as usize];
        self.bench
            .rot(segment, offset + self.random.below(40) as u32);
        let left = self.history.iter().rev().find(|(end, _)| *end <= lsn);
        left.expect("the start is below every record").1.clone()
    }
}

fn check(seed: u64) {
    let mut random = SimRandom::new(seed);
    let mut bench = Bench::on((1..5).map(blank).collect());
    let mut free = 0..64;
    let mut state = State::new();
    for life in 0..3 {
        state = {
            let mut life = Life::new(&bench, &mut random, &mut free, state);
            (0..OPERATIONS).for_each(|_| life.step());
            life.crash()
        };
        let recovered = bench.open();
        for key in 0..KEYS {
            let key = format!("key{key}");
            let expected = state.get(&key).cloned();
            assert_eq!(
                bench.value(&recovered, &key),
                expected,
                "SEED={seed}, life {life}, {key}"
            );
        }
        assert_eq!(recovered.damage.count(), 0, "SEED={seed}, life {life}");
        let live = recovered.segments.live_bytes();
        assert_eq!(live, state.len() as u64 * LIVE, "SEED={seed}, life {life}");
    }
}

#[test]
fn random_stores_come_back_as_they_were_at_the_cut() {
    match std::env::var("SEED") {
        Ok(seed) => check(seed.parse().unwrap()),
        Err(_) => (0..30).for_each(check),
    }
}
