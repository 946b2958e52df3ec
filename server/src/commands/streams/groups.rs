//! XGROUP CREATE, SETID, DESTROY, CREATECONSUMER, DELCONSUMER.
//!
//! Owns their arguments.

use bytes::Bytes;
use cellar_storage::KeyLocks;

use super::arguments::{id, strict_id};
use super::{open_locked, save, see_consumer, tell, tell_consumer};
use crate::collections::stream::{Group, Stream};
use crate::command::{CommandError, Cx, Pending};
use crate::commands::string_value::integer;
use crate::events::EventClass;
use crate::resp::{Args, ReplyBuf};

/// Arguments of CREATE and SETID at most, the name of the command included.
const CREATE_COUNT_MAX: usize = 8;
const SETID_COUNT_MAX: usize = 7;

/// What stands behind the id.
#[derive(Default)]
struct Options {
    makes_stream: bool,
    entries_read: Option<u64>,
}

impl Options {
    fn parse(args: &Args, is_create: bool) -> Result<Self, CommandError> {
        let mut options = Self::default();
        let mut rest = args[5..].iter();
        while let Some(word) = rest.next() {
            if is_create && word.eq_ignore_ascii_case(b"mkstream") {
                options.makes_stream = true;
            } else if word.eq_ignore_ascii_case(b"entriesread")
                && let Some(value) = rest.next()
            {
                options.entries_read = parse_entries_read(value)?;
            } else {
                return Err(bad_subcommand(args));
            }
        }
        Ok(options)
    }
}

/// How many entries were read; -1 for unknown.
fn parse_entries_read(text: &[u8]) -> Result<Option<u64>, CommandError> {
    match integer(text)? {
        -1 => Ok(None),
        count => match u64::try_from(count) {
            Ok(count) => Ok(Some(count)),
            Err(_) => Err(CommandError::other(
                "ERR value for ENTRIESREAD must be positive or -1",
            )),
        },
    }
}

/// What is said of arguments that a subcommand does not take.
pub(super) fn bad_subcommand(args: &Args) -> CommandError {
    let command = String::from_utf8_lossy(&args[0]).to_uppercase();
    let subcommand = String::from_utf8_lossy(&args[1]);
    CommandError::other(format!(
        "ERR unknown subcommand or wrong number of arguments for '{subcommand}'. \
         Try {command} HELP."
    ))
}

/// What is said of a group that is not there, where its stream is.
pub(super) fn no_group(key: &[u8], group: &[u8]) -> CommandError {
    let (key, group) = (String::from_utf8_lossy(key), String::from_utf8_lossy(group));
    CommandError::other(format!(
        "NOGROUP No such consumer group '{group}' for key name '{key}'"
    ))
}

fn no_key() -> CommandError {
    CommandError::other(
        "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want \
         to use the MKSTREAM option to create an empty stream automatically.",
    )
}

/// A group of a stream under its key's lock.
struct LockedGroup {
    locks: KeyLocks,
    stream: Stream,
    group: Option<Group>,
}

impl LockedGroup {
    /// What stands in arguments 2 and 3.
    async fn find(cx: &Cx, args: &Args) -> Result<Self, CommandError> {
        let locks = cx.store.lock(&[(cx.db(), &args[2])]).await;
        let stream = open_locked(cx, &locks, &args[2]).await?;
        let mut stream = stream.ok_or_else(no_key)?;
        let group = stream.group(&args[3]).await?;
        Ok(Self {
            locks,
            stream,
            group,
        })
    }

    /// The group, which has to be there.
    fn expect(&mut self, args: &Args) -> Result<Group, CommandError> {
        self.group
            .take()
            .ok_or_else(|| no_group(&args[2], &args[3]))
    }

    async fn save(self, cx: &Cx, key: &Bytes) -> Result<(), CommandError> {
        save(cx, &self.locks, key, self.stream).await
    }
}

/// `XGROUP CREATE key group (id | $) [MKSTREAM] [ENTRIESREAD entries-read]`
pub(crate) fn xgroup_create(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let options = Options::parse(&args, true)?;
        let key = &args[2];
        let locks = cx.store.lock(&[(cx.db(), key)]).await;
        let found = open_locked(&cx, &locks, key).await?;
        if found.is_none() && !options.makes_stream {
            return Err(no_key());
        }
        if args.len() > CREATE_COUNT_MAX {
            return Err(bad_subcommand(&args));
        }
        let is_new = found.is_none();
        let mut stream = found.unwrap_or_else(Stream::new);
        let last_id = match &args[4][..] {
            b"$" => stream.last_id(),
            text => strict_id(text, 0)?,
        };
        let created = stream
            .create_group(&args[3], last_id, options.entries_read)
            .await?;
        if created.is_none() {
            let text = "BUSYGROUP Consumer Group name already exists";
            return Err(CommandError::other(text));
        }
        save(&cx, &locks, key, stream).await?;
        cx.notify_write(EventClass::Stream, "xgroup-create", key, is_new);
        Ok(ok(&cx))
    })
}

fn ok(cx: &Cx) -> ReplyBuf {
    let mut reply = cx.reply();
    reply.ok();
    reply
}

fn number(cx: &Cx, number: u64) -> ReplyBuf {
    let mut reply = cx.reply();
    reply.integer(number.cast_signed());
    reply
}

/// `XGROUP SETID key group (id | $) [ENTRIESREAD entries-read]`
pub(crate) fn xgroup_setid(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let options = Options::parse(&args, false)?;
        let mut locked = LockedGroup::find(&cx, &args).await?;
        let mut group = locked.expect(&args)?;
        if args.len() > SETID_COUNT_MAX {
            return Err(bad_subcommand(&args));
        }
        group.last_id = match &args[4][..] {
            b"$" => locked.stream.last_id(),
            text => id(text, 0)?,
        };
        group.entries_read = options.entries_read;
        locked.stream.put_group(&group).await?;
        locked.save(&cx, &args[2]).await?;
        tell(&cx, "xgroup-setid", &args[2]);
        Ok(ok(&cx))
    })
}

/// `XGROUP DESTROY key group`
pub(crate) fn xgroup_destroy(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let mut locked = LockedGroup::find(&cx, &args).await?;
        let Some(group) = locked.group.take() else {
            return Ok(number(&cx, 0));
        };
        locked.stream.remove_group(&group).await?;
        locked.save(&cx, &args[2]).await?;
        tell(&cx, "xgroup-destroy", &args[2]);
        Ok(number(&cx, 1))
    })
}

/// `XGROUP CREATECONSUMER key group consumer`
pub(crate) fn xgroup_createconsumer(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let mut locked = LockedGroup::find(&cx, &args).await?;
        let mut group = locked.expect(&args)?;
        let (_, is_new) = see_consumer(&cx, &mut locked.stream, &mut group, &args[4]).await?;
        if is_new {
            locked.save(&cx, &args[2]).await?;
            tell_consumer(&cx, &args[2]);
        }
        Ok(number(&cx, u64::from(is_new)))
    })
}

/// `XGROUP DELCONSUMER key group consumer`
pub(crate) fn xgroup_delconsumer(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let mut locked = LockedGroup::find(&cx, &args).await?;
        let group = locked.expect(&args)?;
        let Some(consumer) = locked.stream.consumer(&group, &args[4]).await? else {
            return Ok(number(&cx, 0));
        };
        let removed = locked.stream.remove_consumer(&group, &consumer).await?;
        locked.save(&cx, &args[2]).await?;
        tell(&cx, "xgroup-delconsumer", &args[2]);
        Ok(number(&cx, removed))
    })
}
