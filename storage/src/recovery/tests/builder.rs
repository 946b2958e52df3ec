//! A store made by hand: segments with given records, written through the format's codecs. Owns
//! nothing that the engine uses; it knows of the layouts what the running engine knows.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use cellar_index::{Hasher, Identity};

use crate::clock::SimClock;
use crate::device::sim::{SimDevice, SimExecutor};
use crate::device::{Channel, Device, WriteSync};
use crate::error::OpenError;
use crate::format::{
    BatchHeader, ENTRY_BYTES, Encoding, EntryDetail, FOOTER_BYTES, Footer, GenerationSeed, Kind,
    PageKey, RESERVED_BYTES, Record, RecordDraft, RootValue, SEGMENT_HEADER_BYTES, SegmentHeader,
    SegmentState, Stream, SummaryEntry, Superblock, ValueType, entry_offset, pad_head,
};
use crate::format::{DatabaseMap, Identity as StoredIdentity};
use crate::place;
use crate::recovery::{OpenRequest, Progress, Recovered, open};
use crate::units::{CollectionId, DatabaseId, Generation, Lsn, SegmentNumber};

pub(super) const SEGMENT_BYTES: u32 = 1 << 20;
pub(super) const SEGMENTS: u64 = 16;
/// Bytes of a record with a short key and value.
pub(super) const RECORD: u64 = 64;
/// What such a record takes of a segment, in bytes: its summary entry too.
pub(super) const LIVE: u64 = RECORD + ENTRY_BYTES as u64;
const BODY: u32 = SEGMENT_HEADER_BYTES as u32;

/// Devices and what was opened on them.
pub(super) struct Bench {
    pub(super) devices: Vec<Arc<SimDevice>>,
    pub(super) superblock: Superblock,
    pub(super) hasher: Hasher,
}

thread_local! {
    /// The clock of the test on this thread, for devices that take their time.
    static CLOCK: SimClock = SimClock::new(0);
}

pub(super) fn clock() -> SimClock {
    CLOCK.with(SimClock::clone)
}

pub(super) fn run<T>(future: impl Future<Output = T>) -> T {
    SimExecutor::new(clock(), 1).block_on(future)
}

/// Runs at most so many steps: `None` when they were too few.
pub(super) fn run_for<T>(future: impl Future<Output = T>, steps: u64) -> Option<T> {
    SimExecutor::new(clock(), 1).block_on_for(future, steps)
}

pub(super) fn blank(seed: u64) -> Arc<SimDevice> {
    let capacity = RESERVED_BYTES + SEGMENTS * u64::from(SEGMENT_BYTES);
    SimDevice::instant(512, capacity, seed)
}

/// Opens the devices, in the order given.
pub(super) fn open_all(devices: &[Arc<SimDevice>]) -> Result<Recovered, OpenError> {
    run(open_seeded(devices, 7))
}

/// Opens the devices, with other randomness for a store that is created.
pub(super) async fn open_seeded(
    devices: &[Arc<impl Device + 'static>],
    seed: u8,
) -> Result<Recovered, OpenError> {
    let devices: Vec<Arc<dyn Device>> = devices
        .iter()
        .map(|device| Arc::clone(device) as Arc<dyn Device>)
        .collect();
    let channels: Vec<Rc<dyn Channel>> = devices
        .iter()
        .map(|device| device.attach().unwrap())
        .collect();
    let progress = Progress::default();
    let request = OpenRequest {
        threads: 1,
        devices: &devices,
        channels: &channels,
        segment_bytes: SEGMENT_BYTES,
        seed: [seed; 32],
        progress: &progress,
        now_s: 1_900_000_000,
        may_create: true,
        listed_max: crate::damage::LISTED_MAX,
    };
    open(request).await
}

/// All bytes of a device.
pub(super) fn content(device: &SimDevice) -> Vec<u8> {
    read(device, 0, device.geometry().capacity_bytes as usize)
}

pub(super) fn read(device: &SimDevice, offset: u64, bytes: usize) -> Vec<u8> {
    let channel = device.attach().unwrap();
    run(channel.read(offset, channel.buffer(bytes)))
        .unwrap()
        .to_vec()
}

pub(super) fn write(device: &SimDevice, offset: u64, bytes: &[u8]) {
    let channel = device.attach().unwrap();
    let mut buffer = channel.buffer(bytes.len());
    buffer.copy_from_slice(bytes);
    run(channel.write_buffer(offset, buffer, WriteSync::Durable)).unwrap();
}

impl Bench {
    /// A new store on one device.
    pub(super) fn new() -> Self {
        Self::on(vec![blank(1)])
    }

    /// A new store on these devices.
    pub(super) fn on(devices: Vec<Arc<SimDevice>>) -> Self {
        let recovered = open_all(&devices).unwrap();
        let superblock = recovered.superblocks[0].clone();
        Self {
            devices,
            hasher: Hasher::new(superblock.hash_seed),
            superblock,
        }
    }

    /// Starts once more.
    pub(super) fn open(&mut self) -> Recovered {
        let recovered = open_all(&self.devices).unwrap();
        self.superblock = recovered.superblocks[0].clone();
        recovered
    }

    /// The first LSN of this life.
    pub(super) fn start(&self) -> Lsn {
        self.superblock.start_lsn
    }

    /// A hot segment of this life that opens at `opening`.
    pub(super) fn hot(&self, number: u32, opening: Lsn) -> Segment<'_> {
        Segment::new(self, number, Stream::Hot, opening)
    }

    /// A cold segment of this life that was opened when `opening` was durable.
    pub(super) fn cold(&self, number: u32, opening: Lsn) -> Segment<'_> {
        Segment::new(self, number, Stream::Cold, opening)
    }

    fn place(&self, number: u32) -> (&SimDevice, u64) {
        let (device, index) = (u64::from(number) / SEGMENTS, u64::from(number) % SEGMENTS);
        let offset = RESERVED_BYTES + index * u64::from(SEGMENT_BYTES);
        (&self.devices[device as usize], offset)
    }

    /// Writes a part of a segment.
    pub(super) fn write(&self, number: u32, offset: u32, bytes: &[u8]) {
        let (device, start) = self.place(number);
        write(device, start + u64::from(offset), bytes);
    }

    pub(super) fn rot(&self, number: u32, offset: u32) {
        let (device, start) = self.place(number);
        device.rot(start + u64::from(offset), 0x10);
    }

    pub(super) fn header(&self, number: u32) -> SegmentHeader {
        let (device, start) = self.place(number);
        let bytes = read(device, start, SEGMENT_HEADER_BYTES);
        SegmentHeader::decode(&bytes, self.superblock.store).unwrap()
    }

    /// The record that the index leads to from an identity, by its value.
    pub(super) fn value_at(&self, recovered: &Recovered, id: Identity) -> Option<Vec<u8>> {
        let entry = recovered.index.lookup(id)?;
        let (segment, offset) = place::of(&entry).split(SEGMENT_BYTES);
        let (device, start) = self.place(segment.get());
        let body = read(device, start, SEGMENT_BYTES as usize);
        let seed = recovered.segments.get(segment).seed().at(offset);
        let record = Record::decode(&body[offset as usize..], seed).unwrap();
        Some(record.value.to_vec())
    }

    /// The value of a key of database 0.
    pub(super) fn value(&self, recovered: &Recovered, key: &str) -> Option<String> {
        let value = self.value_at(recovered, self.hasher.key(0, key.as_bytes()))?;
        Some(String::from_utf8(value).unwrap())
    }
}

/// A segment that is being filled.
pub(super) struct Segment<'a> {
    bench: &'a Bench,
    number: u32,
    pub(super) header: SegmentHeader,
    bytes: Vec<u8>,
    offset: u32,
    entries: Vec<SummaryEntry>,
    map_offset: Option<u32>,
    /// The LSN of the next record, in a cold segment.
    next_lsn: RefCell<Option<Lsn>>,
}

impl<'a> Segment<'a> {
    fn new(bench: &'a Bench, number: u32, stream: Stream, opening: Lsn) -> Self {
        let superblock = &bench.superblock;
        let generation = Generation {
            epoch: superblock.epoch,
            segment: SegmentNumber::new(number),
            opening_lsn: opening,
        };
        let device = u64::from(number) / SEGMENTS;
        let header = SegmentHeader {
            store: superblock.store,
            device: crate::units::DeviceNumber::new(device as u16),
            generation,
            state: SegmentState::Open,
            stream,
            durable_lsn: superblock.start_lsn,
            cut_lsn: None,
        };
        Self {
            bench,
            number,
            header,
            bytes: vec![0; SEGMENT_BYTES as usize],
            offset: BODY,
            entries: Vec::new(),
            map_offset: None,
            next_lsn: RefCell::new(None),
        }
    }

    /// Says in the header that everything below was durable.
    pub(super) fn durable(&mut self, lsn: Lsn) -> &mut Self {
        self.header.durable_lsn = lsn;
        self
    }

    /// In a cold segment: the LSN that the next record had.
    pub(super) fn moved_from(&mut self, lsn: Lsn) -> &mut Self {
        *self.next_lsn.borrow_mut() = Some(lsn);
        self
    }

    /// Where the next record goes.
    pub(super) fn at(&self) -> u32 {
        self.offset
    }

    /// The LSN of the next record of a hot segment.
    pub(super) fn lsn(&self) -> Lsn {
        self.header
            .generation
            .opening_lsn
            .plus(u64::from(self.offset - BODY))
    }

    fn seed(&self) -> GenerationSeed {
        GenerationSeed::new(self.header.store, self.header.generation)
    }

    fn add(&mut self, draft: &RecordDraft<'_>, id: [u8; 12], detail: Option<EntryDetail>) {
        self.add_of(draft, id, detail, DatabaseId::default());
    }

    fn add_of(
        &mut self,
        draft: &RecordDraft<'_>,
        id: [u8; 12],
        detail: Option<EntryDetail>,
        database: DatabaseId,
    ) {
        let (offset, bytes) = (self.offset, draft.bytes());
        let lsn = self.next_lsn.take().unwrap_or_else(|| self.lsn());
        let target = &mut self.bytes[offset as usize..(offset + bytes) as usize];
        draft.encode_into(
            target,
            lsn,
            GenerationSeed::new(self.header.store, self.header.generation).at(offset),
        );
        self.offset += bytes;
        if let Some(detail) = detail {
            let identity = StoredIdentity::new(id);
            self.entries.push(SummaryEntry {
                identity,
                database,
                lsn,
                offset,
                bytes,
                detail,
            });
        }
    }

    pub(super) fn put(&mut self, key: &str, value: &str) -> &mut Self {
        self.put_in(0, key, value)
    }

    pub(super) fn put_in(&mut self, database: u32, key: &str, value: &str) -> &mut Self {
        let id = self.bench.hasher.key(database, key.as_bytes()).to_bytes();
        let database = DatabaseId::new(database);
        let draft =
            RecordDraft::new(Kind::Put, key.as_bytes(), value.as_bytes()).database(database);
        let value_type = ValueType::String;
        let detail = EntryDetail::Put {
            value_type,
            expiry_ms: None,
            collection: None,
        };
        self.add_of(&draft, id, Some(detail), database);
        self
    }

    pub(super) fn put_expiring(&mut self, key: &str, expiry_ms: u64) -> &mut Self {
        let id = self.bench.hasher.key(0, key.as_bytes()).to_bytes();
        let draft = RecordDraft::new(Kind::Put, key.as_bytes(), b"fleeting")
            .typed(ValueType::Hash, Encoding::Raw)
            .expiry(Some(expiry_ms));
        let (value_type, expiry_ms) = (ValueType::Hash, Some(expiry_ms));
        self.add(
            &draft,
            id,
            Some(EntryDetail::Put {
                value_type,
                expiry_ms,
                collection: None,
            }),
        );
        self
    }

    pub(super) fn put_root(&mut self, key: &str, collection: CollectionId) -> &mut Self {
        self.put_root_of(
            key,
            RootValue {
                collection,
                value_bytes: 100,
                page_bytes: 50,
            },
        )
    }

    pub(super) fn put_root_of(&mut self, key: &str, root: RootValue) -> &mut Self {
        let id = self.bench.hasher.key(0, key.as_bytes()).to_bytes();
        let collection = root.collection;
        let root = root.encode();
        let draft = RecordDraft::new(Kind::Put, key.as_bytes(), &root).paged();
        let detail = EntryDetail::Put {
            value_type: ValueType::String,
            expiry_ms: None,
            collection: Some(collection),
        };
        self.add(&draft, id, Some(detail));
        self
    }

    pub(super) fn page(&mut self, collection: CollectionId, page_number: u32) -> &mut Self {
        let id = self
            .bench
            .hasher
            .page(collection.get(), page_number)
            .to_bytes();
        let key = PageKey {
            collection,
            page_number,
        }
        .encode();
        let draft = RecordDraft::new(Kind::Page, &key, b"page");
        self.add(
            &draft,
            id,
            Some(EntryDetail::Page {
                collection,
                page_number,
            }),
        );
        self
    }

    pub(super) fn remove(&mut self, key: &str) -> &mut Self {
        let id = self.bench.hasher.key(0, key.as_bytes());
        self.remove_identity(id)
    }

    pub(super) fn remove_identity(&mut self, id: Identity) -> &mut Self {
        let id = id.to_bytes();
        self.add(
            &RecordDraft::new(Kind::Tombstone, &id, &[]),
            id,
            Some(EntryDetail::Tombstone),
        );
        self
    }

    pub(super) fn map(&mut self, map: &DatabaseMap) -> &mut Self {
        self.map_offset = Some(self.offset);
        let value = map.encode();
        self.add(
            &RecordDraft::new(Kind::Map, &[], &value),
            [0; 12],
            Some(EntryDetail::Map),
        );
        self
    }

    /// Changes what the summary is to say of the last record.
    pub(super) fn forge(&mut self, change: impl Fn(&mut SummaryEntry)) {
        change(self.entries.last_mut().expect("a record was added"));
    }

    /// Leaves the last record out of the summary.
    pub(super) fn drop_last_entry(&mut self) {
        self.entries.pop();
    }

    /// Has the footer say that a map lies at this place.
    pub(super) fn name_as_map(&mut self, offset: u32) {
        self.map_offset = Some(offset);
    }

    /// A batch's header; `following_bytes` of records are to follow.
    pub(super) fn batch(&mut self, following_bytes: u64, record_count: u32) -> &mut Self {
        let value = BatchHeader {
            following_bytes,
            record_count,
        }
        .encode();
        self.add(&RecordDraft::new(Kind::Batch, &[], &value), [0; 12], None);
        self
    }

    /// A pad to the next multiple of `block`, which tells a durable LSN.
    pub(super) fn pad(&mut self, block: u32, durable: Lsn) -> &mut Self {
        let end = (self.offset + 1).next_multiple_of(block);
        self.pad_to(end, durable)
    }

    fn pad_to(&mut self, end: u32, durable: Lsn) -> &mut Self {
        if end > self.offset {
            let lsn = match self.header.stream {
                Stream::Hot => self.lsn(),
                Stream::Cold => self.header.generation.opening_lsn,
            };
            let seed = self.seed().at(self.offset);
            let head = pad_head(end - self.offset, lsn, durable, seed);
            let at = self.offset as usize;
            self.bytes[at..at + head.as_slice().len()].copy_from_slice(head.as_slice());
            self.offset = end;
        }
        self
    }

    /// Writes the segment as it is, not sealed.
    pub(super) fn write(&mut self) -> Lsn {
        self.bytes[..BODY as usize].copy_from_slice(&self.header.encode());
        self.bench.write(self.number, 0, &self.bytes);
        self.lsn()
    }

    /// Seals the segment and writes it: the LSN at which the next one opens.
    pub(super) fn seal(&mut self, durable: Lsn) -> Lsn {
        let count = self.entries.len() as u32;
        let body_end = SEGMENT_BYTES - FOOTER_BYTES as u32 - count * 48;
        self.pad_to(body_end - body_end % 32, durable);
        for (slot, entry) in self.entries.iter().enumerate() {
            let at = entry_offset(SEGMENT_BYTES, slot as u32) as usize;
            self.bytes[at..at + 48].copy_from_slice(&entry.encode());
        }
        let entries_start = (SEGMENT_BYTES - FOOTER_BYTES as u32 - count * 48) as usize;
        let footer_start = SEGMENT_BYTES as usize - FOOTER_BYTES;
        let entries = &self.bytes[entries_start..footer_start];
        let footer = Footer {
            store: self.header.store,
            generation: self.header.generation,
            stream: self.header.stream,
            end_lsn: match self.header.stream {
                Stream::Hot => self.lsn(),
                Stream::Cold => self.header.generation.opening_lsn,
            },
            durable_lsn: durable,
            entry_count: count,
            entries_crc: crc32c::crc32c_append(self.seed().get(), entries),
            body_end: self.offset,
            map_offset: self
                .map_offset
                .filter(|_| self.header.stream == Stream::Hot),
        };
        self.bytes[footer_start..].copy_from_slice(&footer.encode());
        self.write()
    }
}
