//! The elements of a value in a payload, one after another.
//!
//! Owns how they are reached: strings of the payload, a blob, or several. Nothing is held but the
//! blob that is being read.

use bytes::Bytes;

use super::input::Input;
use super::listpack::Listpack;
use super::nested::Nested;
use super::ziplist::Ziplist;
use super::{BYTES_PER_TURN, BadFormat};
use crate::number::parse_double;

/// Elements after which others may run, in bytes as it were: each costs a fraction of a
/// microsecond, whatever its size.
const ELEMENT_COST: usize = 128;

/// How the scores of a sorted set are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScoreForm {
    /// A byte and so many bytes of text; 253 to 255 stand for no number and both infinities.
    Text,
    /// A little-endian double.
    Double,
    /// An element behind that of the member.
    Element,
}

/// What the elements of a list stand in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeForm {
    /// Ziplists.
    Ziplist,
    /// Listpacks, or single elements, as a number before each says.
    Tagged,
}

pub(super) enum Source {
    /// So many strings of the payload.
    Strings(u64),
    /// One blob.
    Blob(Nested),
    /// So many blobs, behind the one that is being read.
    Nodes(u64, NodeForm, Nested),
}

/// The elements that are left of a value: of a hash, fields and values in turn.
pub struct Items {
    input: Input,
    source: Source,
    scores: ScoreForm,
    turn_left: usize,
}

impl Items {
    pub(super) fn new(input: Input, source: Source, scores: ScoreForm) -> Self {
        Self {
            input,
            source,
            scores,
            turn_left: BYTES_PER_TURN,
        }
    }

    /// The next element; nothing in the end. Lets others run every so often.
    pub async fn next(&mut self) -> Result<Option<Bytes>, BadFormat> {
        let next = match &mut self.source {
            Source::Strings(0) => None,
            Source::Strings(left) => {
                *left -= 1;
                Some(self.input.string().await?)
            }
            Source::Blob(blob) => blob.next()?,
            Source::Nodes(left, form, blob) => loop {
                if let Some(element) = blob.next()? {
                    break Some(element);
                }
                if *left == 0 {
                    break None;
                }
                *left -= 1;
                *blob = node(&mut self.input, *form).await?;
            },
        };
        if let Some(next) = &next {
            self.turn_left = self.turn_left.saturating_sub(next.len() + ELEMENT_COST);
            if self.turn_left == 0 {
                self.turn_left = BYTES_PER_TURN;
                tokio::task::yield_now().await;
            }
        }
        Ok(next)
    }

    /// The element behind one that was read: of a pair, the second.
    pub async fn second(&mut self) -> Result<Bytes, BadFormat> {
        self.next().await?.ok_or(BadFormat)
    }

    /// The score of the member that was read; a number.
    pub async fn score(&mut self) -> Result<f64, BadFormat> {
        let score = match self.scores {
            ScoreForm::Double => Some(f64::from_le_bytes(self.input.fixed()?)),
            ScoreForm::Element => parse_double(&self.second().await?),
            ScoreForm::Text => match self.input.byte()? {
                253 => None,
                254 => Some(f64::INFINITY),
                255 => Some(f64::NEG_INFINITY),
                bytes => parse_double(&self.input.take(bytes.into())?),
            },
        };
        score.filter(|score| !score.is_nan()).ok_or(BadFormat)
    }
}

/// The single element of a list, before a node of it.
const TAG_PLAIN: u64 = 1;
const TAG_LISTPACK: u64 = 2;

/// The next node of a list.
async fn node(input: &mut Input, form: NodeForm) -> Result<Nested, BadFormat> {
    let tag = match form {
        NodeForm::Ziplist => None,
        NodeForm::Tagged => Some(input.length()?),
    };
    let blob = input.string().await?;
    match tag {
        None => Ok(Nested::Ziplist(Ziplist::open(blob)?)),
        Some(TAG_LISTPACK) => Ok(Nested::Listpack(Listpack::open(blob)?)),
        Some(TAG_PLAIN) => Ok(Nested::Plain(Some(blob))),
        Some(_) => Err(BadFormat),
    }
}
