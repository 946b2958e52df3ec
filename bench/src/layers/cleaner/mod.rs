//! `cellar-bench cleaner`: the write amplification of cleaning policies, by simulation.
//!
//! ```text
//!   shape (geometry) --> log (segments, turns) <-- load (which key is overwritten)
//!                         ^ rule (victims)          bound (theory) --> report
//! ```
//!
//! No device and no clock: the same arguments print the same figures on any machine. The figures of
//! the policy `cellar` are what a real store of that geometry shows.

mod bound;
mod load;
mod log;
mod report;
mod rule;
mod shape;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use load::{Keys, Load};
use log::Log;
use report::Outcome;
use rule::Policy;
use shape::Shape;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Segments of the store.
    #[arg(long, default_value_t = 512)]
    segments: u32,
    /// Bytes of a segment. The default is a store of 4 GB scaled down eightfold.
    #[arg(long, default_value_t = 1 << 20)]
    segment_bytes: u32,
    /// Least bytes of a value; sizes are drawn evenly.
    #[arg(long, default_value_t = 1000)]
    value_bytes_min: u32,
    /// Most bytes of a value.
    #[arg(long, default_value_t = 4000)]
    value_bytes_max: u32,
    /// Live shares of all segments, in percent.
    #[arg(long, value_delimiter = ',', default_value = "50,70,80,90,95")]
    utilization: Vec<u32>,
    /// Loads to simulate.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "uniform,zipfian,hot-cold"
    )]
    load: Vec<Load>,
    /// Policies to compare; all of them when none is named.
    #[arg(long, value_delimiter = ',')]
    policy: Vec<Policy>,
    /// What clients overwrite before anything is counted, in sizes of the store.
    #[arg(long, default_value_t = 3)]
    warm_up: u64,
    /// What clients overwrite while it is counted, in sizes of the store.
    #[arg(long, default_value_t = 1)]
    measure: u64,
    /// The seed of all draws.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads that simulate, each one store at a time.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Prints JSON instead of tables.
    #[arg(long)]
    json: bool,
}

impl Arguments {
    fn shape(&self, utilization_percent: u32) -> Shape {
        Shape {
            segment_count: self.segments,
            segment_bytes: self.segment_bytes,
            value_bytes_min: self.value_bytes_min,
            value_bytes_max: self.value_bytes_max,
            utilization_percent,
        }
    }

    fn simulate(&self, (load, percent, policy): (Load, u32, Policy)) -> Outcome {
        let shape = self.shape(percent);
        let keys = Keys::new(load, shape.key_count());
        let mut log = Log::filled(&shape, policy, self.seed);
        log.overwrite(self.warm_up * shape.bytes(), |random| keys.draw(random));
        let before = log.totals();
        log.overwrite(self.measure * shape.bytes(), |random| keys.draw(random));
        Outcome {
            totals: log.totals().since(&before),
            live_bytes: log.live_bytes(),
            shape,
            load,
            policy,
        }
    }
}

/// Simulates every load at every utilization under every policy, and prints the figures.
pub(crate) fn run(arguments: &Arguments) -> std::io::Result<()> {
    check(arguments)?;
    let policies = if arguments.policy.is_empty() {
        Policy::ALL.to_vec()
    } else {
        arguments.policy.clone()
    };
    let mut cases = Vec::new();
    for load in &arguments.load {
        for percent in &arguments.utilization {
            cases.extend(policies.iter().map(|policy| (*load, *percent, *policy)));
        }
    }
    let outcomes = simulate_all(arguments, &cases);
    if arguments.json {
        report::print_json(&outcomes);
    } else {
        report::print_tables(&outcomes, &arguments.load, &policies);
    }
    Ok(())
}

fn check(arguments: &Arguments) -> std::io::Result<()> {
    let sizes = 1..=arguments.value_bytes_max;
    let is_sound = sizes.contains(&arguments.value_bytes_min)
        && arguments.value_bytes_max <= cellar_storage::INLINE_BYTES_MAX as u32
        && arguments.segment_bytes >= cellar_storage::SEGMENT_BYTES_MIN
        && arguments.segments >= shape::SEGMENT_COUNT_MIN
        && arguments
            .utilization
            .iter()
            .all(|percent| (1..=95).contains(percent))
        && arguments.measure > 0;
    if is_sound {
        return Ok(());
    }
    let message = "a store has at least 32 segments of at least 1 MiB, values of at most 32 KiB, \
                   and a utilization of at most 95 percent";
    Err(std::io::Error::new(
        std::io::ErrorKind::InvalidInput,
        message,
    ))
}

/// The outcomes, in the order of the cases. Each case is deterministic, whichever thread has it.
fn simulate_all(arguments: &Arguments, cases: &[(Load, u32, Policy)]) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(cases.len()));
    let work = || {
        while let Some((index, case)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            cases.get(index).map(|case| (index, case))
        } {
            let outcome = arguments.simulate(*case);
            done.lock()
                .expect("no thread panics")
                .push((index, outcome));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..arguments.threads.max(1) {
            scope.spawn(work);
        }
    });
    let mut done = done.into_inner().expect("no thread panics");
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amplification(load: Load, percent: u32, policy: Policy) -> f64 {
        let arguments = Arguments {
            segments: 256,
            segment_bytes: 1 << 20,
            value_bytes_min: 3000,
            value_bytes_max: 5000,
            utilization: vec![percent],
            load: vec![load],
            policy: vec![policy],
            warm_up: 3,
            measure: 1,
            seed: 1,
            threads: 1,
            json: false,
        };
        arguments
            .simulate((load, percent, policy))
            .log_amplification()
    }

    #[test]
    fn uniform_overwriting_comes_to_what_theory_says() {
        for percent in [50, 70, 80] {
            let found = amplification(Load::Uniform, percent, Policy::Cellar);
            let free = f64::from(256 - 9 - 2) / 256.0;
            let wanted = bound::uniform(f64::from(percent) / 100.0 / free);
            assert!(
                (found / wanted - 1.0).abs() < 0.06,
                "{percent} %: {found}, {wanted}"
            );
        }
    }

    #[test]
    fn the_engine_does_better_than_greedy_on_skewed_loads() {
        for load in [Load::Zipfian, Load::HotCold] {
            let ours = amplification(load, 80, Policy::Cellar);
            let greedy = amplification(load, 80, Policy::Greedy);
            assert!(ours < greedy * 0.8, "{}: {ours}, {greedy}", load.name());
        }
    }

    #[test]
    fn one_open_segment_in_turns_does_the_work_of_two() {
        let ours = amplification(Load::HotCold, 80, Policy::Cellar);
        let two = amplification(Load::HotCold, 80, Policy::TwoCold);
        let one = amplification(Load::HotCold, 80, Policy::Flash);
        assert!(
            ours < two * 1.05 && ours < one * 0.95,
            "{ours}, {two}, {one}"
        );
    }

    #[test]
    fn the_same_seed_gives_the_same_figures() {
        let run = || amplification(Load::Zipfian, 70, Policy::Cellar);
        assert!(run().to_bits() == run().to_bits());
    }
}
