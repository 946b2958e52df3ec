//! A cache that is written for ever on a small simulated device, under every policy: no write fails
//! or waits long, what is there is right, and nothing that was evicted comes back after a crash.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]
#![expect(clippy::print_stdout, reason = "a test may tell what it found")]

mod client;
mod crashes;
mod names;
mod world;

use std::sync::Arc;

use cellar_storage::device::Operation;
use cellar_storage::device::sim::{Effect, Fault};
use cellar_storage::{Clock, EvictionPolicy, StoreError, WriteBatch};

use crate::client::{Client, DB, LASTING_KEYS, set, value};
use crate::world::{World, options};

const VALUE_BYTES: usize = 3000;
/// Lives of one run, each ended by a crash.
const LIVES: u64 = 2;
/// Writes of one life: some 75 MiB.
const WRITES: u64 = 25_000;

fn is_volatile(policy: EvictionPolicy) -> bool {
    match policy {
        EvictionPolicy::NoEviction
        | EvictionPolicy::AllKeysLru
        | EvictionPolicy::AllKeysLfu
        | EvictionPolicy::AllKeysRandom => false,
        EvictionPolicy::VolatileLru
        | EvictionPolicy::VolatileLfu
        | EvictionPolicy::VolatileRandom
        | EvictionPolicy::VolatileTtl => true,
    }
}

fn a_cache_goes_on_for_ever(policy: EvictionPolicy) {
    let mut world = World::new(options(policy));
    let mut client = Client::new(&world, is_volatile(policy));
    if is_volatile(policy) {
        let client = &mut client;
        world.executor.block_on(async {
            for key in 0..LASTING_KEYS {
                client.write(key, VALUE_BYTES, false).await;
            }
        });
    }
    for _ in 0..LIVES {
        world = live_and_crash(world, &mut client, policy);
    }
}

/// Writes for a while, loses power, and looks at what is there then.
fn live_and_crash(mut world: World, client: &mut Client, policy: EvictionPolicy) -> World {
    let present = world.executor.block_on(async {
        client.write_for_ever(VALUE_BYTES, WRITES).await;
        let tail = client.handle.published_lsn();
        client.handle.wait_durable(tail).await.unwrap();
        client.present().await
    });
    let stats = world.handle.store().stats();
    println!(
        "{policy:?}: longest write {} us, {} present, evicted {}, relocated {} of {} bytes written",
        client.longest_us,
        present.len(),
        stats.evicted_keys,
        stats.cleaner_relocated_bytes,
        stats.device_written_bytes,
    );
    if is_volatile(policy) {
        let lasting = present.iter().filter(|key| **key < LASTING_KEYS).count() as u64;
        assert_eq!(lasting, LASTING_KEYS, "keys without a deadline stay");
    }
    assert!(stats.evicted_keys_for_space > 1_000, "{stats:?}");
    assert_eq!(stats.corrupt_records, 0);
    // What is given up early is room that the cache does not use.
    let held = present.len() as u64 * VALUE_BYTES as u64;
    assert!(held > 30 << 20, "only {held} bytes are held");

    let mut world = world.crash(options(policy), 3);
    client.handle = world.handle.clone();
    let after = world.executor.block_on(client.present());
    let came_back: Vec<_> = after.iter().filter(|key| !present.contains(key)).collect();
    assert!(came_back.is_empty(), "{came_back:?} came back");
    world
}

/// Pages are not evicted, but go with their roots.
#[test]
fn large_values_go_with_their_pages() {
    let mut world = World::new(options(EvictionPolicy::AllKeysLru));
    let mut client = Client::new(&world, false);
    world.executor.block_on(async {
        client.write_for_ever(100_000, 2_000).await;
        assert!(client.present().await.len() > 200);
    });
    let stats = world.handle.store().stats();
    assert!(stats.evicted_keys_for_space > 500, "{stats:?}");
}

#[test]
fn after_a_failed_write_nothing_is_evicted() {
    let mut world = World::new(options(EvictionPolicy::AllKeysLru));
    let mut client = Client::new(&world, false);
    let device = Arc::clone(&world.device);
    let (handle, clock) = (world.handle.clone(), world.clock.clone());
    world.executor.block_on(async {
        client.write_for_ever(VALUE_BYTES, WRITES).await;
        device.inject(Fault {
            operation: Operation::Write,
            extent: None,
            skip: 0,
            times: 1,
            effect: Effect::Errno(5),
        });
        let mut key = 0;
        let error = loop {
            key += 1;
            let written = set(&handle, key, value(key, 1, VALUE_BYTES), None).await;
            if let Err(error) = written {
                break error;
            }
        };
        assert!(matches!(error, StoreError::Latched), "{error}");
        let evicted = handle.store().stats().evicted_keys;
        clock.sleep(5_000_000).await;
        let again = set(&handle, key, value(key, 1, VALUE_BYTES), None).await;
        assert!(matches!(again, Err(StoreError::Latched)));
        assert_eq!(handle.store().stats().evicted_keys, evicted);
    });
}

#[test]
fn a_full_index_evicts_too() {
    let mut world = World::new(options(EvictionPolicy::AllKeysLru));
    let store = Arc::clone(world.handle.store());
    let stats = store.stats();
    let index_bytes_max = stats.index_bytes + (1 << 20);
    store.set_memory_bytes_max(stats.write_buffer_bytes + stats.table_bytes + index_bytes_max);
    let mut client = Client::new(&world, false);
    world.executor.block_on(async {
        for key in 0..250_000 {
            client.write(key, 20, false).await;
        }
    });
    let stats = store.stats();
    assert!(stats.evicted_keys_for_memory > 50_000, "{stats:?}");
    assert_eq!(stats.evicted_keys_for_space, 0);
    assert!(stats.index_bytes <= index_bytes_max, "{stats:?}");
    assert!(stats.keys > 50_000, "{stats:?}");
}

/// Tombstones of small values take as much as the values did, until the cleaner drops them.
#[test]
fn removed_small_values_give_their_room_back() {
    let mut world = World::new(options(EvictionPolicy::NoEviction));
    let (handle, clock) = (world.handle.clone(), world.clock.clone());
    world.executor.block_on(async {
        let mut key = 0;
        while set(&handle, key, value(key, 1, 20), None).await.is_ok() {
            key += 1;
        }
        assert!(key > 100_000, "only {key} keys fit");
        for number in 0..key {
            let mut batch = WriteBatch::new();
            batch.remove(DB, number.to_be_bytes().to_vec());
            assert_eq!(handle.commit(batch).await.unwrap().removed, 1);
        }
        clock.sleep(5_000_000).await;
        set(&handle, 0, value(0, 2, 20), None).await.unwrap();
    });
}

#[test]
fn all_keys_by_recency() {
    a_cache_goes_on_for_ever(EvictionPolicy::AllKeysLru);
}

#[test]
fn all_keys_by_frequency() {
    a_cache_goes_on_for_ever(EvictionPolicy::AllKeysLfu);
}

#[test]
fn all_keys_by_chance() {
    a_cache_goes_on_for_ever(EvictionPolicy::AllKeysRandom);
}

#[test]
fn volatile_keys_by_recency() {
    a_cache_goes_on_for_ever(EvictionPolicy::VolatileLru);
}

#[test]
fn volatile_keys_by_frequency() {
    a_cache_goes_on_for_ever(EvictionPolicy::VolatileLfu);
}

#[test]
fn volatile_keys_by_chance() {
    a_cache_goes_on_for_ever(EvictionPolicy::VolatileRandom);
}

#[test]
fn volatile_keys_by_deadline() {
    a_cache_goes_on_for_ever(EvictionPolicy::VolatileTtl);
}
