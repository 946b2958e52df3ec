//! Superblocks: one copy, and the choice between two.

use cellar_storage::Lsn;
use cellar_storage::format::{
    DEVICES_MAX, DatabaseMap, DeviceId, FormatError, StoreId, Superblock,
};
use cellar_storage::units::DeviceNumber;

use crate::input::Input;
use crate::segment::{fields, sealed};
use crate::{MUTATIONS, Target};

/// The two copies of a device.
pub(crate) const SUPERBLOCK: Target = Target {
    name: "superblock",
    seeds,
    run,
    mutations: MUTATIONS,
};

fn superblock() -> Superblock {
    Superblock {
        store: StoreId::new([7; 16]),
        hash_seed: [8; 16],
        sequence: 12,
        epoch: 3,
        cut_lsn: Lsn::new(640),
        start_lsn: Lsn::new(960),
        block_bytes: 512,
        segment_bytes: 8 << 20,
        segment_count: 100,
        device: DeviceNumber::new(1),
        devices: vec![DeviceId::new([1; 16]), DeviceId::new([2; 16])],
        clean: true,
        databases: DatabaseMap::default(),
        map_lsn: Lsn::new(320),
    }
}

/// A flag byte, and the fields of one copy or the whole of one.
fn seeds() -> Vec<Vec<u8>> {
    let mut flushed = superblock();
    flushed.databases.renew(3);
    flushed.databases.swap(0, 1);
    flushed.devices = vec![DeviceId::new([9; 16]); DEVICES_MAX];
    flushed.sequence = 13;
    let mut seeds = Vec::new();
    for superblock in [superblock(), flushed] {
        let bytes = superblock.encode();
        seeds.push([&[0], &fields(&bytes)[..]].concat());
        seeds.push([&[1], &bytes[..]].concat());
    }
    seeds
}

/// A copy comes back from its encoding; of two, the newer good one is chosen.
fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let is_whole = input.u8() & 1 == 1;
    let good = superblock().encode();
    let copy = if is_whole {
        input.rest().to_vec()
    } else {
        sealed(&good, input.rest())
    };
    let decoded = Superblock::decode(&copy);
    if let Ok(superblock) = &decoded {
        assert_eq!(
            Superblock::decode(&superblock.encode()).as_ref(),
            Ok(superblock)
        );
        assert!(superblock.devices.len() <= DEVICES_MAX);
        assert!(usize::from(superblock.device.get()) < superblock.devices.len());
    }
    let chosen = Superblock::choose([&copy, &good]);
    assert_eq!(
        chosen.as_ref(),
        expected(&decoded).as_ref(),
        "of two copies"
    );
}

fn expected(other: &Result<Superblock, FormatError>) -> Result<Superblock, FormatError> {
    match other {
        Err(newer @ FormatError::NewerVersion { .. }) => Err(*newer),
        Ok(other) if other.sequence >= superblock().sequence => Ok(other.clone()),
        Ok(_) | Err(_) => Ok(superblock()),
    }
}
