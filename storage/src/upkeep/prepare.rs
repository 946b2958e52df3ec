//! Preparation of segments: their place on the device is obtained before they are needed, so that a
//! lack of room is found here and never by a write.

use std::rc::Rc;

use crate::device::{DeviceError, WriteSync};
use crate::options::AppendFsync;
use crate::units::SegmentNumber;
use crate::worker::Worker;

/// Segments kept ready to be opened.
const READY_MIN: usize = 4;
/// How often a full file system is asked again.
const RETRY_US: u64 = 1_000_000;
/// Zeros are written this much at a time, one write in flight.
const ZERO_BYTES: usize = 256 << 10;

/// Keeps segments ready.
pub(crate) async fn run(worker: &Rc<Worker>) {
    let store = worker.store();
    while !store.is_closing() {
        let failed = keep_ready(worker).await.is_err();
        store.segments().set_exhausted(failed);
        store.prepare_log();
        tokio::select! {
            biased;
            () = store.prepare_wanted().notified() => {}
            () = store.clock().sleep(RETRY_US) => {}
        }
    }
}

async fn keep_ready(worker: &Rc<Worker>) -> Result<(), DeviceError> {
    let segments = worker.store().segments();
    while segments.ready_count() < READY_MIN {
        let Some(segment) = segments.take_unallocated() else {
            return Ok(());
        };
        if let Err(error) = prepare(worker, segment).await {
            segments.put_back_unallocated(segment);
            tracing::warn!(%error, "no room for another segment");
            return Err(error);
        }
        segments.put_allocated(segment);
        worker.store().prepare_log();
    }
    Ok(())
}

/// Allocates a segment, and writes zeros over it where every write will be synced by itself: a
/// synced write into a fresh extent costs twice as much.
async fn prepare(worker: &Rc<Worker>, segment: SegmentNumber) -> Result<(), DeviceError> {
    let store = worker.store();
    let (channel, start) = worker.place(segment);
    let bytes = u64::from(store.segment_bytes());
    channel.allocate(start, bytes).await?;
    if store.appendfsync() != AppendFsync::Always {
        return Ok(());
    }
    let mut buffer = channel.buffer(ZERO_BYTES.min(store.segment_bytes() as usize));
    buffer.fill(0);
    let step = buffer.len() as u64;
    for offset in (0..bytes).step_by(buffer.len()) {
        if offset + step > bytes {
            buffer.truncate(usize::try_from(bytes - offset).expect("less than a step"));
        }
        buffer = channel
            .write_buffer(start + offset, buffer, WriteSync::None)
            .await?;
    }
    Ok(())
}
