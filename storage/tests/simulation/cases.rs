//! Counterexamples that runs found, each as short as it can be told. Owns a store on one device and
//! the steps that lead to it.

use std::collections::BTreeMap;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use cellar_storage::clock::SimClock;
use cellar_storage::device::Operation;
use cellar_storage::device::sim::{Effect, Fault, Latency, SimDevice, SimExecutor};
use cellar_storage::format::RESERVED_BYTES;
use cellar_storage::units::Extent;
use cellar_storage::{
    Clock, Db, Device, Encoding, Handle, SEGMENT_BYTES_MIN, Store, StoreError, StoreOptions,
    WriteBatch,
};

use crate::value::{Value, Version, put};

const DB: Db = Db(0);
/// Of values that take a good part of a record's bound.
const VALUE_BYTES: usize = 30_000;
/// How long a flush takes: longer than any write.
const FLUSH_US: u64 = 2_000;
/// Values that fill more than the unit in which the log goes out by itself.
const FILLING_COUNT: u64 = 12;
/// More values than the devices of these cases hold.
const MANY: u64 = 1_000;
/// Longer than anything that ends takes.
const PATIENCE_US: u64 = 60_000_000;
/// "Input/output error".
const EIO: i32 = 5;

fn blank() -> (SimClock, Arc<SimDevice>) {
    let clock = SimClock::new(1_700_000_000_000);
    let bytes = RESERVED_BYTES + 16 * u64::from(SEGMENT_BYTES_MIN);
    let latency = Latency {
        flush_us: FLUSH_US..FLUSH_US + 1,
        ..Latency::default()
    };
    let device = SimDevice::timed(512, bytes, 1, clock.clone(), latency);
    (clock, device)
}

/// Runs `steps` on a store that is opened on the device, with its upkeep beside it.
fn with_store<T, F: Future<Output = T>>(
    (clock, device): &(SimClock, Arc<SimDevice>),
    steps: impl FnOnce(Handle) -> F,
) -> T {
    let mut executor = SimExecutor::new(clock.clone(), 1);
    let devices = vec![Arc::clone(device) as Arc<dyn Device>];
    let options = StoreOptions {
        segment_bytes: SEGMENT_BYTES_MIN,
        ..StoreOptions::default()
    };
    let store = Store::open(options, devices, Arc::new(clock.clone()), [7; 32]);
    let store = executor.block_on(store).expect("it opens");
    let handle = store.attach(0).expect("its first worker");
    executor
        .spawner()
        .spawn(Store::run_background(handle.clone()));
    executor.block_on(steps(handle))
}

async fn set(handle: &Handle, number: u64) -> Result<(), StoreError> {
    let (key, value) = (number.to_string(), vec![number as u8; VALUE_BYTES]);
    let mut batch = WriteBatch::new();
    batch.set(DB, key, value, Encoding::Raw, None);
    handle.commit(batch).await.map(|_| ())
}

/// The next writes that touch `extent` fail, or any one where there is none.
fn fail_write(device: &SimDevice, extent: Option<Extent>) {
    device.inject(Fault {
        operation: Operation::Write,
        extent,
        skip: 0,
        times: 1,
        effect: Effect::Errno(EIO),
    });
}

/// A flush was under way when a write failed, and ended well: the round that it belonged to must
/// not end after the store began to refuse writes.
#[test]
fn nothing_becomes_durable_after_a_write_failed() {
    let device = blank();
    let after = with_store(&device, async |handle| {
        // Some of it goes out at once, so that the round needs a flush.
        for number in 0..FILLING_COUNT {
            set(&handle, number).await.expect("there is room");
        }
        let (before, target) = (handle.durable_lsn(), handle.published_lsn());
        let waiting = handle.wait_durable(target);
        let failing = async {
            device.0.sleep(FLUSH_US / 2).await;
            fail_write(&device.1, None);
            for number in 0..FILLING_COUNT {
                set(&handle, number).await.expect("no write has ended yet");
            }
        };
        let (waited, ()) = tokio::join!(waiting, failing);
        assert!(matches!(waited, Err(StoreError::Latched)), "{waited:?}");
        device.0.sleep(10 * FLUSH_US).await;
        assert!(matches!(set(&handle, 0).await, Err(StoreError::Latched)));
        (before, handle.durable_lsn())
    });
    assert_eq!(after.0, after.1);
}

/// What a transaction or a batch writes over itself it does not write: its pages would have no root
/// and nobody to sweep them. Found by seed 2.
#[test]
fn a_collection_that_is_written_over_at_once_leaves_no_pages() {
    let key = (DB, Bytes::from_static(b"k"));
    let page = Bytes::from(vec![1; VALUE_BYTES]);
    let pages = Rc::new(BTreeMap::from([(0, page.clone()), (3, page)]));
    let collection = Version {
        value: Value::Paged(pages),
        expiry_ms: None,
    };
    with_store(&blank(), async |handle| {
        let transaction = handle.begin(&[(key.0, &key.1)]).await;
        let inside = transaction.handle();
        let mut batch = WriteBatch::new();
        put(&inside, &mut batch, &key, &collection);
        inside.commit(batch).await.expect("it is collected");
        let mut batch = WriteBatch::new();
        batch.remove(key.0, key.1.clone());
        inside.commit(batch).await.expect("it is collected");
        transaction.commit().await.expect("there is room");
        assert_eq!(handle.store().stats().live_bytes, 0);
        let mut batch = WriteBatch::new();
        put(&handle, &mut batch, &key, &collection);
        batch.set(key.0, key.1.clone(), "v", Encoding::Raw, None);
        handle.commit(batch).await.expect("there is room");
        let mut batch = WriteBatch::new();
        batch.remove(key.0, key.1.clone());
        handle.commit(batch).await.expect("there is room");
        assert_eq!(handle.store().stats().live_bytes, 0);
    });
}

/// A device without room for one segment gives none: writers are told so, and wait no longer than
/// it takes to find out.
#[test]
fn a_device_without_room_refuses_writes() {
    for segments in [0, 1, 2, 5, 6, 8] {
        let device = blank();
        let bytes = RESERVED_BYTES + segments * u64::from(SEGMENT_BYTES_MIN);
        device.1.limit_room(bytes);
        with_store(&device, async |handle| {
            for number in 0.. {
                let setting = set(&handle, number);
                let late = device.0.sleep(PATIENCE_US);
                let outcome = tokio::select! {
                    biased;
                    outcome = setting => outcome,
                    () = late => panic!("a write waits for room that {segments} segments lack"),
                };
                match outcome {
                    Ok(()) => assert!(number < MANY, "there is room for some values only"),
                    Err(error) => {
                        assert!(matches!(error, StoreError::OutOfSpace), "{error}");
                        break;
                    }
                }
            }
            assert!(handle.flush_all().await.is_ok());
        });
    }
}

/// What a closing cannot say durably it must not leave unsaid.
#[test]
fn a_closing_that_cannot_mark_the_store_says_so() {
    let device = blank();
    with_store(&device, async |handle| {
        set(&handle, 0).await.expect("there is room");
        let superblocks = Extent {
            offset: 0,
            bytes: RESERVED_BYTES,
        };
        fail_write(&device.1, Some(superblocks));
        let closed = handle.store().close(&handle).await;
        assert!(matches!(closed, Err(StoreError::Latched)), "{closed:?}");
        assert!(handle.store().stats().latched);
    });
    let after = (device.0.clone(), device.1.crash(1));
    with_store(&after, async |handle| {
        let found = handle.get(DB, b"0").await.expect("it was durable");
        assert_eq!(found.map(|value| value.len()), Some(VALUE_BYTES as u64));
    });
}
