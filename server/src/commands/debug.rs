//! DEBUG: what Redis's own tests drive, as far as it means something here.
//!
//! Owns the subcommands' names; DEBUG is one command whose arguments Redis checks by hand.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::object::encoding_name;
use crate::command::{CommandError, Cx, Pending, find};
use crate::config::parse_size;
use crate::number::parse_i64;
use crate::resp::{Args, Protocol, ReplyBuf};

/// A DEBUG SLEEP at most.
const SLEEP_MAX: Duration = Duration::from_hours(1);

/// The double that Redis's tests expect of DEBUG PROTOCOL.
#[expect(clippy::approx_constant, reason = "it is not meant to be pi")]
const PROTOCOL_DOUBLE: f64 = 3.141;

const LINES: [&str; 19] = [
    "DEBUG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
    "CHANGE-REPL-ID: start another replication history",
    "ERROR <string>: answer this error",
    "FLUSHALL: empty all databases",
    "HELP: print this",
    "HTSTATS <dbid>, HTSTATS-KEY <key>: nothing to tell, for compatibility",
    "JMAP: nothing, for compatibility",
    "LISTPACK <key>: nothing, for compatibility",
    "LOADAOF, RELOAD: make everything durable",
    "LOG <message>: write to the server's log",
    "OBJECT <key>: tell how the value is held",
    "PAUSE-CRON <0|1>: nothing, for compatibility",
    "PROTOCOL <type>: answer a value of this type",
    "QUICKLIST-PACKED-THRESHOLD <size>: nothing, for compatibility",
    "REPLYBUFFER <subcommand> <arg>, DICT-RESIZING <0|1>: nothing, for compatibility",
    "SET-ACTIVE-EXPIRE <0|1>: whether expired keys are looked for in the background",
    "SET-DISABLE-DENY-SCRIPTS <0|1>: whether scripts may call every command",
    "SLEEP <seconds>: let this client wait",
    "STRINGMATCH-LEN <len> <pattern>: match so many letters a",
];

/// `DEBUG subcommand [argument ...]`
pub fn debug(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let mut reply = cx.reply();
        let name = args[1].to_ascii_lowercase();
        match (name.as_slice(), &args[2..]) {
            (b"help", []) => {
                reply.simple_array(&LINES);
            }
            (b"sleep", [seconds]) => {
                cx.shared.clock.sleep(parse_sleep(seconds)).await;
                reply.ok();
            }
            (b"jmap", []) | (b"pause-cron" | b"dict-resizing", [_]) | (b"replybuffer", [_, _]) => {
                reply.ok();
            }
            // there are no hash tables of Redis's kind to tell of
            (b"htstats", [_, ..]) => reply.bulk(b""),
            (b"htstats-key" | b"listpack", [key, ..]) => {
                let found = cx.store.peek(cx.db(), key).await?;
                found.ok_or(CommandError::NoSuchKey)?;
                reply.bulk(b"");
            }
            (b"set-active-expire", [switch]) => {
                cx.store.store().set_active_expiry(switch != "0");
                reply.ok();
            }
            (b"set-disable-deny-scripts", [switch]) => {
                let scripts = &cx.shared.scripts;
                scripts.may_call_all.store(switch != "0", Relaxed);
                reply.ok();
            }
            (b"change-repl-id", []) => {
                cx.shared.identity.change_replication_id();
                reply.ok();
            }
            (b"quicklist-packed-threshold", [size]) => {
                let text = String::from_utf8_lossy(size);
                parse_size(&text)
                    .ok_or_else(|| CommandError::other("ERR argument must be a memory value"))?;
                reply.ok();
            }
            (b"error", [text]) => reply.error(&String::from_utf8_lossy(text)),
            (b"log", [text]) => {
                tracing::warn!("DEBUG LOG: {}", String::from_utf8_lossy(text));
                reply.ok();
            }
            (b"reload" | b"loadaof", _) => {
                cx.store.wait_durable(cx.store.published_lsn()).await?;
                reply.ok();
            }
            (b"flushall", []) => {
                cx.store.flush_all().await?;
                reply.ok();
            }
            (b"object", [key, ..]) => object(&cx, key, &mut reply).await?,
            (b"protocol", [kind]) => protocol(kind, &mut reply)?,
            (b"stringmatch-len", [len, pattern]) => {
                let len = parse_i64(len).ok_or(CommandError::NotInteger)?;
                // bounded: the match runs in one go
                let text = vec![b'a'; len.clamp(0, 1 << 20).unsigned_abs() as usize];
                let is_match = crate::keyspace::is_match(pattern, &text);
                reply.integer(i64::from(is_match));
            }
            _ => return Err(unknown(&args)),
        }
        Ok(reply)
    })
}

fn unknown(args: &Args) -> CommandError {
    debug_assert!(find(&args[0]).is_some());
    let name = String::from_utf8_lossy(&args[1]);
    CommandError::other(format!(
        "ERR unknown subcommand or wrong number of arguments for '{name}'. Try DEBUG HELP."
    ))
}

/// Microseconds of a text in seconds; what is no number is no time, as in Redis.
fn parse_sleep(text: &[u8]) -> u64 {
    let seconds: f64 = std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0.0);
    Duration::try_from_secs_f64(seconds)
        .unwrap_or(SLEEP_MAX)
        .min(SLEEP_MAX)
        .as_micros() as u64
}

async fn object(cx: &Cx, key: &[u8], reply: &mut ReplyBuf) -> Result<(), CommandError> {
    let found = cx
        .store
        .get(cx.db(), key)
        .await?
        .ok_or(CommandError::NoSuchKey)?;
    let encoding = encoding_name(found.encoding());
    let length = found.len();
    reply.simple(&format!(
        "Value at:0x0 refcount:1 encoding:{encoding} serializedlength:{length} lru:0 \
         lru_seconds_idle:0"
    ));
    Ok(())
}

/// A value of each type, as Redis's tests expect them.
fn protocol(kind: &[u8], reply: &mut ReplyBuf) -> Result<(), CommandError> {
    match kind.to_ascii_lowercase().as_slice() {
        b"string" => reply.bulk(b"Hello World"),
        b"integer" => reply.integer(12345),
        b"double" => reply.double(PROTOCOL_DOUBLE),
        b"null" => reply.null(),
        b"bignum" => reply.big_number("1234567999999999999999999999999999999"),
        b"verbatim" => reply.verbatim("txt", "This is a verbatim\nstring"),
        b"true" => reply.boolean(true),
        b"false" => reply.boolean(false),
        b"array" => {
            reply.array(3);
            for number in 0..3 {
                reply.integer(number);
            }
        }
        b"set" => {
            reply.set(3);
            for number in 0..3 {
                reply.integer(number);
            }
        }
        b"map" => {
            reply.map(3);
            for number in 0..3 {
                reply.integer(number);
                reply.boolean(number == 1);
            }
        }
        b"attrib" => {
            if reply.protocol() == Protocol::Resp3 {
                reply.attribute(1);
                reply.bulk(b"key-popularity");
                reply.array(2);
                reply.bulk(b"key:123");
                reply.integer(90);
            }
            reply.bulk(b"Some real reply following the attribute");
        }
        b"push" => {
            reply.push(2);
            reply.bulk(b"server-cpu-usage");
            reply.integer(42);
        }
        _ => {
            return Err(CommandError::other(
                "ERR Wrong protocol type name. Please use one of the following: \
                 string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false",
            ));
        }
    }
    Ok(())
}
