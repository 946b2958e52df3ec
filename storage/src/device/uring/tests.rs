//! What only the real device can show: the kernel's part in submission and completion, and opening.

use std::cell::{Cell, RefCell};
use std::fs;
use std::future::Future;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::task::{LocalSet, spawn_local, yield_now};

use super::*;
use crate::clock::SystemClock;
use crate::device::{IoBuffer, WriteSync, conformance};

const DEVICE_BYTES: u64 = 64 << 20;

fn directory() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn open(path: &Path) -> Arc<UringDevice> {
    UringDevice::open_file(
        path,
        DEVICE_BYTES,
        OpenMode::Create,
        Arc::new(SystemClock::new()),
    )
    .unwrap()
}

/// A test that hangs fails after this long, in seconds.
const PATIENCE_S: u64 = 60;

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, async {
        tokio::time::timeout(Duration::from_secs(PATIENCE_S), future)
            .await
            .unwrap()
    })
}

fn filled(channel: &dyn Channel, bytes: usize, byte: u8) -> IoBuffer {
    let mut buffer = channel.buffer(bytes);
    buffer.fill(byte);
    buffer
}

#[test]
fn a_file_is_a_device() {
    let directory = directory();
    let count = Cell::new(0);
    let fresh = || {
        count.set(count.get() + 1);
        let device: Arc<dyn Device> = open(&directory.path().join(count.get().to_string()));
        device
    };
    conformance::run(fresh, run);
}

#[test]
fn a_read_beside_a_task_that_never_rests_ends_soon() {
    const POLL_US: u64 = 20;
    let directory = directory();
    let device = open(&directory.path().join("data"));
    let mut polls_needed = run(async {
        let channel = device.attach().unwrap();
        let buffer = filled(&*channel, 4096, 7);
        channel
            .write_buffer(0, buffer, WriteSync::None)
            .await
            .unwrap();
        let (stop, polls) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(0)));
        let (stopped, counted) = (Rc::clone(&stop), Rc::clone(&polls));
        let busy = spawn_local(async move {
            while !stopped.get() {
                let start = Instant::now();
                while start.elapsed() < Duration::from_micros(POLL_US) {
                    std::hint::spin_loop();
                }
                counted.set(counted.get() + 1);
                yield_now().await;
            }
        });
        let mut polls_needed = Vec::new();
        for _ in 0..21 {
            let before = polls.get();
            let buffer = channel.read(0, channel.buffer(4096)).await.unwrap();
            polls_needed.push(polls.get() - before);
            assert_eq!(buffer[4095], 7);
        }
        stop.set(true);
        busy.await.unwrap();
        polls_needed
    });
    // Counted in polls, and by the middle one, so that a slow disk or a busy machine is no failure.
    polls_needed.sort_unstable();
    let middle = polls_needed[polls_needed.len() / 2];
    assert!(
        middle * POLL_US < 10_000,
        "{polls_needed:?} polls of {POLL_US} us"
    );
}

#[test]
fn the_kernel_is_entered_once_for_many_operations() {
    let directory = directory();
    let device = open(&directory.path().join("data"));
    run(async {
        let channel = device.attach().unwrap();
        channel.allocate(0, 1 << 20).await.unwrap();
        let before = device.counters().enters;
        let reads: Vec<_> = (0..64)
            .map(|index| channel.read(index * 4096, channel.buffer(4096)))
            .collect();
        for read in reads {
            read.await.unwrap();
        }
        let counters = device.counters();
        assert_eq!((counters.enters - before, counters.reads), (4, 64));
    });
}

#[test]
fn a_turn_submits_at_the_eighth_end() {
    let directory = directory();
    let clock = Arc::new(crate::clock::SimClock::new(0));
    let path = directory.path().join("data");
    let device = UringDevice::open_file(&path, DEVICE_BYTES, OpenMode::Create, clock.clone());
    let device = device.unwrap();
    run(async {
        let channel = device.attach().unwrap();
        let flush = channel.flush();
        for _ in 0..7 {
            channel.end_of_turn();
        }
        assert_eq!(device.counters().enters, 0);
        channel.end_of_turn();
        assert_eq!(
            (device.counters().enters, device.counters().queued_turns_max),
            (1, 8)
        );
        flush.await.unwrap();

        let flush = channel.flush();
        clock.advance_to(49);
        channel.end_of_turn();
        assert_eq!(device.counters().enters, 1);
        clock.advance_to(50);
        channel.end_of_turn();
        assert_eq!(device.counters().enters, 2);
        flush.await.unwrap();
    });
}

#[test]
fn turns_alone_submit_and_reap() {
    let directory = directory();
    let device = open(&directory.path().join("data"));
    run(async {
        let channel = device.attach().unwrap();
        let ended = Rc::new(Cell::new(false));
        let seen = Rc::clone(&ended);
        channel
            .read(0, channel.buffer(4096))
            .on_done(move |answer| {
                answer.unwrap();
                seen.set(true);
            });
        // This task never yields, so the driver has no part in it. The system call lets the kernel
        // post what ended.
        let turns = (0..10_000_000).take_while(|_| {
            channel.end_of_turn();
            std::thread::yield_now();
            !ended.get()
        });
        assert!(turns.count() < 10_000_000);
    });
}

#[test]
fn a_file_that_was_cut_reads_as_zeros_from_there() {
    let directory = directory();
    let path = directory.path().join("data");
    let device = open(&path);
    run(async {
        let channel = device.attach().unwrap();
        let written = filled(&*channel, 8192, 1);
        channel
            .write_buffer(0, written, WriteSync::Durable)
            .await
            .unwrap();
        fs::OpenOptions::new()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(700)
            .unwrap();
        let read = channel.read(0, filled(&*channel, 8192, 2)).await.unwrap();
        assert!(read[..700].iter().all(|&byte| byte == 1));
        assert!(read[700..].iter().all(|&byte| byte == 0));
    });
}

#[test]
fn an_operation_without_an_answer_times_out_and_keeps_its_buffer() {
    let directory = directory();
    let clock = Arc::new(crate::clock::SimClock::new(0));
    let path = directory.path().join("data");
    let device = UringDevice::open_file(&path, DEVICE_BYTES, OpenMode::Create, clock.clone());
    let device = device.unwrap();
    run(async {
        let channel = device.attach().unwrap();
        // Nothing is submitted while this task runs, so the kernel cannot answer.
        let read = channel.read(0, channel.buffer(4096));
        let ring = driver::thread_ring(&device.clock).unwrap();
        clock.advance_to(crate::device::TIMEOUT_US + 1);
        ring.expire();
        assert!(matches!(read.await, Err(DeviceError::TimedOut { .. })));
        assert_eq!(device.counters().read_errors, 1);
        channel.submit();
        while ring.in_flight() > 0 {
            yield_now().await;
        }
        assert_eq!(crate::device::buffer::kept_bytes(), 4096);
        assert_eq!(
            (device.counters().reads, device.counters().read_errors),
            (0, 1)
        );
    });
}

#[test]
fn more_operations_than_the_ring_takes_wait_their_turn() {
    let directory = directory();
    let device = open(&directory.path().join("data"));
    run(async {
        let channel = device.attach().unwrap();
        channel.allocate(0, 8 << 20).await.unwrap();
        let ended = Rc::new(Cell::new(0));
        for index in 0..2000 {
            let ended = Rc::clone(&ended);
            let read = channel.read(index * 4096, channel.buffer(4096));
            read.on_done(move |result| {
                result.unwrap();
                ended.set(ended.get() + 1);
            });
        }
        let ring = driver::thread_ring(&device.clock).unwrap();
        assert!(ring.in_flight() <= ring::IN_FLIGHT_MAX);
        while ended.get() < 2000 {
            yield_now().await;
        }
        assert_eq!((ring.in_flight(), device.counters().reads), (0, 2000));
    });
}

#[test]
fn a_callback_may_start_the_next_operation() {
    fn step(channel: Rc<dyn Channel>, left: u32, ended: Rc<RefCell<Option<IoBuffer>>>) {
        let read = channel.read(0, channel.buffer(512));
        read.on_done(move |result| match left {
            0 => *ended.borrow_mut() = Some(result.unwrap()),
            _ => step(channel, left - 1, ended),
        });
    }
    let directory = directory();
    let device = open(&directory.path().join("data"));
    run(async {
        let channel = device.attach().unwrap();
        let ended = Rc::new(RefCell::new(None));
        step(Rc::clone(&channel), 100, Rc::clone(&ended));
        while ended.borrow().is_none() {
            yield_now().await;
        }
        assert_eq!(device.counters().reads, 101);
    });
}

#[test]
fn a_runtime_that_ends_leaves_no_operation_and_the_next_one_has_its_own_ring() {
    let directory = directory();
    let device = open(&directory.path().join("data"));
    for _ in 0..2 {
        let (channel, read) = run(async {
            let channel = device.attach().unwrap();
            let written = filled(&*channel, 4096, 1);
            channel
                .write_buffer(0, written, WriteSync::Durable)
                .await
                .unwrap();
            let read = channel.read(0, channel.buffer(4096));
            (channel, read)
        });
        // The driver is gone: what starts now is refused, what was queued ends with the ring.
        let mut late = std::pin::pin!(channel.flush());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let answer = late.as_mut().poll(&mut context);
        assert_eq!(answer, std::task::Poll::Ready(Err(DeviceError::Closed)));
        drop(channel);
        let mut read = std::pin::pin!(read);
        match read.as_mut().poll(&mut context) {
            std::task::Poll::Ready(Err(DeviceError::Closed)) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_file_is_created_private_with_its_directory_and_held_alone() {
    let directory = directory();
    let path = directory.path().join("a/b/data");
    let device = open(&path);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let second = |mode| UringDevice::open_file(&path, DEVICE_BYTES, mode, Arc::clone(&clock));
    for mode in [OpenMode::Create, OpenMode::Existing, OpenMode::ReadOnly] {
        assert!(matches!(second(mode), Err(OpenDeviceError::InUse { .. })));
    }
    run(async {
        let channel = device.attach().unwrap();
        drop(device);
        assert!(matches!(
            second(OpenMode::Existing),
            Err(OpenDeviceError::InUse { .. })
        ));
        channel.flush().await.unwrap();
    });
    second(OpenMode::Existing).unwrap();
}

#[test]
fn what_is_not_a_device_is_refused_by_name() {
    let directory = directory();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let file = |path: &Path, bytes, mode| {
        UringDevice::open_file(path, bytes, mode, Arc::clone(&clock))
            .err()
            .unwrap()
    };
    let missing = directory.path().join("missing");
    let error = file(&missing, DEVICE_BYTES, OpenMode::Existing);
    assert!(error.to_string().contains("check the path"), "{error}");
    assert!(!missing.exists());
    let error = file(directory.path(), DEVICE_BYTES, OpenMode::Create);
    assert!(matches!(
        error,
        OpenDeviceError::WrongKind {
            expected: "regular file",
            ..
        }
    ));
    let error = file(&missing, 4096, OpenMode::Create);
    assert!(matches!(error, OpenDeviceError::Size { bytes: 4096, .. }));
    let plain = directory.path().join("plain");
    fs::write(&plain, b"text").unwrap();
    let error = UringDevice::open_block(&plain, OpenMode::Create, Arc::clone(&clock)).err();
    assert!(matches!(
        error,
        Some(OpenDeviceError::WrongKind {
            expected: "block device",
            ..
        })
    ));
    assert_eq!(fs::read(&plain).unwrap(), b"text");
}

#[test]
fn a_device_opened_for_reading_refuses_writes() {
    let directory = directory();
    let path = directory.path().join("data");
    drop(open(&path));
    let clock = Arc::new(SystemClock::new());
    let device = UringDevice::open_file(&path, DEVICE_BYTES, OpenMode::ReadOnly, clock).unwrap();
    run(async {
        let channel = device.attach().unwrap();
        let write = channel.write_buffer(0, filled(&*channel, 4096, 1), WriteSync::None);
        let error = write.await.unwrap_err();
        assert!(
            matches!(
                error,
                DeviceError::Io {
                    errno: libc::EBADF,
                    ..
                }
            ),
            "{error}"
        );
        let read = channel.read(0, channel.buffer(4096)).await.unwrap();
        assert!(read.iter().all(|&byte| byte == 0));
    });
}
