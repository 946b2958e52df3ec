//! Preparation of segments: their place on the device is obtained before they are needed, so that a
//! lack of room is found here and never by a write.

use std::rc::Rc;

use crate::device::{DeviceError, WriteSync};
use crate::options::AppendFsync;
use crate::store::CLEANER_SEGMENTS;
use crate::units::SegmentNumber;
use crate::worker::Worker;

/// Segments kept ready to be opened: the cleaner's own, one to be opened next, and one in reserve.
pub(crate) const READY_MIN: usize = CLEANER_SEGMENTS as usize + 2;
/// How often a full file system is asked again.
const RETRY_US: u64 = 1_000_000;
/// Zeros are written this much at a time, one write in flight.
const ZERO_BYTES: usize = 256 << 10;

/// Keeps segments ready.
pub(crate) async fn run(worker: &Rc<Worker>) {
    let store = worker.store();
    let mut again = false;
    while !store.is_closing() {
        keep_ready(worker, again).await;
        store.prepare_log();
        again = tokio::select! {
            biased;
            () = store.prepare_wanted().notified() => false,
            () = store.clock().sleep(RETRY_US) => true,
        };
    }
}

/// Allocates segments until enough are ready or no device has room. `again`: devices that had
/// none are asked once more.
async fn keep_ready(worker: &Rc<Worker>, again: bool) {
    let segments = worker.store().segments();
    let mut again = again;
    while segments.ready_count() < READY_MIN {
        let Some(segment) = segments.take_unallocated(again) else {
            return;
        };
        let prepared = prepare(worker, segment).await;
        let is_news = segments.set_exhausted(segment, prepared.is_err());
        match prepared {
            Ok(()) => segments.put_allocated(segment),
            Err(error) => {
                segments.put_back_unallocated(segment);
                again = false;
                if is_news {
                    tracing::warn!(%error, "a segment cannot be allocated; it is tried again");
                    // Whoever waits for room finds out whether it comes.
                    worker.store().log().room().notify_waiters();
                }
            }
        }
        worker.store().prepare_log();
    }
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
