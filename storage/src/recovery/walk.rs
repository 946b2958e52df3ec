//! A walk through the records of one segment. Owns the reading in bounded steps and the verdict on
//! what lies at a place; must never take for a record what does not verify for that very place.

use crate::device::{BLOCK_BYTES_MAX, DeviceError, IoBuffer};
use crate::format::{GenerationSeed, RECORD_BYTES_MAX, Record, RecordHead};
use crate::recovery::media::{Media, STEP_BYTES};
use crate::recovery::survey::{BODY_START, Life};
use crate::units::{Lsn, SegmentNumber};

/// What lies at a place.
pub(super) enum Sight<'w> {
    /// A record.
    Record(Record<'w>),
    /// A record whose header verifies and whose payload does not.
    Damaged(Record<'w>),
    /// No record.
    Nothing,
}

/// A position in a segment.
pub(super) struct Walk<'a> {
    media: &'a Media<'a>,
    segment: SegmentNumber,
    seed: GenerationSeed,
    /// Of a hot segment, where a record's place tells its LSN.
    opening: Option<Lsn>,
    offset: u32,
    end: u32,
    step: Option<IoBuffer>,
    step_start: u32,
}

impl<'a> Walk<'a> {
    /// A walk from `offset` to `end` in a segment.
    pub(super) fn new(media: &'a Media<'a>, life: &Life, offset: u32, end: u32) -> Self {
        Self {
            media,
            segment: life.segment(),
            seed: life.seed(),
            opening: life.is_hot().then(|| life.opening()),
            offset,
            end,
            step: None,
            step_start: 0,
        }
    }

    pub(super) fn offset(&self) -> u32 {
        self.offset
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.offset >= self.end
    }

    /// Goes on. `bytes` is the length of the record here, or the distance to the next place.
    pub(super) fn advance(&mut self, bytes: u32) {
        self.offset = self.offset.saturating_add(bytes).min(self.end);
    }

    /// What lies here; the walk is not at its end.
    pub(super) async fn look(&mut self) -> Result<Sight<'_>, DeviceError> {
        if !self.is_loaded() {
            self.load().await?;
        }
        Ok(self.judge())
    }

    /// Whether the longest record possible here is in memory.
    fn is_loaded(&self) -> bool {
        let Some(step) = &self.step else { return false };
        let step_end = self.step_start + step.len() as u32;
        let wanted = (self.offset + RECORD_BYTES_MAX).min(self.end);
        (self.step_start..step_end).contains(&self.offset) && wanted <= step_end
    }

    async fn load(&mut self) -> Result<(), DeviceError> {
        self.step_start = self.offset - self.offset % BLOCK_BYTES_MAX;
        let end = self.end.next_multiple_of(BLOCK_BYTES_MAX);
        let bytes = STEP_BYTES.min(end - self.step_start);
        // The old step's memory goes back before the new one's is taken.
        self.step = None;
        self.step = Some(
            self.media
                .read(self.segment, self.step_start, bytes)
                .await?,
        );
        Ok(())
    }

    fn judge(&self) -> Sight<'_> {
        let step = self.step.as_ref().expect("it was loaded just now");
        let from = (self.offset - self.step_start) as usize;
        let to = step.len().min((self.end - self.step_start) as usize);
        let (bytes, seed) = (&step[from..to], self.seed.at(self.offset));
        let Ok(head) = RecordHead::decode(bytes, seed) else {
            return Sight::Nothing;
        };
        if !self.fits(&head) {
            return Sight::Nothing;
        }
        match Record::decode(bytes, seed) {
            Ok(record) => Sight::Record(record),
            Err(_) => Sight::Damaged(Record {
                head,
                key: &bytes[head.key_range()],
                value: &bytes[head.value_range()],
            }),
        }
    }

    /// Whether a record with this header may lie here.
    fn fits(&self, head: &RecordHead) -> bool {
        let place = self
            .opening
            .map(|opening| opening.plus(u64::from(self.offset - BODY_START)));
        place.is_none_or(|lsn| head.lsn == lsn)
            && u64::from(self.offset) + head.bytes() <= u64::from(self.end)
    }
}

/// The length of a record that fits its segment, in bytes.
pub(super) fn length(record: &Record<'_>) -> u32 {
    u32::try_from(record.head.bytes()).expect("a record fits its segment")
}

const _: () = assert!(STEP_BYTES >= RECORD_BYTES_MAX + BLOCK_BYTES_MAX);
