//! Packed sequences: byte strings one after another in one buffer, each behind its length.
//!
//! ```text
//! item   := length, bytes
//! length := varint: seven bits a byte, the lowest first, a set high bit says that more follow
//! packed := item*
//! ```
//!
//! Owns the bytes of compact values. A sequence is checked once, when it is decoded; nothing that
//! is done with it afterwards can fail. Must never know what the items mean.

use std::ops::Range;

use bytes::Bytes;

use super::Malformed;

/// Bytes of the longest varint: 32 bits in groups of seven.
pub(crate) const VARINT_BYTES_MAX: usize = 5;

/// Bytes that `value` takes as a varint.
pub(crate) const fn varint_bytes(value: u32) -> usize {
    match value.checked_ilog2() {
        None => 1,
        Some(top_bit) => top_bit as usize / 7 + 1,
    }
}

/// Appends `value` as a varint.
pub(crate) fn write_varint(target: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        target.push(value as u8 | 0x80);
        value >>= 7;
    }
    target.push(value as u8);
}

/// The varint at the start of `bytes` and how many bytes it takes. Only the shortest spelling of a
/// number is one.
#[inline]
pub(crate) fn read_varint(bytes: &[u8]) -> Option<(u32, usize)> {
    let first = *bytes.first()?;
    if first < 0x80 {
        return Some((u32::from(first), 1));
    }
    let mut value = u64::from(first & 0x7f);
    for (index, byte) in bytes.iter().enumerate().take(VARINT_BYTES_MAX).skip(1) {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if *byte < 0x80 {
            let is_shortest = *byte != 0;
            let value = u32::try_from(value).ok()?;
            return is_shortest.then_some((value, index + 1));
        }
    }
    None
}

/// Bytes that an item of `bytes` bytes takes in a sequence.
pub(crate) const fn item_bytes(bytes: usize) -> usize {
    varint_bytes(bytes as u32) + bytes
}

/// A sequence that was checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packed<'a> {
    bytes: &'a [u8],
    count: usize,
}

/// An item and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item<'a> {
    /// What it holds.
    pub(crate) bytes: &'a [u8],
    /// Which of the sequence it is.
    pub(crate) index: usize,
    /// Where it lies in the sequence's bytes, its length included: for [`Packed::splice`].
    pub(crate) place: Range<usize>,
}

impl<'a> Packed<'a> {
    /// The sequence without items.
    #[cfg(test)]
    pub(crate) const EMPTY: Packed<'static> = Packed {
        bytes: &[],
        count: 0,
    };

    /// Checks a sequence from its first byte to its last.
    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (mut at, mut count) = (0, 0);
        while at < bytes.len() {
            let (length, head) = read_varint(&bytes[at..]).ok_or(Malformed("an item's length"))?;
            at += head;
            if bytes.len() - at < length as usize {
                return Err(Malformed("an item that ends beyond its sequence"));
            }
            at += length as usize;
            count += 1;
        }
        Ok(Self { bytes, count })
    }

    /// How many items there are.
    pub(crate) fn len(self) -> usize {
        self.count
    }

    /// Whether there is no item.
    #[cfg(test)]
    pub(crate) fn is_empty(self) -> bool {
        self.count == 0
    }

    /// The whole sequence as it is stored.
    pub(crate) fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// All items in order.
    pub(crate) fn iter(self) -> Items<'a> {
        Items {
            bytes: self.bytes,
            at: 0,
            index: 0,
        }
    }

    /// The item with this number.
    #[cfg(test)]
    pub(crate) fn get(self, index: usize) -> Option<Item<'a>> {
        self.iter().nth(index)
    }

    /// The first item that is `wanted`, among every `stride`th from the first: with 2, among the
    /// fields of fields and values.
    pub(crate) fn find(self, wanted: &[u8], stride: usize) -> Option<Item<'a>> {
        self.iter()
            .step_by(stride)
            .find(|item| item.bytes == wanted)
    }

    /// This sequence with other items instead of those that lie in `place`. Places come from
    /// [`Item::place`]: an empty one inserts there, no items removes.
    pub(crate) fn splice(self, place: Range<usize>, items: &[&[u8]]) -> Bytes {
        let added: usize = items.iter().map(|item| item_bytes(item.len())).sum();
        let (before, after) = (&self.bytes[..place.start], &self.bytes[place.end..]);
        let mut builder = PackedBuilder::with_capacity(before.len() + added + after.len());
        builder.0.extend_from_slice(before);
        for item in items {
            builder.push(item);
        }
        builder.0.extend_from_slice(after);
        builder.finish()
    }

    /// This sequence with items behind its last.
    pub(crate) fn append(self, items: &[&[u8]]) -> Bytes {
        self.splice(self.bytes.len()..self.bytes.len(), items)
    }
}

/// A checked sequence that owns its bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct PackedBytes {
    bytes: Bytes,
    count: usize,
}

impl PackedBytes {
    /// Checks a sequence from its first byte to its last.
    pub(crate) fn decode(bytes: Bytes) -> Result<Self, Malformed> {
        let count = Packed::decode(&bytes)?.len();
        Ok(Self { bytes, count })
    }

    /// The sequence, to be read.
    pub(crate) fn view(&self) -> Packed<'_> {
        let (bytes, count) = (&self.bytes[..], self.count);
        Packed { bytes, count }
    }

    /// An item's bytes, shared with the sequence.
    pub(crate) fn share(&self, item: &Item<'_>) -> Bytes {
        self.bytes.slice_ref(item.bytes)
    }

    /// Puts other items in the place of `count` items, as [`Packed::splice`] does.
    pub(crate) fn replace(&mut self, place: Range<usize>, count: usize, items: &[&[u8]]) {
        self.bytes = self.view().splice(place, items);
        self.count = self.count - count + items.len();
    }

    /// The sequence as it is stored.
    pub(crate) fn into_bytes(self) -> Bytes {
        self.bytes
    }
}

/// The items of a checked sequence.
#[derive(Debug, Clone)]
pub(crate) struct Items<'a> {
    bytes: &'a [u8],
    at: usize,
    index: usize,
}

impl<'a> Iterator for Items<'a> {
    type Item = Item<'a>;

    #[inline]
    fn next(&mut self) -> Option<Item<'a>> {
        // a checked sequence has a whole item wherever it does not end
        let (length, head) = read_varint(self.bytes.get(self.at..)?)?;
        let start = self.at;
        let bytes = self.bytes.get(start + head..)?.get(..length as usize)?;
        self.at = start + head + length as usize;
        self.index += 1;
        Some(Item {
            bytes,
            index: self.index - 1,
            place: start..self.at,
        })
    }
}

/// A sequence that is being written.
#[derive(Debug, Default)]
pub(crate) struct PackedBuilder(Vec<u8>);

impl PackedBuilder {
    /// An empty sequence with room for `bytes` bytes.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self(Vec::with_capacity(bytes))
    }

    /// Appends an item.
    pub(crate) fn push(&mut self, item: &[u8]) {
        write_varint(&mut self.0, item.len() as u32);
        self.0.extend_from_slice(item);
    }

    /// The sequence as it is stored.
    pub(crate) fn finish(self) -> Bytes {
        self.0.into()
    }
}

impl<T: AsRef<[u8]>> FromIterator<T> for PackedBuilder {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut builder = Self::default();
        for item in items {
            builder.push(item.as_ref());
        }
        builder
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collections::seeded::Random;

    fn pack(items: &[&[u8]]) -> Bytes {
        items.iter().collect::<PackedBuilder>().finish()
    }

    fn unpack(bytes: &[u8]) -> Vec<Vec<u8>> {
        let packed = Packed::decode(bytes).unwrap();
        let items: Vec<Vec<u8>> = packed.iter().map(|item| item.bytes.to_vec()).collect();
        assert_eq!(items.len(), packed.len());
        items
    }

    #[test]
    fn the_bytes_are_frozen() {
        let long = [b'x'; 300];
        let packed = pack(&[b"", b"ab", &long]);
        assert_eq!(packed[..4], [0, 2, b'a', b'b']);
        assert_eq!(packed[4..6], [0xac, 0x02]);
        assert_eq!(packed.len(), 306);
    }

    #[test]
    fn varints_have_one_spelling() {
        for value in [0, 1, 127, 128, 16_383, 16_384, 1 << 21, 1 << 28, u32::MAX] {
            let mut bytes = Vec::new();
            write_varint(&mut bytes, value);
            assert_eq!(bytes.len(), varint_bytes(value), "{value}");
            assert_eq!(read_varint(&bytes), Some((value, bytes.len())));
            assert_eq!(read_varint(&bytes[..bytes.len() - 1]), None);
        }
        for bytes in [
            &[0x80, 0][..],
            &[0xff, 0xff, 0xff, 0xff, 0x1f],
            &[0x80; 6],
            &[],
        ] {
            assert_eq!(read_varint(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn damaged_sequences_are_refused() {
        assert!(Packed::decode(&[1]).is_err());
        assert!(Packed::decode(&[0x80]).is_err());
        assert!(Packed::decode(&[0, 3, 1, 2]).is_err());
        let mut random = Random::new(1);
        for _ in 0..20_000 {
            let len = random.below(40);
            let bytes: Vec<u8> = (0..len).map(|_| random.next() as u8 & 0x87).collect();
            if let Ok(packed) = Packed::decode(&bytes) {
                let again: PackedBuilder = packed.iter().map(|item| item.bytes).collect();
                assert_eq!(again.finish(), bytes);
            }
        }
    }

    #[test]
    fn finds_among_every_second() {
        let bytes = pack(&[b"f", b"g", b"g", b"f"]);
        let packed = Packed::decode(&bytes).unwrap();
        assert_eq!(packed.find(b"g", 2).unwrap().index, 2);
        assert_eq!(packed.find(b"g", 1).unwrap().index, 1);
        assert_eq!(packed.find(b"x", 1), None);
        assert_eq!(packed.get(3).unwrap().place, 6..8);
        assert!(packed.get(4).is_none());
        assert!(Packed::EMPTY.is_empty() && Packed::EMPTY.get(0).is_none());
    }

    #[test]
    fn edits_as_a_vector_does() {
        let mut random = Random::seeded();
        let (mut model, mut bytes) = (Vec::<Vec<u8>>::new(), Bytes::new());
        for _ in 0..2_000 {
            let packed = Packed::decode(&bytes).unwrap();
            let item = vec![b'i'; random.below(200)];
            if model.is_empty() || random.below(3) == 0 {
                model.push(item.clone());
                bytes = packed.append(&[&item]);
            } else {
                let found = packed.get(random.below(model.len())).unwrap();
                let (index, place) = (found.index, found.place);
                match random.below(3) {
                    0 => {
                        model.remove(index);
                        bytes = packed.splice(place, &[]);
                    }
                    1 => {
                        model[index].clone_from(&item);
                        bytes = packed.splice(place, &[&item]);
                    }
                    _ => {
                        model.splice(index..index, [item.clone(), b"2".to_vec()]);
                        bytes = packed.splice(place.start..place.start, &[&item, b"2"]);
                    }
                }
            }
            assert_eq!(unpack(&bytes), model);
        }
    }
}
