//! What the devices say they are. Owns the decision whether they may be touched, and the writing of
//! superblocks; must never write to a device that it was not sure of.

use std::rc::Rc;

use crate::device::{BLOCK_BYTES_MAX, Channel, Device, DeviceError, IoBuffer, WriteSync};
use crate::error::OpenError;
use crate::format::{
    DatabaseMap, DeviceId, FormatError, RESERVED_BYTES, SUPERBLOCK_BYTES, SUPERBLOCK_OFFSETS,
    Superblock,
};
use crate::options::{SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN};
use crate::recovery::OpenRequest;
use crate::recovery::extension;
use crate::units::{Location, Lsn, UNIT_BYTES};

/// The epoch of a store whose creation has not come to its end: nothing was ever served from it.
pub(super) const UNFINISHED_EPOCH: u32 = 0;

/// What the devices named are, taken together.
pub(super) enum Devices {
    /// Nothing: a store may be created on them.
    Blank,
    /// One store.
    Store(Members),
}

/// The devices of a store, in its order.
pub(super) struct Members {
    /// Where in the request each device stands.
    pub(super) order: Vec<usize>,
    /// The superblock of each.
    pub(super) superblocks: Vec<Superblock>,
    /// The devices as the last start named them: without those that this one adds.
    pub(super) named: Vec<DeviceId>,
    /// The last ones, which this start adds: blank, but for an announcement.
    pub(super) added_count: usize,
    /// Copies that do not verify beside a good one: the device, in the store's order, and where.
    pub(super) lost_copies: Vec<(usize, u64)>,
}

impl Members {
    /// The superblock of the last start. Where a start ended between the writings of two devices,
    /// that is the later one: it is written when all else of that start is durable.
    pub(super) fn ruling(&self) -> &Superblock {
        let newest = self
            .superblocks
            .iter()
            .max_by_key(|s| (s.epoch, s.sequence));
        newest.expect("a store has a device")
    }

    /// A device that the last start did not reach, if there is one.
    pub(super) fn lagging(&self) -> Option<usize> {
        let epoch = self.ruling().epoch;
        let old = &self.superblocks[..self.superblocks.len() - self.added_count];
        let lags = old.iter().position(|s| s.epoch < epoch)?;
        Some(self.order[lags])
    }

    /// The newest database map that a superblock tells, and where its record ends in the log.
    pub(super) fn map(&self) -> (DatabaseMap, Lsn) {
        let ruling = self.ruling();
        let of_epoch = self.superblocks.iter().filter(|s| s.epoch == ruling.epoch);
        let newest = of_epoch.max_by_key(|s| s.map_lsn).unwrap_or(ruling);
        (newest.databases, newest.map_lsn)
    }

    /// Whether the store was closed in order.
    pub(super) fn was_clean(&self) -> bool {
        let old = &self.superblocks[..self.superblocks.len() - self.added_count];
        old.iter().all(|superblock| superblock.clean)
    }
}

/// Looks at the reserved areas of all devices.
pub(super) async fn examine(request: &OpenRequest<'_>) -> Result<Devices, OpenError> {
    let mut found = Vec::new();
    for (device, channel) in request.devices.iter().zip(request.channels) {
        request.progress.add_read_bytes(RESERVED_BYTES);
        found.push(read(&**device, channel).await?);
    }
    let is_unused = |found: &Option<FoundCopies>| {
        found
            .as_ref()
            .is_none_or(|found| found.superblock.epoch == UNFINISHED_EPOCH)
    };
    if found.iter().all(is_unused) {
        return Ok(Devices::Blank);
    }
    let newest = newest(found.iter().flatten()).clone();
    let (members, blank) = divide(&newest, found);
    check_unity(request, &newest, &members)?;
    check_complete(request, &newest, &members, &blank)?;
    let counts = members
        .iter()
        .map(|(_, found)| found.superblock.segment_count);
    let segments = counts.map(u64::from).sum();
    for (at, found) in &members {
        check_size(&*request.devices[*at], &found.superblock, segments)?;
    }
    extension::extend(request, sort(newest.devices, members), &blank).map(Devices::Store)
}

/// What a device's reserved area holds.
struct FoundCopies {
    superblock: Superblock,
    /// Where the copy lies that does not verify, if one does not.
    lost_copy: Option<u64>,
}

/// A device of the store: where it stands in the request, and what was found on it.
type Member = (usize, FoundCopies);

/// The devices of the store, and those that are blank, by where they stand in the request.
fn divide(newest: &Superblock, found: Vec<Option<FoundCopies>>) -> (Vec<Member>, Vec<usize>) {
    let (mut members, mut blank) = (Vec::new(), Vec::new());
    for (at, found) in found.into_iter().enumerate() {
        let is_used = |superblock: &Superblock| superblock.epoch != UNFINISHED_EPOCH;
        match found {
            Some(found) if is_used(&found.superblock) || names(newest, &found.superblock) => {
                members.push((at, found));
            }
            Some(_) | None => blank.push(at),
        }
    }
    (members, blank)
}

/// Brings the devices into the store's order.
fn sort(named: Vec<DeviceId>, mut members: Vec<Member>) -> Members {
    members.sort_by_key(|(_, found)| found.superblock.device);
    let lost = |(number, (_, found)): (usize, &Member)| Some((number, found.lost_copy?));
    Members {
        lost_copies: members.iter().enumerate().filter_map(lost).collect(),
        order: members.iter().map(|(at, _)| *at).collect(),
        superblocks: members
            .into_iter()
            .map(|(_, found)| found.superblock)
            .collect(),
        named,
        added_count: 0,
    }
}

/// The superblock that names the devices: of the last start, and of an addition that it began.
fn newest<'a>(found: impl Iterator<Item = &'a FoundCopies>) -> &'a Superblock {
    let superblocks = found.map(|found| &found.superblock);
    let newest = superblocks.max_by_key(|s| (s.epoch, s.devices.len()));
    newest.expect("a device holds a store")
}

/// Whether the store of one superblock has the device of the other.
fn names(store: &Superblock, member: &Superblock) -> bool {
    let number = usize::from(member.device.get());
    let id = member.devices.get(number);
    store.store == member.store && id.is_some() && store.devices.get(number) == id
}

/// The superblock of a device; `None`: the device is blank.
async fn read(
    device: &dyn Device,
    channel: &Rc<dyn Channel>,
) -> Result<Option<FoundCopies>, OpenError> {
    let geometry = device.geometry();
    if geometry.capacity_bytes < RESERVED_BYTES {
        let (bytes, bytes_min) = (geometry.capacity_bytes, RESERVED_BYTES);
        return Err(OpenError::Shrunk {
            device: name(device),
            bytes,
            bytes_min,
        });
    }
    let area = channel.buffer(RESERVED_BYTES as usize);
    let area: IoBuffer = match channel.read(0, area).await {
        Err(error) if error.is_of_medium() => read_copies(channel, error).await?,
        read => read?,
    };
    let copy = |at: u64| &area[at as usize..at as usize + SUPERBLOCK_BYTES];
    let reason = match Superblock::choose(SUPERBLOCK_OFFSETS.map(copy)) {
        Ok(superblock) => {
            // Of an announcement there is one copy.
            let is_whole = superblock.epoch == UNFINISHED_EPOCH;
            let is_lost = |at: &u64| !is_whole && Superblock::decode(copy(*at)).is_err();
            return Ok(Some(FoundCopies {
                superblock,
                lost_copy: SUPERBLOCK_OFFSETS.into_iter().find(is_lost),
            }));
        }
        Err(FormatError::Blank) if area.iter().all(|&byte| byte == 0) => return Ok(None),
        Err(FormatError::Blank | FormatError::ForeignMagic) => {
            "holds something that Cellar did not write; clear its first MiB if that is not needed"
                .to_owned()
        }
        Err(
            error @ (FormatError::NewerVersion { .. }
            | FormatError::Truncated { .. }
            | FormatError::Checksum
            | FormatError::Malformed { .. }
            | FormatError::OtherStore),
        ) => format!("its superblock cannot be used: {error}"),
    };
    Err(OpenError::Foreign {
        device: name(device),
        reason,
    })
}

/// The reserved area of a device of which not all can be read: its copies, or zeros where one is
/// lost. Fails with `error` where no copy is good: then the area must not pass for a blank one.
async fn read_copies(
    channel: &Rc<dyn Channel>,
    error: DeviceError,
) -> Result<IoBuffer, DeviceError> {
    let mut area = channel.buffer(RESERVED_BYTES as usize);
    area.fill(0);
    let mut has_good = false;
    for offset in SUPERBLOCK_OFFSETS {
        let read = channel.read(offset, channel.buffer(SUPERBLOCK_BYTES)).await;
        if let Err(error) = &read
            && !error.is_of_medium()
        {
            return Err(error.clone());
        }
        let Ok(copy) = read else { continue };
        has_good |= Superblock::decode(&copy).is_ok();
        area[offset as usize..][..SUPERBLOCK_BYTES].copy_from_slice(&copy);
    }
    if !has_good {
        return Err(error);
    }
    tracing::error!(%error, "the start goes on with the copies of the superblock that are left");
    Ok(area)
}

/// All devices belong to one store, each once, and none is of another time.
fn check_unity(
    request: &OpenRequest<'_>,
    newest: &Superblock,
    members: &[Member],
) -> Result<(), OpenError> {
    for (number, (at, found)) in members.iter().enumerate() {
        let superblock = &found.superblock;
        let same_store = (superblock.hash_seed, superblock.segment_bytes)
            == (newest.hash_seed, newest.segment_bytes)
            && names(newest, superblock);
        // A start that adds devices may have ended before it told this one of them.
        let same_devices = newest.devices.starts_with(&superblock.devices)
            && (superblock.epoch < newest.epoch || superblock.devices == newest.devices);
        if !same_store || !same_devices {
            return Err(incomplete(request, *at, "belongs to another store"));
        }
        let is_double = |(_, other): &Member| other.superblock.device == superblock.device;
        if members[..number].iter().any(is_double) {
            return Err(incomplete(
                request,
                *at,
                "is named twice, or a copy of another one",
            ));
        }
        // A start writes all superblocks before it serves, so they are one start apart at most;
        // but for a device that was being added.
        if superblock.epoch + 1 < newest.epoch && superblock.epoch != UNFINISHED_EPOCH {
            return Err(incomplete(
                request,
                *at,
                "is an old copy: the others went on without it",
            ));
        }
    }
    Ok(())
}

/// No device of the store is missing.
fn check_complete(
    request: &OpenRequest<'_>,
    newest: &Superblock,
    members: &[Member],
    blank: &[usize],
) -> Result<(), OpenError> {
    let (here, all) = (members.len(), newest.devices.len());
    if here == all {
        return Ok(());
    }
    let reason = format!("{here} of the {all} devices of its store are named");
    match (blank.first(), members.first()) {
        (Some(at), _) => {
            let reason = format!("is blank, while one of the store's is missing: {reason}");
            Err(incomplete(request, *at, &reason))
        }
        (None, Some((at, _))) => Err(incomplete(request, *at, &reason)),
        (None, None) => unreachable!("a device holds a store"),
    }
}

/// The device still holds all of its segments, and they are of a size and number that this program
/// handles; the store has `segments` of them.
fn check_size(
    device: &dyn Device,
    superblock: &Superblock,
    segments: u64,
) -> Result<(), OpenError> {
    let segment_bytes = superblock.segment_bytes;
    let is_possible = (SEGMENT_BYTES_MIN..=SEGMENT_BYTES_MAX).contains(&segment_bytes)
        && segments <= segments_reachable(segment_bytes);
    if !is_possible {
        let reason = format!("{segments} segments of {segment_bytes} bytes are not possible");
        return Err(OpenError::Foreign {
            device: name(device),
            reason,
        });
    }
    let segments = u64::from(superblock.segment_count);
    let bytes_min = RESERVED_BYTES + segments * u64::from(segment_bytes);
    let bytes = device.geometry().capacity_bytes;
    if bytes < bytes_min {
        return Err(OpenError::Shrunk {
            device: name(device),
            bytes,
            bytes_min,
        });
    }
    Ok(())
}

/// How many segments locations reach.
pub(super) fn segments_reachable(segment_bytes: u32) -> u64 {
    (1 << Location::BITS) / u64::from(segment_bytes / UNIT_BYTES)
}

/// Writes the next copy of every superblock. Durable when it ends; the former copies stay.
pub(super) async fn write_next(
    channels: &[Rc<dyn Channel>],
    superblocks: &mut [Superblock],
) -> Result<(), DeviceError> {
    let mut writes = Vec::new();
    for (superblock, channel) in superblocks.iter_mut().zip(channels) {
        superblock.sequence += 1;
        let mut buffer = channel.buffer(SUPERBLOCK_BYTES);
        buffer.copy_from_slice(&superblock.encode());
        writes.push(channel.write_buffer(superblock.offset(), buffer, WriteSync::Durable));
    }
    for write in writes {
        write.await?;
    }
    flush(channels).await
}

/// Makes durable what was written to any device.
pub(super) async fn flush(channels: &[Rc<dyn Channel>]) -> Result<(), DeviceError> {
    let flushes: Vec<_> = channels.iter().map(|channel| channel.flush()).collect();
    for flush in flushes {
        flush.await?;
    }
    Ok(())
}

pub(super) fn name(device: &dyn Device) -> String {
    device.geometry().name.to_string()
}

pub(super) fn incomplete(request: &OpenRequest<'_>, number: usize, reason: &str) -> OpenError {
    OpenError::Incomplete {
        device: name(&*request.devices[number]),
        reason: reason.to_owned(),
    }
}

const _: () = assert!(SUPERBLOCK_BYTES == BLOCK_BYTES_MAX as usize);
