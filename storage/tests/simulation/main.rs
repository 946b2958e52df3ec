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
//! - every read of a living store shows what its key held at its lookup; a collection's pages are
//!   all of the version that its root is of, and it has no others;
//! - a transaction sees what it wrote, and others see, and a crash leaves, all of it or nothing;
//! - who watches a key is told of each of its changes before anybody sees it, of its departure by a
//!   deadline or a policy too, and of nothing else;
//! - no operation waits for ever, and no task spins;
//! - at rest the live bytes and the keys that the store counts are those that there are;
//! - nothing counts as corrupt where nothing rotted;
//! - a store that was closed in order says so, and no other one does.
//!
//! A life ends at any step, above all soon after the cleaner moved, wrote or freed something; one
//! that was closed in order ends at once after that, or some steps later, or when all has come to
//! rest.
//!
//! An opening is cut off at any step, too, now and then several times in a row, between the writes
//! of two devices' superblocks above all. Readers take large values a part at a time, while their
//! segments are cleaned and used again and their databases are flushed.
//!
//! A start may find a blank device more, or a last device that has grown: afterwards all of it is
//! in use, and whoever does without a device that the store has is told so.
//!
//! Under a policy that evicts, a key may be gone whenever it is looked for, for want of space or of
//! memory. Once it was seen to be, it stays away, after a crash too if that was durable; and where
//! any key may go no write fails for want of space.
//!
//! Now and then the devices fail: reads, writes, flushes, allocations, of a life or of a recovery;
//! a device has less room than it should; a block goes to a wrong place at a crash; a byte rots.
//! Then as well:
//!
//! - after a failed write or flush writes are refused, nothing more counts as durable, and all that
//!   was acknowledged can be read; removals work on a full device;
//! - of a rotten byte nothing is shown, what it belonged to is reported, the rest is served; a
//!   scrub finds one that rots while the store is in use.
//!
//! Runs go on until so many cycles were made, a cycle being a crash and the recovery that followed.
//! `SEED=n` replays the run of a seed; `CYCLES=n` goes on from seed 1, or from `SEED`, for so many
//! cycles, `RUNS=n` for so many runs; `THREADS=n` says how many are made side by side. At length:
//!
//! ```sh
//! CYCLES=10000 cargo test --release -p cellar-storage --test simulation lives -- --nocapture
//! ```

#![expect(
    clippy::print_stdout,
    reason = "a failing seed is told where tests tell it"
)]
mod blind;
mod cases;
mod client;
mod collection;
mod decay;
mod draws;
mod extension;
mod journal;
mod judge;
mod life;
mod locked;
mod model;
mod moment;
mod opening;
mod pace;
mod plan;
mod policies;
mod reads;
mod rot;
mod scene;
mod stage;
mod tally;
mod transaction;
mod trouble;
mod value;
mod watches;
mod witness;
mod words;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::Instant;

use tally::Tally;
use tracing::subscriber::with_default;
use world::World;

/// Cycles of the test command: half a minute of one core in the test profile.
const CYCLES: u64 = 1_000;
/// Runs side by side, at most.
const THREADS_MAX: usize = 4;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("SEED, CYCLES and THREADS are numbers"))
}

/// Lives the lives of a seed: what happened, and a trace that tells runs apart. Or what was wrong.
fn run(seed: u64) -> Result<(Tally, u64), String> {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        with_default(words::Listener, || {
            let mut world = World::new(seed);
            let outcome = world.run();
            (outcome, world.tally, world.trace)
        })
    }));
    let said = words::take().join("\n  ");
    match outcome {
        Ok((Ok(()), tally, trace)) => Ok((tally, trace)),
        Ok((Err(violation), ..)) => Err(format!(
            "SEED={seed}: {violation}\nThe engine said:\n  {said}"
        )),
        Err(_) => Err(format!(
            "SEED={seed}: a panic, told above\nThe engine said:\n  {said}"
        )),
    }
}

/// The runs that are still to be made, and what came of the others.
struct Course {
    next_seed: u64,
    runs_left: u64,
    cycles_wanted: u64,
    tally: Tally,
    violations: Vec<String>,
}

impl Course {
    /// The next seed, unless that was all.
    fn next(&mut self) -> Option<u64> {
        let goes_on = self.tally.cycles() < self.cycles_wanted
            && self.runs_left > 0
            && self.violations.is_empty();
        goes_on.then(|| {
            self.runs_left -= 1;
            self.next_seed += 1;
            self.next_seed - 1
        })
    }
}

/// Makes runs until the course is over.
fn work(course: &Mutex<Course>) {
    let lock = || course.lock().expect("nobody panics with it");
    loop {
        let Some(seed) = lock().next() else { return };
        let outcome = run(seed);
        let mut course = lock();
        match outcome {
            Ok((tally, trace)) => {
                println!(
                    "SEED={seed} {:4} cycles, trace {trace:016x}",
                    tally.cycles()
                );
                course.tally.add(&tally);
            }
            Err(violation) => {
                println!("VIOLATION {violation}");
                course.violations.push(violation);
            }
        }
    }
}

#[test]
fn lives_are_prefixes() {
    let (seed, runs, cycles) = (number("SEED"), number("RUNS"), number("CYCLES"));
    let is_one = seed.is_some() && cycles.is_none() && runs.is_none();
    let runs_left = runs.unwrap_or(if is_one { 1 } else { u64::MAX });
    let cycles_wanted = cycles.unwrap_or(if runs.is_some() { u64::MAX } else { CYCLES });
    let is_usual = runs_left == u64::MAX && cycles_wanted >= CYCLES;
    let course = Mutex::new(Course {
        next_seed: seed.unwrap_or(1),
        runs_left,
        cycles_wanted,
        tally: Tally::default(),
        violations: Vec::new(),
    });
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = match number("THREADS") {
        Some(threads) => threads as usize,
        None if is_one => 1,
        None => cores.min(THREADS_MAX),
    };
    let began = Instant::now();
    std::thread::scope(|scope| {
        (0..threads).for_each(|_| drop(scope.spawn(|| work(&course))));
    });
    let course = course.into_inner().expect("nobody panics with it");
    let (cycles, seconds) = (course.tally.cycles(), began.elapsed().as_secs_f64());
    println!("{:#?}", course.tally);
    println!("{cycles} cycles in {seconds:.1} s");
    assert!(
        course.violations.is_empty(),
        "{}",
        course.violations.join("\n")
    );
    let missing = course.tally.missing();
    assert!(!is_usual || missing.is_empty(), "none of {missing:?}");
}

#[test]
fn a_seed_is_replayed_bit_for_bit() {
    for seed in [3, 5] {
        assert_eq!(run(seed), run(seed), "SEED={seed}");
    }
}
