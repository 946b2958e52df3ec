//! Damage: places on the devices that do not hold what was written there. Owns the list of them,
//! each told once, whoever comes upon it: recovery, a read, the cleaner, the scrub, a check. Must
//! never decide what is done about one.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

/// Places that are remembered, so that none is counted or logged twice. A device that is lost
/// altogether has more: those beyond are counted each time that they are met, and not logged.
const PLACES_MAX: usize = 8_192;
/// Places that are logged one by one.
const LOGGED_MAX: u64 = 1_000;
/// The last places, kept for whoever asks a running store.
pub(crate) const LISTED_MAX: usize = 128;
/// Bytes of a key that are shown.
const SHOWN_KEY_BYTES_MAX: usize = 256;

/// Which structure is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// One of a device's two superblock copies.
    Superblock,
    /// The header of a segment.
    Header,
    /// The footer of a segment.
    Footer,
    /// The entries of a segment's summary.
    Summary,
    /// A record.
    Record,
    /// The whole content of a segment.
    Segment,
}

impl Part {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Superblock => "superblock",
            Self::Header => "header",
            Self::Footer => "footer",
            Self::Summary => "summary",
            Self::Record => "record",
            Self::Segment => "segment",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// What a damaged record was, as far as it can still be told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Loss {
    /// Nobody can tell, or nothing that anybody could miss.
    #[default]
    Unknown,
    /// The value of a key, whose bytes are these as they read now.
    Key(Bytes),
    /// The value of a key that only its hash tells of.
    Hash([u8; 12]),
    /// A page of a large value: the collection and the page's number.
    Page(u64, u32),
}

impl fmt::Display for Loss {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => formatter.write_str("unknown"),
            Self::Key(key) => {
                let shown = &key[..key.len().min(SHOWN_KEY_BYTES_MAX)];
                write!(formatter, "key \"{}\"", shown.escape_ascii())
            }
            Self::Hash(hash) => {
                formatter.write_str("key with hash ")?;
                hash.iter()
                    .try_for_each(|byte| write!(formatter, "{byte:02x}"))
            }
            Self::Page(collection, number) => {
                write!(formatter, "page {number} of collection {collection}")
            }
        }
    }
}

/// One damaged place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The device's name.
    pub device: Arc<str>,
    /// Bytes from the device's start.
    pub device_offset: u64,
    /// The segment's number in the store; none for a superblock.
    pub segment: Option<u32>,
    /// Which structure it is.
    pub part: Part,
    /// What is wrong, and what becomes of it.
    pub what: &'static str,
    /// What was there.
    pub loss: Loss,
}

impl fmt::Display for Damage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            device,
            device_offset,
            segment,
            part,
            what,
            loss,
        } = self;
        write!(formatter, "{device} at {device_offset}")?;
        if let Some(segment) = segment {
            write!(formatter, ", segment {segment}")?;
        }
        write!(formatter, ", {part}: {what}")?;
        if *loss == Loss::Unknown {
            return Ok(());
        }
        write!(formatter, " ({loss})")
    }
}

struct Known {
    places: HashSet<(Arc<str>, u64, Part)>,
    count: u64,
    last: VecDeque<Damage>,
}

/// All damage that was met since the store was opened, or while it is being opened.
pub(crate) struct DamageLog {
    known: Mutex<Known>,
    listed_max: usize,
}

impl DamageLog {
    /// A log that lists the last `listed_max` places.
    pub(crate) fn new(listed_max: usize) -> Self {
        let known = Known {
            places: HashSet::new(),
            count: 0,
            last: VecDeque::new(),
        };
        Self {
            known: Mutex::new(known),
            listed_max,
        }
    }

    /// Notes a damaged place, and logs it if nobody has come upon it before.
    pub(crate) fn note(&self, damage: Damage) {
        let mut known = self.known.lock();
        let place = (
            Arc::clone(&damage.device),
            damage.device_offset,
            damage.part,
        );
        if known.places.contains(&place) {
            return;
        }
        if known.places.len() < PLACES_MAX.max(self.listed_max) {
            known.places.insert(place);
        }
        known.count += 1;
        if known.count <= LOGGED_MAX {
            tracing::error!("corrupt: {damage}");
        }
        if known.last.len() == self.listed_max {
            known.last.pop_front();
        }
        known.last.push_back(damage);
    }

    /// How many places there are.
    pub(crate) fn count(&self) -> u64 {
        self.known.lock().count
    }

    /// The last ones, oldest first.
    pub(crate) fn last(&self) -> Vec<Damage> {
        self.known.lock().last.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(device_offset: u64) -> Damage {
        Damage {
            device: Arc::from("d"),
            device_offset,
            segment: Some(3),
            part: Part::Record,
            what: "it does not verify",
            loss: Loss::Key(Bytes::from_static(b"a\n")),
        }
    }

    #[test]
    fn a_place_counts_once() {
        let log = DamageLog::new(LISTED_MAX);
        log.note(at(1));
        log.note(at(2));
        log.note(at(1));
        assert_eq!((log.count(), log.last()), (2, vec![at(1), at(2)]));
    }

    #[test]
    fn the_list_is_bounded_and_the_count_is_not() {
        let log = DamageLog::new(LISTED_MAX);
        (0..LISTED_MAX as u64 + 9).for_each(|offset| log.note(at(offset)));
        assert_eq!(log.count(), LISTED_MAX as u64 + 9);
        assert_eq!(
            (log.last().len(), log.last()[0].clone()),
            (LISTED_MAX, at(9))
        );
    }

    #[test]
    fn a_report_names_place_and_key() {
        let expected = "d at 1, segment 3, record: it does not verify (key \"a\\n\")";
        assert_eq!(at(1).to_string(), expected);
        assert_eq!(
            Loss::Hash([0xab; 12]).to_string(),
            format!("key with hash {}", "ab".repeat(12))
        );
    }
}
