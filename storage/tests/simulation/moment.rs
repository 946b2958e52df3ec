//! Moments at which an opening is cut off: after any step, between any two writes, and above all
//! while the superblocks are written, which is when the devices differ in what they know.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;

use cellar_storage::Device;
use cellar_storage::device::sim::{SimDevice, SimExecutor, SimRandom};
use cellar_storage::format::{SUPERBLOCK_BYTES, SUPERBLOCK_OFFSETS};

use crate::pace::STEPS_MAX;

/// An opening that is cut off comes so many steps far at most: all of one takes some hundreds.
const STEPS_OF_ONE_MAX: [u64; 3] = [30, 200, 800];
/// And makes so many writes and flushes at most: all of one makes that many where much is open.
const WRITES_OF_ONE_MAX: u64 = 30;
/// Copies of a device's superblock that an opening writes, but for one that lags: then one more.
const COPIES_WRITTEN: u64 = 2;
/// A poll of the opening, and what makes the next one worth it.
const STEPS_OF_A_LOOK: u64 = 2;

/// When an opening is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// After so many steps.
    Steps(u64),
    /// When so many writes and flushes have ended.
    Writes(u64),
    /// When so many writes of superblocks have ended.
    Superblocks(u64),
}

impl Moment {
    /// Any moment.
    pub(crate) fn draw(device_count: usize, random: &mut SimRandom) -> Self {
        match random.below(4) {
            0 | 1 => {
                let bound = STEPS_OF_ONE_MAX[random.below(3) as usize];
                Self::Steps(random.below(bound))
            }
            2 => Self::Writes(1 + random.below(WRITES_OF_ONE_MAX)),
            _ => Self::among_superblocks(device_count, random),
        }
    }

    /// One at which superblocks are being written.
    pub(crate) fn among_superblocks(device_count: usize, random: &mut SimRandom) -> Self {
        Self::Superblocks(1 + random.below(COPIES_WRITTEN * device_count as u64))
    }

    /// Runs an opening until then. `None`: it was cut off.
    pub(crate) fn run<F: Future>(
        self,
        executor: &mut SimExecutor,
        devices: &[Arc<SimDevice>],
        opening: F,
    ) -> Option<F::Output> {
        let opening: Pin<&mut F> = pin!(opening);
        match self {
            Self::Steps(steps) => executor.block_on_for(opening, steps),
            Self::Writes(count) => {
                let before = ended(devices);
                run_until(executor, opening, || ended(devices) >= before + count)
            }
            Self::Superblocks(count) => {
                let mut watch = Watch::new(devices);
                run_until(executor, opening, || watch.changes(devices) >= count)
            }
        }
    }
}

fn run_until<F: Future>(
    executor: &mut SimExecutor,
    mut opening: Pin<&mut F>,
    mut is_over: impl FnMut() -> bool,
) -> Option<F::Output> {
    for _ in 0..STEPS_MAX / STEPS_OF_A_LOOK {
        let output = executor.block_on_for(opening.as_mut(), STEPS_OF_A_LOOK);
        if output.is_some() {
            return output;
        }
        if is_over() {
            break;
        }
    }
    None
}

/// The writes and flushes that ended.
fn ended(devices: &[Arc<SimDevice>]) -> u64 {
    let of_one = |device: &Arc<SimDevice>| device.counters().writes + device.counters().flushes;
    devices.iter().map(of_one).sum()
}

/// The copies of all superblocks as they were when somebody last looked.
struct Watch {
    copies: Vec<Vec<u8>>,
    ended: u64,
    changes: u64,
}

impl Watch {
    fn new(devices: &[Arc<SimDevice>]) -> Self {
        Self {
            copies: copies(devices),
            ended: ended(devices),
            changes: 0,
        }
    }

    /// How often a copy has changed.
    fn changes(&mut self, devices: &[Arc<SimDevice>]) -> u64 {
        let ended = ended(devices);
        if ended != self.ended {
            self.ended = ended;
            let now = copies(devices);
            let differing = now.iter().zip(&self.copies).filter(|(a, b)| a != b);
            self.changes += differing.count() as u64;
            self.copies = now;
        }
        self.changes
    }
}

fn copies(devices: &[Arc<SimDevice>]) -> Vec<Vec<u8>> {
    let of_one =
        |device: &Arc<SimDevice>| SUPERBLOCK_OFFSETS.map(|at| device.content(at, SUPERBLOCK_BYTES));
    devices.iter().flat_map(of_one).collect()
}
