//! Extension: blank devices join a store, and its last device grows with its configured size.
//!
//! Segments are numbered through, device by device, so only what comes last can become more. It
//! takes effect with the superblocks of the new life, which are written before anything is served.
//! Until then a device that joins bears an announcement: a superblock of the unfinished epoch, by
//! which a start that comes after a crash knows the device that others may already name. Owns the
//! decision what a store is extended by; must never touch a device that is not blank.

use crate::device::WriteSync;
use crate::error::OpenError;
use crate::format::{DEVICES_MAX, RESERVED_BYTES, SUPERBLOCK_BYTES, Superblock};
use crate::recovery::OpenRequest;
use crate::recovery::creation::{self, new_device_id};
use crate::recovery::superblocks::{Members, UNFINISHED_EPOCH, incomplete, segments_reachable};
use crate::units::{DeviceNumber, Lsn};

/// The store with the devices at `blank` in the request, and with all that its last device holds.
/// Nothing is written.
pub(super) fn extend(
    request: &OpenRequest<'_>,
    mut members: Members,
    blank: &[usize],
) -> Result<Members, OpenError> {
    let count = members.superblocks.len() + blank.len();
    if count > DEVICES_MAX {
        let reason = format!("would be device {count}: a store has at most {DEVICES_MAX}");
        return Err(incomplete(request, blank[0], &reason));
    }
    grow_last(request, &mut members);
    let mut devices = members.named.clone();
    let first_added = devices.len();
    for number in first_added..count {
        devices.push(new_device_id(request.seed, number as u32));
    }
    for (at, number) in blank.iter().zip(first_added..) {
        let superblock = announcement(request, &members, (*at, number))?;
        members.order.push(*at);
        members.superblocks.push(superblock);
    }
    for superblock in &mut members.superblocks {
        superblock.devices.clone_from(&devices);
    }
    members.added_count = blank.len();
    Ok(members)
}

/// Tells the devices that join which they are. Durable when it ends.
pub(super) async fn announce(
    request: &OpenRequest<'_>,
    members: &Members,
) -> Result<(), OpenError> {
    let old_count = members.superblocks.len() - members.added_count;
    let all = members.order.iter().zip(&members.superblocks);
    for (at, superblock) in all.skip(old_count) {
        let channel = &request.channels[*at];
        let mut buffer = channel.buffer(SUPERBLOCK_BYTES);
        buffer.copy_from_slice(&superblock.encode());
        channel
            .write_buffer(superblock.offset(), buffer, WriteSync::Durable)
            .await?;
        channel.flush().await?;
        let device = &request.devices[*at].geometry().name;
        let segments = superblock.segment_count;
        tracing::info!(%device, segments, "a device joins the store");
    }
    Ok(())
}

/// The superblock of a blank device that becomes device `number`.
fn announcement(
    request: &OpenRequest<'_>,
    members: &Members,
    (at, number): (usize, usize),
) -> Result<Superblock, OpenError> {
    let ruling = members.ruling();
    let device = &*request.devices[at];
    let room = creation::segments_of(device, ruling.segment_bytes)?;
    let segment_count = room.min(segments_left(members));
    if segment_count == 0 {
        let reason = "cannot join: the store has as many segments as it can reach";
        return Err(incomplete(request, at, reason));
    }
    Ok(Superblock {
        sequence: 0,
        epoch: UNFINISHED_EPOCH,
        cut_lsn: Lsn::ZERO,
        segment_count: u32::try_from(segment_count).expect("segment numbers are u32"),
        device: DeviceNumber::new(number as u16),
        clean: false,
        ..ruling.clone()
    })
}

/// Segments that locations reach beside those that the store has.
fn segments_left(members: &Members) -> u64 {
    let taken: u64 = members
        .superblocks
        .iter()
        .map(|s| u64::from(s.segment_count))
        .sum();
    segments_reachable(members.ruling().segment_bytes).saturating_sub(taken)
}

/// Lets the last device have what its size allows. What others could hold more is not used: their
/// segments' numbers are followed by those of the next device.
fn grow_last(request: &OpenRequest<'_>, members: &mut Members) {
    let segment_bytes = u64::from(members.ruling().segment_bytes);
    let left = segments_left(members);
    let last = members.superblocks.len() - 1;
    for (number, (at, superblock)) in members
        .order
        .iter()
        .zip(&mut members.superblocks)
        .enumerate()
    {
        let geometry = request.devices[*at].geometry();
        let room = (geometry.capacity_bytes - RESERVED_BYTES) / segment_bytes;
        let more = room
            .saturating_sub(u64::from(superblock.segment_count))
            .min(left);
        if more == 0 {
            continue;
        }
        let device = &geometry.name;
        if number == last {
            superblock.segment_count += u32::try_from(more).expect("segment numbers are u32");
            tracing::info!(%device, segments = more, "the store's last device grows");
        } else {
            tracing::warn!(
                %device,
                segments = more,
                "a device has room that is not used: only the last one grows; add a device instead"
            );
        }
    }
}
