//! Devices that fail: one of several refuses writes or flushes, or does not deliver what is read.
//! What can still be read is read, what was acknowledged is not denied, and nothing is claimed
//! durable again. And the scrub, which finds damage before anybody asks for it.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::sync::Arc;

use cellar_storage::clock::SimClock;
use cellar_storage::device::Operation;
use cellar_storage::device::sim::{Effect, Fault, SimDevice, SimExecutor, SimRandom};
use cellar_storage::{
    Clock, Db, Device, Encoding, Handle, ScrubRunning, ScrubState, Store, StoreError, StoreOptions,
    WriteBatch,
};

const DB: Db = Db(0);
const SEGMENT_BYTES: u32 = 1 << 20;
const DEVICE_BYTES: u64 = 17 << 20;
const EIO: i32 = 5;
/// As many as anybody tries.
const ALWAYS: u64 = u64::MAX;

/// An open store on two devices, with its upkeep running.
struct Scene {
    devices: Vec<Arc<SimDevice>>,
    executor: SimExecutor,
    handle: Handle,
}

impl Scene {
    fn new() -> Self {
        let device = |seed| SimDevice::instant(4096, DEVICE_BYTES, seed);
        Self::on(vec![device(1), device(2)])
    }

    fn on(devices: Vec<Arc<SimDevice>>) -> Self {
        let clock = SimClock::new(1_700_000_000_000);
        let mut executor = SimExecutor::new(clock.clone(), 1);
        let options = StoreOptions {
            segment_bytes: SEGMENT_BYTES,
            value_cache_bytes: 0,
            scrub_bytes_per_s: 1 << 20,
            ..StoreOptions::default()
        };
        let opened: Vec<_> = devices
            .iter()
            .map(|d| Arc::clone(d) as Arc<dyn Device>)
            .collect();
        let store = executor
            .block_on(Store::open(options, opened, Arc::new(clock), [7; 32]))
            .unwrap();
        let handle = store.attach(0).unwrap();
        executor
            .spawner()
            .spawn(Store::run_background(handle.clone()));
        Self {
            devices,
            executor,
            handle,
        }
    }

    fn run<T>(&mut self, task: impl AsyncFnOnce(&Handle) -> T) -> T {
        let handle = self.handle.clone();
        self.executor.block_on(task(&handle))
    }

    /// From now on one device fails all that it is asked of this kind.
    fn fail(&self, device: usize, operation: Operation) {
        self.devices[device].inject(Fault {
            operation,
            extent: None,
            skip: 0,
            times: ALWAYS,
            effect: Effect::Errno(EIO),
        });
    }
}

fn value(number: u64) -> Vec<u8> {
    let mut value = vec![0; 3_000];
    SimRandom::new(number).fill(&mut value);
    value
}

async fn set(handle: &Handle, number: u64) -> Result<(), StoreError> {
    let mut batch = WriteBatch::new();
    let key = number.to_le_bytes().to_vec();
    batch.set(DB, key, value(number), Encoding::Raw, None);
    handle
        .commit(batch)
        .await
        .map(|outcome| assert!(outcome.applied))
}

async fn get(handle: &Handle, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
    match handle.get(DB, &number.to_le_bytes()).await? {
        Some(snapshot) => Ok(Some(snapshot.read(0..snapshot.len()).await?.to_vec())),
        None => Ok(None),
    }
}

async fn pause(handle: &Handle) {
    handle.clock().sleep(1_000_000).await;
}

#[test]
fn a_device_that_refuses_writes_latches_the_store_and_reads_go_on() {
    for operation in [Operation::Write, Operation::Flush] {
        let mut scene = Scene::new();
        // Enough that some of it has left the write buffers, on both devices.
        let written = scene.run(async |handle: &Handle| {
            for number in 0..3_000 {
                set(handle, number).await.unwrap();
            }
            pause(handle).await;
            3_000
        });
        scene.fail(1, operation);
        let acknowledged = scene.run(async |handle: &Handle| {
            let mut number = written;
            while set(handle, number).await.is_ok() {
                number += 1;
                if number % 16 == 0 {
                    pause(handle).await;
                }
            }
            number
        });
        assert!(acknowledged > written, "{operation}");
        scene.run(async |handle: &Handle| {
            for number in 0..acknowledged {
                assert!(
                    get(handle, number).await.unwrap() == Some(value(number)),
                    "{number}"
                );
            }
            assert!(matches!(set(handle, 1).await, Err(StoreError::Latched)));
            let mut batch = WriteBatch::new();
            batch.remove(DB, 1_u64.to_le_bytes().to_vec());
            assert!(matches!(
                handle.commit(batch).await,
                Err(StoreError::Latched)
            ));
            assert!(matches!(handle.flush_all().await, Err(StoreError::Latched)));
            let published = handle.published_lsn();
            let waited = handle.wait_durable(published).await;
            assert!(matches!(waited, Err(StoreError::Latched)));
            let stats = handle.store().stats();
            assert!(stats.latched && stats.lsn_durable < stats.lsn_published);
            assert!(stats.latch_reason.unwrap().starts_with("sim-2: "));
            let closed = handle.store().close(handle).await;
            assert!(matches!(closed, Err(StoreError::Latched)));
            // A refused closing changes nothing.
            assert!(get(handle, written).await.unwrap() == Some(value(written)));
        });
        let durable = scene.handle.durable_lsn();
        let after = scene.devices.iter().map(|device| device.crash(1)).collect();
        drop(scene);
        let mut scene = Scene::on(after);
        scene.run(async |handle: &Handle| {
            assert!(handle.durable_lsn() >= durable);
            assert!(get(handle, written - 1).await.unwrap() == Some(value(written - 1)));
            assert!(!handle.store().stats().clean_shutdown_at_start);
            set(handle, 1).await.unwrap();
        });
    }
}

#[test]
fn a_device_that_does_not_deliver_costs_only_what_lies_on_it() {
    let mut scene = Scene::new();
    scene.run(async |handle: &Handle| {
        for number in 0..5_000 {
            set(handle, number).await.unwrap();
        }
        pause(handle).await;
    });
    scene.fail(0, Operation::Read);
    scene.run(async |handle: &Handle| {
        let (mut found, mut failed) = (0, 0);
        for number in 0..5_000 {
            match get(handle, number).await {
                Ok(read) => {
                    assert!(read == Some(value(number)));
                    found += 1;
                }
                Err(StoreError::Read(_)) => failed += 1,
                Err(error) => panic!("{error}"),
            }
        }
        assert!(found > 1_000 && failed > 1_000, "{found} {failed}");
        // Writes need no reads.
        set(handle, 7).await.unwrap();
        assert!(get(handle, 7).await.unwrap() == Some(value(7)));
        let stats = handle.store().stats();
        assert!(!stats.latched && stats.corrupt_records == 0 && stats.device_read_errors > 1_000);
    });
}

#[test]
fn the_scrub_reads_everything_and_finds_what_rotted() {
    let mut scene = Scene::new();
    scene.run(async |handle: &Handle| {
        for number in 0..3_000 {
            set(handle, number).await.unwrap();
        }
        pause(handle).await;
    });
    for offset in (0..8).map(|segment: u64| (1 << 20) + segment * u64::from(SEGMENT_BYTES)) {
        scene.devices[0].rot(offset + 300_000, 8);
    }
    scene.run(async |handle: &Handle| {
        let store = handle.store();
        assert_eq!(store.scrub_status().state, ScrubState::Idle);
        let began_us = handle.clock().monotonic_us();
        store.start_scrub().unwrap();
        assert_eq!(store.start_scrub(), Err(ScrubRunning));
        while store.scrub_status().state == ScrubState::Running {
            pause(handle).await;
        }
        let status = store.scrub_status();
        assert_eq!((status.state, status.percent), (ScrubState::Finished, 100));
        assert!(status.segments_done >= 8 && status.segments_done == status.segments_total);
        assert!(status.records > 2_000 && status.finished_unix_ms > status.started_unix_ms);
        // A MiB a second, as the options say.
        let took_us = handle.clock().monotonic_us() - began_us;
        assert!(took_us > status.bytes * 9 / 10 && took_us < status.bytes * 3 / 2 + 2_000_000);
        assert!(status.damaged >= 3, "{status:?}");
        assert_eq!(status.damaged, store.stats().corrupt_records);
        assert_eq!(status.last_damage.len() as u64, status.damaged);
        // The same places are counted once, whoever comes upon them.
        let mut errors = 0;
        for number in 0..3_000 {
            errors += u64::from(get(handle, number).await.is_err());
        }
        assert_eq!(
            (errors, store.stats().corrupt_records),
            (status.damaged, errors)
        );
        store.start_scrub().unwrap();
        pause(handle).await;
        assert!(store.stop_scrub());
        pause(handle).await;
        assert_eq!(store.scrub_status().state, ScrubState::Stopped);
        assert!(!store.stop_scrub());
    });
}

#[test]
fn the_scrub_keeps_no_cleaner_waiting() {
    let mut scene = Scene::new();
    scene.run(async |handle: &Handle| {
        for number in 0..2_000 {
            set(handle, number).await.unwrap();
        }
        handle.store().start_scrub().unwrap();
        for number in 0..30_000 {
            set(handle, number % 2_000).await.unwrap();
            if number % 1_000 == 0 {
                pause(handle).await;
            }
        }
        assert_eq!(handle.store().scrub_status().state, ScrubState::Finished);
        assert_eq!(handle.store().scrub_status().damaged, 0);
        assert!(handle.store().stats().cleaner_segments > 20);
        handle.store().start_scrub().unwrap();
        handle.store().close(handle).await.unwrap();
        pause(handle).await;
        assert_eq!(handle.store().scrub_status().state, ScrubState::Stopped);
    });
}
