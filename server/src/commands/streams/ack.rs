//! XACK.
//!
//! Owns nothing beyond its arguments.

use super::arguments::strict_ids;
use super::{let_others_run, open, save};
use crate::command::{CommandError, Cx};
use crate::commands::access::Locked;
use crate::resp::{Args, ReplyBuf};

/// `XACK key group id [id ...]`
pub(crate) async fn xack(
    cx: &Cx,
    args: &Args,
    at: Locked<'_>,
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let Some(mut stream) = open(at.found)? else {
        reply.integer(0);
        return Ok(());
    };
    let Some(group) = stream.group(&args[2]).await? else {
        reply.integer(0);
        return Ok(());
    };
    let ids = strict_ids(&args[3..])?;
    let mut acknowledged = 0;
    for (index, id) in ids.into_iter().enumerate() {
        acknowledged += i64::from(stream.acknowledge(&group, id).await?);
        let_others_run(index).await;
    }
    if acknowledged > 0 {
        save(cx, at.locks, &args[1], stream).await?;
    }
    reply.integer(acknowledged);
    Ok(())
}
