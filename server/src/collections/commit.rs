//! From changed elements to the batch that writes them.
//!
//! Owns what a root's detail holds of a hash or set: the pages' own header, then the table's.

use bytes::Bytes;
use cellar_storage::{Db, Encoding, Handle, TypedValue, ValueBody, ValueType, WriteBatch};

use super::Malformed;
use super::dict::Dict;
use super::elements::{Elements, Parts};
use super::pages::{PagesHeader, RootDraft};
use crate::command::CommandError;

/// The key that gets a value, and what is known of the value beside its elements.
pub(crate) struct Target<'k> {
    pub(crate) db: Db,
    pub(crate) key: &'k Bytes,
    pub(crate) value_type: ValueType,
    pub(crate) encoding: Encoding,
    pub(crate) expiry_ms: Option<u64>,
}

/// Adds to `batch` what gives the key these elements. Without any the key is removed.
pub(crate) async fn put(
    store: &Handle,
    batch: &mut WriteBatch,
    target: Target<'_>,
    elements: Elements,
) -> Result<(), CommandError> {
    if elements.is_empty() {
        batch.remove(target.db, target.key.clone());
        return Ok(());
    }
    match elements.into_parts() {
        Parts::Compact(bytes) => {
            let value = TypedValue {
                value_type: target.value_type,
                encoding: target.encoding,
                body: ValueBody::Inline(bytes),
            };
            batch.put(target.db, target.key.clone(), value, target.expiry_ms);
        }
        Parts::Paged(dict, pages) => {
            let draft = RootDraft {
                value_type: target.value_type,
                encoding: target.encoding,
                detail: [&pages.header().encode()[..], &dict.encode()]
                    .concat()
                    .into(),
                expiry_ms: target.expiry_ms,
            };
            let key = (target.db, target.key);
            pages.add_to(batch, store, key, draft).await?;
        }
    }
    Ok(())
}

/// The detail of a root.
pub(super) fn decode_detail(detail: &[u8]) -> Result<(PagesHeader, Dict), Malformed> {
    let (header, dict) = detail
        .split_first_chunk::<{ PagesHeader::BYTES }>()
        .ok_or(Malformed("the root of a collection"))?;
    let header = PagesHeader::decode(*header).ok_or(Malformed("the root of a collection"))?;
    Ok((header, Dict::decode(dict)?))
}
