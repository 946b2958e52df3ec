//! What lies where on a store's devices. Owns the reading of the layouts, by the format's own
//! decoders; must never write.

use std::collections::BTreeMap;
use std::sync::Arc;

use cellar_storage::device::Device;
use cellar_storage::device::sim::SimDevice;
use cellar_storage::format::{
    ENTRY_BYTES, FOOTER_BYTES, Footer, GenerationSeed, Kind, RESERVED_BYTES, RecordHead,
    SEGMENT_HEADER_BYTES, SUPERBLOCK_BYTES, SUPERBLOCK_OFFSETS, SegmentHeader, SegmentState,
    Stream, Superblock,
};

use crate::world::{FILLER_BYTES, SEGMENT_BYTES, block_on};

/// One structure on a device.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) device: usize,
    /// Bytes from the device's start.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) what: What,
    /// The LSN, of a hot record.
    pub(crate) lsn: Option<u64>,
}

/// Which kind of structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    Superblock,
    /// Of a segment in use.
    Header,
    /// Of a segment that was freed.
    FreeHeader,
    Footer,
    Entry,
    /// Header, key and value of a record of this kind; cold ones are the cleaner's copies.
    Hot(KindName),
    Cold(KindName),
    /// A long value that fills the devices.
    Filler,
}

/// A record's kind, in the order of its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum KindName {
    Put,
    Tombstone,
    Page,
    Pad,
    Batch,
    Map,
}

fn name(kind: Kind) -> KindName {
    match kind {
        Kind::Put => KindName::Put,
        Kind::Tombstone => KindName::Tombstone,
        Kind::Page => KindName::Page,
        Kind::Pad => KindName::Pad,
        Kind::Batch => KindName::Batch,
        Kind::Map => KindName::Map,
    }
}

/// Where all that is not zero lies in headers, footers and superblocks, in bytes.
const HEADER_USED: u64 = 68;
const FOOTER_USED: u64 = 81;
const SUPERBLOCK_USED: u64 = 1216;

/// How many there are of each kind.
pub(crate) fn summary(places: &[Place]) -> String {
    let mut counts: BTreeMap<What, u64> = BTreeMap::new();
    for place in places {
        *counts.entry(place.what).or_default() += 1;
    }
    format!("{counts:?}")
}

/// Every structure of the store on these devices.
pub(crate) fn places(devices: &[Arc<SimDevice>]) -> Vec<Place> {
    let mut places = Vec::new();
    for (device, content) in devices.iter().map(|device| content(device)).enumerate() {
        for offset in SUPERBLOCK_OFFSETS {
            let (bytes, what, lsn) = (SUPERBLOCK_USED, What::Superblock, None);
            places.push(Place {
                device,
                offset,
                bytes,
                what,
                lsn,
            });
        }
        let copies = SUPERBLOCK_OFFSETS.map(|at| &content[at as usize..][..SUPERBLOCK_BYTES]);
        let superblock = Superblock::choose(copies).unwrap();
        for index in 0..superblock.segment_count {
            let start = RESERVED_BYTES + u64::from(index) * u64::from(SEGMENT_BYTES);
            let bytes = &content[start as usize..][..SEGMENT_BYTES as usize];
            segment(&mut places, (device, start), bytes, &superblock);
        }
    }
    places
}

fn segment(places: &mut Vec<Place>, (device, start): (usize, u64), bytes: &[u8], of: &Superblock) {
    let Ok(header) = SegmentHeader::decode(bytes, of.store) else {
        return;
    };
    let mut add = |offset: u64, bytes: u64, what, lsn| {
        let offset = start + offset;
        places.push(Place {
            device,
            offset,
            bytes,
            what,
            lsn,
        });
    };
    if header.state == SegmentState::Free {
        add(0, HEADER_USED, What::FreeHeader, None);
        return;
    }
    add(0, HEADER_USED, What::Header, None);
    let seed = GenerationSeed::new(of.store, header.generation);
    let end = bytes.len() - FOOTER_BYTES;
    let mut offset = SEGMENT_HEADER_BYTES;
    while let Ok(head) = RecordHead::decode(&bytes[offset..end], seed.at(offset as u32)) {
        let (kind, is_hot) = (name(head.kind), header.stream == Stream::Hot);
        let what = if is_hot {
            What::Hot(kind)
        } else {
            What::Cold(kind)
        };
        let what = if head.value_range().len() == FILLER_BYTES {
            What::Filler
        } else {
            what
        };
        let used = if head.kind == Kind::Pad {
            32
        } else {
            head.value_range().end
        };
        add(
            offset as u64,
            used as u64,
            what,
            is_hot.then_some(head.lsn.get()),
        );
        offset += head.bytes() as usize;
        if offset >= end {
            break;
        }
    }
    let footer = Footer::decode(&bytes[end..], of.store, SEGMENT_BYTES);
    let Some(footer) = footer.ok().filter(|f| f.generation == header.generation) else {
        return;
    };
    add(end as u64, FOOTER_USED, What::Footer, None);
    for entry in 0..u64::from(footer.entry_count) {
        let below = ENTRY_BYTES as u64 * (entry + 1);
        add(end as u64 - below, ENTRY_BYTES as u64, What::Entry, None);
    }
}

fn content(device: &SimDevice) -> Vec<u8> {
    let channel = device.attach().unwrap();
    let bytes = device.geometry().capacity_bytes as usize;
    block_on(channel.read(0, channel.buffer(bytes)))
        .unwrap()
        .to_vec()
}
