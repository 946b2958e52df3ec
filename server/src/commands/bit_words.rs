//! The 8-byte words of a string that BITFIELD reads and changes.
//!
//! Owns what is written back: the touched words alone, in as few runs as is sensible.

use std::collections::BTreeMap;

use bytes::Bytes;
use cellar_storage::Snapshot;

use super::bit_integer;
use super::chunks::{CHUNK_BYTES, read_range};
use crate::command::CommandError;

const WORD_BYTES: u64 = 8;
const WORD_BITS: u64 = 64;

struct Word {
    bits: u64,
    is_written: bool,
}

/// Words of one string: as stored, with the changes on top.
pub(super) struct Words<'a> {
    value: Option<&'a Snapshot>,
    loaded: BTreeMap<u64, Word>,
    /// Bytes of the string with the changes.
    len: u64,
    are_changed: bool,
}

impl<'a> Words<'a> {
    /// The words of a string; an absent one is empty.
    pub(super) fn new(value: Option<&'a Snapshot>) -> Self {
        let len = value.map_or(0, Snapshot::len);
        Self {
            value,
            loaded: BTreeMap::new(),
            len,
            are_changed: false,
        }
    }

    /// Whether the string differs from the stored one.
    pub(super) fn are_changed(&self) -> bool {
        self.are_changed
    }

    /// Makes the string at least `len` bytes long and has its last word written.
    pub(super) async fn grow(&mut self, len: u64) -> Result<(), CommandError> {
        let last = (len - 1) / WORD_BYTES;
        self.load(last).await?;
        self.write(last);
        if len > self.len {
            self.len = len;
            self.are_changed = true;
        }
        Ok(())
    }

    /// The `bits` bits from bit `offset` on; beyond the end they are 0.
    pub(super) async fn get(&mut self, offset: u64, bits: u64) -> Result<u64, CommandError> {
        let first = offset / WORD_BITS;
        self.load(first).await?;
        self.load(first + 1).await?;
        Ok(bit_integer::get(
            self.window(first),
            (offset % WORD_BITS) as u32,
            bits,
        ))
    }

    /// Replaces bits that were read with [`Self::get`] just before.
    pub(super) fn put(&mut self, offset: u64, bits: u64, raw: u64) {
        let first = offset / WORD_BITS;
        let old = self.window(first);
        let new = bit_integer::put(old, (offset % WORD_BITS) as u32, bits, raw);
        self.are_changed |= new != old;
        self.write(first).bits = (new >> WORD_BITS) as u64;
        if offset % WORD_BITS + bits > WORD_BITS {
            self.write(first + 1).bits = new as u64;
        }
    }

    /// The written words as runs of bytes with their offsets. What lies between them joins them to
    /// one run, so that all is written at once, unless it is too much to read and write again.
    pub(super) async fn into_runs(self) -> Result<Vec<(u64, Vec<u8>)>, CommandError> {
        let written = self.loaded.iter().filter(|(_, word)| word.is_written);
        let words = written.map(|(index, word)| (index * WORD_BYTES, word.bits.to_be_bytes()));
        let mut runs: Vec<(u64, Vec<u8>)> = Vec::new();
        let span = (self.last_written() + 1) * WORD_BYTES - self.first_written() * WORD_BYTES;
        for (at, bytes) in words {
            match runs.last_mut() {
                Some((start, run)) if span <= CHUNK_BYTES || *start + run.len() as u64 == at => {
                    let end = *start + run.len() as u64;
                    let between = self.stored(end, at).await?;
                    run.extend_from_slice(&between);
                    run.resize((at - *start) as usize, 0);
                    run.extend_from_slice(&bytes);
                }
                _ => runs.push((at, bytes.to_vec())),
            }
        }
        if let Some((start, run)) = runs.last_mut() {
            run.truncate((self.len - *start) as usize);
        }
        Ok(runs)
    }

    fn first_written(&self) -> u64 {
        let mut written = self.loaded.iter().filter(|(_, word)| word.is_written);
        written.next().map_or(0, |(index, _)| *index)
    }

    fn last_written(&self) -> u64 {
        let mut written = self.loaded.iter().rev().filter(|(_, word)| word.is_written);
        written.next().map_or(0, |(index, _)| *index)
    }

    /// Two words side by side, the first one above the other.
    fn window(&self, first: u64) -> u128 {
        u128::from(self.bits(first)) << WORD_BITS | u128::from(self.bits(first + 1))
    }

    fn bits(&self, index: u64) -> u64 {
        self.loaded
            .get(&index)
            .expect("a word is loaded before it is used")
            .bits
    }

    fn write(&mut self, index: u64) -> &mut Word {
        let word = self
            .loaded
            .get_mut(&index)
            .expect("a word is loaded before it is written");
        word.is_written = true;
        word
    }

    async fn load(&mut self, index: u64) -> Result<(), CommandError> {
        if self.loaded.contains_key(&index) {
            return Ok(());
        }
        let stored = self
            .stored(index * WORD_BYTES, (index + 1) * WORD_BYTES)
            .await?;
        let mut bytes = [0; WORD_BYTES as usize];
        bytes[..stored.len()].copy_from_slice(&stored);
        let bits = u64::from_be_bytes(bytes);
        self.loaded.insert(
            index,
            Word {
                bits,
                is_written: false,
            },
        );
        Ok(())
    }

    /// What the stored string has between two offsets.
    async fn stored(&self, start: u64, end: u64) -> Result<Bytes, CommandError> {
        match self.value {
            Some(value) if start < end => read_range(value, start, end).await,
            Some(_) | None => Ok(Bytes::new()),
        }
    }
}
