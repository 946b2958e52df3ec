//! A hash that is made of many fields.
//!
//! Owns that it is compact while it can be, and then goes straight into pages.

use super::COMPACT_BYTES_MAX;
use super::dict::DictBuilder;
use super::distinct::Distinct;
use super::elements::{Elements, Shape};
use super::hash::{Hash, HashRules};
use super::packed::{PackedBuilder, PackedBytes, item_bytes};
use crate::command::CommandError;

/// The fields so far.
pub(crate) struct HashBuilder {
    rules: HashRules,
    distinct: Distinct,
    /// What is compact yet, and its bytes.
    few: PackedBuilder,
    few_bytes: usize,
    many: Option<DictBuilder>,
    /// Bytes of the longest field or value.
    longest: usize,
}

impl HashBuilder {
    /// None.
    pub(crate) fn new(rules: HashRules) -> Self {
        Self {
            rules,
            distinct: Distinct::new(rules.seed),
            few: PackedBuilder::default(),
            few_bytes: 0,
            many: None,
            longest: 0,
        }
    }

    /// Adds a field. False: it was added before.
    pub(crate) fn push(&mut self, field: &[u8], value: &[u8]) -> bool {
        if !self.distinct.is_first(field) {
            return false;
        }
        self.longest = self.longest.max(field.len()).max(value.len());
        if let Some(many) = &mut self.many {
            many.push(field, value);
            return true;
        }
        let bytes = item_bytes(field.len()) + item_bytes(value.len());
        if self.few_bytes + bytes <= COMPACT_BYTES_MAX {
            self.few_bytes += bytes;
            self.few.push(field);
            self.few.push(value);
            return true;
        }
        let mut many = DictBuilder::default();
        let few = self.take_few();
        let mut items = few.view().iter();
        while let (Some(field), Some(value)) = (items.next(), items.next()) {
            many.push(field.bytes, value.bytes);
        }
        many.push(field, value);
        self.many = Some(many);
        true
    }

    fn take_few(&mut self) -> PackedBytes {
        let few = std::mem::take(&mut self.few).finish();
        PackedBytes::decode(few).expect("it was just packed")
    }

    /// The hash of all of them.
    pub(crate) async fn finish(mut self) -> Result<Hash, CommandError> {
        let elements = match self.many.take() {
            Some(many) => Elements::build(Shape::Pairs, many, self.rules.seed).await?,
            None => Elements::compact(Shape::Pairs, self.take_few()),
        };
        Ok(Hash::of(elements, self.longest as u64, self.rules))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(count: usize, is_compact: bool) {
        let mut builder = HashBuilder::new(HashRules::of_seed(7));
        for index in 0..count {
            let (field, value) = (format!("field:{index}"), format!("value:{index}"));
            assert!(builder.push(field.as_bytes(), value.as_bytes()));
            assert!(!builder.push(field.as_bytes(), b"another"));
        }
        let mut hash = builder.finish().await.unwrap();
        assert_eq!(hash.elements.len(), count as u64);
        assert_eq!(hash.elements.is_compact(), is_compact);
        for index in 0..count {
            let value = hash.elements.get(format!("field:{index}").as_bytes()).await;
            assert_eq!(value.unwrap().unwrap(), format!("value:{index}"));
        }
    }

    #[tokio::test]
    async fn fields_are_there_once_compact_or_in_pages() {
        check(0, true).await;
        check(100, true).await;
        check(3000, false).await;
    }
}
