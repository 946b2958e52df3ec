//! The structures of a store at rest: where they lie, and how the input changes one and seals it
//! anew. Owns the checksums made right; must never touch the bytes of keys and values, by which a
//! wrong answer is known.

use std::ops::Range;
use std::sync::Arc;

use cellar_storage::clock::SimClock;
use cellar_storage::device::WriteSync;
use cellar_storage::device::sim::{SimDevice, SimExecutor};
use cellar_storage::format::{
    ENTRY_BYTES, FOOTER_BYTES, Footer, GenerationSeed, Kind, RESERVED_BYTES, RecordHead,
    SEGMENT_HEADER_BYTES, SUPERBLOCK_BYTES, SUPERBLOCK_OFFSETS, SegmentHeader, SegmentState,
    StoreId, Stream, Superblock,
};
use cellar_storage::units::Generation;
use cellar_storage::{Device, Lsn};

use super::base::{Base, SEGMENT_BYTES};
use crate::input::Input;

/// An edit of the input: kind, number and field of a structure, operation, operand.
pub(super) const EDIT_BYTES: usize = 14;

/// As docs/format.md has them: what is sealed, by what, and the fields that hang together.
const CRC: Range<usize> = 8..12;
const SEALED_AT: usize = 12;
const OPENING_LSN: Range<usize> = 32..40;
const FOOTER_END_LSN: Range<usize> = 40..48;
const ENTRIES_CRC: Range<usize> = 68..72;
const ENTRY_LSN: Range<usize> = 16..24;
const RECORD_CRC: Range<usize> = 0..4;
const PAYLOAD_CRC: Range<usize> = 4..8;
const RECORD_LSN: Range<usize> = 8..16;
const FLAGS_AT: usize = 23;
/// What of each structure is not always zero.
const SUPERBLOCK_USED: usize = 1216;
const HEADER_USED: usize = 68;
const FOOTER_USED: usize = 81;
/// Of a root, its length and its pages' length: its pages are told from others by their keys.
const ROOT_FIELDS: Range<usize> = 8..20;
/// Records of values that fill the devices: so many of a segment are changed.
const FILLERS_PER_SEGMENT: usize = 2;

const FOOTER_AT: usize = SEGMENT_BYTES as usize - FOOTER_BYTES;

/// Which kind of structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Superblock,
    /// Of a segment, in use or freed.
    Header,
    Footer,
    /// Of a summary.
    Entry,
    /// The header of a record.
    Record,
    /// The fields inside a batch's header, a map, a root.
    Payload,
    /// All that is bound to a segment's opening LSN.
    Life,
    /// Any bytes, sealed by nothing.
    Raw,
}

const WHATS: [What; 8] = [
    What::Superblock,
    What::Header,
    What::Footer,
    What::Entry,
    What::Record,
    What::Payload,
    What::Life,
    What::Raw,
];
pub(super) const WHAT_COUNT: u8 = WHATS.len() as u8;

/// A segment in use, as it was found.
#[derive(Clone, Copy, Debug)]
struct Seat {
    start: u64,
    store: StoreId,
    generation: Generation,
    stream: Stream,
    /// Bytes of all entries; none where it is not sealed.
    entries_bytes: Option<usize>,
}

impl Seat {
    fn seed(&self) -> GenerationSeed {
        GenerationSeed::new(self.store, self.generation)
    }
}

/// A structure.
#[derive(Clone, Debug)]
pub(super) struct Place {
    device: usize,
    /// Bytes from the device's start.
    offset: u64,
    /// The bytes that may be changed, from there.
    fields: Range<usize>,
    what: What,
    seat: Option<Seat>,
}

/// All structures of the store on these devices.
pub(super) fn find(devices: &[Arc<SimDevice>]) -> Vec<Place> {
    let mut places = Vec::new();
    for (device, disk) in devices.iter().enumerate() {
        let copies = SUPERBLOCK_OFFSETS.map(|at| disk.content(at, SUPERBLOCK_BYTES));
        let superblock = Superblock::choose([&copies[0], &copies[1]]).expect("a valid store");
        let mut add = |offset: u64, fields: Range<usize>, what, seat| {
            places.push(Place {
                device,
                offset,
                fields,
                what,
                seat,
            });
        };
        for offset in SUPERBLOCK_OFFSETS {
            add(offset, SEALED_AT..SUPERBLOCK_USED, What::Superblock, None);
        }
        for index in 0..superblock.segment_count {
            let start = RESERVED_BYTES + u64::from(index) * u64::from(SEGMENT_BYTES);
            find_in_segment(start, disk, &superblock, &mut add);
        }
    }
    places
}

fn find_in_segment(
    start: u64,
    disk: &SimDevice,
    of: &Superblock,
    add: &mut impl FnMut(u64, Range<usize>, What, Option<Seat>),
) {
    let bytes = disk.content(start, SEGMENT_BYTES as usize);
    add(start, 0..SEGMENT_BYTES as usize, What::Raw, None);
    let Ok(header) = SegmentHeader::decode(&bytes, of.store) else {
        return;
    };
    add(start, SEALED_AT..HEADER_USED, What::Header, None);
    if header.state == SegmentState::Free {
        return;
    }
    let footer = Footer::decode(&bytes[FOOTER_AT..], of.store, SEGMENT_BYTES).ok();
    let footer = footer.filter(|footer| footer.generation == header.generation);
    let seat = Seat {
        start,
        store: of.store,
        generation: header.generation,
        stream: header.stream,
        entries_bytes: footer.map(|footer| footer.entry_count as usize * ENTRY_BYTES),
    };
    add(start, 0..8, What::Life, Some(seat));
    let mut fillers = 0;
    for (offset, head) in records(&bytes, &seat) {
        fillers += usize::from(head.bytes() > 20_000);
        if head.bytes() > 20_000 && fillers > FILLERS_PER_SEGMENT {
            continue;
        }
        let at = start + offset as u64;
        let head_bytes = head.key_range().start;
        add(at, PAYLOAD_CRC.end..head_bytes, What::Record, Some(seat));
        let value = head.value_range();
        let fields = match head.kind {
            Kind::Batch | Kind::Map => value,
            Kind::Put if head.paged => {
                value.start + ROOT_FIELDS.start..value.start + ROOT_FIELDS.end
            }
            Kind::Put | Kind::Tombstone | Kind::Page | Kind::Pad => continue,
        };
        add(at, fields, What::Payload, Some(seat));
    }
    let Some(entries_bytes) = seat.entries_bytes else {
        return;
    };
    let footer_at = start + FOOTER_AT as u64;
    add(footer_at, SEALED_AT..FOOTER_USED, What::Footer, None);
    for below in (ENTRY_BYTES..=entries_bytes).step_by(ENTRY_BYTES) {
        let offset = footer_at - below as u64;
        add(offset, 0..ENTRY_BYTES, What::Entry, Some(seat));
    }
}

/// The records of a segment, with their offsets there.
fn records(bytes: &[u8], seat: &Seat) -> Vec<(usize, RecordHead)> {
    let (mut records, mut offset) = (Vec::new(), SEGMENT_HEADER_BYTES);
    let seed = seat.seed();
    while let Some(rest) = bytes[..FOOTER_AT].get(offset..)
        && let Ok(head) = RecordHead::decode(rest, seed.at(offset as u32))
    {
        records.push((offset, head));
        offset += head.bytes() as usize;
    }
    records
}

/// Changes what the input names.
pub(super) fn edit(base: &Base, devices: &[Arc<SimDevice>], mut input: Input<'_>) {
    let what = WHATS[usize::from(input.u8()) % WHATS.len()];
    let (number, at) = (usize::from(input.u16()), usize::from(input.u16()));
    let change = Change {
        operation: input.u8(),
        value: u64::from(input.u32()) | u64::from(input.u32()) << 32,
    };
    let of_kind: Vec<&Place> = base.places.iter().filter(|p| p.what == what).collect();
    let place = of_kind[number % of_kind.len()];
    let other = of_kind[change.value as usize % of_kind.len()];
    let disk = &devices[place.device];
    let mut bytes = content(disk, place.offset, place.fields.end);
    let fields = &mut bytes[place.fields.clone()];
    if change.is_copy() && what != What::Life {
        let other = content(&devices[other.device], other.offset, other.fields.end);
        let source = &other[place.fields.start.min(other.len())..];
        let common = fields.len().min(source.len()).min(SUPERBLOCK_BYTES);
        fields[..common].copy_from_slice(&source[..common]);
    } else if what != What::Life {
        let at = at % fields.len();
        change.apply(&mut fields[at..]);
    }
    write(disk, place.offset, &bytes);
    seal(disk, place, &change);
}

/// Makes right whatever sums cover the structure.
fn seal(disk: &SimDevice, place: &Place, change: &Change) {
    match (place.what, &place.seat) {
        (What::Superblock | What::Header | What::Footer, _) => seal_block(disk, place.offset),
        (What::Entry, Some(seat)) => seal_entries(disk, seat),
        (What::Record, Some(seat)) => seal_record(disk, place.offset, seat),
        (What::Payload, Some(seat)) => {
            seal_payload(disk, place.offset, seat);
            seal_record(disk, place.offset, seat);
        }
        (What::Life, Some(seat)) => move_life(disk, seat, change),
        (What::Entry | What::Record | What::Payload | What::Life | What::Raw, _) => {}
    }
}

/// What is done to a field.
struct Change {
    /// What in its lower bits, the width above.
    operation: u8,
    value: u64,
}

impl Change {
    fn is_copy(&self) -> bool {
        self.operation & 3 == 3
    }

    /// Sets, adds to, or flips bits of the number at the start of `field`.
    fn apply(&self, field: &mut [u8]) {
        let width = (1 << (self.operation >> 4 & 3)).min(field.len());
        let mut word = [0; 8];
        word[..width].copy_from_slice(&field[..width]);
        let changed = self.of(u64::from_le_bytes(word));
        field[..width].copy_from_slice(&changed.to_le_bytes()[..width]);
    }

    fn of(&self, number: u64) -> u64 {
        match self.operation & 3 {
            0 => self.value,
            1 => number.wrapping_add(self.value),
            _ => number ^ self.value,
        }
    }
}

fn put(bytes: &mut [u8], field: Range<usize>, value: &[u8]) {
    bytes[field].copy_from_slice(value);
}

fn seal_block(disk: &SimDevice, offset: u64) {
    let mut bytes = content(disk, offset, SUPERBLOCK_BYTES);
    let crc = crc32c::crc32c(&bytes[SEALED_AT..]);
    put(&mut bytes, CRC, &crc.to_le_bytes());
    write(disk, offset, &bytes);
}

fn seal_entries(disk: &SimDevice, seat: &Seat) {
    let Some(entries_bytes) = seat.entries_bytes else {
        return;
    };
    let footer_at = seat.start + FOOTER_AT as u64;
    let entries = content(disk, footer_at - entries_bytes as u64, entries_bytes);
    let crc = crc32c::crc32c_append(seat.seed().get(), &entries);
    let mut footer = content(disk, footer_at, FOOTER_BYTES);
    put(&mut footer, ENTRIES_CRC, &crc.to_le_bytes());
    write(disk, footer_at, &footer);
    seal_block(disk, footer_at);
}

/// The header's sum for its place, over as many bytes as its flags say.
fn head_crc(head: &[u8], offset: u32, seed: GenerationSeed) -> u32 {
    let head_bytes = if head[FLAGS_AT] & 1 == 0 { 32 } else { 40 };
    let place = crc32c::crc32c_append(seed.get(), &offset.to_le_bytes());
    crc32c::crc32c_append(place, &head[RECORD_CRC.end..head_bytes])
}

fn seal_record(disk: &SimDevice, at: u64, seat: &Seat) {
    let mut head = content(disk, at, 40);
    let crc = head_crc(&head, (at - seat.start) as u32, seat.seed());
    put(&mut head, RECORD_CRC, &crc.to_le_bytes());
    write(disk, at, &head);
}

/// The payload's sum, of a record whose header was not changed.
fn seal_payload(disk: &SimDevice, at: u64, seat: &Seat) {
    let head = content(disk, at, 40);
    let seed = seat.seed().at((at - seat.start) as u32);
    let Ok(found) = RecordHead::decode(&head, seed) else {
        return;
    };
    let mut record = content(disk, at, found.value_range().end);
    let crc = crc32c::crc32c(&record[found.key_range().start..]);
    put(&mut record, PAYLOAD_CRC, &crc.to_le_bytes());
    write(disk, at, &record);
}

/// Opens a segment at another LSN: its header, its records, their entries and the footer follow.
fn move_life(disk: &SimDevice, seat: &Seat, change: &Change) {
    let mut bytes = content(disk, seat.start, SEGMENT_BYTES as usize);
    let before = seat.generation.opening_lsn.get();
    let opening = change.of(before);
    let opening_lsn = Lsn::new(opening);
    let moved = Seat {
        generation: Generation {
            opening_lsn,
            ..seat.generation
        },
        ..*seat
    };
    let shift = match seat.stream {
        Stream::Hot => opening.wrapping_sub(before),
        // Records keep theirs.
        Stream::Cold => 0,
    };
    let shifted = |field: &[u8]| {
        let lsn = u64::from_le_bytes(field.try_into().expect("eight bytes"));
        lsn.wrapping_add(shift).to_le_bytes()
    };
    for (offset, _) in records(&bytes, seat) {
        let head = &mut bytes[offset..offset + 40];
        let lsn = shifted(&head[RECORD_LSN]);
        put(head, RECORD_LSN, &lsn);
        let crc = head_crc(head, offset as u32, moved.seed());
        put(head, RECORD_CRC, &crc.to_le_bytes());
    }
    let (front, footer) = bytes.split_at_mut(FOOTER_AT);
    put(front, OPENING_LSN, &opening.to_le_bytes());
    if let Some(entries_bytes) = seat.entries_bytes {
        for entry in front[FOOTER_AT - entries_bytes..].chunks_mut(ENTRY_BYTES) {
            let lsn = shifted(&entry[ENTRY_LSN]);
            put(entry, ENTRY_LSN, &lsn);
        }
        put(footer, OPENING_LSN, &opening.to_le_bytes());
        let end = match seat.stream {
            Stream::Hot => shifted(&footer[FOOTER_END_LSN]),
            Stream::Cold => opening.to_le_bytes(),
        };
        put(footer, FOOTER_END_LSN, &end);
    }
    write(disk, seat.start, &bytes);
    seal_block(disk, seat.start);
    seal_entries(disk, &moved);
}

/// The blocks around some bytes.
fn around(disk: &SimDevice, offset: u64, bytes: usize) -> (u64, Range<usize>) {
    let block = u64::from(disk.geometry().block_bytes);
    let start = offset - offset % block;
    let skip = (offset - start) as usize;
    (start, skip..skip + bytes)
}

fn content(disk: &SimDevice, offset: u64, bytes: usize) -> Vec<u8> {
    let (start, range) = around(disk, offset, bytes);
    let block = disk.geometry().block_bytes as usize;
    disk.content(start, range.end.next_multiple_of(block))[range].to_vec()
}

fn write(disk: &SimDevice, offset: u64, bytes: &[u8]) {
    let (start, range) = around(disk, offset, bytes.len());
    let channel = disk.attach().expect("a device in use");
    let mut buffer = channel.buffer(range.end);
    let whole = disk.content(start, buffer.len());
    buffer.copy_from_slice(&whole);
    buffer[range].copy_from_slice(bytes);
    let writing = channel.write_buffer(start, buffer, WriteSync::Durable);
    let written = SimExecutor::new(SimClock::new(0), 1).block_on(writing);
    drop(written.expect("a good device"));
}
