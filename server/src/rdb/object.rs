//! A value in a payload: its kind, and where its elements are.
//!
//! Owns the list of kinds that are read: all that Redis wrote up to 7.2, but modules' values.

use bytes::Bytes;

use super::input::Input;
use super::items::{Items, NodeForm, ScoreForm, Source};
use super::listpack::Listpack;
use super::nested::{Intset, Nested};
use super::ziplist::Ziplist;
use super::zipmap::Zipmap;
use super::{BadFormat, kind};

/// What Redis had a set as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetKind {
    /// A hash table of so many members, or what was not told.
    Table(u64),
    /// A sorted array of integers.
    Intset,
    /// A listpack.
    Listpack,
}

/// A value whose elements are read on demand.
pub enum Object {
    /// A string.
    String(Bytes),
    /// Its elements, first to last.
    List(Items),
    /// Its members.
    Set(SetKind, Items),
    /// Its fields, each followed by its value.
    Hash(Items),
    /// Its members, each followed by a [score](Items::score).
    SortedSet(Items),
}

/// Begins to read a value.
pub async fn read(mut input: Input) -> Result<Object, BadFormat> {
    let kind = input.byte()?;
    match kind {
        kind::STRING => Ok(Object::String(input.string().await?)),
        kind::LIST | kind::LIST_ZIPLIST | kind::LIST_QUICKLIST | kind::LIST_QUICKLIST_2 => {
            list(input, kind).await
        }
        kind::SET | kind::SET_INTSET | kind::SET_LISTPACK => set(input, kind).await,
        kind::HASH | kind::HASH_ZIPMAP | kind::HASH_ZIPLIST | kind::HASH_LISTPACK => {
            hash(input, kind).await
        }
        kind::SORTED_SET
        | kind::SORTED_SET_2
        | kind::SORTED_SET_ZIPLIST
        | kind::SORTED_SET_LISTPACK => sorted_set(input, kind).await,
        _ => Err(BadFormat),
    }
}

async fn list(mut input: Input, kind: u8) -> Result<Object, BadFormat> {
    let source = match kind {
        kind::LIST => Source::Strings(input.length()?),
        kind::LIST_ZIPLIST => ziplist(&mut input).await?,
        kind::LIST_QUICKLIST => {
            Source::Nodes(input.length()?, NodeForm::Ziplist, Nested::Plain(None))
        }
        _ => Source::Nodes(input.length()?, NodeForm::Tagged, Nested::Plain(None)),
    };
    Ok(Object::List(Items::new(input, source, ScoreForm::Element)))
}

async fn set(mut input: Input, kind: u8) -> Result<Object, BadFormat> {
    let (kind, source) = match kind {
        kind::SET => {
            let count = input.length()?;
            (SetKind::Table(count), Source::Strings(count))
        }
        kind::SET_INTSET => {
            let intset = Intset::open(input.string().await?)?;
            (SetKind::Intset, Source::Blob(Nested::Intset(intset)))
        }
        _ => (SetKind::Listpack, listpack(&mut input).await?),
    };
    let items = Items::new(input, source, ScoreForm::Element);
    Ok(Object::Set(kind, items))
}

async fn hash(mut input: Input, kind: u8) -> Result<Object, BadFormat> {
    let source = match kind {
        kind::HASH => Source::Strings(input.length()?.checked_mul(2).ok_or(BadFormat)?),
        kind::HASH_ZIPMAP => {
            let zipmap = Zipmap::open(input.string().await?)?;
            Source::Blob(Nested::Zipmap(zipmap))
        }
        kind::HASH_ZIPLIST => ziplist(&mut input).await?,
        _ => listpack(&mut input).await?,
    };
    Ok(Object::Hash(Items::new(input, source, ScoreForm::Element)))
}

async fn sorted_set(mut input: Input, kind: u8) -> Result<Object, BadFormat> {
    let (source, scores) = match kind {
        kind::SORTED_SET => (Source::Strings(input.length()?), ScoreForm::Text),
        kind::SORTED_SET_2 => (Source::Strings(input.length()?), ScoreForm::Double),
        kind::SORTED_SET_ZIPLIST => (ziplist(&mut input).await?, ScoreForm::Element),
        _ => (listpack(&mut input).await?, ScoreForm::Element),
    };
    Ok(Object::SortedSet(Items::new(input, source, scores)))
}

async fn ziplist(input: &mut Input) -> Result<Source, BadFormat> {
    let ziplist = Ziplist::open(input.string().await?)?;
    Ok(Source::Blob(Nested::Ziplist(ziplist)))
}

async fn listpack(input: &mut Input) -> Result<Source, BadFormat> {
    let listpack = Listpack::open(input.string().await?)?;
    Ok(Source::Blob(Nested::Listpack(listpack)))
}
