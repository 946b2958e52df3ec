//! MULTI, EXEC, DISCARD, WATCH, UNWATCH.
//!
//! Owns what they answer. How a transaction runs is in `transaction`.

use crate::client::ClientFlag;
use crate::command::{CommandError, Cx, Pending};
use crate::resp::{Args, ReplyBuf};
use crate::transaction;

/// Keys that WATCH takes before others run: some 50 us.
const KEYS_PER_TURN: usize = 128;

/// `MULTI`
pub fn multi(cx: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let mut state = cx.session.transaction().borrow_mut();
    if state.is_open() {
        return Err(CommandError::other("ERR MULTI calls can not be nested"));
    }
    state.open(cx.session.client());
    reply.ok();
    Ok(())
}

/// `DISCARD`
pub fn discard(cx: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let mut state = cx.session.transaction().borrow_mut();
    if !state.is_open() {
        return Err(CommandError::other("ERR DISCARD without MULTI"));
    }
    state.close(cx.session.client());
    cx.session.set_caching(false);
    reply.ok();
    Ok(())
}

/// `EXEC`
pub fn exec(cx: Cx, _: Args) -> Pending {
    Box::pin(async move {
        let state = cx.session.transaction();
        if !state.borrow().is_open() {
            return Err(CommandError::other("ERR EXEC without MULTI"));
        }
        let outcome = if state.borrow().is_flagged() {
            let text = "EXECABORT Transaction discarded because of previous errors.";
            Err(CommandError::other(text))
        } else {
            run(&cx).await
        };
        state.borrow_mut().close(cx.session.client());
        cx.session.set_caching(false);
        outcome
    })
}

async fn run(cx: &Cx) -> Result<ReplyBuf, CommandError> {
    let (queue, watches) = cx.session.transaction().borrow_mut().take();
    match transaction::run(cx, &queue, &watches).await {
        Ok(Some(reply)) => Ok(reply),
        Ok(None) => {
            let mut reply = cx.reply();
            reply.null_array();
            Ok(reply)
        }
        Err(error) => Err(abort(&error)),
    }
}

/// What EXEC answers where it runs nothing for this reason.
pub(crate) fn abort(reason: &CommandError) -> CommandError {
    let reason = reason.to_string();
    let reason = reason.strip_prefix("ERR ").unwrap_or(&reason);
    CommandError::other(format!(
        "EXECABORT Transaction discarded because of: {reason}"
    ))
}

/// `WATCH key [key ...]`
pub fn watch(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let state = cx.session.transaction();
        if state.borrow().is_open() {
            return Err(CommandError::other("ERR WATCH inside MULTI is not allowed"));
        }
        let store = cx.store.attached().ok_or(CommandError::Loading)?;
        let client = cx.session.client();
        // a broken watch is enough: EXEC will run nothing
        let is_broken = client.flags().has(ClientFlag::WatchBroken);
        let keys = if is_broken { &[] } else { &args[1..] };
        for (index, key) in keys.iter().enumerate() {
            if (index + 1).is_multiple_of(KEYS_PER_TURN) {
                tokio::task::yield_now().await;
            }
            let is_new = state.borrow_mut().watch(store, (cx.db(), key), client);
            if is_new && store.peek(cx.db(), key).await?.is_some() {
                state.borrow().note_present(cx.db(), key);
            }
        }
        let mut reply = cx.reply();
        reply.ok();
        Ok(reply)
    })
}

/// `UNWATCH`
pub fn unwatch(cx: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let mut state = cx.session.transaction().borrow_mut();
    state.unwatch(cx.session.client());
    reply.ok();
    Ok(())
}
