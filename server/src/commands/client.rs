//! CLIENT: what a client is called, how it is answered, when commands run.
//!
//! Owns the checks of names. CLIENT KILL and LIST are in `client_list`.

use bytes::Bytes;

use crate::blocking::parse_timeout_ms;
use crate::client::{ClientFlag, Event, Labels};
use crate::command::{CommandError, Cx};
use crate::number::parse_i64;
use crate::pause::PauseMode;
use crate::resp::{Args, ReplyBuf};
use crate::session::ReplyMode;

/// `CLIENT ID`
pub fn id(cx: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    reply.integer(cx.session.id().cast_signed());
    Ok(())
}

/// `CLIENT GETNAME`
pub fn getname(cx: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let name = cx.session.client().labels().name;
    if name.is_empty() {
        reply.null();
    } else {
        reply.bulk(&name);
    }
    Ok(())
}

/// `CLIENT SETNAME connection-name`
pub fn setname(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    check_label(&args[2], "Client names")?;
    set_label(cx, &args[2], |labels| &mut labels.name);
    reply.ok();
    Ok(())
}

/// `CLIENT SETINFO LIB-NAME libname | LIB-VER libver`
pub fn setinfo(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let option = &args[2];
    if option.eq_ignore_ascii_case(b"lib-name") {
        check_label(&args[3], "lib-name")?;
        set_label(cx, &args[3], |labels| &mut labels.lib_name);
    } else if option.eq_ignore_ascii_case(b"lib-ver") {
        check_label(&args[3], "lib-ver")?;
        set_label(cx, &args[3], |labels| &mut labels.lib_version);
    } else {
        let text = format!(
            "ERR Unrecognized option '{}'",
            String::from_utf8_lossy(option)
        );
        return Err(CommandError::other(text));
    }
    reply.ok();
    Ok(())
}

/// Stores a copy: a slice would keep the whole read buffer in memory.
fn set_label(cx: &Cx, value: &[u8], place: impl FnOnce(&mut Labels) -> &mut Bytes) {
    cx.session
        .client()
        .set_labels(|labels| *place(labels) = Bytes::copy_from_slice(value));
}

/// Whether a text may stand in a line of CLIENT LIST.
pub(super) fn check_label(text: &[u8], what: &str) -> Result<(), CommandError> {
    if text.iter().all(|byte| (b'!'..=b'~').contains(byte)) {
        return Ok(());
    }
    Err(CommandError::other(format!(
        "ERR {what} cannot contain spaces, newlines or special characters."
    )))
}

/// `CLIENT REPLY ON | OFF | SKIP`
pub fn reply(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let mode = &args[2];
    if mode.eq_ignore_ascii_case(b"on") {
        cx.session.set_reply_mode(ReplyMode::On);
        reply.ok();
    } else if mode.eq_ignore_ascii_case(b"off") {
        cx.session.set_reply_mode(ReplyMode::Off);
    } else if !mode.eq_ignore_ascii_case(b"skip") {
        return Err(CommandError::Syntax);
    } else if cx.session.reply_mode() != ReplyMode::Off {
        cx.session.set_reply_mode(ReplyMode::SkipNext);
    }
    Ok(())
}

/// `CLIENT NO-EVICT ON | OFF`
pub fn no_evict(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    set_flag(cx, ClientFlag::NoEvict, &args[2], reply)
}

/// `CLIENT NO-TOUCH ON | OFF`
pub fn no_touch(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    set_flag(cx, ClientFlag::NoTouch, &args[2], reply)
}

fn set_flag(
    cx: &Cx,
    flag: ClientFlag,
    switch: &[u8],
    reply: &mut ReplyBuf,
) -> Result<(), CommandError> {
    let is_on = switch.eq_ignore_ascii_case(b"on");
    if !is_on && !switch.eq_ignore_ascii_case(b"off") {
        return Err(CommandError::Syntax);
    }
    cx.session.client().flags().set(flag, is_on);
    reply.ok();
    Ok(())
}

/// `CLIENT PAUSE timeout [WRITE | ALL]`
pub fn pause(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let mode = match args.get(3) {
        None => PauseMode::All,
        Some(mode) if mode.eq_ignore_ascii_case(b"all") => PauseMode::All,
        Some(mode) if mode.eq_ignore_ascii_case(b"write") => PauseMode::Write,
        Some(_) => {
            return Err(CommandError::other(
                "ERR CLIENT PAUSE mode must be WRITE or ALL",
            ));
        }
    };
    let ms = parse_timeout_ms(&args[2])?;
    let now_us = cx.shared.clock.monotonic_us();
    cx.shared
        .pause
        .begin(mode, now_us.saturating_add(ms.saturating_mul(1000)), now_us);
    cx.shared.pause_expiry(true);
    reply.ok();
    Ok(())
}

/// `CLIENT UNPAUSE`
pub fn unpause(cx: &Cx, _: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    cx.shared.pause.end();
    cx.shared.pause_expiry(false);
    reply.ok();
    Ok(())
}

/// `CLIENT UNBLOCK client-id [TIMEOUT | ERROR]`
pub fn unblock(cx: &Cx, args: &Args, reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let event = match args.get(3) {
        None => Event::UnblockTimeout,
        Some(reason) if reason.eq_ignore_ascii_case(b"timeout") => Event::UnblockTimeout,
        Some(reason) if reason.eq_ignore_ascii_case(b"error") => Event::UnblockError,
        Some(_) => {
            let text = "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR";
            return Err(CommandError::other(text));
        }
    };
    let id = parse_i64(&args[2]).ok_or(CommandError::NotInteger)?;
    let client = u64::try_from(id)
        .ok()
        .and_then(|id| cx.shared.clients.get(id));
    let is_unblocked = client.is_some_and(|client| client.unblock(event));
    reply.integer(i64::from(is_unblocked));
    Ok(())
}
