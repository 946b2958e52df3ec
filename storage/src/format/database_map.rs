//! Which internal database each of Redis's numbered databases shows. Owns the map and its layout;
//! ids only grow, so that what a flush left behind can never be shown again.

use super::error::FormatError;
use super::field::{Field, is_dense};
use super::page::expect_length;
use crate::units::DatabaseId;

/// Databases that a client can SELECT; Redis's default.
pub const DATABASE_COUNT: usize = 16;

/// The map, in bytes.
pub const MAP_BYTES: usize = 4 + 4 * DATABASE_COUNT;

/// The highest id that a map which is read may give out next: so many are left to the life that
/// begins with it.
const NEXT_ID_MAX: u32 = u32::MAX - (1 << 24);

const NEXT_ID: Field = Field::new("next_id", 0, 4);
const IDS: Field = Field::new("ids", 4, 4 * DATABASE_COUNT);

/// The map, field by field.
pub const MAP_LAYOUT: &[Field] = &[NEXT_ID, IDS];

const _: () = assert!(is_dense(MAP_LAYOUT, MAP_BYTES));

/// The value of a `Map` record, and a part of the superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatabaseMap {
    ids: [DatabaseId; DATABASE_COUNT],
    next: u32,
}

impl Default for DatabaseMap {
    /// A fresh store's: each database has its own number as its id.
    fn default() -> Self {
        let ids = std::array::from_fn(|index| DatabaseId::new(index as u32));
        Self {
            ids,
            next: DATABASE_COUNT as u32,
        }
    }
}

impl DatabaseMap {
    /// What database `number` shows. `number` is below [`DATABASE_COUNT`].
    pub fn id(&self, number: usize) -> DatabaseId {
        self.ids[number]
    }

    /// Which database shows `id`; `None`: none, and its records are dead.
    pub fn number(&self, id: DatabaseId) -> Option<usize> {
        self.ids.iter().position(|&shown| shown == id)
    }

    /// Lets database `number` show nothing, under a new id. Panics after four billion of these.
    pub fn renew(&mut self, number: usize) {
        self.ids[number] = DatabaseId::new(self.next);
        self.next = self
            .next
            .checked_add(1)
            .expect("a store is flushed less than 2^32 times");
    }

    /// Lets two databases show each other's content.
    pub fn swap(&mut self, first: usize, second: usize) {
        self.ids.swap(first, second);
    }

    /// Its bytes.
    pub fn encode(&self) -> [u8; MAP_BYTES] {
        let mut bytes = [0; MAP_BYTES];
        NEXT_ID.put_u32(&mut bytes, self.next);
        let slots = bytes[IDS.offset..].chunks_exact_mut(4);
        slots
            .zip(&self.ids)
            .for_each(|(slot, id)| slot.copy_from_slice(&id.get().to_le_bytes()));
        bytes
    }

    /// What such bytes mean.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        expect_length(bytes, MAP_BYTES)?;
        let next = NEXT_ID.get_u32(bytes);
        if next > NEXT_ID_MAX {
            return Err(NEXT_ID.malformed());
        }
        let mut ids = [DatabaseId::default(); DATABASE_COUNT];
        for (id, slot) in ids.iter_mut().zip(IDS.get(bytes).as_chunks::<4>().0) {
            *id = DatabaseId::new(u32::from_le_bytes(*slot));
        }
        let map = Self { ids, next };
        let is_sound =
            |index: usize| ids[index].get() < next && map.number(ids[index]) == Some(index);
        if (0..DATABASE_COUNT).all(is_sound) {
            Ok(map)
        } else {
            Err(FormatError::Malformed { field: IDS.name })
        }
    }
}
