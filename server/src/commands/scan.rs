//! SCAN and KEYS: the keys of a database, by pattern and type.
//!
//! Owns filtering. Goes over the keyspace in bounded steps and lets others run between them.

use bytes::Bytes;
use cellar_storage::ValueType;

use super::keys::TYPE_NAMES;
use super::string_value::integer;
use crate::command::{CommandError, Cx, Pending};
use crate::keyspace::is_match;
use crate::number::parse_cursor;
use crate::resp::{Args, ReplyBuf};

/// Keys that one step may fetch: about one in-flight limit of device reads, and well below a
/// millisecond of matching.
const STEP_KEYS_MAX: usize = 256;

/// Keys of a SCAN that does not say how many.
const COUNT_DEFAULT: usize = 10;

/// Which elements of one value are answered.
pub(super) struct ElementFilter(Filter);

impl ElementFilter {
    /// Whether an element is.
    pub(super) fn matches(&self, element: &[u8]) -> bool {
        self.0.matches(element)
    }
}

/// The options of a scan of one value's elements: which ones, and about how many.
pub(super) fn parse_element_options(
    options: &[Bytes],
) -> Result<(ElementFilter, usize), CommandError> {
    let (filter, count) = parse_options(options)?;
    if filter.type_name.is_some() {
        return Err(CommandError::Syntax);
    }
    Ok((ElementFilter(filter), count))
}

/// Which keys are answered.
struct Filter {
    pattern: Option<Bytes>,
    type_name: Option<Bytes>,
}

impl Filter {
    /// A lone `*` is no pattern: it matches the empty key as well.
    fn set_pattern(&mut self, pattern: &Bytes) {
        self.pattern = (pattern != &b"*"[..]).then(|| pattern.clone());
    }

    fn matches(&self, key: &[u8]) -> bool {
        self.pattern
            .as_ref()
            .is_none_or(|pattern| is_match(pattern, key))
    }

    /// The type asked for. `Err`: no key has it, because there is no such type.
    fn value_type(&self) -> Result<Option<ValueType>, UnknownType> {
        let Some(wanted) = &self.type_name else {
            return Ok(None);
        };
        let known = TYPE_NAMES
            .iter()
            .find(|(_, name)| wanted.eq_ignore_ascii_case(name.as_bytes()));
        known
            .map(|(value_type, _)| Some(*value_type))
            .ok_or(UnknownType)
    }
}

struct UnknownType;

/// `SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]`
pub fn scan(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let cursor = parse_cursor(&args[1]).ok_or(CommandError::other("ERR invalid cursor"))?;
        let (filter, count) = parse_options(&args[2..])?;
        let (cursor, keys) = walk(&cx, cursor, count, &filter).await?;
        let mut reply = cx.reply();
        reply.array(2);
        reply.bulk(itoa::Buffer::new().format(cursor).as_bytes());
        answer_keys(keys, &mut reply);
        Ok(reply)
    })
}

fn parse_options(options: &[Bytes]) -> Result<(Filter, usize), CommandError> {
    let (mut filter, mut count) = (
        Filter {
            pattern: None,
            type_name: None,
        },
        COUNT_DEFAULT,
    );
    let (pairs, rest) = options.as_chunks::<2>();
    for [option, value] in pairs {
        match option.to_ascii_lowercase().as_slice() {
            b"match" => filter.set_pattern(value),
            b"type" => filter.type_name = Some(value.clone()),
            b"count" => {
                count = match usize::try_from(integer(value)?) {
                    Ok(count) if count > 0 => count,
                    Ok(_) | Err(_) => return Err(CommandError::Syntax),
                }
            }
            _ => return Err(CommandError::Syntax),
        }
    }
    if rest.is_empty() {
        Ok((filter, count))
    } else {
        Err(CommandError::Syntax)
    }
}

/// Visits about `count` keys from `cursor` on.
async fn walk(
    cx: &Cx,
    mut cursor: u64,
    count: usize,
    filter: &Filter,
) -> Result<(u64, Vec<Bytes>), CommandError> {
    let mut keys = Vec::new();
    let value_type = filter.value_type();
    let mut left = count;
    loop {
        let step = left.min(STEP_KEYS_MAX);
        let only = value_type.as_ref().unwrap_or(&None);
        let (next, found) = cx.store.scan(cx.db(), cursor, step, *only).await?;
        if value_type.is_ok() {
            keys.extend(found.into_iter().filter(|key| filter.matches(key)));
        }
        cursor = next;
        left -= step;
        if cursor == 0 || left == 0 {
            return Ok((cursor, keys));
        }
        tokio::task::yield_now().await;
    }
}

/// `KEYS pattern`
pub fn keys(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let mut filter = Filter {
            pattern: None,
            type_name: None,
        };
        filter.set_pattern(&args[1]);
        let (_, keys) = walk(&cx, 0, usize::MAX, &filter).await?;
        let mut reply = cx.reply();
        answer_keys(keys, &mut reply);
        Ok(reply)
    })
}

fn answer_keys(keys: Vec<Bytes>, reply: &mut ReplyBuf) {
    reply.array(keys.len());
    for key in keys {
        reply.bulk_bytes(key);
    }
}
