//! What of the log is on its way to the device.
//!
//! Owns, under one short mutex, the chain of segments that are not wholly written, the position up
//! to which writes were submitted, and the completions that are still missing. A write covers whole
//! blocks, begins where the last one ended, and the last one of a sealed segment carries its
//! summary.

use std::collections::VecDeque;

use crate::format::{Footer, Stream};
use crate::log::{BODY_START, Log, Reserved};
use crate::sync::{Ordering, yield_now};
use crate::units::{Lsn, SegmentNumber};

/// Full units go out at once, without waiting for a timer. Under loom one is a block.
pub(crate) const FLUSH_UNIT_BYTES: u32 = if cfg!(loom) { 512 } else { 256 * 1024 };
/// The largest single write: several of them overlap on the device.
const WRITE_BYTES_MAX: u32 = 1024 * 1024;
/// Segments opened beforehand: one, so that write buffers are not held by segments in waiting.
const PREPARED_MAX: usize = 1;

/// A segment in the chain, oldest first.
#[derive(Debug)]
struct Link {
    image: usize,
    segment: SegmentNumber,
    opening: Lsn,
    /// Once sealed: the LSN at which the next segment opens, and the records in the summary.
    sealed: Option<(Lsn, u32)>,
}

/// A write that was submitted.
#[derive(Debug)]
struct Flight {
    id: u64,
    end: Lsn,
    /// The image whose last write this is.
    completes: Option<usize>,
    done: bool,
}

/// One write to submit: a range of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WriteJob {
    pub(crate) id: u64,
    pub(crate) image: usize,
    pub(crate) segment: SegmentNumber,
    pub(crate) offset: u32,
    pub(crate) bytes: u32,
    /// The records in the summary, when the segment's footer has to be built before this write.
    pub(crate) seals: Option<u32>,
}

/// The state of the log's way to the device.
#[derive(Debug)]
pub(crate) struct Flush {
    chain: VecDeque<Link>,
    /// Everything below is submitted.
    submitted: Lsn,
    /// Everything below is written (though not necessarily durable).
    written: Lsn,
    flights: VecDeque<Flight>,
    next_id: u64,
    sealed_end: Lsn,
    prepared: VecDeque<(usize, SegmentNumber)>,
    idle_images: Vec<usize>,
    retiring_images: Vec<usize>,
}

impl Flush {
    pub(crate) fn new(start: Lsn, image_count: usize) -> Self {
        Self {
            chain: VecDeque::new(),
            submitted: start,
            written: start,
            flights: VecDeque::new(),
            next_id: 0,
            sealed_end: start,
            prepared: VecDeque::new(),
            idle_images: (0..image_count).rev().collect(),
            retiring_images: Vec::new(),
        }
    }

    pub(crate) fn submitted(&self) -> Lsn {
        self.submitted
    }

    pub(crate) fn written(&self) -> Lsn {
        self.written
    }

    /// Where the next segment opens.
    pub(crate) fn sealed_end(&self) -> Lsn {
        self.sealed_end
    }

    /// The image of the open segment and its opening LSN.
    pub(crate) fn open_image(&self) -> Option<(usize, Lsn)> {
        let last = self.chain.back()?;
        last.sealed.is_none().then_some((last.image, last.opening))
    }

    pub(crate) fn open(&mut self, image: usize, segment: SegmentNumber, opening: Lsn) {
        assert_eq!(
            opening, self.sealed_end,
            "a segment opens where its predecessor ended"
        );
        self.chain.push_back(Link {
            image,
            segment,
            opening,
            sealed: None,
        });
    }

    /// The open segment ends at `end` with `count` records in its summary.
    pub(crate) fn seal(&mut self, end: Lsn, count: u32) {
        let last = self.chain.back_mut().expect("a segment is open");
        assert!(last.sealed.is_none(), "a segment is sealed once");
        last.sealed = Some((end, count));
        self.sealed_end = end;
    }

    pub(crate) fn wants_prepared(&self) -> bool {
        self.prepared.len() < PREPARED_MAX && !self.idle_images.is_empty()
    }

    pub(crate) fn put_prepared(&mut self, segment: SegmentNumber) {
        let image = self.idle_images.pop().expect("an idle image was asked for");
        self.prepared.push_back((image, segment));
    }

    pub(crate) fn take_prepared(&mut self) -> Option<(usize, SegmentNumber)> {
        self.prepared.pop_front()
    }

    /// No further segment will be opened.
    pub(crate) fn drop_prepared(&mut self) {
        self.prepared.clear();
    }

    /// Offers wholly written images; those that `is_free` grants become idle.
    pub(crate) fn retire(&mut self, is_free: impl Fn(usize) -> bool) {
        let idle = &mut self.idle_images;
        self.retiring_images.retain(|image| {
            let free = is_free(*image);
            if free {
                idle.push(*image);
            }
            !free
        });
    }

    /// Cuts what lies between the last submitted write and `limit` into writes. All records below
    /// `limit` are published; `limit` is a segment's end or lies on a block.
    pub(crate) fn take_jobs(&mut self, limit: Lsn, segment_bytes: u32) -> Vec<WriteJob> {
        let mut jobs = Vec::new();
        while self.submitted < limit {
            let Some(link) = self.chain.front() else {
                break;
            };
            let (image, segment, opening, sealed) =
                (link.image, link.segment, link.opening, link.sealed);
            let from = if self.submitted == opening {
                0
            } else {
                self.offset(opening)
            };
            let (to, end, seals) = match sealed {
                Some((end, count)) if end <= limit => (segment_bytes, end, Some(count)),
                Some(_) | None => {
                    let bytes = u32::try_from(limit.bytes_since(opening).expect("above"))
                        .expect("within a segment");
                    (BODY_START + bytes, limit, None)
                }
            };
            self.cut(
                &mut jobs,
                WriteJob {
                    id: 0,
                    image,
                    segment,
                    offset: from,
                    bytes: to - from,
                    seals,
                },
                end,
            );
            self.submitted = end;
            if seals.is_some() {
                self.chain.pop_front();
            }
        }
        jobs
    }

    fn offset(&self, opening: Lsn) -> u32 {
        let bytes = u32::try_from(self.submitted.bytes_since(opening).expect("above"))
            .expect("within a segment");
        BODY_START + bytes
    }

    /// Splits a range into writes of bounded size. They count as one position: their end LSN is
    /// that of the whole range, reached when all of them are done.
    fn cut(&mut self, jobs: &mut Vec<WriteJob>, whole: WriteJob, end: Lsn) {
        let mut offset = whole.offset;
        let stop = whole.offset + whole.bytes;
        while offset < stop {
            let bytes = WRITE_BYTES_MAX.min(stop - offset);
            let last = offset + bytes == stop;
            let id = self.next_id;
            self.next_id += 1;
            let completes = (last && whole.seals.is_some()).then_some(whole.image);
            let reached = if last { end } else { self.submitted };
            self.flights.push_back(Flight {
                id,
                end: reached,
                completes,
                done: false,
            });
            let seals = if offset == whole.offset {
                whole.seals
            } else {
                None
            };
            jobs.push(WriteJob {
                id,
                offset,
                bytes,
                seals,
                ..whole
            });
            offset += bytes;
        }
    }

    /// A write is done: moves the written position over the writes that are complete in order, and
    /// gives the images whose segments are wholly written.
    pub(crate) fn complete(&mut self, id: u64) -> Vec<usize> {
        let flight = self.flights.iter_mut().find(|flight| flight.id == id);
        flight.expect("a write completes once").done = true;
        let mut completed = Vec::new();
        while self.flights.front().is_some_and(|flight| flight.done) {
            let flight = self.flights.pop_front().expect("just seen");
            self.written = self.written.max(flight.end);
            completed.extend(flight.completes);
        }
        self.retiring_images.extend(&completed);
        completed
    }
}

/// Everything up to an LSN, taken for a round.
#[derive(Debug)]
pub(crate) struct RoundWrites {
    pub(crate) jobs: Vec<WriteJob>,
    /// Where the writes begin: what lies below was submitted before.
    pub(crate) from: Lsn,
    pub(crate) target: Lsn,
}

impl Log {
    /// The writes for full flush units that are published; none if another thread is still copying.
    pub(crate) fn take_full_units(&self) -> Vec<WriteJob> {
        let mut flush = self.flush.lock();
        let limit = match flush.open_image() {
            Some((image, opening)) => self.images[image].end().map_or(opening, |place| {
                let whole = place.offset / FLUSH_UNIT_BYTES * FLUSH_UNIT_BYTES;
                let bytes = whole.saturating_sub(BODY_START);
                opening.plus(u64::from(bytes))
            }),
            None => flush.sealed_end(),
        };
        if limit <= flush.submitted() || !self.published.all_below(limit) {
            return Vec::new();
        }
        let jobs = flush.take_jobs(limit, self.shape.segment_bytes);
        self.full_at
            .store(limit.get() + u64::from(FLUSH_UNIT_BYTES), Ordering::Relaxed);
        jobs
    }

    /// Whether [`Log::take_full_units`] may find something: a cheap question for every write.
    pub(crate) fn may_have_full_units(&self) -> bool {
        self.bound().get() >= self.full_at.load(Ordering::Relaxed)
    }

    /// Pads the log to a block and gives the writes up to there.
    ///
    /// The target is where the pad ends, a record's boundary, whatever others have submitted
    /// beyond.
    pub(crate) fn take_all(&self, worker: usize) -> RoundWrites {
        let target = self.pad_tail(worker);
        self.published.wait_below(target);
        let mut flush = self.flush.lock();
        let from = flush.submitted();
        RoundWrites {
            jobs: flush.take_jobs(target, self.shape.segment_bytes),
            from,
            target,
        }
    }

    /// Ends the log on a block: the LSN there. Waits for a thread that is sealing the segment.
    fn pad_tail(&self, worker: usize) -> Lsn {
        loop {
            let flush = self.flush.lock();
            let Some((number, opening)) = flush.open_image() else {
                return flush.sealed_end();
            };
            drop(flush);
            // A pad is a record: nobody may write it out before it is complete.
            self.published.begin(worker, self.bound());
            let end = self.pad_image(number, opening);
            self.published.end(worker);
            if let Some(end) = end {
                return end;
            }
            yield_now();
        }
    }

    /// Ends an open segment on a block, or seals it when there is no room for a pad. `None`: it is
    /// not what it was, look again.
    fn pad_image(&self, number: usize, opening: Lsn) -> Option<Lsn> {
        let image = &self.images[number];
        let block = self.shape.block_bytes;
        match image.reserve_pad(block) {
            Some(Reserved::At(pad)) => {
                let to = pad.offset.next_multiple_of(block);
                let lsn = image.lsn_at(pad.offset);
                image.write_pad(pad.offset, to, lsn, self.durable_lsn());
                Some(image.lsn_at(to))
            }
            Some(Reserved::Full { seal }) => {
                self.roll_over(number, seal.expect("a pad that does not fit seals"));
                None
            }
            None => {
                let end = image
                    .end()
                    .filter(|place| place.offset.is_multiple_of(block))?;
                (image.opening_lsn() == opening).then(|| image.lsn_at(end.offset))
            }
        }
    }

    /// Builds the footer of a sealed segment in its image. All its records are published.
    pub(crate) fn write_footer(&self, job: &WriteJob, count: u32) {
        let image = &self.images[job.image];
        let life = self.segments.get(job.segment);
        image.write_footer(Footer {
            store: self.shape.store,
            generation: life.generation(job.segment),
            stream: Stream::Hot,
            end_lsn: life.sealed_lsn(),
            durable_lsn: self.durable_lsn(),
            entry_count: count,
            entries_crc: 0,
            body_end: image.body_end(count),
            map_offset: image.map_offset(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: u32 = 1 << 20;

    #[test]
    fn the_first_write_carries_the_header_and_the_last_the_summary() {
        let mut flush = Flush::new(Lsn::new(0), 2);
        flush.open(0, SegmentNumber::new(5), Lsn::new(0));
        let jobs = flush.take_jobs(Lsn::new(8192), SEGMENT);
        assert_eq!(jobs.len(), 1);
        assert_eq!(
            (jobs[0].offset, jobs[0].bytes, jobs[0].seals),
            (0, 4096 + 8192, None)
        );
        flush.seal(Lsn::new(16_384), 3);
        let jobs = flush.take_jobs(Lsn::new(16_384), SEGMENT);
        assert_eq!((jobs[0].offset, jobs[0].seals), (4096 + 8192, Some(3)));
        assert_eq!(jobs[0].offset + jobs[0].bytes, SEGMENT);
    }

    #[test]
    fn what_is_written_is_a_prefix() {
        let mut flush = Flush::new(Lsn::new(0), 2);
        flush.open(0, SegmentNumber::new(0), Lsn::new(0));
        let first = flush.take_jobs(Lsn::new(4096), SEGMENT);
        let second = flush.take_jobs(Lsn::new(8192), SEGMENT);
        flush.complete(second[0].id);
        assert_eq!(flush.written(), Lsn::new(0));
        flush.complete(first[0].id);
        assert_eq!(flush.written(), Lsn::new(8192));
    }
}
