//! Extension: a start that finds more than the last one had, a blank device or a last device that
//! has grown. Owns what it finds; that all of it is in use afterwards is checked here too.

use std::sync::Arc;

use cellar_storage::device::sim::SimDevice;
use cellar_storage::format::RESERVED_BYTES;
use cellar_storage::{Device, OpenError, SEGMENT_BYTES_MIN, Store};

use crate::model::{Violation, ensure};
use crate::world::World;

/// A start in so many finds more.
const EXTENDED_ONE_IN: u64 = 10;
/// And after a life in so many one is tried with more, cut off, and tried without.
const WITHDRAWN_ONE_IN: u64 = 12;
/// Starts that are cut off before somebody does without.
const CUT_OFF_MAX: u64 = 3;
/// A store has at most so many devices.
const DEVICES_MAX: usize = 4;
/// And a device at most so many segments.
const SEGMENTS_MAX: u64 = 24;
/// A device grows by so many of them at most.
const GROWTH_MAX: u64 = 4;

impl World {
    /// Now and then there is more than before.
    pub(crate) fn extend_at_times(&mut self, devices: &mut Vec<Arc<SimDevice>>) {
        if self.random.below(EXTENDED_ONE_IN) == 0 {
            self.extend(devices);
        }
    }

    fn extend(&mut self, devices: &mut Vec<Arc<SimDevice>>) {
        let (grows, joins) =
            [(true, false), (false, true), (true, true)][self.random.below(3) as usize];
        if grows {
            let more = self.grow_last(devices);
            // Where a start is cut off that knew of both, the grown one is the last one no more.
            self.unused_segments_max += if joins { more } else { 0 };
        }
        if joins && devices.len() < DEVICES_MAX {
            let segments = self.plan.segments + self.random.below(GROWTH_MAX);
            let device = self.blank_device(segments);
            devices.push(device);
            self.tally.joins += 1;
        }
    }

    /// By how many segments.
    fn grow_last(&mut self, devices: &mut [Arc<SimDevice>]) -> u64 {
        let last = devices.last_mut().expect("a store has a device");
        let capacity = last.geometry().capacity_bytes;
        let more =
            (1 + self.random.below(GROWTH_MAX)).min(SEGMENTS_MAX.saturating_sub(segments_of(last)));
        let capacity = capacity + more * u64::from(SEGMENT_BYTES_MIN);
        *last = last.crash_enlarged(self.random.next_u64(), capacity);
        last.limit_room(self.plan.room_bytes());
        self.tally.growths += 1;
        more
    }

    fn blank_device(&mut self, segments: u64) -> Arc<SimDevice> {
        let bytes = RESERVED_BYTES + segments * u64::from(SEGMENT_BYTES_MIN);
        let seed = self.random.next_u64();
        let (clock, latency) = (self.clock.clone(), self.plan.latency.clone());
        let device = SimDevice::timed(self.plan.block_bytes, bytes, seed, clock, latency);
        device.limit_room(self.plan.room_bytes());
        device
    }

    /// Starts with more devices are cut off, and then somebody does without those: the store says
    /// that it has them already, or is what it was.
    pub(crate) fn withdraw_at_times(&mut self, before: &[Arc<SimDevice>]) -> Result<(), Violation> {
        if self.ended.is_none()
            || before.len() == DEVICES_MAX
            || self.random.below(WITHDRAWN_ONE_IN) > 0
        {
            return Ok(());
        }
        let mut devices = self.crashed(before);
        self.extend(&mut devices);
        for _ in 0..=self.random.below(CUT_OFF_MAX) {
            let among_superblocks = self.random.flip();
            self.open_in_vain(&devices, among_superblocks)?;
            devices = self.crashed(&devices);
        }
        devices.truncate(before.len());
        let mut opened = match self.start(devices)? {
            Ok(opened) => opened,
            Err(OpenError::Incomplete { .. }) => return Ok(()),
            Err(error) => return Err(Violation(format!("without others: {error}"))),
        };
        self.tally.withdrawals += 1;
        let found = self.read_all(&mut opened, false)?;
        self.model.judge(&found, self.least, 0).map(|_| ())
    }
}

/// All that the devices hold is in use, but for so many segments at most.
pub(crate) fn check_extent(
    store: &Store,
    devices: &[Arc<SimDevice>],
    unused_max: u64,
) -> Result<(), Violation> {
    let stats = store.stats();
    let used = [
        stats.segments_free,
        stats.segments_open,
        stats.segments_sealed,
        stats.segments_cleaning,
    ];
    let (used, held) = (
        used.into_iter().sum::<u64>(),
        devices
            .iter()
            .map(|device| segments_of(device))
            .sum::<u64>(),
    );
    ensure((used..=used + unused_max).contains(&held), || {
        format!("{used} segments are in use, and the devices hold {held}")
    })
}

fn segments_of(device: &SimDevice) -> u64 {
    let bytes = device.geometry().capacity_bytes - RESERVED_BYTES;
    bytes / u64::from(SEGMENT_BYTES_MIN)
}
