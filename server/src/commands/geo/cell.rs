//! Longitude and latitude as a cell of a grid: 26 bits each, interleaved, so that near places have
//! near numbers (a Morton code; Niemeyer's geohash is the same in base 32).
//!
//! Owns that coding. Cells of fewer bits are the areas that a search looks at.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a cell's number has 54 bits at most with its lowest 0, and is not negative"
)]

/// Bits of each coordinate in the cell of a place.
pub(super) const STEP_MAX: u32 = 26;

/// The grid ends where a square map of the world does.
const LATITUDE_MAX: f64 = 85.051_128_78;
const LONGITUDE_MAX: f64 = 180.0;

/// The letters of a geohash, by their value.
const LETTERS: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";

/// Letters of a geohash that hold bits; one more follows, always the first letter.
const LETTERS_WITH_BITS: u32 = 10;

/// A place on earth, in degrees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Place {
    pub(super) longitude: f64,
    pub(super) latitude: f64,
}

/// A cell: the number of its column and of its row, of 2^`step` each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) column: u32,
    pub(super) row: u32,
    pub(super) step: u32,
}

/// The edges of a cell in degrees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Edges {
    pub(super) west: f64,
    pub(super) east: f64,
    pub(super) south: f64,
    pub(super) north: f64,
}

impl Place {
    /// Whether a cell has it.
    pub(super) fn is_on_the_grid(self) -> bool {
        self.longitude.abs() <= LONGITUDE_MAX && self.latitude.abs() <= LATITUDE_MAX
    }

    /// The place that a score stands for: the middle of its cell.
    pub(super) fn of_score(score: f64) -> Self {
        let edges = Cell::of_bits(score as u64, STEP_MAX).edges();
        Self {
            longitude: f64::midpoint(edges.west, edges.east).clamp(-LONGITUDE_MAX, LONGITUDE_MAX),
            latitude: f64::midpoint(edges.south, edges.north).clamp(-LATITUDE_MAX, LATITUDE_MAX),
        }
    }

    /// The score that stands for it.
    pub(super) fn score(self) -> f64 {
        Cell::around(self, STEP_MAX).bits() as f64
    }

    /// Its geohash in eleven letters, on the usual grid that reaches to the poles.
    pub(super) fn geohash(self) -> Vec<u8> {
        let bits = Cell::on_grid(self, STEP_MAX, 90.0).bits();
        let letter = |index: u32| {
            let shift = 2 * STEP_MAX - (index + 1) * 5;
            LETTERS[(bits >> shift & 31) as usize]
        };
        let letters = (0..LETTERS_WITH_BITS).map(letter);
        letters.chain([LETTERS[0]]).collect()
    }
}

impl Cell {
    /// The cell of 2^`step` columns and rows that a place lies in.
    pub(super) fn around(place: Place, step: u32) -> Self {
        Self::on_grid(place, step, LATITUDE_MAX)
    }

    fn on_grid(place: Place, step: u32, latitude_max: f64) -> Self {
        let number = |coordinate: f64, max: f64| {
            let share = (coordinate + max) / (max - -max);
            // a place on the last edge has a number of its own behind the last one
            (share * f64::from(1u32 << step)) as u32
        };
        Self {
            column: number(place.longitude, LONGITUDE_MAX),
            row: number(place.latitude, latitude_max),
            step,
        }
    }

    /// Column and row, interleaved; the row has the lowest bit.
    pub(super) fn bits(self) -> u64 {
        spread(self.row) | spread(self.column) << 1
    }

    fn of_bits(bits: u64, step: u32) -> Self {
        Self {
            column: gather(bits >> 1),
            row: gather(bits),
            step,
        }
    }

    /// The scores of the places in the cell: from the first one to before the second.
    pub(super) fn scores(self) -> (f64, f64) {
        let shift = 2 * (STEP_MAX - self.step);
        let bits = self.bits();
        ((bits << shift) as f64, ((bits + 1) << shift) as f64)
    }

    /// The cell so many columns to the east and rows to the north; behind the last edge the first
    /// one follows.
    pub(super) fn beside(self, east: i32, north: i32) -> Self {
        let mask = (1u32 << self.step) - 1;
        Self {
            column: self.column.wrapping_add_signed(east) & mask,
            row: self.row.wrapping_add_signed(north) & mask,
            step: self.step,
        }
    }

    pub(super) fn edges(self) -> Edges {
        let at = |number: u32, max: f64| {
            let share = f64::from(number) / f64::from(1u32 << self.step);
            -max + share * (max - -max)
        };
        Edges {
            west: at(self.column, LONGITUDE_MAX),
            east: at(self.column.wrapping_add(1), LONGITUDE_MAX),
            south: at(self.row, LATITUDE_MAX),
            north: at(self.row.wrapping_add(1), LATITUDE_MAX),
        }
    }
}

/// Masks and distances of the steps in which bits are moved apart.
const MOVES: [(u32, u64); 5] = [
    (16, 0x0000_ffff_0000_ffff),
    (8, 0x00ff_00ff_00ff_00ff),
    (4, 0x0f0f_0f0f_0f0f_0f0f),
    (2, 0x3333_3333_3333_3333),
    (1, 0x5555_5555_5555_5555),
];

/// A number's bits at every second position.
fn spread(number: u32) -> u64 {
    let apart = |bits: u64, (distance, mask)| (bits | bits << distance) & mask;
    MOVES.into_iter().fold(u64::from(number), apart)
}

/// The bits at every second position as a number.
fn gather(bits: u64) -> u32 {
    let mut bits = bits & MOVES[4].1;
    for index in (1..MOVES.len()).rev() {
        bits = (bits | bits >> MOVES[index].0) & MOVES[index - 1].1;
    }
    (bits | bits >> MOVES[0].0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const PALERMO: Place = Place {
        longitude: 13.361_389,
        latitude: 38.115_556,
    };

    #[test]
    fn bits_are_interleaved_and_come_back() {
        assert_eq!(spread(0b1011), 0b100_0101);
        for number in [0, 1, 0x1234_5678, u32::MAX, 1 << 26] {
            assert_eq!(gather(spread(number)), number);
            assert_eq!(gather(spread(number) | spread(!number) << 1), number);
        }
    }

    #[test]
    fn places_are_the_cells_that_redis_has() {
        assert_eq!(PALERMO.score() as u64, 3_479_099_956_230_698);
        let decoded = Place::of_score(PALERMO.score());
        let expected = Place {
            longitude: 13.361_389_338_970_184,
            latitude: 38.115_556_395_496_3,
        };
        assert_eq!(decoded, expected);
        assert_eq!(decoded.geohash(), b"sqc8b49rny0");
    }

    #[test]
    fn the_grid_closes_behind_its_edges() {
        let corner = Cell {
            column: 0,
            row: 7,
            step: 3,
        };
        let beside = corner.beside(-1, 1);
        assert_eq!((beside.column, beside.row), (7, 0));
        let (first, end) = corner.scores();
        assert_eq!((first as u64, end as u64), (0b10101 << 46, 0b10110 << 46));
    }
}
