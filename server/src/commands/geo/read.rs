//! GEODIST, GEOHASH, GEOPOS: what one set says of its places.
//!
//! Owns their replies. Must never write.

use bytes::Bytes;
use cellar_storage::Snapshot;

use super::cell::Place;
use super::sphere::distance_m;
use super::{format_coordinate, format_distance, parse_unit};
use crate::collections::sorted_set::SortedSet;
use crate::command::{CommandError, Cx};
use crate::commands::sorted_set::{let_others_run, open};
use crate::resp::{Args, Protocol, ReplyBuf};

/// The place of a member.
pub(super) async fn place_of(
    set: &mut SortedSet,
    member: &[u8],
) -> Result<Option<Place>, CommandError> {
    Ok(set.score(member).await?.map(Place::of_score))
}

/// `GEODIST key member1 member2 [M | KM | FT | MI]`
pub(crate) async fn geodist(
    cx: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let unit_m = match &args[4..] {
        [] => 1.0,
        [unit] => parse_unit(unit)?,
        _ => return Err(CommandError::Syntax),
    };
    let Some(mut set) = open(cx, found)? else {
        reply.null();
        return Ok(());
    };
    let from = place_of(&mut set, &args[2]).await?;
    let to = place_of(&mut set, &args[3]).await?;
    match (from, to) {
        (Some(from), Some(to)) => {
            let distance = distance_m(from, to) / unit_m;
            reply.bulk(format_distance(distance).as_bytes());
        }
        (None, _) | (_, None) => reply.null(),
    }
    Ok(())
}

/// `GEOHASH key [member [member ...]]`
pub(crate) async fn geohash(
    cx: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let members = (open(cx, found)?, &args[2..]);
    for_members(members, reply, |reply, place| match place {
        Some(place) => reply.bulk(&place.geohash()),
        None => reply.null(),
    })
    .await
}

/// `GEOPOS key [member [member ...]]`
pub(crate) async fn geopos(
    cx: &Cx,
    args: &Args,
    found: Option<Snapshot>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let members = (open(cx, found)?, &args[2..]);
    for_members(members, reply, |reply, place| match place {
        Some(place) => answer_place(reply, place),
        None => reply.null_array(),
    })
    .await
}

async fn for_members(
    (mut set, members): (Option<SortedSet>, &[Bytes]),
    reply: &mut ReplyBuf,
    answer: impl Fn(&mut ReplyBuf, Option<Place>),
) -> Result<(), CommandError> {
    reply.array(members.len());
    if let Some(set) = &mut set {
        set.prefetch(members.iter().map(|member| &member[..]))
            .await?;
    }
    for (index, member) in members.iter().enumerate() {
        let place = match &mut set {
            Some(set) => place_of(set, member).await?,
            None => None,
        };
        answer(reply, place);
        let_others_run(index).await;
    }
    Ok(())
}

/// Longitude and latitude.
pub(super) fn answer_place(reply: &mut ReplyBuf, place: Place) {
    reply.array(2);
    for coordinate in [place.longitude, place.latitude] {
        let text = format_coordinate(coordinate);
        match reply.protocol() {
            Protocol::Resp2 => reply.bulk(text.as_bytes()),
            Protocol::Resp3 => reply.raw(format!(",{text}\r\n").as_bytes()),
        }
    }
}
