//! GEOADD: places as elements of a sorted set.
//!
//! Owns its options.

use bytes::Bytes;

use super::parse_place;
use crate::command::{CommandError, Cx};
use crate::commands::access::Locked;
use crate::commands::sorted_set::add::{Options, add};
use crate::resp::{Args, ReplyBuf};

/// `GEOADD key [NX | XX] [CH] longitude latitude member [longitude latitude member ...]`
pub(crate) async fn geoadd(
    cx: &Cx,
    args: &Args,
    locked: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let (options, places) = parse_options(&args[2..])?;
    let mut elements = Vec::with_capacity(places.len());
    for [longitude, latitude, member] in places {
        elements.push((parse_place(longitude, latitude)?.score(), member));
    }
    add(cx, &args[1], locked, (&elements, options), reply).await
}

fn parse_options(mut rest: &[Bytes]) -> Result<(Options, &[[Bytes; 3]]), CommandError> {
    let mut options = Options::default();
    while let Some((word, behind)) = rest.split_first() {
        match word.to_ascii_lowercase().as_slice() {
            b"nx" => options.only_new = true,
            b"xx" => options.only_present = true,
            b"ch" => options.counts_changed = true,
            _ => break,
        }
        rest = behind;
    }
    if options.only_new && options.only_present {
        return Err(CommandError::Syntax);
    }
    match rest.as_chunks::<3>() {
        (places @ [_, ..], []) => Ok((options, places)),
        _ => Err(CommandError::Syntax),
    }
}
