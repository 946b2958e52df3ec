//! Crashes at any moment of a cache's life: what was evicted for good before does not come back,
//! and what is there is a version that may have survived.

use std::collections::BTreeMap;

use cellar_storage::EvictionPolicy;

use crate::client::{Client, get, value};
use crate::world::{World, options};

const VALUE_BYTES: usize = 3000;
/// Writes that fill the store.
const WRITES_FIRST: u64 = 20_000;
const CRASHES: u64 = 8;
/// Steps of the executor after the look at most: some three turns of the cleaner.
const STEPS_MAX: u64 = 40_000;

/// What is known to survive: the version of each key that is there, and of each other that it is
/// not. All of it is durable.
struct Look {
    present: BTreeMap<u64, u64>,
    /// The last version of each key that had been written.
    versions: BTreeMap<u64, u64>,
}

async fn look(client: &Client) -> Look {
    let present = client.present().await;
    let tail = client.handle.published_lsn();
    client.handle.wait_durable(tail).await.unwrap();
    let versions = client.versions.clone();
    let present = present.into_iter().map(|key| (key, versions[&key]));
    Look {
        present: present.collect(),
        versions,
    }
}

/// Compares what a crash left with the last look, and makes it the client's knowledge.
async fn judge(client: &mut Client, look: &Look) {
    let keys: Vec<(u64, u64)> = client.versions.clone().into_iter().collect();
    for (key, last) in keys {
        let Some(found) = get(&client.handle, key).await else {
            continue;
        };
        let version = u64::from_le_bytes(found[8..16].try_into().unwrap());
        assert!(found == value(key, version, found.len()), "key {key}");
        let before = look.versions.get(&key).copied().unwrap_or(0);
        let survived = look.present.get(&key).copied().unwrap_or(before + 1);
        assert!(
            (survived..=last).contains(&version),
            "key {key}: version {version} of {last} came back; {before} had been written, and \
             {:?} was there",
            look.present.get(&key)
        );
        client.versions.insert(key, version);
    }
}

fn crashes_at_any_moment(policy: EvictionPolicy, expires: bool) {
    let mut world = World::new(options(policy));
    let mut client = Client::new(&world, expires);
    let filling = client.write_for_ever(VALUE_BYTES, WRITES_FIRST);
    world.executor.block_on(filling);
    for crash in 0..CRASHES {
        let looked = world.executor.block_on(look(&client));
        let steps = client.random.below(STEPS_MAX);
        let living = client.write_for_ever(VALUE_BYTES, u64::MAX);
        let ended = world.executor.block_on_for(living, steps);
        assert!(ended.is_none(), "it writes for ever");
        let evicted = world.handle.store().stats().evicted_keys;
        println!("{policy:?}: crash {crash} after {steps} steps, {evicted} evicted");
        world = world.crash(options(policy), crash);
        client.handle = world.handle.clone();
        world.executor.block_on(judge(&mut client, &looked));
    }
}

#[test]
fn of_all_keys() {
    crashes_at_any_moment(EvictionPolicy::AllKeysLru, false);
}

#[test]
fn of_keys_with_a_deadline() {
    crashes_at_any_moment(EvictionPolicy::VolatileTtl, true);
}
