//! What the devices say they are. Owns the decision whether they may be touched, and the writing of
//! superblocks; must never write to a device that it was not sure of.

use std::rc::Rc;

use crate::device::{BLOCK_BYTES_MAX, Channel, Device, DeviceError, IoBuffer, WriteSync};
use crate::error::OpenError;
use crate::format::{
    FormatError, RESERVED_BYTES, SUPERBLOCK_BYTES, SUPERBLOCK_OFFSETS, Superblock,
};
use crate::options::{SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN};
use crate::recovery::OpenRequest;
use crate::recovery::extension;
use crate::units::{Location, UNIT_BYTES};

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
    /// The last ones, which this start adds: blank, but for an announcement.
    pub(super) added_count: usize,
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
    let is_unused = |s: &Option<Superblock>| {
        s.as_ref()
            .is_none_or(|superblock| superblock.epoch == UNFINISHED_EPOCH)
    };
    if found.iter().all(is_unused) {
        return Ok(Devices::Blank);
    }
    let newest = newest(found.iter().flatten()).clone();
    let mut members = Vec::new();
    let mut blank = Vec::new();
    for (at, superblock) in found.into_iter().enumerate() {
        match superblock {
            Some(superblock)
                if superblock.epoch != UNFINISHED_EPOCH || names(&newest, &superblock) =>
            {
                members.push((at, superblock));
            }
            Some(_) | None => blank.push(at),
        }
    }
    check_unity(request, &newest, &members)?;
    check_complete(request, &newest, &members, &blank)?;
    let segments = members
        .iter()
        .map(|(_, s)| u64::from(s.segment_count))
        .sum();
    for (at, superblock) in &members {
        check_size(&*request.devices[*at], superblock, segments)?;
    }
    members.sort_by_key(|(_, superblock)| superblock.device);
    let (order, superblocks) = members.into_iter().unzip();
    let members = Members {
        order,
        superblocks,
        added_count: 0,
    };
    extension::extend(request, members, &blank).map(Devices::Store)
}

/// The superblock that names the devices: of the last start, and of an addition that it began.
fn newest<'a>(superblocks: impl Iterator<Item = &'a Superblock>) -> &'a Superblock {
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
) -> Result<Option<Superblock>, OpenError> {
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
    let area: IoBuffer = channel.read(0, area).await?;
    let copy = |at: u64| &area[at as usize..at as usize + SUPERBLOCK_BYTES];
    let reason = match Superblock::choose(SUPERBLOCK_OFFSETS.map(copy)) {
        Ok(superblock) => return Ok(Some(superblock)),
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

/// All devices belong to one store, each once, and none is of another time.
fn check_unity(
    request: &OpenRequest<'_>,
    newest: &Superblock,
    members: &[(usize, Superblock)],
) -> Result<(), OpenError> {
    for (number, (at, superblock)) in members.iter().enumerate() {
        let same_store = (superblock.hash_seed, superblock.segment_bytes)
            == (newest.hash_seed, newest.segment_bytes)
            && names(newest, superblock);
        // A start that adds devices may have ended before it told this one of them.
        let same_devices = newest.devices.starts_with(&superblock.devices)
            && (superblock.epoch < newest.epoch || superblock.devices == newest.devices);
        if !same_store || !same_devices {
            return Err(incomplete(request, *at, "belongs to another store"));
        }
        let is_double = |(_, other): &(usize, Superblock)| other.device == superblock.device;
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
    members: &[(usize, Superblock)],
    blank: &[usize],
) -> Result<(), OpenError> {
    let (here, all) = (members.len(), newest.devices.len());
    if here == all {
        return Ok(());
    }
    let reason = format!("{here} of the {all} devices of its store are named");
    match (blank.first(), members.first()) {
        (Some(at), _) => {
            let reason = format!(
                "is blank, while a device of the store on the others is missing ({here} of {all} are named)"
            );
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
