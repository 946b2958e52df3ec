//! Unpacks LZF (Marc Lehmann's liblzf), in which Redis packs longer strings: runs of plain bytes,
//! and copies of what came before.
//!
//! Owns that nothing is read before the beginning or beyond the announced end. Nothing is packed
//! here: a crate would be needed for that alone, and the log is written with less work.

use super::{BYTES_PER_TURN, BadFormat};

/// Runs of plain bytes have lower control bytes.
const PLAIN_MAX: usize = 32;

/// Three bytes copy at most this many.
const COPIED_MAX: u64 = 264;
const COPY_BYTES: u64 = 3;

/// The `len` bytes that were packed.
pub(super) async fn unpack(mut packed: &[u8], len: u64) -> Result<Vec<u8>, BadFormat> {
    if len > (packed.len() as u64 / COPY_BYTES + 1) * COPIED_MAX {
        return Err(BadFormat);
    }
    let len = usize::try_from(len).map_err(|_| BadFormat)?;
    let mut plain: Vec<u8> = Vec::with_capacity(len);
    let mut turn_end = BYTES_PER_TURN;
    while let Some(first) = take(&mut packed, 1).map(|bytes| usize::from(bytes[0])) {
        if first < PLAIN_MAX {
            plain.extend_from_slice(take(&mut packed, first + 1).ok_or(BadFormat)?);
        } else {
            let (back, count) = copy(first, &mut packed).ok_or(BadFormat)?;
            let start = plain.len().checked_sub(back).ok_or(BadFormat)?;
            for at in start..start + count {
                plain.push(plain[at]);
            }
        }
        if plain.len() > len {
            return Err(BadFormat);
        }
        if plain.len() > turn_end {
            turn_end += BYTES_PER_TURN;
            tokio::task::yield_now().await;
        }
    }
    if plain.len() == len {
        Ok(plain)
    } else {
        Err(BadFormat)
    }
}

/// How far back a copy begins, and its length.
fn copy(first: usize, packed: &mut &[u8]) -> Option<(usize, usize)> {
    let mut count = first >> 5;
    if count == 7 {
        count += usize::from(take(packed, 1)?[0]);
    }
    let back = (first & 0x1f) << 8 | usize::from(take(packed, 1)?[0]);
    Some((back + 1, count + 2))
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    rest.split_off(..count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn unpacks_runs_and_copies() {
        // "ab", then ten bytes from two back on
        let packed = [1, b'a', b'b', 0xe0, 1, 1];
        assert_eq!(unpack(&packed, 12).await.unwrap(), b"abababababab");
        assert_eq!(unpack(&packed, 11).await, Err(BadFormat));
        assert_eq!(unpack(&packed, 13).await, Err(BadFormat));
        assert_eq!(unpack(&[], 0).await.unwrap(), b"");
    }

    #[tokio::test]
    async fn refuses_what_leads_outside_and_what_cannot_be() {
        assert_eq!(unpack(&[0x20, 0], 3).await, Err(BadFormat));
        assert_eq!(unpack(&[5, b'a'], 6).await, Err(BadFormat));
        assert_eq!(unpack(&[0, b'a', 0xe0], 9).await, Err(BadFormat));
        assert_eq!(unpack(&[0, b'a'], u64::MAX).await, Err(BadFormat));
    }
}
