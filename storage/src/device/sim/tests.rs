//! What the simulated device adds to the seam: time, failures, rot, crashes.

use std::future::Future;

use super::*;
use crate::clock::Clock;
use crate::device::{BufferSlice, IoBuffer, TIMEOUT_US, WriteSync, conformance};

const BLOCK: u32 = 512;
const CAPACITY: u64 = 16 << 20;

fn instant() -> Arc<SimDevice> {
    SimDevice::instant(BLOCK, CAPACITY, 1)
}

fn timed(seed: u64) -> (SimClock, Arc<SimDevice>) {
    let clock = SimClock::new(0);
    let device = SimDevice::timed(BLOCK, CAPACITY, seed, clock.clone(), Latency::default());
    (clock, device)
}

fn run<T>(clock: SimClock, future: impl Future<Output = T>) -> T {
    SimExecutor::new(clock, 1).block_on(future)
}

fn filled(channel: &dyn Channel, bytes: usize, byte: u8) -> IoBuffer {
    let mut buffer = channel.buffer(bytes);
    buffer.fill(byte);
    buffer
}

async fn write(channel: &dyn Channel, offset: u64, byte: u8, sync: WriteSync) {
    let buffer = filled(channel, BLOCK as usize, byte);
    channel.write_buffer(offset, buffer, sync).await.unwrap();
}

async fn read(channel: &dyn Channel, offset: u64) -> u8 {
    channel
        .read(offset, channel.buffer(BLOCK as usize))
        .await
        .unwrap()[0]
}

fn fault(operation: Operation, effect: Effect) -> Fault {
    Fault {
        operation,
        extent: None,
        skip: 0,
        times: 1,
        effect,
    }
}

#[test]
fn a_simulated_device_is_a_device() {
    let clock = SimClock::new(0);
    for block_bytes in [512, 4096] {
        let fresh = || -> Arc<dyn Device> { SimDevice::instant(block_bytes, CAPACITY, 1) };
        conformance::run(fresh, |case| run(clock.clone(), case));
        let latency = Latency::default();
        let fresh = || -> Arc<dyn Device> {
            SimDevice::timed(block_bytes, CAPACITY, 1, clock.clone(), latency.clone())
        };
        conformance::run(fresh, |case| run(clock.clone(), case));
    }
}

#[test]
fn operations_take_their_time_and_overlap() {
    let (clock, device) = timed(1);
    run(clock.clone(), async {
        let channel = device.attach().unwrap();
        let reads: Vec<_> = (0..100)
            .map(|_| channel.read(0, channel.buffer(BLOCK as usize)))
            .collect();
        for read in reads {
            read.await.unwrap();
        }
    });
    assert!(
        (60..200).contains(&clock.monotonic_us()),
        "{} us",
        clock.monotonic_us()
    );
    assert_eq!(device.counters().reads, 100);
}

#[test]
fn the_same_seed_takes_the_same_time() {
    let elapsed_us = |seed| {
        let (clock, device) = timed(seed);
        run(clock.clone(), async {
            let channel = device.attach().unwrap();
            for block in 0..20 {
                write(&*channel, block * u64::from(BLOCK), 1, WriteSync::Durable).await;
            }
        });
        clock.monotonic_us()
    };
    assert_eq!(elapsed_us(3), elapsed_us(3));
    assert_ne!(elapsed_us(3), elapsed_us(4));
}

#[test]
fn a_crash_keeps_what_was_flushed_and_anything_of_the_rest() {
    let mut later = Vec::new();
    for seed in 0..64 {
        let (clock, device) = timed(7);
        run(clock.clone(), async {
            let channel = device.attach().unwrap();
            write(&*channel, 0, 1, WriteSync::None).await;
            channel.flush().await.unwrap();
            write(&*channel, 4096, 2, WriteSync::Durable).await;
            write(&*channel, 0, 3, WriteSync::None).await;
            drop(channel.write_buffer(4096, filled(&*channel, 512, 4), WriteSync::Durable));
        });
        let after = device.crash(seed);
        let found = run(clock, async {
            let channel = after.attach().unwrap();
            (read(&*channel, 0).await, read(&*channel, 4096).await)
        });
        assert!(matches!(found, (1 | 3, 2 | 4)), "seed {seed}: {found:?}");
        later.push(found);
    }
    later.sort_unstable();
    later.dedup();
    assert_eq!(later, [(1, 2), (1, 4), (3, 2), (3, 4)]);
}

#[test]
fn a_crashed_device_answers_closed() {
    let (clock, device) = timed(1);
    run(clock, async {
        let channel = device.attach().unwrap();
        let flush = channel.flush();
        device.crash(1);
        assert_eq!(flush.await, Err(DeviceError::Closed));
        assert_eq!(channel.flush().await, Err(DeviceError::Closed));
        assert!(matches!(device.attach(), Err(DeviceError::Closed)));
    });
}

#[test]
fn planned_failures_come_as_planned() {
    let clock = SimClock::new(0);
    run(clock, async {
        let device = instant();
        let channel = device.attach().unwrap();
        for operation in [Operation::Read, Operation::Write, Operation::Flush] {
            device.inject(fault(operation, Effect::Errno(libc::EIO)));
        }
        let error = channel.read(0, channel.buffer(512)).await.unwrap_err();
        assert!(
            matches!(
                error,
                DeviceError::Io {
                    errno: libc::EIO,
                    ..
                }
            ),
            "{error}"
        );
        let buffer = filled(&*channel, 512, 1);
        channel
            .write_buffer(0, buffer, WriteSync::None)
            .await
            .unwrap_err();
        channel.flush().await.unwrap_err();
        write(&*channel, 0, 2, WriteSync::None).await;
        channel.flush().await.unwrap();
        assert_eq!(read(&*channel, 0).await, 2);
        let counters = device.counters();
        assert_eq!((counters.read_errors, counters.write_errors), (1, 2));
    });
}

#[test]
fn an_answer_that_does_not_come_is_a_timeout() {
    let (clock, device) = timed(1);
    device.inject(fault(Operation::Write, Effect::TimedOut));
    run(clock.clone(), async {
        let channel = device.attach().unwrap();
        let buffer = filled(&*channel, 512, 1);
        let error = channel
            .write_buffer(0, buffer, WriteSync::None)
            .await
            .unwrap_err();
        assert!(matches!(error, DeviceError::TimedOut { .. }), "{error}");
    });
    assert_eq!(clock.monotonic_us(), TIMEOUT_US);
}

#[test]
fn room_runs_out_and_comes_back() {
    run(SimClock::new(0), async {
        let device = instant();
        device.limit_room(2 * ROOM_BYTES);
        let channel = device.attach().unwrap();
        channel.allocate(0, ROOM_BYTES).await.unwrap();
        write(&*channel, ROOM_BYTES, 1, WriteSync::None).await;
        let error = channel.allocate(2 * ROOM_BYTES, 512).await.unwrap_err();
        assert!(matches!(error, DeviceError::NoSpace { .. }), "{error}");
        let buffer = filled(&*channel, 512, 1);
        let error = channel
            .write_buffer(2 * ROOM_BYTES, buffer, WriteSync::None)
            .await;
        assert!(matches!(error, Err(DeviceError::NoSpace { .. })));
        channel.discard(0, ROOM_BYTES).await.unwrap();
        channel.allocate(2 * ROOM_BYTES, 512).await.unwrap();
        assert_eq!(read(&*channel, ROOM_BYTES).await, 1);
    });
}

#[test]
fn rot_shows() {
    run(SimClock::new(0), async {
        let device = instant();
        let channel = device.attach().unwrap();
        write(&*channel, 0, 1, WriteSync::Durable).await;
        device.rot(0, 0xff);
        assert_eq!(read(&*channel, 0).await, 0xfe);
    });
}

#[test]
#[should_panic(expected = "a buffer changed during its write")]
fn changing_a_buffer_during_its_write_is_found() {
    let (clock, device) = timed(1);
    run(clock, async {
        let channel = device.attach().unwrap();
        let buffer = device.shared_buffer(4096);
        let slice = BufferSlice::new(Arc::clone(&buffer), 0..512);
        let write = channel.write(0, slice, WriteSync::None);
        buffer.write_at(3, b"changed");
        write.await.unwrap();
    });
}

#[test]
fn a_simulation_that_ends_early_leaves_nothing() {
    let (clock, device) = timed(1);
    let before = crate::device::buffer::kept_bytes();
    let channel = device.attach().unwrap();
    let read = channel.read(0, channel.buffer(4096));
    drop((read, channel, device, clock));
    assert_eq!(crate::device::buffer::kept_bytes(), before + 4096);
}
