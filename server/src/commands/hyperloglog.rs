//! PFADD, PFCOUNT, PFMERGE, PFDEBUG, PFSELFTEST: counting different elements.
//!
//! Owns when a sketch is written. Its form is `hyperloglog`'s.

use bytes::Bytes;
use cellar_storage::{Encoding, KeyLocks, Snapshot, WriteBatch};

use super::string_value::expect_string;
use crate::command::{CommandError, Cx, Pending};
use crate::config::Threshold;
use crate::events::EventClass;
use crate::hyperloglog::{Form, RANK_MAX, REGISTER_COUNT, Sketch, SketchError, cardinality};
use crate::resp::Args;

impl From<SketchError> for CommandError {
    fn from(error: SketchError) -> Self {
        Self::other(error.to_string())
    }
}

/// Longest value that can be a sketch, in bytes: longer ones are read no further.
const SKETCH_BYTES_MAX: u64 = 32 << 10;

/// A key's sketch, and what else its record says.
struct Stored {
    value: Bytes,
    expiry_ms: Option<u64>,
}

async fn read(found: Option<Snapshot>) -> Result<Option<Stored>, CommandError> {
    let Some(found) = expect_string(found)? else {
        return Ok(None);
    };
    if found.len() > SKETCH_BYTES_MAX {
        return Err(SketchError::Foreign.into());
    }
    Ok(Some(Stored {
        value: found.read(0..SKETCH_BYTES_MAX).await?,
        expiry_ms: found.expiry_ms(),
    }))
}

async fn read_locked(
    cx: &Cx,
    locks: &KeyLocks,
    key: &[u8],
) -> Result<Option<Stored>, CommandError> {
    read(cx.store.get_locked(locks, cx.db(), key).await?).await
}

async fn write(
    cx: &Cx,
    locks: &KeyLocks,
    (key, sketch): (&Bytes, &Sketch),
    expiry_ms: Option<u64>,
) -> Result<(), CommandError> {
    let bytes_max = cx.shared.config.fast.threshold(Threshold::HllSparseBytes);
    let value = sketch.encode(usize::try_from(bytes_max).unwrap_or(0));
    let mut batch = WriteBatch::new();
    batch.set(cx.db(), key.clone(), value, Encoding::Raw, expiry_ms);
    cx.store.commit_locked(locks, batch).await?;
    Ok(())
}

/// `PFADD key [element ...]`
pub fn pfadd(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let key = &args[1];
        let locks = cx.store.lock(&[(cx.db(), key)]).await;
        let stored = read_locked(&cx, &locks, key).await?;
        let is_new = stored.is_none();
        let (mut sketch, expiry_ms) = match stored {
            Some(stored) => (Sketch::decode(&stored.value)?, stored.expiry_ms),
            None => (Sketch::new(), None),
        };
        let mut is_changed = is_new;
        for element in &args[2..] {
            is_changed |= sketch.add(element);
        }
        if is_changed {
            write(&cx, &locks, (key, &sketch), expiry_ms).await?;
            cx.notify_write(EventClass::String, "pfadd", key, is_new);
        }
        let mut reply = cx.reply();
        reply.integer(i64::from(is_changed));
        Ok(reply)
    })
}

/// `PFCOUNT key [key ...]`
pub fn pfcount(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let count = if let [key] = &args[1..] {
            count_one(&cx, key).await?
        } else {
            let mut all = Sketch::new();
            for key in &args[1..] {
                if let Some(stored) = read(cx.store.get(cx.db(), key).await?).await? {
                    all.merge(&Sketch::decode(&stored.value)?);
                }
            }
            all.count()
        };
        let mut reply = cx.reply();
        reply.integer(count.cast_signed());
        Ok(reply)
    })
}

/// The cardinality of one key, which is kept in it for the next time.
async fn count_one(cx: &Cx, key: &Bytes) -> Result<u64, CommandError> {
    let found = read(cx.store.get(cx.db(), key).await?).await?;
    let Some(stored) = found else {
        return Ok(0);
    };
    if let Some(count) = cardinality(&stored.value) {
        return Ok(count);
    }
    let locks = cx.store.lock(&[(cx.db(), key)]).await;
    let Some(stored) = read_locked(cx, &locks, key).await? else {
        return Ok(0);
    };
    let mut sketch = Sketch::decode(&stored.value)?;
    let count = sketch.count();
    // Where it cannot be kept, as on a full device, it is answered all the same.
    let _ = write(cx, &locks, (key, &sketch), stored.expiry_ms).await;
    Ok(count)
}

/// `PFMERGE destkey [sourcekey ...]`
pub fn pfmerge(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let keys: Vec<_> = args[1..].iter().map(|key| (cx.db(), &key[..])).collect();
        let locks = cx.store.lock(&keys).await;
        let mut merged = Sketch::new();
        let (mut is_new, mut expiry_ms) = (true, None);
        for (place, key) in args[1..].iter().enumerate() {
            let Some(stored) = read_locked(&cx, &locks, key).await? else {
                continue;
            };
            if place == 0 {
                (is_new, expiry_ms) = (false, stored.expiry_ms);
            }
            let sketch = Sketch::decode(&stored.value)?;
            if sketch.form() == Form::Dense {
                merged.make_dense();
            }
            merged.merge(&sketch);
        }
        write(&cx, &locks, (&args[1], &merged), expiry_ms).await?;
        cx.notify_write(EventClass::String, "pfadd", &args[1], is_new);
        let mut reply = cx.reply();
        reply.ok();
        Ok(reply)
    })
}

/// `PFDEBUG GETREG | DECODE | ENCODING | TODENSE key`
pub fn pfdebug(cx: Cx, args: Args) -> Pending {
    Box::pin(async move {
        let key = &args[2];
        let locks = cx.store.lock(&[(cx.db(), key)]).await;
        let stored = read_locked(&cx, &locks, key).await?;
        let stored =
            stored.ok_or_else(|| CommandError::other("ERR The specified key does not exist"))?;
        let mut sketch = Sketch::decode(&stored.value)?;
        let mut reply = cx.reply();
        match args[1].to_ascii_lowercase().as_slice() {
            b"getreg" => {
                reply.array(REGISTER_COUNT);
                for register in sketch.registers() {
                    reply.integer(i64::from(*register));
                }
            }
            b"encoding" => reply.simple(match sketch.form() {
                Form::Dense => "dense",
                Form::Sparse => "sparse",
            }),
            b"decode" if sketch.form() == Form::Dense => {
                return Err(CommandError::other("ERR HLL encoding is not sparse"));
            }
            b"decode" => reply.bulk(runs(&sketch).as_bytes()),
            b"todense" => {
                let is_sparse = sketch.form() == Form::Sparse;
                sketch.make_dense();
                if is_sparse {
                    write(&cx, &locks, (key, &sketch), stored.expiry_ms).await?;
                }
                reply.integer(i64::from(is_sparse));
            }
            _ => {
                let name = String::from_utf8_lossy(&args[1]).into_owned();
                return Err(CommandError::other(format!(
                    "ERR Unknown PFDEBUG subcommand '{name}'"
                )));
            }
        }
        Ok(reply)
    })
}

/// The runs of registers in Redis's notation: `Z:` few zeros, `X:` many, `v:` value and length.
fn runs(sketch: &Sketch) -> String {
    const FEW: usize = 64;
    let runs = sketch.registers().chunk_by(|a, b| a == b);
    let words = runs.map(|run| match (run[0], run.len()) {
        (0, length) if length <= FEW => format!("z:{length}"),
        (0, length) => format!("Z:{length}"),
        (value, length) => format!("v:{value},{length}"),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// `PFSELFTEST`: whether counts come close to what was counted, on this machine.
pub fn pfselftest(cx: Cx, _: Args) -> Pending {
    /// Elements that are counted, and how many of them at a time.
    const COUNT: u64 = 100_000;
    const COUNT_PER_TURN: u64 = 1000;
    /// Four times the standard error.
    const ERROR_MAX: f64 = 0.0325;
    Box::pin(async move {
        let mut sketch = Sketch::new();
        for number in 1..=COUNT {
            sketch.add(&number.to_le_bytes());
            if number % COUNT_PER_TURN == 0 {
                tokio::task::yield_now().await;
                check_count(sketch.clone(), number, ERROR_MAX)?;
            }
        }
        let mut reply = cx.reply();
        reply.ok();
        Ok(reply)
    })
}

#[expect(
    clippy::cast_precision_loss,
    reason = "it counts to a hundred thousand"
)]
fn check_count(mut sketch: Sketch, added: u64, error_max: f64) -> Result<(), CommandError> {
    let is_sane = sketch.registers().iter().all(|rank| *rank <= RANK_MAX);
    let found = sketch.count();
    if is_sane && (found.abs_diff(added) as f64) <= (added as f64 * error_max).max(2.0) {
        return Ok(());
    }
    Err(CommandError::other(format!(
        "ERR TESTFAILED {found} counted of {added} elements"
    )))
}
