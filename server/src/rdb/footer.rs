//! What stands behind a value in a payload: the version of the encoding (2 bytes) and a CRC-64 of
//! all before it (8 bytes), both little-endian.
//!
//! Owns the check of both. The polynomial is the one of Jones, which `crc` lists as Redis's.

use bytes::Bytes;
use crc::{CRC_64_REDIS, Crc, Table};

use super::{BYTES_PER_TURN, VERSION, VERSION_MAX};

const SUM: Crc<u64, Table<16>> = Crc::<u64, Table<16>>::new(&CRC_64_REDIS);
static SUMS: Crc<u64, Table<16>> = SUM;

const VERSION_BYTES: usize = 2;
const SUM_BYTES: usize = 8;
const FOOTER_BYTES: usize = VERSION_BYTES + SUM_BYTES;

/// What a payload holds before its footer; nothing where the footer is wrong.
pub async fn open(payload: &Bytes) -> Option<Bytes> {
    let body_bytes = payload.len().checked_sub(FOOTER_BYTES)?;
    let (summed, sum) = payload.split_last_chunk::<SUM_BYTES>()?;
    let (_, version) = summed.split_last_chunk::<VERSION_BYTES>()?;
    let is_known = u16::from_le_bytes(*version) <= VERSION_MAX;
    let is_whole = is_known && sum_of(summed).await == u64::from_le_bytes(*sum);
    is_whole.then(|| payload.slice(..body_bytes))
}

/// Puts the footer behind a value.
pub async fn seal(mut body: Vec<u8>) -> Bytes {
    body.extend_from_slice(&VERSION.to_le_bytes());
    let sum = sum_of(&body).await;
    body.extend_from_slice(&sum.to_le_bytes());
    body.into()
}

async fn sum_of(bytes: &[u8]) -> u64 {
    let mut digest = SUMS.digest();
    for (index, part) in bytes.chunks(BYTES_PER_TURN).enumerate() {
        if index > 0 {
            tokio::task::yield_now().await;
        }
        digest.update(part);
    }
    digest.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_sum_is_redis_own() {
        assert_eq!(sum_of(b"123456789").await, 0xe9c6_d914_c4b8_d9ca);
        let parts = vec![7; 3 * BYTES_PER_TURN + 1];
        assert_eq!(sum_of(&parts).await, SUMS.checksum(&parts));
    }

    #[tokio::test]
    async fn a_footer_is_right_or_not_taken() {
        let payload = seal(b"value".to_vec()).await;
        assert_eq!(open(&payload).await.unwrap(), &b"value"[..]);
        for at in 0..payload.len() {
            let mut damaged = payload.to_vec();
            damaged[at] ^= 1;
            assert!(open(&damaged.into()).await.is_none());
            assert!(open(&payload.slice(..at)).await.is_none());
        }
        let mut newer = b"value\x0d\0".to_vec();
        let sum = sum_of(&newer).await;
        newer.extend_from_slice(&sum.to_le_bytes());
        assert!(open(&newer.into()).await.is_none());
    }
}
