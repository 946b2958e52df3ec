//! The survey: what each segment is, by its header and footer. Owns the facts that everything after
//! rests on; must never believe a structure that does not verify, or that lies in the wrong place.

use std::collections::VecDeque;

use crate::damage::Part;
use crate::device::{Io, IoBuffer};
use crate::error::OpenError;
use crate::format::{
    ENTRY_BYTES, FOOTER_BYTES, Footer, FormatError, GenerationSeed, SEGMENT_HEADER_BYTES,
    SegmentHeader, SegmentState, Stream, Superblock, is_damaged_footer, is_damaged_header,
};
use crate::recovery::headless::{self, Headless};
use crate::recovery::media::Media;
use crate::segment::Found;
use crate::units::{Lsn, SegmentNumber};

/// Segments whose header and footer are being read: 32 reads in flight.
const SEGMENTS_IN_FLIGHT: usize = 16;
/// Where records begin in a segment.
pub(super) const BODY_START: u32 = SEGMENT_HEADER_BYTES as u32;

/// A segment in use.
#[derive(Clone, Debug)]
pub(super) struct Life {
    pub(super) header: SegmentHeader,
    /// What seals it, if anything does.
    pub(super) footer: Option<Footer>,
    /// Something of this store lies where the footer should, and is none.
    pub(super) is_footer_lost: bool,
    pub(super) standing: Standing,
}

/// How far a segment's header can be relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It verifies.
    Sure,
    /// It was lost, and follows from the records or the footer: it is to be written anew.
    Rebuilt,
    /// It was lost, and the footer tells what it was, but not whether the segment was freed since.
    /// What its records made of other segments' records holds in either case. Its own values may
    /// have been removed by tombstones that are gone: they are not served, and nothing is written
    /// to it.
    Doubtful,
}

impl Life {
    pub(super) fn segment(&self) -> SegmentNumber {
        self.header.generation.segment
    }

    pub(super) fn opening(&self) -> Lsn {
        self.header.generation.opening_lsn
    }

    pub(super) fn seed(&self) -> GenerationSeed {
        GenerationSeed::new(self.header.store, self.header.generation)
    }

    pub(super) fn is_hot(&self) -> bool {
        self.header.stream == Stream::Hot
    }

    pub(super) fn is_hot_of(&self, epoch: u32) -> bool {
        self.is_hot() && self.header.generation.epoch == epoch
    }

    /// Where its records end at the latest.
    pub(super) fn body_end_max(&self, segment_bytes: u32) -> u32 {
        self.footer
            .map_or(segment_bytes - FOOTER_BYTES as u32, |footer| {
                footer.body_end
            })
    }

    /// Where its summary begins, or at least its footer.
    pub(super) fn summary_start(&self, segment_bytes: u32) -> u32 {
        let below = self.footer.map_or(0, |footer| footer.entry_count) as usize * ENTRY_BYTES;
        segment_bytes - (FOOTER_BYTES + below) as u32
    }

    /// The offset of a hot record with this LSN, at most `end`.
    pub(super) fn offset_of(&self, lsn: Lsn, end: u32) -> u32 {
        let bytes = lsn.bytes_since(self.opening()).unwrap_or(0);
        u32::try_from(u64::from(BODY_START).saturating_add(bytes))
            .unwrap_or(end)
            .min(end)
    }

    /// The LSN of a hot record at this offset.
    pub(super) fn lsn_at(&self, offset: u32) -> Lsn {
        self.opening().plus(u64::from(offset - BODY_START))
    }
}

/// Up to where the log counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cuts {
    /// The epoch of the last start.
    pub(super) epoch: u32,
    /// Where the prefix of that epoch ends.
    pub(super) present: Lsn,
    /// Where that of all epochs before ended.
    pub(super) past: Lsn,
}

impl Cuts {
    /// Records of the segment at or above this are void.
    pub(super) fn of(&self, header: &SegmentHeader) -> Lsn {
        let is_present = header.generation.epoch == self.epoch;
        let cut = if is_present { self.present } else { self.past };
        header.cut_lsn.map_or(cut, |known| known.min(cut))
    }
}

/// What all segments are.
pub(super) struct Survey {
    /// Those in use.
    pub(super) lives: Vec<Life>,
    /// Those with a free mark.
    pub(super) free: Vec<SegmentNumber>,
    /// Those of which a footer is there and a header never was: a crash came between.
    pub(super) unborn: Vec<Life>,
    /// Those whose header is lost.
    pub(super) damaged: Vec<SegmentNumber>,
    /// The highest durable LSN that any structure tells.
    pub(super) durable: Lsn,
    /// Above every LSN that any structure tells of.
    pub(super) end: Lsn,
    /// The latest epoch of any segment, in use or freed.
    pub(super) newest_epoch: u32,
}

/// Looks at every segment of the store with this superblock.
pub(super) async fn survey(media: &Media<'_>, ruling: &Superblock) -> Result<Survey, OpenError> {
    let mut survey = Survey {
        lives: Vec::new(),
        free: Vec::new(),
        unborn: Vec::new(),
        damaged: Vec::new(),
        durable: ruling.start_lsn,
        end: ruling.start_lsn,
        newest_epoch: 0,
    };
    let footer_offset = media.segment_bytes - FOOTER_BYTES as u32;
    let mut headless = Vec::new();
    let mut pending: VecDeque<Look> = VecDeque::new();
    let mut segments = in_turn(media).into_iter();
    loop {
        while pending.len() < SEGMENTS_IN_FLIGHT
            && let Some(segment) = segments.next()
        {
            let header = media.read(segment, 0, BODY_START);
            let footer = media.read(segment, footer_offset, FOOTER_BYTES as u32);
            pending.push_back(Look {
                segment,
                header,
                footer,
            });
        }
        let Some(look) = pending.pop_front() else {
            break;
        };
        let header = media.or_lost(look.header.await)?;
        let footer = media.or_lost(look.footer.await)?;
        let found = [header.as_deref(), footer.as_deref()];
        headless.extend(survey.enter(media, ruling, look.segment, found)?);
    }
    for segment in &headless {
        headless::judge(media, ruling, &mut survey, segment).await?;
    }
    if media.was_clean {
        survey.durable = survey.durable.max(survey.sealed_end(ruling.epoch));
    }
    Ok(survey)
}

/// A segment that is being looked at.
struct Look {
    segment: SegmentNumber,
    header: Io<IoBuffer>,
    footer: Io<IoBuffer>,
}

/// All segments, so that neighbours lie on different devices.
fn in_turn(media: &Media<'_>) -> Vec<SegmentNumber> {
    let mut segments: Vec<_> = media.segments.numbers().collect();
    segments.sort_by_key(|segment| {
        let (device, index) = media.segments.place(*segment);
        (index, device)
    });
    segments
}

impl Survey {
    /// What the table of segments has to know, when all that is in use is sealed.
    pub(super) fn found(&self, media: &Media<'_>, cuts: Cuts) -> Vec<Found> {
        let mut found = vec![Found::Unallocated; media.segments.count() as usize];
        let mut enter = |segment: SegmentNumber, what| found[segment.get() as usize] = what;
        self.free
            .iter()
            .for_each(|segment| enter(*segment, Found::Free));
        self.damaged
            .iter()
            .for_each(|segment| enter(*segment, Found::Damaged));
        for life in &self.lives {
            let generation = life.header.generation;
            let sealed_lsn = match life.footer {
                Some(footer) if life.is_hot() => footer.end_lsn.min(cuts.of(&life.header)),
                Some(_) | None => life.opening(),
            };
            let (seed, stream) = (life.seed(), life.header.stream);
            let what = match life.standing {
                Standing::Sure | Standing::Rebuilt => Found::Sealed {
                    generation,
                    seed,
                    stream,
                    sealed_lsn,
                },
                Standing::Doubtful => Found::Doubtful {
                    generation,
                    seed,
                    stream,
                    sealed_lsn,
                },
            };
            enter(life.segment(), what);
        }
        found
    }

    /// Where the hot segments of an epoch end that are sealed. After a closing in order this is the
    /// end of the log, and all of it is durable.
    fn sealed_end(&self, epoch: u32) -> Lsn {
        let hot = self.lives.iter().filter(|life| life.is_hot_of(epoch));
        let ends = hot.filter_map(|life| life.footer.map(|footer| footer.end_lsn));
        ends.max().unwrap_or(Lsn::ZERO)
    }

    /// Judges one segment by the bytes of its header and footer, where they can be read. What it
    /// gives has lost its header.
    fn enter(
        &mut self,
        media: &Media<'_>,
        ruling: &Superblock,
        segment: SegmentNumber,
        [header_bytes, footer_bytes]: [Option<&[u8]>; 2],
    ) -> Result<Option<Headless>, OpenError> {
        let store = ruling.store;
        let decode = |bytes| Footer::decode(bytes, store, media.segment_bytes).ok();
        let footer = footer_bytes.and_then(decode);
        let is_footer_lost =
            footer.is_none() && footer_bytes.is_none_or(|bytes| is_damaged_footer(bytes, store));
        let footer = footer.filter(|footer| footer.generation.segment == segment);
        // What cannot be read may well be a header of this store.
        let decoded = header_bytes.map_or(Err((false, true)), |bytes| {
            SegmentHeader::decode(bytes, store)
                .map_err(|error| (error == FormatError::Blank, is_damaged_header(bytes, store)))
        });
        let header = match decoded {
            Ok(header) => header,
            Err((is_blank, is_own)) => {
                return Ok(Some(Headless {
                    segment,
                    is_blank,
                    is_own,
                    footer,
                }));
            }
        };
        let device = media.device_of(segment);
        if header.generation.segment != segment || header.device != device {
            self.enter_damaged(media, segment, "a segment has the header of another one");
            return Ok(None);
        }
        if header.generation.epoch > ruling.epoch {
            let device = media.device_name(segment);
            let reason = "holds segments of a later start than its superblock".to_owned();
            return Err(OpenError::Incomplete { device, reason });
        }
        self.note(media, &header);
        let is_its = |footer: &Footer| {
            footer.generation == header.generation && footer.stream == header.stream
        };
        match header.state {
            SegmentState::Free => self.free.push(segment),
            SegmentState::Open => {
                let footer = footer.filter(is_its);
                if let Some(footer) = &footer {
                    self.durable = self.durable.max(footer.durable_lsn);
                }
                self.lives.push(Life {
                    header,
                    footer,
                    is_footer_lost,
                    standing: Standing::Sure,
                });
            }
        }
        Ok(None)
    }

    pub(super) fn enter_damaged(
        &mut self,
        media: &Media<'_>,
        segment: SegmentNumber,
        what: &'static str,
    ) {
        media.report(segment, (Part::Header, 0), what);
        self.damaged.push(segment);
    }

    /// What a header tells of the log, whatever its segment has become. A durable LSN that was ever
    /// written down was true, and those of this epoch are above all others.
    pub(super) fn note(&mut self, media: &Media<'_>, header: &SegmentHeader) {
        let opening = header.generation.opening_lsn;
        let end = match header.stream {
            Stream::Hot => opening.plus(u64::from(media.segment_bytes)),
            Stream::Cold => opening,
        };
        self.durable = self.durable.max(header.durable_lsn);
        self.end = self.end.max(end).max(header.durable_lsn);
        self.newest_epoch = self.newest_epoch.max(header.generation.epoch);
    }
}
