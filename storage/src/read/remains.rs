//! What is left of a damaged record, for reports. Owns the choice of what is told; must never be
//! taken for data.

use bytes::Bytes;

use crate::damage::Loss;
use crate::format::{Kind, PageKey, Record, RecordSeed, Remains};

/// What was lost with the record at the start of `bytes`, as far as that can be told.
pub(crate) fn loss(bytes: &[u8], seed: RecordSeed) -> Loss {
    Remains::read(bytes, seed).map_or(Loss::Unknown, |remains| loss_of(&remains.record()))
}

/// What was lost with this record.
pub(crate) fn loss_of(record: &Record<'_>) -> Loss {
    match record.head.kind {
        Kind::Put => Loss::Key(Bytes::copy_from_slice(record.key)),
        Kind::Page => PageKey::decode(record.key).map_or(Loss::Unknown, |page| {
            Loss::Page(page.collection.get(), page.page_number)
        }),
        Kind::Tombstone | Kind::Pad | Kind::Batch | Kind::Map => Loss::Unknown,
    }
}
