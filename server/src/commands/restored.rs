//! From a value in a payload to the batch that writes it.
//!
//! Owns that no element comes twice and that there is one, and which encoding a restored value is
//! said to have.

use bytes::Bytes;
use cellar_storage::WriteBatch;

use super::lists::value::limit;
use super::sorted_set::combine::in_order;
use super::sorted_set::limits;
use super::string_value::encoding_of;
use crate::collections::distinct::Distinct;
use crate::collections::hash::HashRules;
use crate::collections::hash_builder::HashBuilder;
use crate::collections::list::ListBuilder;
use crate::collections::set::{Set, SetForm, SetRules};
use crate::collections::sorted_set::SortedSet;
use crate::command::{CommandError, Cx};
use crate::rdb::{BadFormat, Items, Object, SetKind};

/// The key that gets a value, and when it expires.
type Target<'k> = (&'k Bytes, Option<u64>);

/// Adds to `batch` what gives a key this value.
pub(super) async fn put(
    cx: &Cx,
    batch: &mut WriteBatch,
    target: Target<'_>,
    object: Object,
) -> Result<(), CommandError> {
    match object {
        Object::String(value) => {
            let (key, expiry_ms) = target;
            let encoding = encoding_of(&value);
            batch.set(cx.db(), key.clone(), value, encoding, expiry_ms);
            Ok(())
        }
        Object::List(items) => put_list(cx, batch, target, items).await,
        Object::Set(kind, items) => put_set(cx, batch, target, (kind, items)).await,
        Object::Hash(items) => put_hash(cx, batch, target, items).await,
        Object::SortedSet(items) => put_sorted_set(cx, batch, target, items).await,
    }
}

async fn put_list(
    cx: &Cx,
    batch: &mut WriteBatch,
    (key, expiry_ms): Target<'_>,
    mut items: Items,
) -> Result<(), CommandError> {
    let mut builder = ListBuilder::new(limit(cx));
    while let Some(item) = items.next().await? {
        builder.push(item).await?;
    }
    let list = builder.finish().await?.expiring(expiry_ms);
    if list.is_empty() {
        return Err(BadFormat.into());
    }
    Ok(list.put(&cx.store, batch, (cx.db(), key)).await?)
}

async fn put_set(
    cx: &Cx,
    batch: &mut WriteBatch,
    (key, expiry_ms): Target<'_>,
    (kind, mut items): (SetKind, Items),
) -> Result<(), CommandError> {
    let rules = SetRules::of(cx);
    let mut distinct = Distinct::new(cx.store.random_u64());
    let mut members = Vec::new();
    while let Some(member) = items.next().await? {
        if !distinct.is_first(&member) {
            return Err(BadFormat.into());
        }
        members.push(member);
    }
    if members.is_empty() {
        return Err(BadFormat.into());
    }
    let form = match kind {
        SetKind::Table(count) => rules.form_to_fill(count),
        SetKind::Intset => SetForm::Intset,
        SetKind::Listpack => SetForm::Listpack,
    };
    let set = Set::collect(&members, form, rules).await?;
    set.expiring(expiry_ms).put(cx, batch, key).await
}

async fn put_hash(
    cx: &Cx,
    batch: &mut WriteBatch,
    (key, expiry_ms): Target<'_>,
    mut items: Items,
) -> Result<(), CommandError> {
    let mut builder = HashBuilder::new(HashRules::of(cx));
    while let Some(field) = items.next().await? {
        let value = items.second().await?;
        if !builder.push(&field, &value) {
            return Err(BadFormat.into());
        }
    }
    let hash = builder.finish().await?.expiring(expiry_ms);
    if hash.elements.is_empty() {
        return Err(BadFormat.into());
    }
    hash.put(cx, batch, key).await
}

async fn put_sorted_set(
    cx: &Cx,
    batch: &mut WriteBatch,
    (key, expiry_ms): Target<'_>,
    mut items: Items,
) -> Result<(), CommandError> {
    let mut distinct = Distinct::new(cx.store.random_u64());
    let mut scores = Vec::new();
    while let Some(member) = items.next().await? {
        if !distinct.is_first(&member) {
            return Err(BadFormat.into());
        }
        scores.push((member, items.score().await?));
    }
    if scores.is_empty() {
        return Err(BadFormat.into());
    }
    let elements = in_order(scores).await;
    let set = SortedSet::build(limits(cx), elements, cx.store.random_u64()).await?;
    set.put(batch, &cx.store, (cx.db(), key, expiry_ms)).await
}
