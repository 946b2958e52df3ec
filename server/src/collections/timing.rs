//! Fields of a hash that are there until a moment of their own.
//!
//! ```text
//! compact := (field, stamped value)*       packed
//! stamped := deadline (8 bytes), value     0 for none
//! paged   := header of the pages, the table's header, the earliest deadline (8 bytes); pages with
//!            deadlines                     dict
//! ```
//!
//! Owns these forms and what a deadline that has passed means: the field is not seen any more, and
//! is removed by whoever removes fields in time. The earliest deadline is a bound: none of the
//! fields has an earlier one.

use bytes::Bytes;
use cellar_storage::Snapshot;

use super::Malformed;
use super::dict::{Dict, Part};
use super::elements::{Body, Elements, Paged, Shape, Stream, find};
use super::packed::{Item, PackedBytes};
use super::pages::Pages;
use crate::command::CommandError;

/// Bytes of a deadline.
const STAMP_BYTES: usize = 8;

/// Where no field has a deadline.
pub(crate) const NEVER_MS: u64 = u64::MAX;

/// The deadlines of a hash's fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timing {
    /// None is earlier: milliseconds since the Unix epoch.
    pub(crate) earliest_ms: u64,
    /// When the command began.
    pub(crate) now_ms: u64,
}

impl Timing {
    /// Whether a field with this deadline, 0 for none, is there.
    pub(super) fn shows(self, deadline_ms: u64) -> bool {
        deadline_ms == 0 || deadline_ms > self.now_ms
    }
}

/// Bytes before each value of a compact hash.
pub(super) fn stamp_bytes(timing: Option<Timing>) -> usize {
    timing.map_or(0, |_| STAMP_BYTES)
}

/// The deadline of a value of a compact hash; 0 for none.
pub(super) fn deadline_of(value: &Item<'_>, timing: Option<Timing>) -> u64 {
    let stamp = timing.and_then(|_| value.bytes.first_chunk());
    stamp.map_or(0, |stamp| u64::from_le_bytes(*stamp))
}

impl Elements {
    /// The fields of a stored hash that have deadlines, judged at a moment.
    pub(crate) fn load_timed(snapshot: Snapshot, now_ms: u64) -> Result<Self, CommandError> {
        const ROOT: Malformed = Malformed("the root of a hash with deadlines");
        if snapshot.root().is_some() {
            let (pages, structure) = Pages::open(snapshot, ROOT)?;
            let (dict, earliest) = structure.split_at_checked(Dict::BYTES).ok_or(ROOT)?;
            let earliest_ms = u64::from_le_bytes(earliest.try_into().map_err(|_| ROOT)?);
            let dict = Dict::decode(dict)?;
            let mut elements = Self::paged(Shape::Pairs, Paged { dict, pages });
            elements.timing = Some(Timing {
                earliest_ms,
                now_ms,
            });
            return Ok(elements);
        }
        let mut elements = Self::load(Shape::Pairs, snapshot)?;
        let mut earliest_ms = NEVER_MS;
        if let Some(items) = elements.items() {
            for value in items.iter().skip(1).step_by(2) {
                let stamp = value.bytes.first_chunk();
                let stamp = stamp.ok_or(Malformed("the deadline of a field"))?;
                earliest_ms = earliest_ms.min(bound(u64::from_le_bytes(*stamp)));
            }
        }
        elements.timing = Some(Timing {
            earliest_ms,
            now_ms,
        });
        Ok(elements)
    }

    /// What is known of its fields' deadlines.
    pub(crate) fn timing(&self) -> Option<Timing> {
        self.timing
    }

    /// Lets fields have deadlines from here on.
    pub(crate) fn begin_timing(&mut self, now_ms: u64) {
        if self.timing.is_some() {
            return;
        }
        if let Body::Compact(packed) = &mut self.body {
            *packed = with_stamps(packed);
        }
        self.timing = Some(Timing {
            earliest_ms: NEVER_MS,
            now_ms,
        });
    }

    /// A value as [`Elements::insert_stored`] takes it.
    pub(super) fn stamped(&self, value: &[u8], deadline_ms: u64) -> Vec<u8> {
        match self.timing {
            Some(_) => [&deadline_ms.to_le_bytes()[..], value].concat(),
            None => value.to_vec(),
        }
    }

    /// Until when a field is there: 0 for ever; nothing where it is not there.
    pub(crate) async fn deadline(&mut self, field: &[u8]) -> Result<Option<u64>, CommandError> {
        let timing = self.timing;
        let found = match &mut self.body {
            Body::Compact(packed) => {
                let found = find(packed, Shape::Pairs, field);
                found.map(|found| found.value.map_or(0, |value| deadline_of(&value, timing)))
            }
            Body::Paged(paged) => {
                let Paged { dict, pages } = &mut **paged;
                let found = dict.look(pages, field).await?;
                found.map(|(_, deadline_ms)| deadline_ms)
            }
        };
        let shows = |deadline_ms: &u64| timing.is_none_or(|timing| timing.shows(*deadline_ms));
        Ok(found.filter(shows))
    }

    /// Gives a field that is there a deadline, 0 for none. `seed` keys the hash of a table that has
    /// to be made for it.
    pub(crate) async fn set_deadline(
        &mut self,
        field: &[u8],
        deadline_ms: u64,
        seed: u64,
    ) -> Result<(), CommandError> {
        if let Body::Paged(paged) = &mut self.body {
            let Paged { dict, pages } = &mut **paged;
            dict.set_deadline(pages, field, deadline_ms).await?;
        } else if let Some(value) = self.get(field).await? {
            let stamped = self.stamped(&value, deadline_ms);
            self.insert_stored((field, &stamped), seed).await?;
            if let Body::Paged(paged) = &mut self.body {
                let Paged { dict, pages } = &mut **paged;
                dict.set_deadline(pages, field, deadline_ms).await?;
            }
        }
        if let Some(timing) = &mut self.timing {
            timing.earliest_ms = timing.earliest_ms.min(bound(deadline_ms));
        }
        Ok(())
    }

    /// Whether there may be fields whose deadline has passed.
    pub(crate) fn may_be_late(&self) -> bool {
        self.timing
            .is_some_and(|timing| timing.earliest_ms <= timing.now_ms)
    }

    /// How many fields are seen: all are gone over where some may be late.
    pub(crate) async fn count_seen(&mut self) -> Result<u64, CommandError> {
        if !self.may_be_late() {
            return Ok(self.len());
        }
        let (mut count, mut stream) = (0, Stream::new(Part::Keys));
        while let Some(pairs) = self.next(&mut stream).await? {
            count += pairs.len() as u64;
            self.rest().await;
        }
        Ok(count)
    }

    /// Removes fields whose deadline has passed, at most `count_max`; how many. Where these were
    /// all, the earliest deadline is exact from here on.
    pub(crate) async fn remove_late(&mut self, count_max: usize) -> Result<usize, CommandError> {
        let Some(timing) = self.timing.filter(|_| self.may_be_late()) else {
            return Ok(0);
        };
        let (mut late, mut earliest_ms) = (Vec::new(), NEVER_MS);
        let mut stream = Stream::new(Part::Keys);
        while late.len() < count_max
            && let Some(pairs) = self.next_stored(&mut stream).await?
        {
            for pair in pairs {
                if timing.shows(pair.deadline_ms) {
                    earliest_ms = earliest_ms.min(bound(pair.deadline_ms));
                } else {
                    late.push(pair.key);
                }
            }
            self.rest().await;
        }
        let are_all = late.len() < count_max;
        late.truncate(count_max);
        for (index, field) in late.iter().enumerate() {
            self.remove_stored(field).await?;
            if index % REMOVALS_PER_TURN == REMOVALS_PER_TURN - 1 {
                self.rest().await;
            }
        }
        if are_all && let Some(timing) = &mut self.timing {
            timing.earliest_ms = earliest_ms;
        }
        Ok(late.len())
    }
}

/// A hash that is gone over for late fields, in one or several turns.
#[derive(Debug, Default)]
pub(crate) struct Swept {
    /// Where to go on; nothing before the first turn.
    cursor: Option<u64>,
    /// The earliest deadline of the fields that stay, as far as they were seen.
    earliest_ms: Option<u64>,
    removed: usize,
}

impl Swept {
    /// Whether all of it was gone over.
    pub(crate) fn is_over(&self) -> bool {
        self.cursor == Some(0)
    }

    /// Fields that were removed since this was asked.
    pub(crate) fn take_removed(&mut self) -> usize {
        std::mem::take(&mut self.removed)
    }
}

impl Elements {
    /// Removes late fields, some hundred at most, and notes the deadlines of others. `noted_ms` is
    /// the earliest deadline that the hash got since the first turn: with it the earliest one is
    /// exact after the last turn. True: the hash has to be written.
    pub(crate) async fn sweep(
        &mut self,
        swept: &mut Swept,
        noted_ms: u64,
    ) -> Result<bool, CommandError> {
        let Some(timing) = self.timing else {
            swept.cursor = Some(0);
            return Ok(false);
        };
        if swept.cursor.is_none() && !self.may_be_late() {
            swept.cursor = Some(0);
            return Ok(false);
        }
        let mut late = Vec::new();
        for _ in 0..STEPS_PER_SWEEP {
            let cursor = swept.cursor.unwrap_or(0);
            let (next, pairs) = self.scan_stored(cursor, Part::Keys).await?;
            swept.cursor = Some(next);
            for pair in pairs {
                if timing.shows(pair.deadline_ms) {
                    let earliest_ms = swept.earliest_ms.unwrap_or(NEVER_MS);
                    swept.earliest_ms = Some(earliest_ms.min(bound(pair.deadline_ms)));
                } else {
                    late.push(pair.key);
                }
            }
            if next == 0 || late.len() >= LATE_PER_SWEEP {
                break;
            }
        }
        for field in &late {
            self.remove_stored(field).await?;
        }
        swept.removed += late.len();
        let mut is_changed = !late.is_empty();
        if swept.is_over() {
            let earliest_ms = swept.earliest_ms.unwrap_or(NEVER_MS).min(noted_ms);
            is_changed |= earliest_ms != timing.earliest_ms;
            let now_ms = timing.now_ms;
            self.timing = Some(Timing {
                earliest_ms,
                now_ms,
            });
        }
        Ok(is_changed)
    }
}

/// Buckets that are gone over in one turn of a sweep: a page read each.
const STEPS_PER_SWEEP: usize = 32;

/// Late fields after which a turn of a sweep ends; the last bucket may bring more.
const LATE_PER_SWEEP: usize = 256;

/// Fields that are removed before others may run: some microseconds each.
const REMOVALS_PER_TURN: usize = 32;

/// What a deadline, 0 for none, says of the earliest one.
fn bound(deadline_ms: u64) -> u64 {
    if deadline_ms == 0 {
        NEVER_MS
    } else {
        deadline_ms
    }
}

fn with_stamps(packed: &PackedBytes) -> PackedBytes {
    let mut stamped = super::packed::PackedBuilder::default();
    for item in packed.view().iter() {
        if item.index % 2 == 0 {
            stamped.push(item.bytes);
        } else {
            stamped.push(&[&[0; STAMP_BYTES], item.bytes].concat());
        }
    }
    let bytes: Bytes = stamped.finish();
    PackedBytes::decode(bytes).expect("it was just packed")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::collections::dict::Pair;
    use crate::collections::seeded::Random;

    const SEED: u64 = 7;

    /// Values and deadlines, 0 for none.
    type Model = BTreeMap<Vec<u8>, (Vec<u8>, u64)>;

    fn field(random: &mut Random, count: usize) -> Vec<u8> {
        format!("field:{}", random.below(count)).into_bytes()
    }

    async fn stored(elements: &mut Elements) -> Model {
        let (mut found, mut stream) = (Model::new(), Stream::new(Part::Both));
        while let Some(pairs) = elements.next_stored(&mut stream).await.unwrap() {
            let entry = |pair: &Pair| {
                let held = (pair.value.to_vec(), pair.deadline_ms);
                (pair.key.to_vec(), held)
            };
            found.extend(pairs.iter().map(entry));
        }
        found
    }

    fn set_now(elements: &mut Elements, now_ms: u64) {
        if let Some(timing) = &mut elements.timing {
            timing.now_ms = now_ms;
        }
    }

    async fn change(elements: &mut Elements, model: &mut Model, random: &mut Random, count: usize) {
        let now_ms = elements.timing.map_or(0, |timing| timing.now_ms);
        let field = field(random, count);
        let is_seen = |held: &(Vec<u8>, u64)| held.1 == 0 || held.1 > now_ms;
        let was_seen = model.get(&field).is_some_and(is_seen);
        match random.below(4) {
            0 => {
                let was_there = elements.remove(&field).await.unwrap();
                assert_eq!(was_there, was_seen);
                model.remove(&field);
            }
            1 if was_seen => {
                let deadline_ms = random.below(2) as u64 * (now_ms + 1 + random.below(50) as u64);
                elements.begin_timing(now_ms);
                let limited = elements.set_deadline(&field, deadline_ms, SEED).await;
                limited.unwrap();
                model.get_mut(&field).unwrap().1 = deadline_ms;
            }
            _ => {
                let value = vec![b'v'; random.below(60)];
                let is_new = elements.insert((&field, &value), SEED).await.unwrap();
                assert_eq!(is_new, !was_seen);
                model.insert(field, (value, 0));
            }
        }
    }

    async fn sweep_all(elements: &mut Elements, model: &mut Model, now_ms: u64) {
        let mut swept = Swept::default();
        while !swept.is_over() {
            elements.sweep(&mut swept, NEVER_MS).await.unwrap();
        }
        model.retain(|_, held| held.1 == 0 || held.1 > now_ms);
        if let Some(timing) = elements.timing
            && swept.take_removed() > 0
        {
            let deadlines = model.values().map(|held| bound(held.1));
            assert_eq!(timing.earliest_ms, deadlines.min().unwrap_or(NEVER_MS));
        }
    }

    async fn compare(random: &mut Random, count: usize, is_compact: bool) {
        let (mut elements, mut model) = (Elements::empty(Shape::Pairs), Model::new());
        for step in 0..3000u64 {
            let now_ms = step / 10;
            set_now(&mut elements, now_ms);
            change(&mut elements, &mut model, random, count).await;
            let field = field(random, count);
            let seen = model.get(&field);
            let seen = seen.filter(|held| held.1 == 0 || held.1 > now_ms);
            let value = elements.get(&field).await.unwrap();
            assert_eq!(value.as_deref(), seen.map(|held| &held.0[..]));
            let deadline = elements.deadline(&field).await.unwrap();
            assert_eq!(deadline, seen.map(|held| held.1));
            if let Some(timing) = elements.timing {
                let least = model.values().map(|held| bound(held.1)).min();
                assert!(timing.earliest_ms <= least.unwrap_or(NEVER_MS));
            }
            if step % 200 == 199 {
                assert_eq!(stored(&mut elements).await, model);
                sweep_all(&mut elements, &mut model, now_ms).await;
                assert_eq!(stored(&mut elements).await, model);
                assert_eq!(elements.len(), model.len() as u64);
            }
        }
        assert_eq!(elements.is_compact(), is_compact);
    }

    #[tokio::test]
    async fn fields_are_there_until_their_deadline_whatever_the_size() {
        let mut random = Random::seeded();
        compare(&mut random, 20, true).await;
        compare(&mut random, 2000, false).await;
    }

    #[tokio::test]
    async fn late_fields_are_removed_at_once_where_a_command_needs_that() {
        let mut elements = Elements::empty(Shape::Pairs);
        for index in 0..500u64 {
            let field = index.to_string();
            let pair = (field.as_bytes(), &b"value"[..]);
            elements.insert(pair, SEED).await.unwrap();
            elements.begin_timing(0);
            let deadline_ms = index % 2 * 10;
            let limited = elements
                .set_deadline(field.as_bytes(), deadline_ms, SEED)
                .await;
            limited.unwrap();
        }
        set_now(&mut elements, 9);
        assert_eq!(elements.remove_late(usize::MAX).await.unwrap(), 0);
        set_now(&mut elements, 10);
        assert_eq!(elements.count_seen().await.unwrap(), 250);
        assert_eq!(elements.remove_late(100).await.unwrap(), 100);
        assert_eq!(elements.count_seen().await.unwrap(), 250);
        assert_eq!(elements.remove_late(usize::MAX).await.unwrap(), 150);
        assert_eq!(elements.len(), 250);
        assert_eq!(elements.timing.unwrap().earliest_ms, NEVER_MS);
    }

    #[tokio::test]
    async fn the_compact_form_is_frozen() {
        let mut elements = Elements::empty(Shape::Pairs);
        elements.insert((b"f", b"v"), SEED).await.unwrap();
        elements.begin_timing(0);
        elements.insert((b"g", b""), SEED).await.unwrap();
        elements.set_deadline(b"g", 0x0102, SEED).await.unwrap();
        let expected = [
            1, b'f', 9, 0, 0, 0, 0, 0, 0, 0, 0, b'v', 1, b'g', 8, 2, 1, 0, 0, 0, 0, 0, 0,
        ];
        assert_eq!(elements.items().unwrap().bytes(), expected);
    }
}
