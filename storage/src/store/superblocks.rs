//! The superblocks of a store in use: what each device tells of it, as it is to be written next.

use tokio::sync::MutexGuard;

use crate::format::Superblock;
use crate::store::Store;
use crate::units::Lsn;

impl Store {
    /// The next writing of every device's superblock. `clean`: the store is closed; it stays so.
    pub(crate) fn next_superblocks(&self, clean: bool) -> Vec<Superblock> {
        let mut superblocks = self.superblocks.lock();
        for superblock in superblocks.iter_mut() {
            superblock.sequence += 1;
            superblock.clean |= clean;
        }
        superblocks.clone()
    }

    /// Enters the current database map into the superblocks that are written from now on, if its
    /// record is durable and they do not tell it yet. The guard keeps the map from changing.
    pub(crate) fn enter_map(&self, _guard: &MutexGuard<'_, ()>) -> bool {
        let (map, end) = (self.databases().map(), self.map_lsn());
        let mut superblocks = self.superblocks.lock();
        let is_news = superblocks
            .iter()
            .any(|superblock| superblock.map_lsn < end);
        if !is_news || self.durable_lsn() < end {
            return false;
        }
        for superblock in superblocks.iter_mut() {
            superblock.databases = map;
            superblock.map_lsn = end;
        }
        true
    }

    /// Where the log ended that the last start found.
    pub(crate) fn cut_lsn(&self) -> Lsn {
        self.superblocks
            .lock()
            .first()
            .expect("a store has a device")
            .cut_lsn
    }

    /// Segments that a device has room for.
    pub(crate) fn segments_of(&self, device: usize) -> u64 {
        u64::from(self.superblocks.lock()[device].segment_count)
    }
}
