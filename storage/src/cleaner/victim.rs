//! The choice of victims: cost-benefit (Rosenblum and Ousterhout, 1992), over all sealed segments.
//!
//! A segment's worth is the space that it gives times its age, over what it costs: reading it and
//! writing what is live, `(1 - u) * age / (1 + u)`. Age is in bytes of log since it was sealed.

use crate::format::Stream;
use crate::segment::State;
use crate::store::{CLEANER_SEGMENTS, Store};
use crate::units::SegmentNumber;

/// Victims of one turn at most: they wait for one group commit together.
const VICTIMS_MAX: usize = 8;
/// Live bytes of one turn, in segments: what the cleaner's reserve can take while nothing is freed.
const LIVE_SEGMENTS_MAX: u64 = CLEANER_SEGMENTS - 2;
/// A segment that is fuller than this gives nothing that is worth the copy, in percent.
const UTILIZATION_PERCENT_MAX: u64 = 98;

/// Tombstones' share of the device, in percent, above which the oldest segments are cleaned first.
const SHADOW_PERCENT_MAX: u64 = 2;

#[derive(Clone, Copy)]
struct Candidate {
    segment: SegmentNumber,
    taken: u64,
    worth: f64,
}

/// Picks victims and marks them as being cleaned.
pub(crate) fn choose(store: &Store) -> Vec<SegmentNumber> {
    let mut candidates: Vec<_> = candidates(store).collect();
    candidates.sort_unstable_by(|a, b| b.worth.total_cmp(&a.worth));
    if let Some(oldest) = oldest_under_shadows(store) {
        candidates.retain(|candidate| candidate.segment != oldest.segment);
        candidates.insert(0, oldest);
    }
    let budget = LIVE_SEGMENTS_MAX * u64::from(store.segment_bytes());
    let mut taken = 0;
    let mut chosen = Vec::new();
    for candidate in candidates {
        taken += candidate.taken;
        if chosen.len() == VICTIMS_MAX || (taken > budget && !chosen.is_empty()) {
            break;
        }
        store
            .segments()
            .get(candidate.segment)
            .set_state(State::Cleaning);
        chosen.push(candidate.segment);
    }
    chosen
}

/// When tombstones take much of the device, the oldest segment goes first, however full it is: what
/// it holds is why they are kept.
fn oldest_under_shadows(store: &Store) -> Option<Candidate> {
    let segments = store.segments();
    let room = segments.usable_count() * u64::from(store.segment_bytes());
    if segments.shadow_bytes() * 100 < room * SHADOW_PERCENT_MAX {
        return None;
    }
    let durable = store.durable_lsn();
    let is_ready = |segment: &SegmentNumber| {
        let life = segments.get(*segment);
        life.state() == State::Sealed && life.sealed_lsn() <= durable
    };
    let oldest = segments
        .numbers()
        .filter(is_ready)
        .min_by_key(|segment| segments.get(*segment).opening_lsn())?;
    let taken = segments.get(oldest).live_bytes();
    Some(Candidate {
        segment: oldest,
        taken,
        worth: f64::INFINITY,
    })
}

/// A victim stays in use after all.
pub(crate) fn give_back(store: &Store, victim: SegmentNumber) {
    store.segments().get(victim).set_state(State::Sealed);
}

fn candidates(store: &Store) -> impl Iterator<Item = Candidate> + '_ {
    let durable = store.durable_lsn();
    let oldest = store.oldest_opening(None);
    store.segments().numbers().filter_map(move |segment| {
        let life = store.segments().get(segment);
        let is_ready = life.state() == State::Sealed && life.sealed_lsn() <= durable;
        if !is_ready || store.pins().any(segment) {
            return None;
        }
        // Tombstones are carried on unless nothing older is left: then they cost nothing.
        let is_oldest = life.stream() == Stream::Hot && life.opening_lsn() <= oldest;
        let shadows = if is_oldest { 0 } else { life.shadow_bytes() };
        let taken = life.live_bytes() + shadows;
        let segment_bytes = u64::from(store.segment_bytes());
        if taken * 100 > segment_bytes * UTILIZATION_PERCENT_MAX {
            return None;
        }
        let age = durable.bytes_since(life.sealed_lsn()).unwrap_or(0) + 1;
        let worth = worth(taken, segment_bytes, age);
        Some(Candidate {
            segment,
            taken,
            worth,
        })
    })
}

#[expect(
    clippy::cast_precision_loss,
    reason = "an order of worths needs no exact numbers"
)]
fn worth(taken: u64, segment_bytes: u64, age: u64) -> f64 {
    let utilization = taken as f64 / segment_bytes as f64;
    (1.0 - utilization) * age as f64 / (1.0 + utilization)
}
