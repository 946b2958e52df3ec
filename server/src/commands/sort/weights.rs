//! What elements are sorted by.
//!
//! Owns the weights, and that an element of no weight counts as 0, or comes first by bytes.

use bytes::Bytes;

use super::options::Options;
use super::patterns::resolve;
use crate::command::{CommandError, Cx};
use crate::number::parse_sort_weight;

/// An element and its weight.
pub(super) struct Weighed {
    pub(super) element: Bytes,
    pub(super) weight: Weight,
}

/// What an element is sorted by.
pub(super) enum Weight {
    /// A number.
    Number(f64),
    /// Bytes of another key, if there is one.
    Text(Option<Bytes>),
    /// Its own bytes.
    Element,
}

/// Finds the weight of each element.
pub(super) async fn weigh(
    cx: &Cx,
    elements: Vec<Bytes>,
    options: &Options,
) -> Result<Vec<Weighed>, CommandError> {
    let texts = match &options.by {
        Some(pattern) => {
            let pattern = std::slice::from_ref(pattern);
            Some(resolve(cx, elements.clone(), pattern).await?)
        }
        None => None,
    };
    let mut texts = texts.into_iter().flatten();
    let mut weighed = Vec::with_capacity(elements.len());
    for element in elements {
        let weight = match (&options.by, options.is_alpha) {
            (Some(_), true) => Weight::Text(texts.next().flatten()),
            (Some(_), false) => Weight::Number(match texts.next().flatten() {
                Some(text) => number(&text)?,
                None => 0.0,
            }),
            (None, true) => Weight::Element,
            (None, false) => Weight::Number(number(&element)?),
        };
        weighed.push(Weighed { element, weight });
        super::order::give_way(weighed.len()).await;
    }
    Ok(weighed)
}

fn number(text: &[u8]) -> Result<f64, CommandError> {
    parse_sort_weight(text).ok_or(CommandError::other(
        "ERR One or more scores can't be converted into double",
    ))
}
