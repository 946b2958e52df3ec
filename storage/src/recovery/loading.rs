//! The loading of the index: entries go to shards, each of which holds some of the index's
//! partitions and, where there are several, has a thread of its own.
//!
//! What a record does concerns its identity alone, so records of different shards need no order
//! among them; each shard gets its own in the order in which they come here. Owns the threads and
//! the bound on what waits for them.

use std::sync::Arc;

use cellar_index::{Identity, Index, PARTITION_COUNT};
use tokio::sync::{mpsc, oneshot};

use crate::damage::Part;
use crate::error::OpenError;
use crate::format::{EntryDetail, SummaryEntry};
use crate::recovery::contents::{Contents, KnownMap, MapPlace};
use crate::recovery::media::Media;
use crate::recovery::shard::{Shard, Step};
use crate::units::SegmentNumber;

/// Entries that go to a shard together: some microseconds of its work, against one wake.
const STEPS_PER_BATCH: usize = 256;
/// Batches that wait for a shard: with those of 100 bytes an entry some 200 KiB.
const BATCHES_WAITING: usize = 8;
/// Entries after which the executor gets a turn: about half a millisecond.
const ENTRIES_PER_TURN: usize = 4096;

/// The contents as they are loaded.
pub(super) struct Loading<'a> {
    pub(super) media: &'a Media<'a>,
    known: KnownMap,
    index: Arc<Index>,
    lanes: Vec<Lane>,
    /// A map that is later than the one that records are judged by.
    later_map: Option<MapPlace>,
    record_count: u64,
    since_turn: usize,
}

/// The way to a shard.
struct Lane {
    batch: Vec<Step>,
    shard: Place,
}

/// Where a shard is.
enum Place {
    /// In the caller's thread.
    Here(Shard),
    /// In its own, which sends it back when no more comes, or when it failed.
    Thread {
        batches: mpsc::Sender<Vec<Step>>,
        done: oneshot::Receiver<Result<Shard, OpenError>>,
    },
}

impl<'a> Loading<'a> {
    /// Begins with an empty index. Records are judged by the `known` map. `threads` of 1: the
    /// caller's own.
    pub(super) fn new(
        media: &'a Media<'a>,
        known: KnownMap,
        threads: usize,
    ) -> Result<Self, OpenError> {
        // Recovery ignores maxmemory (design rule 15).
        let index = Arc::new(Index::new(0).map_err(|_| OpenError::NoMemory)?);
        // Of a loading that was begun anew.
        media.segments.clear_expiring();
        let shard = || Shard::new(Arc::clone(&index), media, known.map);
        let lanes = match threads {
            0 | 1 => vec![Lane::new(Place::Here(shard()))],
            several => (0..several)
                .map(|number| Ok(Lane::new(spawn(number, shard())?)))
                .collect::<Result<_, OpenError>>()?,
        };
        Ok(Self {
            media,
            known,
            index,
            lanes,
            later_map: None,
            record_count: 0,
            since_turn: 0,
        })
    }

    /// Takes a record's entry. Entries come in the order of their doing.
    pub(super) async fn push(
        &mut self,
        segment: SegmentNumber,
        entry: SummaryEntry,
    ) -> Result<(), OpenError> {
        self.record_count += 1;
        self.since_turn += 1;
        if self.since_turn == ENTRIES_PER_TURN {
            self.media.note_records(self.since_turn);
            self.since_turn = 0;
            tokio::task::yield_now().await;
        }
        if entry.detail == EntryDetail::Map {
            self.note_map(segment, &entry);
            return Ok(());
        }
        let Some(identity) = Identity::from_bytes(*entry.identity.get()) else {
            let what = "an identity is impossible";
            self.media
                .report(segment, (Part::Summary, entry.offset), what);
            return Ok(());
        };
        let lane = usize::from(identity.partition()) * self.lanes.len() / PARTITION_COUNT as usize;
        let step = Step {
            identity,
            segment,
            entry,
        };
        self.lanes[lane].push(step).await
    }

    /// The contents, and a map that is later than the known one, if a record told of one.
    pub(super) async fn finish(self) -> Result<(Contents, Option<MapPlace>), OpenError> {
        self.media.note_records(self.since_turn);
        let mut all: Option<Shard> = None;
        for lane in self.lanes {
            let shard = lane.finish().await?;
            match &mut all {
                Some(all) => all.absorb(shard),
                None => all = Some(shard),
            }
        }
        let shard = all.expect("there is at least one shard");
        let contents = Contents::new(self.index, shard, self.record_count);
        Ok((contents, self.later_map))
    }

    fn note_map(&mut self, segment: SegmentNumber, entry: &SummaryEntry) {
        let newest = self.later_map.map_or(self.known.lsn, |later| later.lsn);
        if entry.lsn > newest {
            self.later_map = Some(MapPlace {
                lsn: entry.lsn,
                segment,
                offset: entry.offset,
            });
        }
    }
}

impl Lane {
    fn new(shard: Place) -> Self {
        Self {
            batch: Vec::with_capacity(STEPS_PER_BATCH),
            shard,
        }
    }

    async fn push(&mut self, step: Step) -> Result<(), OpenError> {
        self.batch.push(step);
        if self.batch.len() < STEPS_PER_BATCH {
            return Ok(());
        }
        match &mut self.shard {
            Place::Here(shard) => {
                shard.apply_all(&self.batch)?;
                self.batch.clear();
            }
            Place::Thread { batches, done } => {
                let next = Vec::with_capacity(STEPS_PER_BATCH);
                let batch = std::mem::replace(&mut self.batch, next);
                if batches.send(batch).await.is_err() {
                    return Err(failure(done).await);
                }
            }
        }
        Ok(())
    }

    async fn finish(self) -> Result<Shard, OpenError> {
        match self.shard {
            Place::Here(mut shard) => {
                shard.apply_all(&self.batch)?;
                Ok(shard)
            }
            Place::Thread { batches, done } => {
                // Where it fails, the shard has stopped, and `done` says why.
                let _ = batches.send(self.batch).await;
                drop(batches);
                done.await.expect("a shard's thread sends it back")
            }
        }
    }
}

/// Why a shard takes no more.
async fn failure(done: &mut oneshot::Receiver<Result<Shard, OpenError>>) -> OpenError {
    match done.await.expect("a shard's thread sends it back") {
        Err(error) => error,
        Ok(_) => unreachable!("a shard ends when its lane does"),
    }
}

fn spawn(number: usize, mut shard: Shard) -> Result<Place, OpenError> {
    let (batches, mut queue) = mpsc::channel::<Vec<Step>>(BATCHES_WAITING);
    let (report, done) = oneshot::channel();
    let work = move || {
        let mut result = Ok(());
        while result.is_ok()
            && let Some(steps) = queue.blocking_recv()
        {
            result = shard.apply_all(&steps);
        }
        drop(queue);
        // Nobody waits for it where the opening was given up.
        let _ = report.send(result.map(|()| shard));
    };
    std::thread::Builder::new()
        .name(format!("cellar-load-{number}"))
        .spawn(work)
        .map_err(|cause| OpenError::Thread { cause })?;
    Ok(Place::Thread { batches, done })
}
