//! The start of a store, and its check, over devices that somebody else wrote: a valid store of
//! which the input changes structures, behind checksums that fit.
//!
//! ```text
//!   base (lived once) -- copy --> place (edits, sealed anew) --> check, start, reads, second start
//! ```
//!
//! Owns what has to hold whatever the structures say: nothing panics or hangs; a start succeeds or
//! is refused for a reason that names what is wrong; no key ever shows what was not written under
//! it; what was served once is served again after the next start.

mod base;
mod place;

use std::collections::BTreeMap;
use std::sync::Arc;

use base::{Base, Ending, Key};
use bytes::Bytes;
use cellar_storage::check::{self, CheckError};
use cellar_storage::clock::SimClock;
use cellar_storage::device::sim::{SimDevice, SimExecutor};
use cellar_storage::{Db, Device, Encoding, Handle, OpenError, Store, StoreError, WriteBatch};

use crate::Target;
use crate::input::Input;
use place::EDIT_BYTES;

/// How the store ended, and edits of its structures.
pub(crate) const IMAGE: Target = Target {
    name: "image",
    seeds,
    run,
    mutations: 150,
};

/// Edits of one input at most.
const EDITS_MAX: usize = 12;
/// Steps of the executor in which a start, a check or some writes end: many times as many as they
/// take.
const STEPS_MAX: u64 = 3_000_000;

/// One edit of each kind of structure, by each of the operations.
fn seeds() -> Vec<Vec<u8>> {
    let edit = |what: u8, at: u8, operation: u8, value: u64| {
        let front = [what, 1, 0, at, 0, operation];
        [&front[..], &value.to_le_bytes()].concat()
    };
    let near_end = [1 << 62, (1 << 63) - 4096, u64::MAX - 31, u64::MAX];
    let mut seeds = Vec::new();
    for what in 0..place::WHAT_COUNT {
        for (at, operation, value) in [(32, 0x30, 7), (8, 0x31, 64), (40, 0x21, 1), (4, 3, 2)] {
            seeds.push([&[what & 1][..], &edit(what, at, operation, value)].concat());
        }
    }
    for value in near_end {
        let edits = [edit(6, 0, 0x30, value), edit(2, 40, 0x30, value)].concat();
        seeds.push([&[1][..], &edits].concat());
    }
    seeds.push(vec![0]);
    seeds.push(vec![1]);
    seeds
}

fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let base = Base::of(match input.u8() % 2 {
        0 => Ending::Close,
        _ => Ending::CutOff,
    });
    let devices = base.copy();
    for edit in input.rest().chunks(EDIT_BYTES).take(EDITS_MAX) {
        place::edit(base, &devices, Input::new(edit));
    }
    see_check(&copies(&devices));
    let found = copies(&devices);
    let Some(mut first) = start(&found) else {
        return;
    };
    let served = first.read_all(base);
    // A start leaves what it found in order, and the next one finds the same.
    let left = copies(&found);
    let mut second = start(&left).expect("a store that was started is started again");
    let again = second.read_all(base);
    for (key, value) in served {
        assert_eq!(again.get(&key), Some(&value), "{key:?} after another start");
    }
    second.live();
}

/// The devices as a loss of power leaves them: all that was written is durable by then.
fn copies(devices: &[Arc<SimDevice>]) -> Vec<Arc<SimDevice>> {
    devices.iter().map(|device| device.crash(1)).collect()
}

fn as_devices(devices: &[Arc<SimDevice>]) -> Vec<Arc<dyn Device>> {
    let devices = devices.iter();
    devices.map(|d| Arc::clone(d) as Arc<dyn Device>).collect()
}

/// A check reports, or says why it cannot.
fn see_check(devices: &[Arc<SimDevice>]) {
    let clock = SimClock::new(base::NOW_MS);
    let mut executor = SimExecutor::new(clock.clone(), 1);
    let mut watch = |_| ();
    let check = check::check(as_devices(devices), Arc::new(clock), &mut watch);
    let checked = executor.block_on_for(check, STEPS_MAX);
    match checked.expect("a check comes to its end") {
        Ok(report) => assert!(report.damaged >= report.damage.len() as u64),
        Err(CheckError::Open(refusal)) => assert_clear(&refusal),
        Err(CheckError::Store(error)) => panic!("a check that began: {error}"),
    }
}

/// A refusal tells what is wrong with which device or where in the log; no device failed here, and
/// there is memory.
fn assert_clear(refusal: &OpenError) {
    let is_clear = match refusal {
        OpenError::Foreign { .. }
        | OpenError::Incomplete { .. }
        | OpenError::Shrunk { .. }
        | OpenError::Spent { .. }
        | OpenError::Log { .. } => true,
        OpenError::NoDevice
        | OpenError::NoStore
        | OpenError::TooSmall { .. }
        | OpenError::NoMemory
        | OpenError::Thread { .. }
        | OpenError::Device(_) => false,
    };
    assert!(is_clear, "{refusal}");
}

/// A store that was started.
struct Started {
    executor: SimExecutor,
    handle: Handle,
}

/// Starts what is on the devices; none where it is refused.
fn start(devices: &[Arc<SimDevice>]) -> Option<Started> {
    let clock = SimClock::new(base::NOW_MS);
    let mut executor = SimExecutor::new(clock.clone(), 1);
    let opening = Store::open(
        base::options(),
        as_devices(devices),
        Arc::new(clock),
        [9; 32],
    );
    let opened = executor.block_on_for(opening, STEPS_MAX);
    match opened.expect("a start comes to its end") {
        Ok(store) => {
            let handle = store.attach(0).expect("a simulated device attaches");
            Some(Started { executor, handle })
        }
        Err(refusal) => {
            assert_clear(&refusal);
            None
        }
    }
}

impl Started {
    /// What every key answers, as far as it answers with a value.
    fn read_all(&mut self, base: &Base) -> BTreeMap<Key, Bytes> {
        let handle = self.handle.clone();
        let reading = async {
            let mut served = BTreeMap::new();
            for (key, lengths) in &base.written {
                match read(&handle, key).await {
                    Ok(None) => {}
                    Ok(Some((value, is_inline))) => {
                        let own = base::byte_of(&key.1);
                        assert!(
                            value.iter().all(|byte| *byte == own),
                            "{key:?}: not its own"
                        );
                        let is_whole = !is_inline || lengths.contains(&value.len());
                        assert!(is_whole, "{key:?}: {} bytes", value.len());
                        served.insert(key.clone(), value);
                    }
                    Err(error) => assert_damage(&error),
                }
            }
            served
        };
        let served = self.executor.block_on_for(reading, STEPS_MAX);
        served.expect("reads come to their end")
    }

    /// Goes on living: the upkeep sees to what was found, and what is written is there.
    fn live(&mut self) {
        let handle = self.handle.clone();
        let spawner = self.executor.spawner();
        spawner.spawn(Store::run_background(handle.clone()));
        let living = async {
            let mut batch = WriteBatch::new();
            batch.set(Db(0), b"new".to_vec(), vec![1; 100], Encoding::Raw, None);
            match handle.commit(batch).await {
                Ok(outcome) => assert!(outcome.applied),
                Err(StoreError::OutOfSpace) => return,
                Err(error) => panic!("a write to a store that was started: {error}"),
            }
            handle.clock().sleep(2_000_000).await;
            let key = (Db(0), Bytes::from_static(b"new"));
            let found = read(&handle, &key).await.expect("it was written just now");
            assert_eq!(found.map(|(value, _)| value.len()), Some(100));
            handle.store().close(&handle).await.expect("nothing failed");
        };
        let lived = self.executor.block_on_for(living, STEPS_MAX);
        lived.expect("a life comes to its end");
    }
}

/// A key's value, and whether one record holds it.
async fn read(handle: &Handle, (db, key): &Key) -> Result<Option<(Bytes, bool)>, StoreError> {
    let Some(snapshot) = handle.get(*db, key).await? else {
        return Ok(None);
    };
    let value = snapshot.read(0..snapshot.len()).await?;
    Ok(Some((value, snapshot.inline().is_some())))
}

fn assert_damage(error: &StoreError) {
    let is_damage = matches!(
        error,
        StoreError::Corrupt { .. } | StoreError::MissingPage { .. } | StoreError::Format(_)
    );
    assert!(is_damage, "{error}");
}
