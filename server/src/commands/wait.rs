//! WAIT and WAITAOF: until writes are safe.
//!
//! Owns what they wait for. There are no replicas: none ever answers.

use std::future::pending;

use crate::blocking::{Block, parse_timeout_ms};
use crate::command::{CommandError, Cx, Pending};
use crate::number::parse_i64;
use crate::resp::Args;

/// `WAIT numreplicas timeout`
pub fn wait(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let replica_count = parse_i64(&args[1]).ok_or(CommandError::NotInteger)?;
        let timeout_ms = parse_timeout_ms(&args[2])?;
        if replica_count > 0 && cx.may_block() {
            Block::begin(&cx, timeout_ms).until(pending::<()>()).await?;
        }
        let mut reply = cx.reply();
        reply.integer(0);
        Ok(reply)
    })
}

/// `WAITAOF numlocal numreplicas timeout`
pub fn waitaof(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let local_count = parse_i64(&args[1]).ok_or(CommandError::NotInteger)?;
        if !(0..=1).contains(&local_count) {
            return Err(CommandError::other(
                "ERR value is out of range, must be between 0 and 1",
            ));
        }
        let replica_count = parse_i64(&args[2])
            .filter(|count| *count >= 0)
            .ok_or_else(|| CommandError::other("ERR value is out of range, must be positive"))?;
        let timeout_ms = parse_timeout_ms(&args[3])?;
        // every earlier write of this client lies below the log's present end
        let lsn = cx.store.published_lsn();
        if local_count > 0 && cx.may_block() {
            let store = cx.store.clone();
            let mut block = Block::begin(&cx, timeout_ms);
            if let Some(outcome) = block.until(store.wait_durable(lsn)).await? {
                outcome.map_err(|_| CommandError::UnknownOutcome)?;
            }
        }
        if replica_count > 0 && cx.may_block() {
            Block::begin(&cx, timeout_ms).until(pending::<()>()).await?;
        }
        let mut reply = cx.reply();
        reply.array(2);
        reply.integer(i64::from(cx.store.durable_lsn() >= lsn));
        reply.integer(0);
        Ok(reply)
    })
}
