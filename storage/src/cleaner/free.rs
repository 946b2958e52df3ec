//! Freeing: when nothing can lead to a victim any more, on no path, after no crash.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use crate::cleaner::pace;
use crate::cleaner::rule::VICTIMS_MAX;
use crate::cold::ColdJob;
use crate::device::{BufferSlice, DeviceError, Io, IoBuffer, WriteSync};
use crate::error::StoreError;
use crate::format::{SegmentHeader, SegmentState};
use crate::units::SegmentNumber;
use crate::worker::Worker;

/// Makes sure that no crash needs what lies in the victims: everything live was moved out of them.
pub(crate) async fn settle(worker: &Rc<Worker>) -> Result<(), StoreError> {
    let judged_at = worker.store().log().tail();
    write_cold(worker).await?;
    flush_devices(worker).await?;
    worker.wait_durable(judged_at).await
}

/// Frees those settled victims that have no readers; the others stay in the list. Nobody waits for
/// a reader: it may be a slow client.
pub(crate) async fn free(
    worker: &Rc<Worker>,
    settled: &mut Vec<SegmentNumber>,
) -> Result<(), StoreError> {
    let store = worker.store();
    let is_free = |victim: &mut SegmentNumber| !store.pins().any(*victim);
    let victims: Vec<_> = settled.extract_if(.., is_free).collect();
    for some in victims.chunks(VICTIMS_MAX) {
        store.log().check_latch()?;
        write_free_marks(worker, some).await?;
        for victim in some {
            store.segments().put_freed(*victim);
            let bytes = u64::from(store.segment_bytes());
            store.counters().cleaner_freed_bytes.add(bytes);
        }
        store.prepare_log();
    }
    Ok(())
}

/// Writes what the cold log holds and has not written; a full segment is sealed by it.
///
/// First everything is made durable that was in the hot log when the records were copied. A
/// tombstone is carried on because its key is absent; what made it absent may be a younger
/// tombstone, and without that one a crash would let the old one, at its segment's opening, remove
/// a newer value.
pub(crate) async fn write_cold(worker: &Rc<Worker>) -> Result<(), StoreError> {
    let cold = worker.store().cold();
    worker.wait_durable(worker.store().log().tail()).await?;
    worker.store().log().check_latch()?;
    while let Some(job) = cold.take_job() {
        write_job(worker, job, WriteSync::None).await?;
        if job.fills {
            let flushed = worker.place(job.segment).0.flush().await;
            latch_on_error(worker, flushed)?;
            write_job(worker, cold.footer_job(&job), WriteSync::Durable).await?;
            cold.complete(&job);
            return Ok(());
        }
    }
    Ok(())
}

/// Writes a range of an image in steps, in their order, at the cleaner's pace.
async fn write_job(worker: &Rc<Worker>, job: ColdJob, sync: WriteSync) -> Result<(), StoreError> {
    let end = job.offset + job.bytes;
    let mut next = job.offset;
    let mut in_flight = VecDeque::with_capacity(pace::DEPTH_MAX);
    loop {
        while next < end && in_flight.len() < pace::depth(worker.store()) {
            pace::wait_turn(worker).await;
            let bytes = pace::IO_BYTES_MAX.min(end - next);
            in_flight.push_back((write_step(worker, &job, next, bytes, sync), bytes));
            next += bytes;
        }
        let Some((write, bytes)) = in_flight.pop_front() else {
            return Ok(());
        };
        latch_on_error(worker, write.await)?;
        worker.store().cleaner().pace.spend(u64::from(bytes));
        worker
            .store()
            .counters()
            .cleaner_written_bytes
            .add(u64::from(bytes));
    }
}

/// Starts the write of `bytes` at `offset` of an image.
fn write_step(
    worker: &Rc<Worker>,
    job: &ColdJob,
    offset: u32,
    bytes: u32,
    sync: WriteSync,
) -> Io<()> {
    let (channel, start) = worker.place(job.segment);
    let buffer = Arc::clone(worker.store().cold().image(job.image).buffer());
    let from = offset as usize;
    let slice = BufferSlice::new(buffer, from..from + bytes as usize);
    channel.write(start + u64::from(offset), slice, sync)
}

/// A failed write or flush of the cleaner is one of the store.
fn latch_on_error<T>(worker: &Rc<Worker>, done: Result<T, DeviceError>) -> Result<T, StoreError> {
    done.map_err(|error| {
        worker.store().log().latch(&error);
        StoreError::Latched
    })
}

/// Writes the marks of some victims together, and makes them durable.
async fn write_free_marks(
    worker: &Rc<Worker>,
    victims: &[SegmentNumber],
) -> Result<(), StoreError> {
    let marks: Vec<_> = victims
        .iter()
        .map(|victim| write_free_mark(worker, *victim))
        .collect();
    for mark in marks {
        latch_on_error(worker, mark.await)?;
    }
    flush_devices(worker).await
}

fn write_free_mark(worker: &Rc<Worker>, victim: SegmentNumber) -> Io<IoBuffer> {
    let store = worker.store();
    let life = store.segments().get(victim);
    let header = SegmentHeader {
        store: store.store_id(),
        device: store.segments().place(victim).0,
        generation: life.generation(victim),
        state: SegmentState::Free,
        stream: life.stream(),
        durable_lsn: store.durable_lsn(),
        cut_lsn: None,
    };
    let (channel, start) = worker.place(victim);
    let bytes = header.encode();
    let mut buffer = channel.buffer(bytes.len());
    buffer.copy_from_slice(&bytes);
    channel.write_buffer(start, buffer, WriteSync::None)
}

async fn flush_devices(worker: &Rc<Worker>) -> Result<(), StoreError> {
    for channel in worker.channels() {
        latch_on_error(worker, channel.flush().await)?;
    }
    Ok(())
}
