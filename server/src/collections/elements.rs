//! The fields of a hash or the members of a set: compact or in the pages of a hash table.
//!
//! Owns when they move from one to the other. Must never know encodings or replies.

use std::cmp::Ordering;
use std::ops::Range;

use bytes::Bytes;
use cellar_storage::Snapshot;

use super::commit::Parts;
use super::dict::{Dict, DictBuilder, Pair, Part, Walk};
use super::packed::{Item, Packed, PackedBytes, item_bytes};
use super::pages::Pages;
use super::timing::{Timing, deadline_of, stamp_bytes};
use super::{COMPACT_BYTES_MAX, Malformed};
use crate::command::CommandError;

/// Random elements of a compact value that are drawn before others may run.
const DRAWS_MAX: usize = 1024;

/// What the items of a compact value are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Each is a member.
    Members,
    /// Fields, each followed by its value.
    Pairs,
}

impl Shape {
    /// Items of one element.
    const fn stride(self) -> usize {
        match self {
            Self::Members => 1,
            Self::Pairs => 2,
        }
    }
}

/// Fields or members.
pub(crate) struct Elements {
    shape: Shape,
    pub(super) body: Body,
    /// Of a hash whose fields have deadlines. Fields whose deadline has passed are there and not
    /// seen.
    pub(super) timing: Option<Timing>,
}

pub(super) enum Body {
    Compact(PackedBytes),
    Paged(Box<Paged>),
}

pub(super) struct Paged {
    pub(super) dict: Dict,
    pub(super) pages: Pages,
}

/// An element of a compact value.
pub(super) struct Found<'a> {
    pub(super) key: Item<'a>,
    /// A member's value is empty and lies nowhere.
    pub(super) value: Option<Item<'a>>,
}

impl Elements {
    /// No elements.
    pub(crate) fn empty(shape: Shape) -> Self {
        Self::compact(shape, PackedBytes::default())
    }

    /// These items, of whole elements that all differ.
    pub(super) fn compact(shape: Shape, items: PackedBytes) -> Self {
        Self {
            shape,
            body: Body::Compact(items),
            timing: None,
        }
    }

    /// Those of a stored value.
    pub(crate) fn load(shape: Shape, snapshot: Snapshot) -> Result<Self, CommandError> {
        if snapshot.root().is_some() {
            let (pages, structure) = Pages::open(snapshot, Malformed("the root of a collection"))?;
            let dict = Dict::decode(&structure)?;
            return Ok(Self::paged(shape, Paged { dict, pages }));
        }
        let bytes = snapshot.share(0..snapshot.len());
        let packed = PackedBytes::decode(bytes.ok_or(Malformed("a collection's record"))?)?;
        if packed.view().len() % shape.stride() != 0 {
            return Err(Malformed("a field without a value").into());
        }
        Ok(Self::compact(shape, packed))
    }

    pub(super) fn paged(shape: Shape, paged: Paged) -> Self {
        Self {
            shape,
            body: Body::Paged(Box::new(paged)),
            timing: None,
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u64 {
        match &self.body {
            Body::Compact(packed) => (packed.view().len() / self.shape.stride()) as u64,
            Body::Paged(paged) => paged.dict.len(),
        }
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a key: of a member that is there, empty.
    pub(crate) async fn get(&mut self, key: &[u8]) -> Result<Option<Bytes>, CommandError> {
        if self.timing.is_some() && self.deadline(key).await?.is_none() {
            return Ok(None);
        }
        match &mut self.body {
            Body::Compact(packed) => {
                let found = find(packed, self.shape, key);
                let head = stamp_bytes(self.timing);
                let share =
                    |found: Found<'_>| found.value.map(|value| packed.share(&value).slice(head..));
                Ok(found.map(|found| share(found).unwrap_or_default()))
            }
            Body::Paged(paged) => paged.dict.get(&mut paged.pages, key).await,
        }
    }

    /// The length of a key's value in bytes.
    pub(crate) async fn value_len(&mut self, key: &[u8]) -> Result<Option<u64>, CommandError> {
        if self.timing.is_some() && self.deadline(key).await?.is_none() {
            return Ok(None);
        }
        let head = stamp_bytes(self.timing) as u64;
        match &mut self.body {
            Body::Compact(packed) => Ok(find(packed, self.shape, key).map(|found| {
                found
                    .value
                    .map_or(0, |value| value.bytes.len() as u64 - head)
            })),
            Body::Paged(paged) => paged.dict.value_len(&mut paged.pages, key).await,
        }
    }

    /// Whether there is such a key.
    pub(crate) async fn contains(&mut self, key: &[u8]) -> Result<bool, CommandError> {
        Ok(self.value_len(key).await?.is_some())
    }

    /// Reads the pages in which keys lie all at once.
    pub(crate) async fn prefetch<'k>(
        &mut self,
        keys: impl Iterator<Item = &'k [u8]>,
    ) -> Result<(), CommandError> {
        match &mut self.body {
            Body::Compact(_) => Ok(()),
            Body::Paged(paged) => paged.dict.prefetch(&mut paged.pages, keys).await,
        }
    }

    /// Sets the value of a key, which is there for ever then. True: the key is new. `seed` keys the
    /// hash of a table that has to be made for it.
    pub(crate) async fn insert(
        &mut self,
        (key, value): (&[u8], &[u8]),
        seed: u64,
    ) -> Result<bool, CommandError> {
        if self.timing.is_some() {
            let is_new = self.deadline(key).await?.is_none();
            let stamped = self.stamped(value, 0);
            self.insert_stored((key, &stamped), seed).await?;
            return Ok(is_new);
        }
        self.insert_stored((key, value), seed).await
    }

    /// Sets a value as it is stored. True: the key is new.
    pub(super) async fn insert_stored(
        &mut self,
        (key, value): (&[u8], &[u8]),
        seed: u64,
    ) -> Result<bool, CommandError> {
        if let Body::Compact(packed) = &self.body {
            let end = packed.view().bytes().len();
            let (place, count) = match find(packed, self.shape, key) {
                Some(Found { value: None, .. }) => return Ok(false),
                Some(Found {
                    key,
                    value: Some(value),
                }) => (key.place.start..value.place.end, self.shape.stride()),
                None => (end..end, 0),
            };
            let added = match self.shape {
                Shape::Members => item_bytes(key.len()),
                Shape::Pairs => item_bytes(key.len()) + item_bytes(value.len()),
            };
            if end - place.len() + added <= COMPACT_BYTES_MAX {
                self.splice(place, count, (key, value));
                return Ok(count == 0);
            }
            self.make_paged(seed).await?;
        }
        let value = &value[stamp_bytes(self.timing)..];
        let Body::Paged(paged) = &mut self.body else {
            unreachable!("what is not compact is paged");
        };
        paged.dict.insert(&mut paged.pages, key, value).await
    }

    /// Inserts a member that is not there at `place` of a compact set that stays compact. False:
    /// it is not or would not stay compact.
    pub(crate) fn insert_at(&mut self, place: usize, member: &[u8]) -> bool {
        let bytes = item_bytes(member.len());
        let fits = |items: Packed<'_>| items.bytes().len() + bytes <= COMPACT_BYTES_MAX;
        let fits = self.items().is_some_and(fits);
        if fits {
            self.splice(place..place, 0, (member, b""));
        }
        fits
    }

    fn splice(&mut self, place: Range<usize>, count: usize, (key, value): (&[u8], &[u8])) {
        let Body::Compact(packed) = &mut self.body else {
            unreachable!("only compact values are spliced");
        };
        match self.shape {
            Shape::Members => packed.replace(place, count, &[key]),
            Shape::Pairs => packed.replace(place, count, &[key, value]),
        }
    }

    /// Puts the members of a compact set in this order.
    pub(crate) fn sort_by(&mut self, compare: impl Fn(&[u8], &[u8]) -> Ordering) {
        if let Body::Compact(packed) = &mut self.body {
            let mut members: Vec<&[u8]> = packed.view().iter().map(|item| item.bytes).collect();
            members.sort_unstable_by(|left, right| compare(left, right));
            let (all, count) = (0..packed.view().bytes().len(), members.len());
            let mut sorted = packed.clone();
            sorted.replace(all, count, &members);
            *packed = sorted;
        }
    }

    /// Removes a key. True: it was there.
    pub(crate) async fn remove(&mut self, key: &[u8]) -> Result<bool, CommandError> {
        let was_seen = self.timing.is_none() || self.deadline(key).await?.is_some();
        Ok(self.remove_stored(key).await? && was_seen)
    }

    /// Removes a key, seen or not. True: it was there.
    pub(super) async fn remove_stored(&mut self, key: &[u8]) -> Result<bool, CommandError> {
        match &mut self.body {
            Body::Compact(packed) => {
                let Some(found) = find(packed, self.shape, key) else {
                    return Ok(false);
                };
                let end = found
                    .value
                    .map_or(found.key.place.end, |value| value.place.end);
                packed.replace(found.key.place.start..end, self.shape.stride(), &[]);
                Ok(true)
            }
            Body::Paged(paged) => paged.dict.remove(&mut paged.pages, key).await,
        }
    }

    /// Moves the elements into pages.
    pub(crate) async fn make_paged(&mut self, seed: u64) -> Result<(), CommandError> {
        let Body::Compact(packed) = &self.body else {
            return Ok(());
        };
        let mut builder = DictBuilder::default();
        let all: Vec<Pair> = pairs(packed, (self.shape, self.timing), Part::Both).collect();
        for pair in &all {
            builder.push(&pair.key, &pair.value);
        }
        let timing = self.timing;
        *self = Self::build(self.shape, builder, seed).await?;
        self.timing = timing;
        if let Body::Paged(paged) = &mut self.body {
            for pair in all.iter().filter(|pair| pair.deadline_ms > 0) {
                let Paged { dict, pages } = &mut **paged;
                dict.set_deadline(pages, &pair.key, pair.deadline_ms)
                    .await?;
            }
        }
        Ok(())
    }

    /// The elements of `builder`, in pages.
    pub(crate) async fn build(
        shape: Shape,
        builder: DictBuilder,
        seed: u64,
    ) -> Result<Self, CommandError> {
        let mut pages = Pages::in_memory();
        let dict = builder.finish(seed, &mut pages).await?;
        Ok(Self::paged(shape, Paged { dict, pages }))
    }

    /// How many pages it takes to read all elements of a paged value; 0 of a compact one.
    pub(crate) fn page_count(&self) -> u32 {
        match &self.body {
            Body::Compact(_) => 0,
            Body::Paged(paged) => paged.dict.page_count(),
        }
    }

    /// Whether they are in one record.
    pub(crate) fn is_compact(&self) -> bool {
        matches!(self.body, Body::Compact(_))
    }

    /// Lets others run, where going over the elements takes long enough.
    pub(crate) async fn rest(&self) {
        if !self.is_compact() {
            tokio::task::yield_now().await;
        }
    }

    /// Has paged elements stay what they are, and lets the key's lock go.
    pub(crate) async fn pin(&mut self) {
        if let Body::Paged(paged) = &mut self.body {
            paged.pages.pin().await;
        }
    }

    /// Lets go of pages that were only read.
    pub(crate) fn forget(&mut self) {
        if let Body::Paged(paged) = &mut self.body {
            paged.pages.forget();
        }
    }

    /// The items of a compact value as they are stored; none of a paged one.
    pub(crate) fn items(&self) -> Option<Packed<'_>> {
        match &self.body {
            Body::Compact(packed) => Some(packed.view()),
            Body::Paged(_) => None,
        }
    }

    /// The elements at a cursor of SCAN and the cursor to go on with. A compact value is told at
    /// once.
    pub(crate) async fn scan(
        &mut self,
        cursor: u64,
        part: Part,
    ) -> Result<(u64, Vec<Pair>), CommandError> {
        let (next, mut found) = self.scan_stored(cursor, part).await?;
        self.keep_seen(&mut found);
        Ok((next, found))
    }

    /// The elements at a cursor, seen or not.
    pub(super) async fn scan_stored(
        &mut self,
        cursor: u64,
        part: Part,
    ) -> Result<(u64, Vec<Pair>), CommandError> {
        match &mut self.body {
            Body::Compact(packed) => {
                let form = (self.shape, self.timing);
                Ok((0, pairs(packed, form, part).collect()))
            }
            Body::Paged(paged) => paged.dict.scan(&mut paged.pages, cursor, part).await,
        }
    }

    fn keep_seen(&self, pairs: &mut Vec<Pair>) {
        if let Some(timing) = self.timing {
            pairs.retain(|pair| timing.shows(pair.deadline_ms));
        }
    }

    /// The next elements of a stream of all of them, none in the end.
    pub(crate) async fn next(
        &mut self,
        stream: &mut Stream,
    ) -> Result<Option<Vec<Pair>>, CommandError> {
        let mut found = self.next_stored(stream).await?;
        if let Some(found) = &mut found {
            self.keep_seen(found);
        }
        Ok(found)
    }

    /// The next elements of a stream, seen or not.
    pub(super) async fn next_stored(
        &mut self,
        stream: &mut Stream,
    ) -> Result<Option<Vec<Pair>>, CommandError> {
        match &mut self.body {
            Body::Compact(packed) => {
                let is_first = !std::mem::replace(&mut stream.is_told, true);
                let form = (self.shape, self.timing);
                Ok(is_first.then(|| pairs(packed, form, stream.part).collect()))
            }
            Body::Paged(paged) => stream.walk.next(&paged.dict, &mut paged.pages).await,
        }
    }

    /// At most `wanted` random elements, at least one where there are any; the same one may come
    /// twice.
    pub(crate) async fn draw(
        &mut self,
        (wanted, part): (usize, Part),
        mut random: impl FnMut() -> u64,
    ) -> Result<Vec<Pair>, CommandError> {
        let packed = match &mut self.body {
            Body::Paged(paged) => {
                paged.pages.forget();
                let wanted = (wanted, part);
                return paged.dict.sample(&mut paged.pages, wanted, random).await;
            }
            Body::Compact(packed) => packed,
        };
        let all: Vec<Pair> = pairs(packed, (self.shape, self.timing), part).collect();
        let count = if all.is_empty() {
            0
        } else {
            wanted.min(DRAWS_MAX)
        };
        let draw = |_| all[(random() % all.len() as u64) as usize].clone();
        Ok((0..count).map(draw).collect())
    }

    /// What a batch is to write.
    pub(crate) fn into_parts(self) -> Parts {
        if self.is_empty() {
            return Parts::Nothing;
        }
        match self.body {
            Body::Compact(packed) => Parts::Compact(packed.into_bytes()),
            Body::Paged(table) => {
                let mut structure = table.dict.encode().to_vec();
                if let Some(timing) = self.timing {
                    structure.extend_from_slice(&timing.earliest_ms.to_le_bytes());
                }
                let pages = Box::new(table.pages);
                Parts::Paged { structure, pages }
            }
        }
    }
}

/// A stream of all elements.
pub(crate) struct Stream {
    walk: Walk,
    part: Part,
    is_told: bool,
}

impl Stream {
    /// From the first one.
    pub(crate) fn new(part: Part) -> Self {
        Self {
            walk: Walk::new(part),
            part,
            is_told: false,
        }
    }
}

/// The element with this key.
pub(super) fn find<'p>(packed: &'p PackedBytes, shape: Shape, key: &[u8]) -> Option<Found<'p>> {
    match shape {
        Shape::Members => {
            let key = packed.view().find(key, 1)?;
            Some(Found { key, value: None })
        }
        Shape::Pairs => {
            let mut items = packed.view().iter();
            loop {
                let (field, value) = (items.next()?, items.next()?);
                if field.bytes == key {
                    return Some(Found {
                        key: field,
                        value: Some(value),
                    });
                }
            }
        }
    }
}

/// All elements in order.
pub(super) fn pairs(
    packed: &PackedBytes,
    (shape, timing): (Shape, Option<Timing>),
    part: Part,
) -> impl Iterator<Item = Pair> {
    let head = stamp_bytes(timing);
    let mut items = packed.view().iter();
    std::iter::from_fn(move || {
        let key = items.next()?;
        let value = match shape {
            Shape::Members => None,
            Shape::Pairs => Some(items.next()?),
        };
        let deadline_ms = value.as_ref().map_or(0, |value| deadline_of(value, timing));
        let value = value.filter(|_| part != Part::Keys);
        Some(Pair {
            deadline_ms,
            key: if part == Part::Values {
                Bytes::new()
            } else {
                packed.share(&key)
            },
            value: value.map_or(Bytes::new(), |value| packed.share(&value).slice(head..)),
        })
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::collections::seeded::Random;

    type Model = BTreeMap<Vec<u8>, Vec<u8>>;

    async fn check(elements: &mut Elements, model: &Model) {
        assert_eq!(elements.len(), model.len() as u64);
        let (mut found, mut stream) = (Model::new(), Stream::new(Part::Both));
        while let Some(pairs) = elements.next(&mut stream).await.unwrap() {
            found.extend(
                pairs
                    .iter()
                    .map(|pair| (pair.key.to_vec(), pair.value.to_vec())),
            );
        }
        assert_eq!(&found, model);
    }

    /// Grows from nothing past the bound of compact values, and shrinks to nothing again.
    async fn compare(shape: Shape, random: &mut Random) {
        let (mut elements, mut model) = (Elements::empty(shape), Model::new());
        let mut was_compact = 0;
        for step in 0..3_000 {
            was_compact += usize::from(elements.is_compact());
            let key = format!("key:{}", random.below(1_000)).into_bytes();
            if step < 2_000 {
                let len = if shape == Shape::Pairs {
                    random.below(60)
                } else {
                    0
                };
                let value = vec![b'v'; len];
                let is_new = elements.insert((&key, &value), 7).await.unwrap();
                assert_eq!(is_new, model.insert(key, value).is_none());
            } else {
                let was_there = elements.remove(&key).await.unwrap();
                assert_eq!(was_there, model.remove(&key).is_some());
            }
            let key = format!("key:{}", random.below(1_000)).into_bytes();
            let value = elements.get(&key).await.unwrap();
            assert_eq!(value.as_deref(), model.get(&key).map(Vec::as_slice));
            let bytes = elements.value_len(&key).await.unwrap();
            assert_eq!(bytes, model.get(&key).map(|value| value.len() as u64));
        }
        check(&mut elements, &model).await;
        assert!((10..2_000).contains(&was_compact), "{was_compact}");
        for key in model.keys() {
            assert!(elements.remove(key).await.unwrap());
        }
        assert!(elements.is_empty());
    }

    #[tokio::test]
    async fn elements_are_a_map_whatever_their_size() {
        let mut random = Random::seeded();
        compare(Shape::Pairs, &mut random).await;
        compare(Shape::Members, &mut random).await;
    }

    #[tokio::test]
    async fn a_compact_set_is_sorted_and_filled_in_between() {
        let mut elements = Elements::empty(Shape::Members);
        for member in ["b", "c", "a"] {
            elements.insert((member.as_bytes(), b""), 7).await.unwrap();
        }
        elements.sort_by(|left, right| right.cmp(left));
        assert!(elements.insert_at(2, b"x"));
        let members: Vec<_> = elements
            .items()
            .unwrap()
            .iter()
            .map(|item| item.bytes)
            .collect();
        assert_eq!(members, [b"c", b"x", b"b", b"a"]);
        elements.make_paged(7).await.unwrap();
        assert!(!elements.insert_at(0, b"y"));
        assert_eq!(elements.len(), 4);
    }
}
