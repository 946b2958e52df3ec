//! Simulated lives of a store: the real engine on simulated devices, time and chance.
//!
//! Each run follows from one seed. Several clients on several logical workers write, read, rename,
//! expire, flush; segments are sealed, cleaned and reused underneath; then the power goes at any
//! step, or the store is closed. What a crash left is opened (and the opening crashed, now and
//! then), read whole and judged, and the next life goes on from there. What has to hold:
//!
//! - the state is the one after some prefix of all commits, in the one order in which they happened
//!   over all clients, with everything that was acknowledged or that the durable LSN covered, and
//!   with `everysec` everything older than a second. A batch is one commit;
//! - no key comes back that was removed, flushed or had expired, and every value is right by
//!   content;
//! - every read of a living store shows what its key held at its lookup;
//! - no operation waits for ever, and no task spins;
//! - at rest the live bytes and the keys that the store counts are those that there are;
//! - nothing counts as corrupt where nothing rotted.
//!
//! `SEED=n` replays the run of a seed, `RUNS=n` makes so many, from seed 1 on or from `SEED`. At
//! length:
//!
//! ```sh
//! RUNS=5000 cargo test --release -p cellar-storage --test simulation lives -- --nocapture
//! ```

#![expect(
    clippy::print_stdout,
    reason = "a failing seed is told where tests tell it"
)]
mod blind;
mod client;
mod life;
mod locked;
mod model;
mod opening;
mod pace;
mod plan;
mod reads;
mod scene;
mod witness;
mod words;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use scene::Tally;
use tracing::subscriber::with_default;
use world::World;

/// Runs of the test command: about 15 seconds in the test profile.
const RUNS: u64 = 12;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("SEED and RUNS are numbers"))
}

/// Lives the lives of a seed: what happened, and a trace that tells runs apart.
fn run(seed: u64) -> (Tally, u64) {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        with_default(words::Listener, || {
            let mut world = World::new(seed);
            let outcome = world.run();
            (outcome, world.tally, world.trace)
        })
    }));
    let said = words::take().join("\n  ");
    match outcome {
        Ok((Ok(()), tally, trace)) => (tally, trace),
        Ok((Err(violation), ..)) => panic!("SEED={seed}: {violation}\nThe engine said:\n  {said}"),
        Err(payload) => {
            println!("SEED={seed} panicked; the engine said:\n  {said}");
            resume_unwind(payload)
        }
    }
}

#[test]
fn lives_are_prefixes() {
    let seed = number("SEED");
    let runs = number("RUNS").unwrap_or(if seed.is_some() { 1 } else { RUNS });
    let first = seed.unwrap_or(1);
    let mut tally = Tally::default();
    for seed in first..first + runs {
        let one = run(seed).0;
        println!("SEED={seed} {one:?}");
        tally.add(&one);
    }
    println!("{tally:?}");
}

#[test]
fn a_seed_is_replayed_bit_for_bit() {
    for seed in [2, 3] {
        assert_eq!(run(seed), run(seed), "SEED={seed}");
    }
}
