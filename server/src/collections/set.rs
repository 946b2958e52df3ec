//! Sets: which encoding one is said to have, and how one is read and changed.
//!
//! Owns Redis's rules for `intset`, `listpack` and `hashtable`. They say nothing about where the
//! members are, but those of a compact `intset` are in numeric order.

use std::cmp::Ordering;

use bytes::Bytes;
use cellar_storage::{Encoding, Snapshot, ValueType, WriteBatch};

use super::COMPACT_BYTES_MAX;
use super::Malformed;
use super::commit::{self, Target};
use super::dict::DictBuilder;
use super::elements::{Elements, Shape};
use super::packed::{Packed, item_bytes};
use crate::command::{CommandError, Cx};
use crate::config::Threshold;
use crate::number::parse_i64;

/// Members that are collected before others may run: some 50 ns each.
const MEMBERS_PER_TURN: usize = 1024;

/// What Redis would keep a set as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SetForm {
    /// A sorted array of integers.
    Intset,
    /// Members one after another.
    Listpack,
    /// A hash table.
    Hashtable,
}

impl SetForm {
    fn of(encoding: Encoding) -> Result<Self, Malformed> {
        let forms = [Self::Intset, Self::Listpack, Self::Hashtable];
        let form = forms.into_iter().find(|form| form.encoding() == encoding);
        form.ok_or(Malformed("the encoding of a set"))
    }

    fn encoding(self) -> Encoding {
        match self {
            Self::Intset => Encoding::Intset,
            Self::Listpack => Encoding::Listpack,
            Self::Hashtable => Encoding::Hashtable,
        }
    }
}

/// What decides a set's encoding.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SetRules {
    intset_entries_max: u64,
    entries_max: u64,
    value_bytes_max: u64,
    seed: u64,
}

impl SetRules {
    /// The present ones.
    pub(crate) fn of(cx: &Cx) -> Self {
        let threshold = |which| cx.shared.config.fast.threshold(which).max(0).unsigned_abs();
        Self {
            intset_entries_max: threshold(Threshold::SetIntsetEntries),
            entries_max: threshold(Threshold::SetEntries),
            value_bytes_max: threshold(Threshold::SetValue),
            seed: cx.store.random_u64(),
        }
    }

    /// The form of a set that is filled with so many members one by one: Redis begins with one
    /// of integers, whatever the first is.
    pub(crate) fn form_to_fill(self, count: u64) -> SetForm {
        if count <= self.intset_entries_max {
            SetForm::Intset
        } else {
            SetForm::Hashtable
        }
    }

    /// The form of a new set that gets so many members, this one first.
    fn first_form(self, member: &[u8], count: u64) -> SetForm {
        if count <= self.intset_entries_max && parse_i64(member).is_some() {
            SetForm::Intset
        } else if count <= self.entries_max {
            SetForm::Listpack
        } else {
            SetForm::Hashtable
        }
    }

    /// The form of a set that got one more member and has `count` now. `integer_bytes` is the
    /// length of the longest one that it had, if those were integers.
    fn next_form(
        self,
        form: SetForm,
        member: &[u8],
        (count, integer_bytes): (u64, usize),
    ) -> SetForm {
        if form == SetForm::Intset && parse_i64(member).is_some() {
            let is_over = count > self.intset_entries_max;
            return if is_over { SetForm::Hashtable } else { form };
        }
        let longest = match form {
            SetForm::Intset => integer_bytes.max(member.len()),
            SetForm::Listpack | SetForm::Hashtable => member.len(),
        };
        let is_over = count > self.entries_max || longest as u64 > self.value_bytes_max;
        if is_over || form == SetForm::Hashtable {
            SetForm::Hashtable
        } else {
            SetForm::Listpack
        }
    }
}

/// A set during one command.
pub(crate) struct Set {
    /// Its members.
    pub(crate) elements: Elements,
    form: SetForm,
    expiry_ms: Option<u64>,
}

impl Set {
    /// A set without members.
    pub(crate) fn empty(form: SetForm) -> Self {
        Self {
            elements: Elements::empty(Shape::Members),
            form,
            expiry_ms: None,
        }
    }

    /// A set of these members, all different, as if they were added to an empty one in turn.
    pub(crate) async fn collect(
        members: &[Bytes],
        form: SetForm,
        rules: SetRules,
    ) -> Result<Self, CommandError> {
        let mut set = Self::empty(form);
        let bytes: usize = members.iter().map(|member| item_bytes(member.len())).sum();
        if bytes <= COMPACT_BYTES_MAX {
            for member in members {
                set.add(member, rules).await?;
            }
            return Ok(set);
        }
        let (mut builder, mut integer_bytes) = (DictBuilder::default(), 0);
        for member in members {
            builder.push(member, b"");
            let counts = (builder.len() as u64, integer_bytes);
            set.form = rules.next_form(set.form, member, counts);
            integer_bytes = integer_bytes.max(member.len());
            if builder.len() % MEMBERS_PER_TURN == 0 {
                tokio::task::yield_now().await;
            }
        }
        set.elements = Elements::build(Shape::Members, builder, rules.seed).await?;
        Ok(set)
    }

    /// This set with the key's deadline of another one.
    pub(crate) fn in_place_of(self, other: &Self) -> Self {
        let expiry_ms = other.expiry_ms;
        Self { expiry_ms, ..self }
    }

    /// The same set, with this deadline of its key.
    pub(crate) fn expiring(self, expiry_ms: Option<u64>) -> Self {
        Self { expiry_ms, ..self }
    }

    /// What a key holds; nothing where it does not exist.
    pub(crate) fn load(found: Option<Snapshot>) -> Result<Option<Self>, CommandError> {
        let Some(found) = found else {
            return Ok(None);
        };
        if found.value_type() != ValueType::Set {
            return Err(CommandError::WrongType);
        }
        let (form, expiry_ms) = (SetForm::of(found.encoding())?, found.expiry_ms());
        Ok(Some(Self {
            elements: Elements::load(Shape::Members, found)?,
            form,
            expiry_ms,
        }))
    }

    /// The set that gets these members: the one that is there, or a new one.
    pub(crate) fn for_members(set: Option<Self>, members: &[Bytes], rules: SetRules) -> Self {
        let count = members.len() as u64;
        let Some(mut set) = set else {
            let first = members.first().map_or(&b""[..], |first| first);
            return Self::empty(rules.first_form(first, count));
        };
        let is_over = match set.form {
            SetForm::Intset => count > rules.intset_entries_max,
            SetForm::Listpack => count > rules.entries_max,
            SetForm::Hashtable => false,
        };
        if is_over {
            set.form = SetForm::Hashtable;
        }
        set
    }

    /// What Redis would keep it as.
    pub(crate) fn form(&self) -> SetForm {
        self.form
    }

    /// Adds a member. True: it is new.
    pub(crate) async fn add(
        &mut self,
        member: &[u8],
        rules: SetRules,
    ) -> Result<bool, CommandError> {
        let integer_bytes = match self.form {
            SetForm::Intset => self.longest_integer(),
            SetForm::Listpack | SetForm::Hashtable => 0,
        };
        let is_new = if self.form == SetForm::Intset && parse_i64(member).is_some() {
            self.add_integer(member, rules.seed).await?
        } else {
            self.elements.insert((member, b""), rules.seed).await?
        };
        if is_new {
            let counts = (self.elements.len(), integer_bytes);
            self.form = rules.next_form(self.form, member, counts);
        }
        Ok(is_new)
    }

    /// Adds an integer where the order of integers wants it.
    async fn add_integer(&mut self, member: &[u8], seed: u64) -> Result<bool, CommandError> {
        let place = match self.elements.items() {
            None => return self.elements.insert((member, b""), seed).await,
            Some(items) => match place_of(items, member) {
                Some(place) => place,
                None => return Ok(false),
            },
        };
        if self.elements.insert_at(place, member) {
            return Ok(true);
        }
        self.elements.insert((member, b""), seed).await
    }

    /// Bytes of the longest member of a set of integers; a large set's members are not looked at.
    fn longest_integer(&self) -> usize {
        let items = self.elements.items().map(Packed::iter);
        let lengths = items.into_iter().flatten().map(|item| item.bytes.len());
        lengths.max().unwrap_or(0)
    }

    /// Becomes a set of integers, if all its members are, and there are not too many.
    pub(crate) fn note_integers(&mut self, members: &[Bytes], rules: SetRules) {
        let are_few = members.len() as u64 <= rules.intset_entries_max;
        let are_integers = || members.iter().all(|member| parse_i64(member).is_some());
        if self.form != SetForm::Intset && are_few && are_integers() {
            self.form = SetForm::Intset;
            self.elements.sort_by(compare_integers);
        }
    }

    /// Adds to `batch` what makes it the value of `key`.
    pub(crate) async fn put(
        self,
        cx: &Cx,
        batch: &mut WriteBatch,
        key: &Bytes,
    ) -> Result<(), CommandError> {
        let target = Target {
            db: cx.db(),
            key,
            value_type: ValueType::Set,
            encoding: self.form.encoding(),
            expiry_ms: self.expiry_ms,
        };
        commit::put(&cx.store, batch, target, self.elements.into_parts()).await?;
        Ok(())
    }
}

/// Where an integer belongs among sorted ones; nothing if it is there.
fn place_of(items: Packed<'_>, member: &[u8]) -> Option<usize> {
    for item in items.iter() {
        match compare_integers(item.bytes, member) {
            Ordering::Less => {}
            Ordering::Equal => return None,
            Ordering::Greater => return Some(item.place.start),
        }
    }
    Some(items.bytes().len())
}

/// Compares integers as they are printed, without reading them.
fn compare_integers(left: &[u8], right: &[u8]) -> Ordering {
    let magnitudes = || (left.len(), left).cmp(&(right.len(), right));
    match (left.first() == Some(&b'-'), right.first() == Some(&b'-')) {
        (false, false) => magnitudes(),
        (true, true) => magnitudes().reverse(),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collections::packed::PackedBuilder;

    #[test]
    fn integers_are_compared_as_numbers() {
        let numbers = [
            i64::MIN,
            -120,
            -12,
            -11,
            -2,
            0,
            1,
            9,
            10,
            11,
            99,
            100,
            i64::MAX,
        ];
        for left in numbers {
            for right in numbers {
                let (a, b) = (left.to_string(), right.to_string());
                let found = compare_integers(a.as_bytes(), b.as_bytes());
                assert_eq!(found, left.cmp(&right), "{left} {right}");
            }
        }
    }

    #[test]
    fn integers_find_their_place() {
        let bytes: PackedBuilder = ["-5", "3", "20"].iter().collect();
        let bytes = bytes.finish();
        let items = Packed::decode(&bytes).unwrap();
        for (member, place) in [
            ("-6", Some(0)),
            ("-5", None),
            ("4", Some(5)),
            ("21", Some(8)),
        ] {
            assert_eq!(place_of(items, member.as_bytes()), place, "{member}");
        }
    }
}
