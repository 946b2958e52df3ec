//! Trouble: what goes wrong with the devices while a life, or a recovery, is under way. Owns the
//! draw of it; what must hold in spite of it is the checkers' business.

use std::sync::Arc;

use cellar_storage::device::Operation;
use cellar_storage::device::sim::{Effect, Fault, SimDevice, SimRandom};
use cellar_storage::format::RESERVED_BYTES;
use cellar_storage::units::Extent;

/// "Input/output error".
const EIO: i32 = 5;
/// "No space left on device".
const ENOSPC: i32 = 28;
/// Operations that pass before the first failure, at most.
const SKIP_MAX: [u64; 3] = [10, 100, 1_000];
/// The same in a recovery, which makes fewer.
const RECOVERY_SKIP_MAX: u64 = 60;
/// Writes of superblocks that pass before one fails, at most: a device gets two, or three.
const SUPERBLOCK_SKIP_MAX: u64 = 2;
/// Failures in a row, at most, of what may fail more than once.
const TIMES_MAX: u64 = 20;

/// What befalls the devices in a life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    None,
    /// Some reads fail.
    Reads,
    /// A write or a flush fails, or several do.
    Writes,
    /// The last write before the store is closed fails.
    LastWrite,
    /// There is no room for segments, for a while.
    Room,
    /// Bytes rot.
    Rot,
}

impl Trouble {
    /// The trouble of a life; mostly none.
    pub(crate) fn draw(random: &mut SimRandom) -> Self {
        match random.below(12) {
            0 => Self::Reads,
            1 | 2 => Self::Writes,
            3 => Self::Room,
            4 => Self::LastWrite,
            _ => Self::None,
        }
    }

    /// Whether the store may come to refuse writes.
    pub(crate) fn may_latch(self) -> bool {
        matches!(self, Self::Writes | Self::LastWrite)
    }

    /// Whether a read may fail.
    pub(crate) fn may_fail_reads(self) -> bool {
        self == Self::Reads
    }

    /// Whether the store may say that something is damaged.
    pub(crate) fn may_damage(self) -> bool {
        self == Self::Rot
    }

    /// Makes one of the devices fail.
    pub(crate) fn begin(self, devices: &[Arc<SimDevice>], random: &mut SimRandom) {
        let (operation, times_max) = match self {
            Self::None | Self::LastWrite | Self::Rot => return,
            Self::Reads => (Operation::Read, TIMES_MAX),
            Self::Writes => (
                [Operation::Write, Operation::Flush][random.below(2) as usize],
                3,
            ),
            Self::Room => (Operation::Allocate, TIMES_MAX),
        };
        let effect = match (self, random.below(4)) {
            (Self::Room, _) => Effect::Errno(ENOSPC),
            (_, 0) => Effect::TimedOut,
            _ => Effect::Errno(EIO),
        };
        let is_slow = effect == Effect::TimedOut;
        let times_max = if is_slow { 1 } else { times_max };
        let skip_max = SKIP_MAX[random.below(3) as usize];
        inject(
            devices,
            random,
            &Failure {
                operation,
                extent: None,
                skip_max,
                times_max,
                effect,
            },
        );
    }
}

/// Makes the next write fail, on whichever device it is.
pub(crate) fn fail_next_write(devices: &[Arc<SimDevice>]) {
    for device in devices {
        device.inject(Fault {
            operation: Operation::Write,
            extent: None,
            skip: 0,
            times: 1,
            effect: Effect::Errno(EIO),
        });
    }
}

/// Makes one operation of a recovery fail: `at_superblocks` one of the writes that it ends with.
pub(crate) fn fail_recovery(
    devices: &[Arc<SimDevice>],
    at_superblocks: bool,
    random: &mut SimRandom,
) {
    let operations = [Operation::Read, Operation::Write, Operation::Flush];
    let drawn = operations[random.below(3) as usize];
    let reserved = Extent {
        offset: 0,
        bytes: RESERVED_BYTES,
    };
    let (operation, extent, skip_max) = if at_superblocks {
        (Operation::Write, Some(reserved), SUPERBLOCK_SKIP_MAX)
    } else {
        (drawn, None, RECOVERY_SKIP_MAX)
    };
    inject(
        devices,
        random,
        &Failure {
            operation,
            extent,
            skip_max,
            times_max: 1,
            effect: Effect::Errno(EIO),
        },
    );
}

struct Failure {
    operation: Operation,
    extent: Option<Extent>,
    skip_max: u64,
    times_max: u64,
    effect: Effect,
}

fn inject(devices: &[Arc<SimDevice>], random: &mut SimRandom, failure: &Failure) {
    let device = &devices[random.below(devices.len() as u64) as usize];
    device.inject(Fault {
        operation: failure.operation,
        extent: failure.extent,
        skip: random.below(failure.skip_max),
        times: 1 + random.below(failure.times_max),
        effect: failure.effect,
    });
}
