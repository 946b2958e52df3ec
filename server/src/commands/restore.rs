//! RESTORE: a key made of what DUMP answered.
//!
//! Owns its options and conditions. IDLETIME and FREQ are checked and change nothing: when and how
//! often a key was used is not kept with it.

use bytes::Bytes;
use cellar_storage::{KeyLocks, WriteBatch};

use super::deadline::TimeForm;
use super::read::is_absent;
use super::restored;
use super::string_value::integer;
use crate::command::{CommandError, Cx, Pending};
use crate::events::EventClass;
use crate::rdb;
use crate::resp::Args;

/// The largest frequency that Redis keeps.
const FREQUENCY_MAX: i64 = 255;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Options {
    replaces: bool,
    is_absolute: bool,
}

impl Options {
    fn parse(words: &[Bytes]) -> Result<Self, CommandError> {
        let mut options = Self::default();
        let (mut has_idle_time, mut has_frequency) = (false, false);
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            match word.to_ascii_lowercase().as_slice() {
                b"replace" => options.replaces = true,
                b"absttl" => options.is_absolute = true,
                b"idletime" if !has_frequency => {
                    has_idle_time = true;
                    let idle = integer(rest.next().ok_or(CommandError::Syntax)?)?;
                    if idle < 0 {
                        return Err(invalid("IDLETIME value, must be >= 0"));
                    }
                }
                b"freq" if !has_idle_time => {
                    has_frequency = true;
                    let frequency = integer(rest.next().ok_or(CommandError::Syntax)?)?;
                    if !(0..=FREQUENCY_MAX).contains(&frequency) {
                        return Err(invalid("FREQ value, must be >= 0 and <= 255"));
                    }
                }
                _ => return Err(CommandError::Syntax),
            }
        }
        Ok(options)
    }

    /// When the key expires; nothing for never.
    fn deadline_ms(self, cx: &Cx, ttl: &[u8]) -> Result<Option<i64>, CommandError> {
        let ttl = integer(ttl)?;
        if ttl < 0 {
            return Err(invalid("TTL value, must be >= 0"));
        }
        let form = if self.is_absolute {
            TimeForm::UNIX_MILLISECONDS
        } else {
            TimeForm::MILLISECONDS
        };
        let deadline = form.deadline(ttl, cx.store.clock().unix_ms());
        // one that overflows is never reached
        Ok((ttl > 0).then(|| deadline.unwrap_or(i64::MAX)))
    }
}

fn invalid(what: &str) -> CommandError {
    CommandError::other(format!("ERR Invalid {what}"))
}

/// `RESTORE key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]`
pub fn restore(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let options = Options::parse(&args[4..])?;
        let locks = cx.store.lock(&[(cx.db(), &args[1])]).await;
        let is_new = is_absent(&cx, &args[1]).await?;
        if !options.replaces && !is_new {
            return Err(CommandError::other(
                "BUSYKEY Target key name already exists.",
            ));
        }
        let deadline_ms = options.deadline_ms(&cx, &args[2])?;
        let body = rdb::open(&args[3])
            .await
            .ok_or_else(|| CommandError::other("ERR DUMP payload version or checksum are wrong"))?;
        let input = rdb::Input::new(body, cx.shared.bulk_bytes_max());
        let object = rdb::read(input).await?;
        let expiry_ms = deadline_ms.map(i64::cast_unsigned);
        let mut batch = WriteBatch::new();
        restored::put(&cx, &mut batch, (&args[1], expiry_ms), object).await?;
        if expiry_ms.is_some_and(|expiry_ms| expiry_ms <= cx.store.clock().unix_ms()) {
            remove(&cx, &locks, &args[1]).await?;
        } else {
            cx.store.commit_locked(&locks, batch).await?;
            cx.notify_write(EventClass::Generic, "restore", &args[1], is_new);
        }
        let mut reply = cx.reply();
        reply.ok();
        Ok(reply)
    })
}

/// What is restored with a deadline that has passed takes the place of the key as nothing.
async fn remove(cx: &Cx, locks: &KeyLocks, key: &Bytes) -> Result<(), CommandError> {
    let mut batch = WriteBatch::new();
    batch.remove(cx.db(), key.clone());
    if cx.store.commit_locked(locks, batch).await?.removed > 0 {
        cx.notify_gone(key);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<Options, &str>) {
        let words: Vec<Bytes> = text
            .split_whitespace()
            .map(|word| Bytes::from(word.to_owned()))
            .collect();
        let found = Options::parse(&words).map_err(|error| error.to_string());
        assert_eq!(found, expected.map_err(str::to_owned), "{text}");
    }

    #[test]
    fn options_are_checked_as_redis_does() {
        let both = Options {
            replaces: true,
            is_absolute: true,
        };
        check("", Ok(Options::default()));
        check("replace absttl", Ok(both));
        check("REPLACE REPLACE ABSTTL IDLETIME 5 IDLETIME 6", Ok(both));
        check("freq 255 absttl replace", Ok(both));
        check(
            "freq 256",
            Err("ERR Invalid FREQ value, must be >= 0 and <= 255"),
        );
        check(
            "idletime -1",
            Err("ERR Invalid IDLETIME value, must be >= 0"),
        );
        check("freq x", Err("ERR value is not an integer or out of range"));
        for text in [
            "freq",
            "idletime",
            "freq 1 idletime 1",
            "nx",
            "idletime 1 freq 1",
        ] {
            check(text, Err("ERR syntax error"));
        }
    }
}
