//! The stream of operations: kind, key, value.
//!
//! Owns the draws of one load. Must never look at a clock: the same plan makes the same stream.

use super::connection::{InFlight, Step};
use super::content::Content;
use super::keys::Keys;
use super::plan::{Mix, Plan};
use super::random::{Random, mix};
use super::wire::Commands;

#[derive(Debug)]
pub(super) struct Operations {
    mix: Mix,
    random: Random,
    keys: Keys,
    content: Content,
    commands: Commands,
    /// Of the next value; the seed sets the first, so that a second load writes other values.
    version: u64,
}

impl Operations {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            mix: plan.mix,
            random: Random::new(plan.seed),
            keys: Keys::new(plan.keys, plan.key_count),
            content: Content::new(&plan.value_bytes),
            commands: Commands::new(&plan.key_prefix),
            version: mix(plan.seed),
        }
    }

    pub(super) fn key_bytes(&self) -> usize {
        self.commands.key_bytes()
    }

    /// Kind and key of the next operation.
    pub(super) fn draw(&mut self) -> (Step, u64) {
        let step = self.draw_step();
        let key = match step {
            Step::Insert => self.keys.insert(),
            Step::Get | Step::Set | Step::RmwRead | Step::RmwWrite => {
                self.keys.draw(&mut self.random)
            }
        };
        (step, key)
    }

    /// The kind of the next operation, for one that is not sent.
    pub(super) fn draw_step(&mut self) -> Step {
        let Mix {
            get,
            set,
            rmw,
            insert: _,
        } = self.mix;
        match self.random.below(100) as u32 {
            draw if draw < get => Step::Get,
            draw if draw < get + set => Step::Set,
            draw if draw < get + set + rmw => Step::RmwRead,
            _ => Step::Insert,
        }
    }

    /// Appends the command of a step, which began at `start_ns`.
    pub(super) fn write(
        &mut self,
        (step, key): (Step, u64),
        start_ns: u64,
        out: &mut Vec<u8>,
    ) -> InFlight {
        let value_bytes = match step {
            Step::Get | Step::RmwRead => {
                self.commands.write_get(key, out);
                0
            }
            Step::Set | Step::Insert | Step::RmwWrite => self.write_set(key, out),
        };
        InFlight {
            step,
            key,
            value_bytes,
            start_ns,
        }
    }

    fn write_set(&mut self, key: u64, out: &mut Vec<u8>) -> u32 {
        let version = self.version;
        self.version = version.wrapping_add(1);
        let value_bytes = self.content.bytes(key, version);
        self.commands.write_set(key, value_bytes, out, |out| {
            self.content.write(key, version, out);
        });
        value_bytes as u32
    }

    /// The insert of `key` was answered.
    pub(super) fn inserted(&mut self, key: u64) {
        self.keys.inserted(key);
    }

    /// Whether `value` is one that a load of this kind wrote for `key`.
    pub(super) fn is_value_of(&self, key: u64, value: &[u8]) -> bool {
        self.content.is_of(key, value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::tests::plan;

    #[test]
    fn kinds_come_in_their_shares() {
        let mut plan = plan();
        plan.mix = Mix::of(50, 30, 15, 5);
        let mut operations = Operations::new(&plan);
        let mut seen = [0_u32; 4];
        for _ in 0..100_000 {
            let (step, key) = operations.draw();
            let index = match step {
                Step::Get => 0,
                Step::Set => 1,
                Step::RmwRead | Step::RmwWrite => 2,
                Step::Insert => {
                    operations.inserted(key);
                    3
                }
            };
            seen[index] += 1;
        }
        for (found, wanted) in seen.into_iter().zip([50_000, 30_000, 15_000, 5_000]) {
            assert!(found.abs_diff(wanted) < 700, "{seen:?}");
        }
    }

    #[test]
    fn a_seed_is_replayed() {
        let stream = |seed| {
            let mut plan = plan();
            plan.seed = seed;
            let mut operations = Operations::new(&plan);
            let mut out = Vec::new();
            for _ in 0..100 {
                let drawn = operations.draw();
                operations.write(drawn, 0, &mut out);
            }
            out
        };
        assert_eq!(stream(1), stream(1));
        assert_ne!(stream(1), stream(2));
    }
}
