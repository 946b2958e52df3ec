//! The arithmetic of cleaning: when it is due, what a victim is worth, how much a turn takes.
//!
//! Public because `cellar-bench cleaner` simulates with it; `docs/adr/0005-victims.md` tells why it
//! is as it is. Must never look at a segment.

/// Free segments that only the cleaner may open: its open segment, the next one, and two that wait
/// to be freed behind a group commit.
pub const RESERVE_SEGMENTS: u64 = 4;
/// Victims of one turn at most: they wait for one group commit together.
pub const VICTIMS_MAX: usize = 8;
/// Live bytes of one turn, in segments: what the reserve can take while nothing is freed.
pub const LIVE_SEGMENTS_MAX: u64 = RESERVE_SEGMENTS - 2;
/// A segment that is fuller than this gives nothing that is worth the copy, in percent.
pub const UTILIZATION_PERCENT_MAX: u64 = 98;

/// Of a large store one segment in so many is kept free beside the reserve: every one of them makes
/// the others fuller, and half a percent already takes the writes of seconds.
const FREE_ONE_IN: u64 = 200;
/// Fewer give the pacing too few steps between its first credit and full speed.
const FREE_MIN: u64 = 5;
/// Of a small store, one in so many, or it would be all reserve,
const FREE_ONE_IN_SMALL: u64 = 50;
/// but the open segment, its successor, and one to come.
const FREE_MIN_SMALL: u64 = 3;

/// What a victim costs beside its live bytes: its summary is read, 2 % of a segment of 2 KB
/// records.
const SUMMARY_SHARE: f64 = 0.02;
/// A cold segment is done with one kind of survivors when less than one in so many of its bytes is
/// left: the other kind shares that much with it.
const KIND_ROOM_ONE_IN: u32 = 4;

/// Free segments, of `segment_count`, below which the cleaner works.
pub fn clean_mark(segment_count: u64) -> u64 {
    let of_large = (segment_count / FREE_ONE_IN).max(FREE_MIN);
    let of_small = (segment_count / FREE_ONE_IN_SMALL).max(FREE_MIN_SMALL);
    RESERVE_SEGMENTS + of_large.min(of_small)
}

/// What cleaning a segment is worth: the space that it gives, over what that costs, times how long
/// it has been quiet. `live_bytes` are read and written, the dead ones are not touched, so the cost
/// is twice the live share: cost-benefit in the form for flash (Kawaguchi, Nishioka, Motoda, USENIX
/// 1995). `age` is in bytes of hot log since the segment was sealed.
#[expect(
    clippy::cast_precision_loss,
    reason = "an order of worths needs no exact numbers"
)]
pub fn worth(live_bytes: u64, segment_bytes: u32, age: u64) -> f64 {
    let utilization = live_bytes as f64 / f64::from(segment_bytes);
    let gain = (1.0 - utilization).max(0.0);
    gain * (age as f64 + 1.0) / (2.0 * utilization + SUMMARY_SHARE)
}

/// Whether an open cold segment with `room_bytes` left may change its kind: it takes what survives
/// hot segments or what survives cold ones, so that what survived twice is not mixed with what did
/// once. Two kinds in turn do the work of two open segments.
pub fn may_change_kind(room_bytes: u32, segment_bytes: u32) -> bool {
    room_bytes < segment_bytes / KIND_ROOM_ONE_IN
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT_BYTES: u32 = 8 << 20;

    fn worth_at(percent: u64, age: u64) -> f64 {
        worth(u64::from(SEGMENT_BYTES) * percent / 100, SEGMENT_BYTES, age)
    }

    #[test]
    fn emptier_and_older_is_worth_more() {
        assert!(worth_at(40, 1000) > worth_at(60, 1000));
        assert!(worth_at(60, 3000) > worth_at(60, 1000));
        assert!(worth_at(0, 0) > worth_at(90, 100));
        assert!(
            worth_at(80, 4000) > worth_at(60, 1000),
            "age counts against live bytes"
        );
    }

    #[test]
    fn a_full_segment_is_worth_nothing() {
        assert!(worth_at(100, u64::MAX) <= 0.0);
        assert!(worth_at(120, u64::MAX) <= 0.0);
    }

    #[test]
    fn the_mark_grows_with_the_store() {
        let marks = [16, 256, 512, 1_000, 131_072].map(clean_mark);
        assert_eq!(marks, [7, 9, 9, 9, 659]);
    }
}
