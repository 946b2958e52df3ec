//! When a list is a listpack to Redis, and when a quicklist: `list-max-listpack-size` is looked at
//! before elements are added and after elements went.
//!
//! Owns that decision. Reads no more of a list than a listpack can hold.

use bytes::Bytes;
use cellar_storage::StoreError;

use super::listpack::{EMPTY_BYTES, ENTRY_BYTES_MIN, entry_bytes};
use super::{Form, List};

/// Elements that are measured first when the size of a list is asked for.
const MEASURED_COUNT_MIN: u64 = 32;

impl List {
    /// Redis looks at what is about to be added: a listpack that could become too large is a
    /// quicklist from then on.
    pub(super) async fn note_growth(&mut self, items: &[Bytes]) -> Result<(), StoreError> {
        if self.is_quicklist {
            return Ok(());
        }
        let added: u64 = items.iter().map(|item| item.len() as u64).sum();
        let count = self.len() + items.len() as u64;
        if let Form::Compact(list) = &self.form
            && self.limit.admits(list.listpack_bytes_max() + added, count)
        {
            return Ok(());
        }
        let bytes = self.listpack_bytes().await?;
        self.is_quicklist = !self.limit.admits(bytes + added, count);
        Ok(())
    }

    /// A quicklist that has become short enough is a listpack again.
    pub(super) async fn note_shrinkage(&mut self) -> Result<(), StoreError> {
        let count = self.len();
        let bytes_min = EMPTY_BYTES + count * ENTRY_BYTES_MIN;
        if self.is_quicklist && self.limit.takes_back(bytes_min, count) {
            let bytes = self.listpack_bytes().await?;
            self.is_quicklist = !self.limit.takes_back(bytes, count);
        }
        Ok(())
    }

    /// Bytes as a listpack; where these are more than any listpack has, some number above that. Of
    /// a long list only the beginning is read.
    pub(super) async fn listpack_bytes(&mut self) -> Result<u64, StoreError> {
        let (count, bytes_max) = (self.len(), self.limit.bytes_max());
        let mut bytes = EMPTY_BYTES;
        let (mut start, mut step) = (0, MEASURED_COUNT_MIN);
        while start < count && bytes <= bytes_max {
            let items = self.items(start, step).await?;
            bytes += items.iter().map(|item| entry_bytes(item)).sum::<u64>();
            start += step;
            step *= 4;
        }
        Ok(bytes)
    }
}
