//! A log of segments without a device: records are numbers, time is bytes of the hot log.
//!
//! Owns what lies where, and the cleaner's turns as the engine takes them. Deterministic: the same
//! shape, policy, load and seed give the same figures.

use cellar_storage::cleaning::{
    LIVE_SEGMENTS_MAX, UTILIZATION_PERCENT_MAX, VICTIMS_MAX, may_change_kind,
};
use cellar_storage::format::ENTRY_BYTES;

use super::load::Random;
use super::rule::{Facts, Policy, as_f64};
use super::shape::{KEY_BYTES, Shape, UNIT_BYTES};

/// The clients' stream; the cold ones follow.
const HOT: usize = 0;
/// Times of writing are kept in units of 4 KiB: 32 bits then hold 16 TiB of log.
const BORN_SHIFT: u32 = 12;
/// Ages at which SepBIT parts survivors, in lives of hot segments.
const AGES: [f64; 2] = [4.0, 16.0];
/// Weight of the newest in the mean life of hot segments.
const LIFE_WEIGHT: f64 = 0.05;
/// Turns without gain before the simulation gives up: the store is too full for its reserve.
const IDLE_TURNS_MAX: u32 = 1_000;
/// No place yet.
const NOWHERE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Record {
    /// Segment and slot in one number.
    place: u32,
    born: u32,
    units: u16,
}

impl Record {
    fn bytes(self) -> u32 {
        u32::from(self.units) * UNIT_BYTES
    }

    /// With its summary entry.
    fn held_bytes(self) -> u32 {
        self.bytes() + ENTRY_BYTES as u32
    }
}

#[derive(Clone, Debug, Default)]
struct Segment {
    keys: Vec<u32>,
    live_bytes: u32,
    filled_bytes: u32,
    is_sealed: bool,
    stream: usize,
    /// When it was sealed, or opened if it is a cold one.
    since: u64,
    /// Mean time of the last overwrite but one of its records, once it is sealed.
    overwritten: f64,
    overwritten_sum: f64,
}

/// What was written, in all.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    /// Clients' records with their summary entries.
    pub(crate) hot_bytes: u64,
    /// Keys and values of clients.
    pub(crate) user_bytes: u64,
    /// Survivors' records with their summary entries.
    pub(crate) moved_bytes: u64,
    pub(crate) victims: u64,
    /// Sum of the free segments at each opening of a hot segment, and the count of those.
    pub(crate) free_sum: u64,
    pub(crate) opened_count: u64,
}

impl Totals {
    /// What was written since `before`.
    pub(crate) fn since(&self, before: &Self) -> Self {
        Self {
            hot_bytes: self.hot_bytes - before.hot_bytes,
            user_bytes: self.user_bytes - before.user_bytes,
            moved_bytes: self.moved_bytes - before.moved_bytes,
            victims: self.victims - before.victims,
            free_sum: self.free_sum - before.free_sum,
            opened_count: self.opened_count - before.opened_count,
        }
    }
}

/// The log.
pub(crate) struct Log {
    shape: Shape,
    policy: Policy,
    records: Vec<Record>,
    segments: Vec<Segment>,
    free: Vec<u32>,
    open: Vec<Option<u32>>,
    /// More than any segment has.
    slots_max: u32,
    /// Whose survivors the open cold segment takes: those of hot segments or of cold ones.
    kind_is_hot: bool,
    clock: u64,
    /// Mean life of hot segments.
    life: Option<f64>,
    live_bytes: u64,
    totals: Totals,
    random: Random,
}

impl Log {
    /// A log that holds every key once.
    pub(crate) fn filled(shape: &Shape, policy: Policy, seed: u64) -> Self {
        let key_count = shape.key_count();
        let nowhere = Record {
            place: NOWHERE,
            born: 0,
            units: 0,
        };
        let mut log = Self {
            policy,
            records: vec![nowhere; key_count as usize],
            segments: vec![Segment::default(); shape.segment_count as usize],
            free: (0..shape.segment_count).rev().collect(),
            open: vec![None; 1 + policy.cold_streams()],
            slots_max: shape.slots_max(),
            kind_is_hot: true,
            clock: 0,
            life: None,
            live_bytes: 0,
            totals: Totals::default(),
            random: Random::new(seed),
            shape: shape.clone(),
        };
        for key in 0..key_count {
            log.write(key);
        }
        log
    }

    pub(crate) fn totals(&self) -> Totals {
        self.totals
    }

    pub(crate) fn live_bytes(&self) -> u64 {
        self.live_bytes
    }

    /// Overwrites keys drawn by `draw` until clients have written `bytes`.
    pub(crate) fn overwrite(&mut self, bytes: u64, draw: impl Fn(&mut Random) -> u32) {
        let end = self.totals.hot_bytes + bytes;
        while self.totals.hot_bytes < end {
            let key = draw(&mut self.random);
            self.write(key);
        }
    }

    fn write(&mut self, key: u32) {
        let value_bytes = self.shape.draw_value_bytes(&mut self.random);
        let overwritten = self.forget(key);
        let record = Record {
            place: NOWHERE,
            born: (self.clock >> BORN_SHIFT) as u32,
            units: Shape::units(value_bytes),
        };
        if !self.has_room(HOT, record) {
            self.seal(HOT);
            self.clean();
            self.open(HOT);
            self.totals.free_sum += self.free.len() as u64;
            self.totals.opened_count += 1;
        }
        self.clock += u64::from(record.bytes());
        self.live_bytes += u64::from(record.held_bytes());
        self.totals.hot_bytes += u64::from(record.held_bytes());
        self.totals.user_bytes += u64::from(value_bytes + KEY_BYTES);
        self.put(HOT, key, record, overwritten);
    }

    /// The key's record is dead: when it was overwritten the last time but one, as MDC estimates.
    fn forget(&mut self, key: u32) -> f64 {
        let record = self.records[key as usize];
        if record.place == NOWHERE {
            return 0.0;
        }
        let segment = &mut self.segments[(record.place / self.slots_max) as usize];
        segment.live_bytes -= record.held_bytes();
        self.live_bytes -= u64::from(record.held_bytes());
        f64::midpoint(segment.overwritten, as_f64(self.clock))
    }

    fn has_room(&self, stream: usize, record: Record) -> bool {
        self.open[stream].is_some_and(|number| {
            let filled = self.segments[number as usize].filled_bytes;
            filled + record.held_bytes() <= self.shape.room_bytes()
        })
    }

    fn put(&mut self, stream: usize, key: u32, record: Record, overwritten: f64) {
        let number = self.open[stream].expect("room was made");
        let segment = &mut self.segments[number as usize];
        let place = number * self.slots_max + segment.keys.len() as u32;
        segment.live_bytes += record.held_bytes();
        segment.filled_bytes += record.held_bytes();
        segment.overwritten_sum += overwritten;
        segment.keys.push(key);
        self.records[key as usize] = Record { place, ..record };
    }

    fn seal(&mut self, stream: usize) {
        let Some(number) = self.open[stream].take() else {
            return;
        };
        let segment = &mut self.segments[number as usize];
        segment.is_sealed = true;
        segment.overwritten = segment.overwritten_sum / as_f64(segment.keys.len() as u64);
        if stream == HOT {
            segment.since = self.clock;
        }
    }

    fn open(&mut self, stream: usize) {
        let number = self.free.pop().expect("the cleaner keeps its reserve");
        self.segments[number as usize] = Segment {
            keys: std::mem::take(&mut self.segments[number as usize].keys),
            stream,
            since: self.clock,
            overwritten: as_f64(self.clock),
            ..Segment::default()
        };
        self.open[stream] = Some(number);
    }

    /// Cleans until enough segments are free.
    fn clean(&mut self) {
        let mut idle_count = 0;
        while self.free.len() < self.shape.free_mark() {
            let before = self.free.len();
            let victims = self.choose();
            for victim in &victims {
                self.relocate(*victim);
            }
            for victim in &victims {
                let segment = &mut self.segments[*victim as usize];
                segment.is_sealed = false;
                segment.keys.clear();
                self.free.insert(0, *victim);
            }
            idle_count += u32::from(self.free.len() <= before);
            assert!(
                idle_count < IDLE_TURNS_MAX,
                "the store is too full to be cleaned"
            );
        }
    }

    /// The victims of one turn.
    fn choose(&mut self) -> Vec<u32> {
        let mut candidates: Vec<(f64, u32)> = self.candidates().collect();
        candidates.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        if self.policy == Policy::Cellar {
            self.keep_one_kind(&mut candidates);
        }
        let budget = LIVE_SEGMENTS_MAX * u64::from(self.shape.segment_bytes);
        let mut taken = 0;
        let mut chosen = Vec::new();
        for (_, number) in candidates {
            taken += u64::from(self.segments[number as usize].live_bytes);
            if chosen.len() == VICTIMS_MAX || (taken > budget && !chosen.is_empty()) {
                break;
            }
            chosen.push(number);
        }
        chosen
    }

    fn candidates(&self) -> impl Iterator<Item = (f64, u32)> + '_ {
        let segment_bytes = self.shape.segment_bytes;
        let live_max = u64::from(segment_bytes) * UTILIZATION_PERCENT_MAX / 100;
        let now = as_f64(self.clock);
        let sealed = (0_u32..).zip(&self.segments).filter(move |(_, segment)| {
            segment.is_sealed && u64::from(segment.live_bytes) <= live_max
        });
        sealed.map(move |(number, segment)| {
            let facts = Facts {
                live_bytes: segment.live_bytes,
                segment_bytes,
                age: self.clock - segment.since,
                overwrite_age: now - segment.overwritten,
            };
            (self.policy.worth(&facts), number)
        })
    }

    /// Keeps the survivors of hot segments apart from those of cold ones.
    fn keep_one_kind(&mut self, candidates: &mut Vec<(f64, u32)>) {
        let is_hot = |number: u32| self.segments[number as usize].stream == HOT;
        let Some((_, best)) = candidates.first() else {
            return;
        };
        let room = self.open[1].map_or(0, |number| {
            self.shape.room_bytes() - self.segments[number as usize].filled_bytes
        });
        let has_kind = candidates
            .iter()
            .any(|(_, number)| is_hot(*number) == self.kind_is_hot);
        if may_change_kind(room, self.shape.segment_bytes) || !has_kind {
            self.kind_is_hot = is_hot(*best);
        }
        let kind_is_hot = self.kind_is_hot;
        candidates.retain(|(_, number)| {
            is_hot(*number) == kind_is_hot || self.segments[*number as usize].live_bytes == 0
        });
    }

    /// Moves what is live out of a segment.
    fn relocate(&mut self, victim: u32) {
        self.totals.victims += 1;
        let keys = std::mem::take(&mut self.segments[victim as usize].keys);
        let segment = &self.segments[victim as usize];
        let (overwritten, from, since) = (segment.overwritten, segment.stream, segment.since);
        if from == HOT {
            let life = as_f64(self.clock - since);
            let mean = self.life.unwrap_or(life);
            self.life = Some((life - mean).mul_add(LIFE_WEIGHT, mean));
        }
        for (place, key) in (victim * self.slots_max..).zip(&keys) {
            let record = self.records[*key as usize];
            if record.place != place {
                continue;
            }
            let stream = self.stream_of(record, from);
            if !self.has_room(stream, record) {
                self.seal(stream);
                self.open(stream);
            }
            self.totals.moved_bytes += u64::from(record.held_bytes());
            self.put(stream, *key, record, overwritten);
        }
        self.segments[victim as usize].live_bytes = 0;
        self.segments[victim as usize].keys = keys;
    }

    /// Where a survivor goes that lies in a segment of stream `from`.
    fn stream_of(&self, record: Record, from: usize) -> usize {
        match self.policy {
            Policy::TwoCold => (from + 1).min(2),
            Policy::ByAge => {
                let age = as_f64(self.clock - (u64::from(record.born) << BORN_SHIFT));
                let lives = age / self.life.unwrap_or(f64::INFINITY);
                1 + AGES.iter().filter(|bound| lives >= **bound).count()
            }
            Policy::Greedy | Policy::CostBenefit | Policy::Mdc | Policy::Flash | Policy::Cellar => {
                1
            }
        }
    }
}
