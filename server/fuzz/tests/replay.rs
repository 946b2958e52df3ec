//! What the fuzzer starts from and what it has found, as ordinary tests: every seed, every kept
//! find, and some thousand mutations of both.
//!
//! Prints its seed; `SEED=n` tries other mutations.

use std::fs;
use std::path::Path;

use cellar_fuzz::{TARGETS, Target};

/// Edits of one mutation at most.
const EDITS_MAX: u64 = 6;
/// Bytes that decoders tend to compare with.
const BYTES_OF_NOTE: &[u8] = b"\0\x01\x7f\x80\xff\r\n*$\"'\\[]-0 9";

/// A small generator: `splitmix64` (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn byte(&mut self) -> u8 {
        match self.next() % 3 {
            0 => BYTES_OF_NOTE[self.below(BYTES_OF_NOTE.len())],
            _ => self.next() as u8,
        }
    }

    fn mutate(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let at = self.below(bytes.len() + 1);
        match self.next() % 6 {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, self.byte()),
            2 => {
                let end = at + self.below(bytes.len() + 1 - at);
                drop(bytes.drain(at..end));
            }
            3 => {
                let from = self.below(other.len() + 1);
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
            _ if at < bytes.len() => bytes[at] = self.byte(),
            _ => bytes.push(self.byte()),
        }
    }
}

/// What the fuzzer found, kept under the target's name.
fn finds(target: &Target) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target.name);
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    entries
        .map(|entry| entry.and_then(|entry| fs::read(entry.path())))
        .map(|find| find.expect("a find is a file"))
        .collect()
}

#[test]
fn seeds_finds_and_their_mutations_keep_every_promise() {
    let seed: u64 = std::env::var("SEED").map_or(1, |text| text.parse().expect("SEED=n"));
    println!("SEED={seed}");
    for target in TARGETS {
        let mut inputs = (target.seeds)();
        assert!(!inputs.is_empty(), "{} has seeds", target.name);
        inputs.extend(finds(target));
        inputs.push(Vec::new());
        for input in &inputs {
            (target.run)(input);
        }
        let mut random = Random(seed);
        for number in 0..target.mutations {
            let mut bytes = inputs[random.below(inputs.len())].clone();
            for _ in 0..=random.next() % EDITS_MAX {
                let other = random.below(inputs.len());
                random.mutate(&mut bytes, &inputs[other]);
            }
            println!("{} {number}: {}", target.name, bytes.escape_ascii());
            (target.run)(&bytes);
        }
    }
}

#[test]
fn every_find_belongs_to_a_target() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for folder in fs::read_dir(corpus).into_iter().flatten() {
        let name = folder.unwrap().file_name().into_string().unwrap();
        assert!(
            cellar_fuzz::target(&name).is_some(),
            "corpus/{name} has no target"
        );
    }
}
