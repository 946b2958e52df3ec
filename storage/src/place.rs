//! What index entries say of places: the location, and beside it whether the record is a root.
//!
//! | bits of an entry's location field | meaning |
//! |---|---|
//! | 0..39 | [`Location`] |
//! | 39 | the record is the root of a paged value |

use cellar_index::{Entry, LOCATION_END};

use crate::units::Location;

const ROOT_BIT: u64 = 1 << Location::BITS;
const _: () = assert!(ROOT_BIT << 1 == LOCATION_END, "an entry's field is filled");

/// The field of an entry that leads to `at`.
pub(crate) fn field(at: Location, is_root: bool) -> u64 {
    at.bits() | if is_root { ROOT_BIT } else { 0 }
}

/// Where an entry leads.
pub(crate) fn of(entry: &Entry) -> Location {
    Location::from_bits(entry.location & !ROOT_BIT).expect("the flag is masked out")
}

/// Whether the entry's record is the root of a paged value.
pub(crate) fn is_root(entry: &Entry) -> bool {
    entry.location & ROOT_BIT != 0
}
