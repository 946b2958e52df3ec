//! Settling what the last life left open: after it every segment in use is sealed, and nothing
//! above the cut is in use. Owns the writes to segments of a start; each of them can be the last
//! one before a crash, since all of them say up to where the log was found to be durable, and the
//! next start then comes to the same cut.

use cellar_index::Hasher;

use crate::damage::Part;
use crate::device::{BLOCK_BYTES_MAX, DeviceError};
use crate::error::OpenError;
use crate::format::{ENTRY_BYTES, FOOTER_BYTES, Footer, SegmentHeader, SegmentState, SummaryEntry};
use crate::recovery::harvest::{Harvest, harvest};
use crate::recovery::media::Media;
use crate::recovery::survey::{Cuts, Life, Standing, Survey};
use crate::units::Lsn;

/// Seals or frees every segment that needs it. Durable when it ends.
pub(super) async fn settle(
    media: &Media<'_>,
    hasher: &Hasher,
    survey: &mut Survey,
    cuts: Cuts,
) -> Result<(), OpenError> {
    let settler = Settler {
        media,
        hasher,
        cuts,
        durable: survey.durable,
        openings: hot_openings(&survey.lives),
    };
    let mut verdicts = Vec::new();
    for life in &survey.lives {
        verdicts.push(settler.judge(life).await?);
    }
    // The entries are durable before any structure says how far the log was: from then on a summary
    // that does not verify is damage.
    media.flush().await?;
    for (mut life, verdict) in std::mem::take(&mut survey.lives).into_iter().zip(verdicts) {
        if settler.carry_out(&mut life, verdict).await? {
            survey.lives.push(life);
        } else {
            survey.free.push(life.segment());
        }
    }
    for life in std::mem::take(&mut survey.unborn) {
        settler.free(&life).await?;
        survey.free.push(life.segment());
    }
    Ok(media.flush().await?)
}

/// What is to become of a segment.
enum Verdict {
    /// It stays as it is.
    Settled,
    /// Nothing in it counts.
    Free,
    /// Its entries are in place: this seals it.
    Seal(Footer),
}

/// Where the hot segments open, ascending.
fn hot_openings(lives: &[Life]) -> Vec<Lsn> {
    let mut openings: Vec<Lsn> = lives
        .iter()
        .filter(|life| life.is_hot())
        .map(Life::opening)
        .collect();
    openings.sort_unstable();
    openings
}

struct Settler<'a> {
    media: &'a Media<'a>,
    hasher: &'a Hasher,
    cuts: Cuts,
    /// What was known to be durable before the log was walked.
    durable: Lsn,
    openings: Vec<Lsn>,
}

impl Settler<'_> {
    /// Judges one segment, and writes the entries that it lacks.
    async fn judge(&self, life: &Life) -> Result<Verdict, OpenError> {
        let void = self.cuts.of(&life.header);
        if life.is_hot() && life.opening() >= void {
            return Ok(Verdict::Free);
        }
        if life.standing == Standing::Doubtful {
            return Ok(Verdict::Settled);
        }
        // The last writes of a hot segment may be torn while they are not known to be durable; a
        // cold one's footer is written when all before it is.
        let is_durable =
            |footer: Footer| !life.is_hot_of(self.cuts.epoch) || footer.end_lsn <= self.durable;
        let is_settled =
            |footer: Footer| !life.is_hot() || (footer.end_lsn <= void && is_durable(footer));
        if life.footer.is_some_and(is_settled) {
            return Ok(Verdict::Settled);
        }
        if self.has_lost_footer(life) {
            let offset = self.media.segment_bytes - FOOTER_BYTES as u32;
            let what = "it does not verify; it is made anew from the records";
            self.media
                .report(life.segment(), (Part::Footer, offset), what);
        }
        // Of an older life whose footer is lost, nobody knows where its records ended.
        let is_dense = life.footer.is_some() || life.is_hot_of(self.cuts.epoch);
        let end = self.next_opening(life).map_or(void, |next| next.min(void));
        let harvest = harvest(self.media, self.hasher, life, end, is_dense).await?;
        if harvest.entries.is_empty() {
            return Ok(Verdict::Free);
        }
        let footer = write_entries(self.media, life, &harvest, self.cuts.present).await?;
        Ok(Verdict::Seal(footer))
    }

    /// Whether the segment was sealed for certain, and nothing seals it now.
    fn has_lost_footer(&self, life: &Life) -> bool {
        let is_old = life.header.generation.epoch < self.cuts.epoch;
        let is_durable = |next: Lsn| next < self.durable;
        life.footer.is_none()
            && (life.is_footer_lost || is_old || self.next_opening(life).is_some_and(is_durable))
    }

    /// Does what was judged: whether the segment stays in use.
    async fn carry_out(&self, life: &mut Life, verdict: Verdict) -> Result<bool, OpenError> {
        match verdict {
            Verdict::Settled => return Ok(true),
            Verdict::Free => {
                self.free(life).await?;
                return Ok(false);
            }
            Verdict::Seal(footer) => {
                let void = self.cuts.of(&life.header);
                let end = life.lsn_at(life.body_end_max(self.media.segment_bytes));
                let is_cut = life.is_hot() && void < end;
                if is_cut {
                    // What lies at or above still verifies: the header says that it does not count.
                    life.header.cut_lsn = Some(void);
                }
                if is_cut || life.standing == Standing::Rebuilt {
                    self.write_header(life, life.header).await?;
                }
                write_footer(self.media, &footer).await?;
                life.footer = Some(footer);
            }
        }
        Ok(true)
    }

    /// Where the hot segment after this one opens.
    fn next_opening(&self, life: &Life) -> Option<Lsn> {
        let after = self
            .openings
            .partition_point(|opening| *opening <= life.opening());
        self.openings.get(after).copied().filter(|_| life.is_hot())
    }

    async fn free(&self, life: &Life) -> Result<(), DeviceError> {
        self.write_header(
            life,
            SegmentHeader {
                state: SegmentState::Free,
                ..life.header
            },
        )
        .await
    }

    async fn write_header(&self, life: &Life, header: SegmentHeader) -> Result<(), DeviceError> {
        let header = SegmentHeader {
            durable_lsn: self.cuts.present,
            ..header
        };
        self.media.write(life.segment(), 0, &header.encode()).await
    }
}

/// Writes the summary of what a segment was found to hold. `durable`: all below it is.
pub(super) async fn seal(
    media: &Media<'_>,
    life: &Life,
    harvest: &Harvest,
    durable: Lsn,
) -> Result<(), OpenError> {
    let footer = write_entries(media, life, harvest, durable).await?;
    Ok(write_footer(media, &footer).await?)
}

/// Writes the entries of a summary: the footer that is to follow.
async fn write_entries(
    media: &Media<'_>,
    life: &Life,
    harvest: &Harvest,
    durable: Lsn,
) -> Result<Footer, OpenError> {
    let entries: Vec<u8> = harvest
        .entries
        .iter()
        .rev()
        .flat_map(SummaryEntry::encode)
        .collect();
    let below = (entries.len() + FOOTER_BYTES) as u64;
    let Some(start) = u64::from(media.segment_bytes)
        .checked_sub(below)
        .filter(|start| *start >= u64::from(harvest.body_end))
    else {
        let reason = "a segment has no room for its summary";
        return Err(OpenError::Log {
            lsn: life.opening(),
            reason,
        });
    };
    // The summary begins within a block that the last records may share.
    let block_start = start as u32 - start as u32 % BLOCK_BYTES_MAX;
    let block = media
        .read(life.segment(), block_start, BLOCK_BYTES_MAX)
        .await?;
    let kept = &block[..start as usize - block_start as usize];
    media
        .write(life.segment(), block_start, &[kept, &entries].concat())
        .await?;
    Ok(footer(life, harvest, &entries, durable))
}

/// Writes what seals a segment.
async fn write_footer(media: &Media<'_>, footer: &Footer) -> Result<(), DeviceError> {
    let offset = media.segment_bytes - FOOTER_BYTES as u32;
    media
        .write(footer.generation.segment, offset, &footer.encode())
        .await
}

fn footer(life: &Life, harvest: &Harvest, entries: &[u8], durable: Lsn) -> Footer {
    let opening = life.opening();
    Footer {
        store: life.header.store,
        generation: life.header.generation,
        stream: life.header.stream,
        end_lsn: if life.is_hot() {
            life.lsn_at(harvest.body_end)
        } else {
            opening
        },
        durable_lsn: durable,
        entry_count: (entries.len() / ENTRY_BYTES) as u32,
        entries_crc: crc32c::crc32c_append(life.seed().get(), entries),
        body_end: harvest.body_end,
        map_offset: harvest.map_offset,
    }
}
