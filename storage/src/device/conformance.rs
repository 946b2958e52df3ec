//! What every device must do, as a suite that each implementation runs in its tests. Owns the
//! seam's promises in executable form; must never promise what one of the devices cannot keep.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use super::memory::BUFFER_ALIGN;
use super::{BufferSlice, Channel, Device, DeviceError, IoBuffer, Refusal, WriteSync};

/// A device under test has at least this many bytes.
pub const CAPACITY_BYTES_MIN: u64 = 16 << 20;

/// Reads that a case makes at most until it must see what was written.
const READS_MAX: u32 = 100_000;

/// One case, ready to run.
pub type Case = Pin<Box<dyn Future<Output = ()>>>;

/// Runs every case on a fresh, writable device of its own. `run` runs a future to its end, in the
/// surroundings that the device's channels need. Panics where the device breaks a promise.
pub fn run(open: impl Fn() -> Arc<dyn Device>, run: impl Fn(Case)) {
    run(Box::pin(what_is_written_is_read(open())));
    run(Box::pin(parts_of_shared_buffers_are_written(open())));
    run(Box::pin(buffers_are_aligned_and_whole_blocks(open())));
    run(Box::pin(broken_blocks_are_refused(open())));
    run(Box::pin(what_lies_outside_is_refused(open())));
    run(Box::pin(space_is_allocated_within_the_capacity(open())));
    run(Box::pin(a_discard_leaves_its_neighbours(open())));
    run(Box::pin(many_operations_overlap(open())));
    run(Box::pin(nobody_needs_to_wait(open())));
    run(Box::pin(callbacks_run_once(open())));
    run(Box::pin(channels_see_each_others_writes(open())));
    run(Box::pin(operations_are_counted(open())));
}

fn pattern(channel: &dyn Channel, bytes: usize, seed: u8) -> IoBuffer {
    let mut buffer = channel.buffer(bytes);
    fill(&mut buffer, seed);
    buffer
}

fn fill(bytes: &mut [u8], seed: u8) {
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = (index * 31 + index / 512) as u8 ^ seed;
    }
}

fn expect_pattern(bytes: &[u8], seed: u8) {
    let mut expected = vec![0; bytes.len()];
    fill(&mut expected, seed);
    assert!(bytes == expected, "other bytes than were written");
}

fn attach(device: &Arc<dyn Device>) -> Rc<dyn Channel> {
    device.attach().expect("a worker can attach")
}

async fn what_is_written_is_read(device: Arc<dyn Device>) {
    let channel = attach(&device);
    let block = device.geometry().block_bytes as usize;
    let last = device.geometry().capacity_bytes - (block as u64);
    for (seed, (offset, bytes)) in [
        (0, block),
        (4096, 4096),
        (8192, 72 << 10),
        (1 << 20, 1 << 20),
        (last, block),
    ]
    .into_iter()
    .enumerate()
    {
        let sync = if seed % 2 == 0 {
            WriteSync::None
        } else {
            WriteSync::Durable
        };
        let written = pattern(&*channel, bytes, seed as u8);
        let written = channel
            .write_buffer(offset, written, sync)
            .await
            .expect("a write");
        expect_pattern(&written, seed as u8);
        drop(written);
        let read = channel
            .read(offset, channel.buffer(bytes))
            .await
            .expect("a read");
        expect_pattern(&read, seed as u8);
    }
    channel.flush().await.expect("a flush");
}

async fn parts_of_shared_buffers_are_written(device: Arc<dyn Device>) {
    let channel = attach(&device);
    let buffer = device.shared_buffer(64 << 10);
    let mut bytes = vec![0; 64 << 10];
    fill(&mut bytes, 3);
    buffer.write_at(0, &bytes);
    let slice = BufferSlice::new(Arc::clone(&buffer), 8192..16384);
    channel
        .write(1 << 20, slice, WriteSync::Durable)
        .await
        .expect("a write");
    let read = channel
        .read(1 << 20, channel.buffer(8192))
        .await
        .expect("a read");
    assert!(read[..] == bytes[8192..16384]);
    assert_eq!(
        Arc::strong_count(&buffer),
        1,
        "an ended write holds no buffer"
    );
}

async fn buffers_are_aligned_and_whole_blocks(device: Arc<dyn Device>) {
    let channel = attach(&device);
    let block = device.geometry().block_bytes as usize;
    for bytes in [1, block, block + 1, 4096, 70_000, 3 << 20] {
        let buffer = channel.buffer(bytes);
        assert_eq!(buffer.len(), bytes.next_multiple_of(block));
        assert!((buffer.start().as_ptr() as usize).is_multiple_of(BUFFER_ALIGN));
        let read = channel.read(0, buffer).await.expect("a read");
        assert_eq!(read.len(), bytes.next_multiple_of(block));
    }
    let shared = device.shared_buffer(100_000);
    assert!(shared.bytes() >= 100_000);
    assert!(shared.copy(0..100_000).iter().all(|&byte| byte == 0));
}

fn refusal<T>(answer: Result<T, DeviceError>) -> Refusal {
    match answer {
        Err(DeviceError::Refused { refusal, .. }) => refusal,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("not refused"),
    }
}

async fn broken_blocks_are_refused(device: Arc<dyn Device>) {
    let channel = attach(&device);
    let block = u64::from(device.geometry().block_bytes);
    for offset in [1, block - 1, block + 32] {
        let read = channel.read(offset, channel.buffer(4096)).await;
        assert_eq!(refusal(read), Refusal::Misaligned);
        let write = channel
            .write_buffer(offset, channel.buffer(4096), WriteSync::None)
            .await;
        assert_eq!(refusal(write), Refusal::Misaligned);
        assert_eq!(
            refusal(channel.discard(offset, block).await),
            Refusal::Misaligned
        );
        assert_eq!(
            refusal(channel.allocate(0, offset).await),
            Refusal::Misaligned
        );
    }
    let mut odd = channel.buffer(4096);
    odd.truncate(100);
    assert_eq!(refusal(channel.read(0, odd).await), Refusal::Misaligned);
    let slice = BufferSlice::new(device.shared_buffer(4096), 0..0);
    assert_eq!(
        refusal(channel.write(0, slice, WriteSync::None).await),
        Refusal::Misaligned
    );
}

async fn what_lies_outside_is_refused(device: Arc<dyn Device>) {
    let channel = attach(&device);
    let capacity = device.geometry().capacity_bytes;
    let far = u64::MAX - u64::MAX % 4096;
    for offset in [capacity, capacity - 4096, far] {
        let read = channel.read(offset, channel.buffer(8192)).await;
        assert_eq!(refusal(read), Refusal::OutOfBounds);
        let write = channel
            .write_buffer(offset, channel.buffer(8192), WriteSync::None)
            .await;
        assert_eq!(refusal(write), Refusal::OutOfBounds);
        assert_eq!(
            refusal(channel.discard(offset, 8192).await),
            Refusal::OutOfBounds
        );
    }
}

async fn space_is_allocated_within_the_capacity(device: Arc<dyn Device>) {
    let channel = attach(&device);
    let written = pattern(&*channel, 4096, 9);
    drop(
        channel
            .write_buffer(4096, written, WriteSync::None)
            .await
            .expect("a write"),
    );
    channel.allocate(0, 1 << 20).await.expect("room");
    channel.allocate(0, 1 << 20).await.expect("the same room");
    let read = channel
        .read(4096, channel.buffer(4096))
        .await
        .expect("a read");
    expect_pattern(&read, 9);
    let capacity = device.geometry().capacity_bytes;
    for offset in [capacity, capacity - 4096] {
        let beyond = channel.allocate(offset, 8192).await;
        assert!(
            matches!(beyond, Err(DeviceError::NoSpace { .. })),
            "{beyond:?}"
        );
    }
}

async fn a_discard_leaves_its_neighbours(device: Arc<dyn Device>) {
    let channel = attach(&device);
    let written = pattern(&*channel, 3 << 20, 5);
    drop(
        channel
            .write_buffer(0, written, WriteSync::Durable)
            .await
            .expect("a write"),
    );
    channel.discard(1 << 20, 1 << 20).await.expect("a discard");
    let read = channel
        .read(0, channel.buffer(3 << 20))
        .await
        .expect("a read");
    let mut expected = vec![0; 3 << 20];
    fill(&mut expected, 5);
    assert!(read[..1 << 20] == expected[..1 << 20]);
    assert!(read[2 << 20..] == expected[2 << 20..]);
}

async fn many_operations_overlap(device: Arc<dyn Device>) {
    let channel = attach(&device);
    let writes: Vec<_> = (0..1000_u64)
        .map(|index| {
            let buffer = pattern(&*channel, 4096, index as u8);
            channel.write_buffer(index * 4096, buffer, WriteSync::None)
        })
        .collect();
    for write in writes {
        drop(write.await.expect("a write"));
    }
    let reads: Vec<_> = (0..1000_u64)
        .map(|index| channel.read(index * 4096, channel.buffer(4096)))
        .collect();
    // Taken in another order than they were started in.
    for (index, read) in reads.into_iter().enumerate().rev() {
        expect_pattern(&read.await.expect("a read"), index as u8);
    }
}

async fn nobody_needs_to_wait(device: Arc<dyn Device>) {
    let channel = attach(&device);
    let buffer = pattern(&*channel, 4096, 1);
    drop(
        channel
            .write_buffer(0, buffer, WriteSync::None)
            .await
            .expect("a write"),
    );
    drop(channel.read(0, channel.buffer(4096)));
    drop(channel.write_buffer(0, pattern(&*channel, 4096, 2), WriteSync::None));
    for _ in 0..READS_MAX {
        let read = channel.read(0, channel.buffer(4096)).await.expect("a read");
        // Its first byte is its seed.
        if read[0] == 2 {
            return;
        }
    }
    panic!("a write whose future was dropped never arrived");
}

async fn callbacks_run_once(device: Arc<dyn Device>) {
    let channel = attach(&device);
    let (ended, refused) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    for index in 0..100 {
        let ended = Rc::clone(&ended);
        channel
            .read(index * 4096, channel.buffer(4096))
            .on_done(move |answer| {
                assert_eq!(answer.expect("a read").len(), 4096);
                ended.set(ended.get() + 1);
            });
        let refused = Rc::clone(&refused);
        channel
            .read(1, channel.buffer(4096))
            .on_done(move |answer| {
                assert_eq!(refusal(answer), Refusal::Misaligned);
                refused.set(refused.get() + 1);
            });
    }
    assert_eq!(refused.get(), 100);
    channel.submit();
    for _ in 0..READS_MAX {
        if ended.get() == 100 {
            break;
        }
        drop(channel.read(0, channel.buffer(4096)).await.expect("a read"));
        channel.end_of_turn();
    }
    assert_eq!(ended.get(), 100);
}

async fn channels_see_each_others_writes(device: Arc<dyn Device>) {
    let (first, second) = (attach(&device), attach(&device));
    let buffer = pattern(&*first, 8192, 7);
    drop(
        first
            .write_buffer(65_536, buffer, WriteSync::None)
            .await
            .expect("a write"),
    );
    second.flush().await.expect("a flush");
    let read = second
        .read(65_536, second.buffer(8192))
        .await
        .expect("a read");
    expect_pattern(&read, 7);
}

async fn operations_are_counted(device: Arc<dyn Device>) {
    let channel = attach(&device);
    let before = device.counters();
    let buffer = pattern(&*channel, 8192, 7);
    drop(
        channel
            .write_buffer(0, buffer, WriteSync::None)
            .await
            .expect("a write"),
    );
    drop(channel.read(0, channel.buffer(4096)).await.expect("a read"));
    channel.flush().await.expect("a flush");
    let counters = device.counters();
    assert_eq!(
        (
            counters.writes - before.writes,
            counters.reads - before.reads
        ),
        (1, 1)
    );
    assert_eq!(counters.written_bytes - before.written_bytes, 8192);
    assert_eq!(counters.read_bytes - before.read_bytes, 4096);
    assert_eq!(
        (counters.flushes - before.flushes, counters.read_errors),
        (1, 0)
    );
    assert_eq!(counters.write_errors, 0);
}
