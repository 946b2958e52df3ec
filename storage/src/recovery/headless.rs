//! Segments that lost their headers. Owns the decision what such a segment was: nothing, by what it
//! holds, or nobody knows; must never let a value be served from one that may have been freed.

use crate::damage::Part;
use crate::device::DeviceError;
use crate::format::{
    FOOTER_BYTES, Footer, GenerationSeed, HEAD_BYTES_MAX, Kind, RecordHead, SegmentHeader,
    SegmentState, Stream, Superblock,
};
use crate::recovery::media::{Media, STEP_BYTES};
use crate::recovery::survey::{BODY_START, Life, Standing, Survey};
use crate::units::{Generation, Lsn, SegmentNumber, UNIT_BYTES};

/// A segment whose header does not verify.
pub(super) struct Headless {
    pub(super) segment: SegmentNumber,
    /// Its header is all zeros.
    pub(super) is_blank: bool,
    /// Its header was once one of this store.
    pub(super) is_own: bool,
    /// A footer of this store and this segment.
    pub(super) footer: Option<Footer>,
}

/// Enters a segment without a header into the survey.
///
/// What was never written holds zeros, or on a block device what somebody left there: no part of it
/// is this store's. Of a segment that was being filled at a crash, the records tell the life; it
/// was not sealed, so it was not freed either. Of a sealed one, the footer tells the life.
pub(super) async fn judge(
    media: &Media<'_>,
    ruling: &Superblock,
    survey: &mut Survey,
    lost: &Headless,
) -> Result<(), DeviceError> {
    let segment = lost.segment;
    let was_durable = |footer: &Footer| {
        let is_old = footer.generation.epoch < ruling.epoch;
        // A young one may have been written before its header, and a crash came between.
        is_old || footer.stream == Stream::Cold || footer.end_lsn < survey.durable
    };
    if let Some(footer) = lost.footer.filter(|_| lost.is_blank)
        && !was_durable(&footer)
    {
        // To the next start it would look like an old one.
        survey.unborn.push(life_of(media, ruling, footer));
        return Ok(());
    }
    let footer = lost.footer;
    if footer.is_none() && !lost.is_own {
        return Ok(());
    }
    let open = if lost.is_own {
        rebuild(media, ruling, segment).await?
    } else {
        None
    };
    let is_sealed = |header: &SegmentHeader| {
        footer.is_some_and(|footer| footer.generation == header.generation)
    };
    if let Some(header) = open.filter(|header| !is_sealed(header)) {
        let what = "it does not verify; it is made anew from the records";
        media.report(segment, (Part::Header, 0), what);
        survey.note(media, &header);
        survey.lives.push(Life {
            header,
            footer: None,
            is_footer_lost: false,
            standing: Standing::Rebuilt,
        });
    } else if let Some(footer) = footer.filter(|footer| footer.generation.epoch <= ruling.epoch) {
        let what = "it does not verify; the segment's keys answer with errors until written anew";
        media.report(segment, (Part::Header, 0), what);
        let life = life_of(media, ruling, footer);
        survey.note(media, &life.header);
        survey.end = survey.end.max(footer.end_lsn);
        survey.lives.push(life);
    } else {
        survey.enter_damaged(
            media,
            segment,
            "it does not verify, and what the segment held is lost",
        );
    }
    Ok(())
}

/// The life that a footer tells of.
fn life_of(media: &Media<'_>, ruling: &Superblock, footer: Footer) -> Life {
    let header = header_of(media, ruling, footer.generation, footer.stream);
    Life {
        header: SegmentHeader {
            durable_lsn: footer.durable_lsn,
            ..header
        },
        footer: Some(footer),
        is_footer_lost: false,
        standing: Standing::Doubtful,
    }
}

fn header_of(
    media: &Media<'_>,
    ruling: &Superblock,
    generation: Generation,
    stream: Stream,
) -> SegmentHeader {
    SegmentHeader {
        store: ruling.store,
        device: media.device_of(generation.segment),
        generation,
        state: SegmentState::Open,
        stream,
        durable_lsn: ruling.start_lsn,
        cut_lsn: None,
    }
}

/// The header of a segment that was opened in the last epoch, by any record that tells it.
async fn rebuild(
    media: &Media<'_>,
    ruling: &Superblock,
    segment: SegmentNumber,
) -> Result<Option<SegmentHeader>, DeviceError> {
    let end = media.segment_bytes - FOOTER_BYTES as u32;
    for start in (BODY_START..end).step_by(STEP_BYTES as usize) {
        let step = media
            .read(segment, start, STEP_BYTES.min(end - start))
            .await?;
        for at in (0..step.len().saturating_sub(HEAD_BYTES_MAX)).step_by(UNIT_BYTES as usize) {
            let offset = start + at as u32;
            let told = told_by(&step[at..at + HEAD_BYTES_MAX], ruling, (segment, offset));
            if let Some((generation, stream)) = told {
                return Ok(Some(header_of(media, ruling, generation, stream)));
            }
        }
    }
    Ok(None)
}

/// The life that a record of the last epoch tells: by its place, if it is hot; as a pad, if it is
/// cold. Its checksum, which is seeded with the life, says whether that is true.
fn told_by(
    head: &[u8],
    ruling: &Superblock,
    (segment, offset): (SegmentNumber, u32),
) -> Option<(Generation, Stream)> {
    let lsn = u64::from_le_bytes(head[8..16].try_into().expect("eight bytes"));
    let hot = lsn.checked_sub(u64::from(offset - BODY_START));
    for (opening, stream) in [(hot, Stream::Hot), (Some(lsn), Stream::Cold)] {
        let Some(opening) = opening.filter(|opening| *opening >= ruling.start_lsn.get()) else {
            continue;
        };
        let generation = Generation {
            epoch: ruling.epoch,
            segment,
            opening_lsn: Lsn::new(opening),
        };
        let seed = GenerationSeed::new(ruling.store, generation).at(offset);
        let Ok(found) = RecordHead::decode(head, seed) else {
            continue;
        };
        if stream == Stream::Hot || found.kind == Kind::Pad {
            return Some((generation, stream));
        }
    }
    None
}
