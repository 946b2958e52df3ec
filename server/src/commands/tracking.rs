//! CLIENT TRACKING, CACHING, GETREDIR and TRACKINGINFO: client-side caching.
//!
//! Owns what a client may ask for, and the moment before a command at which its keys are
//! remembered.

use std::sync::Arc;

use bytes::Bytes;
use cellar_storage::Db;

use crate::command::{CommandEntry, CommandError, Cx, Flag, Group};
use crate::resp::{Args, ReplyBuf};
use crate::tracking::{Mode, TrackingWords};

/// `CLIENT TRACKING ON | OFF [REDIRECT client-id] [PREFIX prefix ...] [BCAST] [OPTIN] [OPTOUT]
/// [NOLOOP]`
pub fn tracking(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let exists = |id| cx.shared.clients.get(id).is_some();
    let words = TrackingWords::parse(&args[3..], exists)?;
    if args[2].eq_ignore_ascii_case(b"on") {
        let present = cx.session.tracker();
        let options = words.resolve(present.as_ref().map(|tracker| tracker.options()))?;
        let client = cx.session.client();
        let tracker = cx.shared.tracking.begin(client, options);
        cx.session.set_tracker(Some(tracker));
    } else if args[2].eq_ignore_ascii_case(b"off") {
        end(cx);
    } else {
        return Err(CommandError::Syntax);
    }
    reply.ok();
    Ok(())
}

/// Ends the tracking of a client that goes, resets, or has had enough.
pub(crate) fn end(cx: &Cx) {
    if cx.session.is_tracking() {
        cx.shared.tracking.end(cx.session.client());
        cx.session.set_tracker(None);
    }
}

/// `CLIENT CACHING YES | NO`
pub fn caching(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let Some(tracker) = cx.session.tracker() else {
        return Err(CommandError::other(
            "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN \
             or OPTOUT mode enabled",
        ));
    };
    let (mode, complaint) = if args[2].eq_ignore_ascii_case(b"yes") {
        (
            Mode::OptIn,
            "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.",
        )
    } else if args[2].eq_ignore_ascii_case(b"no") {
        (
            Mode::OptOut,
            "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.",
        )
    } else {
        return Err(CommandError::Syntax);
    };
    if tracker.mode() != mode {
        return Err(CommandError::other(complaint));
    }
    cx.session.set_caching(true);
    reply.ok();
    Ok(())
}

/// `CLIENT GETREDIR`
pub fn getredir(cx: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    reply.integer(redirect(cx));
    Ok(())
}

/// The client that is told in this one's place: 0 for none, -1 where it does not track.
fn redirect(cx: &Cx) -> i64 {
    let tracker = cx.session.tracker();
    tracker.map_or(-1, |tracker| tracker.options().redirect.cast_signed())
}

/// `CLIENT TRACKINGINFO`
pub fn trackinginfo(cx: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let tracker = cx.session.tracker();
    let mut flags = vec![if tracker.is_some() { "on" } else { "off" }];
    let mut prefixes: &[Bytes] = &[];
    if let Some(tracker) = &tracker {
        let is_caching = cx.session.is_caching();
        let words: &[&str] = match (tracker.mode(), is_caching) {
            (Mode::Default, _) => &[],
            (Mode::Broadcast, _) => &["bcast"],
            (Mode::OptIn, false) => &["optin"],
            (Mode::OptIn, true) => &["optin", "caching-yes"],
            (Mode::OptOut, false) => &["optout"],
            (Mode::OptOut, true) => &["optout", "caching-no"],
        };
        flags.extend_from_slice(words);
        let more = [
            (tracker.options().no_loop, "noloop"),
            (tracker.is_broken(), "broken_redirect"),
        ];
        flags.extend(
            more.into_iter()
                .filter(|(is_set, _)| *is_set)
                .map(|(_, word)| word),
        );
        prefixes = &tracker.options().prefixes;
    }
    reply.map(3);
    reply.bulk(b"flags");
    reply.set(flags.len());
    for flag in flags {
        reply.bulk(flag.as_bytes());
    }
    reply.bulk(b"redirect");
    reply.integer(redirect(cx));
    reply.bulk(b"prefixes");
    reply.bulk_array(prefixes);
    Ok(())
}

/// Remembers the keys that a command of a tracking client is about to read: from before it looks
/// them up, so that no change in between is missed.
pub(crate) fn remember(cx: &Cx, entry: &CommandEntry, args: &Args) {
    let Some(tracker) = cx.session.tracker() else {
        return;
    };
    // the choice holds for the command or transaction behind it, whatever else of CLIENT comes in
    // between
    let is_caching = if entry.full_name.starts_with("client|") {
        false
    } else if entry.spec.name == "multi" || cx.session.transaction().borrow().is_open() {
        cx.session.is_caching()
    } else {
        cx.session.set_caching(false)
    };
    let is_wanted = match tracker.mode() {
        Mode::Default => true,
        Mode::OptIn => is_caching,
        Mode::OptOut => !is_caching,
        Mode::Broadcast => false,
    };
    if entry.spec.group == Group::Scripting {
        // it is not known yet whether it reads
        return cx.session.set_tracks_script(is_wanted);
    }
    if is_wanted && entry.spec.flags.has(Flag::Readonly) {
        let positions = entry.spec.keys.iter().flat_map(|keys| keys.positions(args));
        remember_keys(cx, cx.db(), positions.map(|position| &args[position][..]));
    }
}

/// Remembers keys for the client.
pub(crate) fn remember_keys<'a>(cx: &Cx, db: Db, keys: impl Iterator<Item = &'a [u8]>) {
    let Some(store) = cx.store.attached() else {
        return;
    };
    let tracking = &cx.shared.tracking;
    let count_max = cx.shared.config.fast.tracked_keys_max();
    let mut delivery = cx.delivery();
    for key in keys {
        let key = (store, db, key);
        tracking.remember(key, cx.session.id(), count_max, &mut delivery);
    }
}

/// Tells the changes that wait, those of the command before included.
pub(crate) fn tell_changes(cx: &Cx) {
    cx.shared.tracking.tell_changes(&mut cx.delivery());
}

/// Forgets what tracking clients have read: they are about to be told of everything at once.
pub(crate) fn expect_flush(cx: &Cx) {
    cx.shared.tracking.forget_keys();
}

/// Tells all tracking clients that a database was flushed.
pub(crate) fn tell_flushed(cx: &Cx) {
    cx.shared.tracking.tell_flushed(&mut cx.delivery());
}

/// Microseconds that a change waits for the command that made it to tell it, in its order and
/// behind its reply: far longer than a commit, far shorter than anybody minds.
const COMMAND_TELLS_WITHIN_US: u64 = 1000;

/// Tells what changed outside of commands, for ever.
pub(crate) async fn serve(shared: Arc<crate::shared::Shared>, worker: usize) {
    loop {
        shared.tracking.wait_changes().await;
        shared.clock.sleep(COMMAND_TELLS_WITHIN_US).await;
        let mut delivery = shared.delivery(Some(worker));
        shared.tracking.tell_changes(&mut delivery);
    }
}
