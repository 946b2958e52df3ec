//! HyperLogLog: how many different elements there were, from 12 KiB of registers at most.
//!
//! ```text
//!   string value of a key  <->  Sketch { registers }  -> cardinality
//!        header: "HYLL", dense or sparse, the last cardinality
//!        sparse: runs of equal registers      dense: six bits each
//! ```
//!
//! The algorithm is HyperLogLog (Flajolet, Fusy, Gandouet, Meunier 2007) with the estimator of Ertl
//! 2017, the layout Redis's: such a value read from Redis counts here, and the other way round.
//! Owns that layout. Must never reach the store.

mod dense;
mod estimate;
mod hash;
mod sparse;

pub(crate) use hash::observe;

/// Registers of a sketch: 2 to the power of the hash's bits that choose one.
pub(crate) const REGISTER_COUNT: usize = 1 << REGISTER_BITS;
/// Bits of an element's hash that choose its register.
const REGISTER_BITS: u32 = 14;
/// Bits of an element's hash that are left, in which zeros are counted.
const RANK_BITS: u32 = u64::BITS - REGISTER_BITS;
/// The largest register: all the bits left were zeros.
pub(crate) const RANK_MAX: u8 = RANK_BITS as u8 + 1;

/// Bytes before the registers.
const HEADER_BYTES: usize = 16;
const MAGIC: &[u8; 4] = b"HYLL";
const DENSE: u8 = 0;
const SPARSE: u8 = 1;
/// Where the header says which of both it is.
const ENCODING_AT: usize = 4;
/// Where the header keeps the last cardinality: 63 bits, little-endian.
const CARDINALITY_AT: usize = 8;
/// The bit of the header's last byte that says that the cardinality is none any more.
const STALE: u8 = 1 << 7;

/// Why a value is no sketch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SketchError {
    /// It does not begin or end as one.
    #[error("WRONGTYPE Key is not a valid HyperLogLog string value.")]
    Foreign,
    /// Its registers make no sense.
    #[error("INVALIDOBJ Corrupted HLL object detected")]
    Corrupt,
}

/// How registers are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Six bits each.
    Dense,
    /// Runs of equal ones.
    Sparse,
}

/// The registers of a value, and what was last counted from them.
#[derive(Debug, Clone)]
pub(crate) struct Sketch {
    form: Form,
    registers: Box<[u8; REGISTER_COUNT]>,
    /// The last cardinality, while no register has changed since.
    cardinality: Option<u64>,
}

impl Sketch {
    /// A sketch that has seen nothing.
    pub(crate) fn new() -> Self {
        Self {
            form: Form::Sparse,
            registers: Box::new([0; REGISTER_COUNT]),
            cardinality: Some(0),
        }
    }

    /// The sketch that a string is.
    pub(crate) fn decode(value: &[u8]) -> Result<Self, SketchError> {
        let form = form(value)?;
        let body = &value[HEADER_BYTES..];
        let registers = match form {
            Form::Dense => dense::decode(body),
            Form::Sparse => sparse::decode(body).ok_or(SketchError::Corrupt)?,
        };
        Ok(Self {
            form,
            registers,
            cardinality: cardinality(value),
        })
    }

    /// The string that it is. It becomes dense where the runs would take more than
    /// `sparse_bytes_max` bytes, or have a register too large for one.
    pub(crate) fn encode(&self, sparse_bytes_max: usize) -> Vec<u8> {
        let sparse = match self.form {
            Form::Sparse => sparse::encode(&self.registers),
            Form::Dense => None,
        };
        let sparse = sparse.filter(|runs| HEADER_BYTES + runs.len() <= sparse_bytes_max);
        let (encoding, body) = match sparse {
            Some(runs) => (SPARSE, runs),
            None => (DENSE, dense::encode(&self.registers)),
        };
        let mut value = Vec::with_capacity(HEADER_BYTES + body.len());
        value.extend_from_slice(MAGIC);
        value.extend_from_slice(&[encoding, 0, 0, 0]);
        value.extend_from_slice(&self.cardinality.unwrap_or(0).to_le_bytes());
        if self.cardinality.is_none() {
            value[HEADER_BYTES - 1] |= STALE;
        }
        value.extend_from_slice(&body);
        value
    }

    /// How the registers were kept.
    pub(crate) fn form(&self) -> Form {
        self.form
    }

    /// Keeps the registers densely from here on.
    pub(crate) fn make_dense(&mut self) {
        self.form = Form::Dense;
    }

    /// The registers.
    pub(crate) fn registers(&self) -> &[u8; REGISTER_COUNT] {
        &self.registers
    }

    /// Takes an element in; true where that changed a register.
    pub(crate) fn add(&mut self, element: &[u8]) -> bool {
        let (register, rank) = observe(element);
        let is_higher = self.registers[register] < rank;
        if is_higher {
            self.registers[register] = rank;
            self.cardinality = None;
        }
        is_higher
    }

    /// Takes in all that another sketch has seen.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (register, rank) in self.registers.iter_mut().zip(&*other.registers) {
            *register = (*register).max(*rank);
        }
        self.cardinality = None;
    }

    /// About how many different elements it has seen.
    pub(crate) fn count(&mut self) -> u64 {
        let registers = &self.registers;
        *self
            .cardinality
            .get_or_insert_with(|| estimate::cardinality(registers))
    }
}

/// What a value says that it is.
fn form(value: &[u8]) -> Result<Form, SketchError> {
    if value.len() < HEADER_BYTES || !value.starts_with(MAGIC) {
        return Err(SketchError::Foreign);
    }
    match value[ENCODING_AT] {
        DENSE if value.len() == HEADER_BYTES + dense::BYTES => Ok(Form::Dense),
        SPARSE => Ok(Form::Sparse),
        _ => Err(SketchError::Foreign),
    }
}

/// The cardinality that a value was last found to have, if it has not changed since.
pub(crate) fn cardinality(value: &[u8]) -> Option<u64> {
    form(value).ok()?;
    let bytes = value[CARDINALITY_AT..HEADER_BYTES].try_into();
    let cardinality = u64::from_le_bytes(bytes.expect("eight bytes"));
    (cardinality & (u64::from(STALE) << 56) == 0).then_some(cardinality)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPARSE_BYTES_MAX: usize = 3000;

    fn sketch_of(elements: std::ops::Range<u32>) -> Sketch {
        let mut sketch = Sketch::new();
        for element in elements {
            sketch.add(&element.to_le_bytes());
        }
        sketch
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "it counts to some hundred thousand"
    )]
    fn check(count: u32) {
        let mut sketch = sketch_of(0..count);
        let stored = sketch.encode(SPARSE_BYTES_MAX);
        assert_eq!(cardinality(&stored).is_some(), count == 0);
        let found = sketch.count();
        let stored = sketch.encode(SPARSE_BYTES_MAX);
        assert_eq!(cardinality(&stored), Some(found));
        let again = Sketch::decode(&stored).unwrap();
        assert_eq!(again.registers(), sketch.registers(), "{count}");
        let error = (found as f64 - f64::from(count)).abs();
        // Four times the standard error, 1.04 / sqrt(16384).
        assert!(error <= 0.0325 * f64::from(count), "{count}: {found}");
    }

    #[test]
    fn counts_come_close_and_values_come_back() {
        for count in [0, 1, 10, 500, 3000, 20_000, 300_000] {
            check(count);
        }
    }

    #[test]
    fn a_sketch_becomes_dense_when_its_runs_grow_long() {
        let small = sketch_of(0..100).encode(SPARSE_BYTES_MAX);
        assert_eq!(Sketch::decode(&small).unwrap().form(), Form::Sparse);
        assert!(small.len() < 400, "{} bytes", small.len());
        let large = sketch_of(0..10_000).encode(SPARSE_BYTES_MAX);
        assert_eq!(large.len(), HEADER_BYTES + dense::BYTES);
        assert_eq!(Sketch::decode(&large).unwrap().form(), Form::Dense);
    }

    #[test]
    fn a_merge_has_seen_what_both_have() {
        let mut merged = sketch_of(0..1000);
        merged.merge(&sketch_of(500..2000));
        assert_eq!(merged.registers(), sketch_of(0..2000).registers());
    }

    #[test]
    fn an_empty_sketch_is_redis_s() {
        let stored = Sketch::new().encode(SPARSE_BYTES_MAX);
        let mut expected = b"HYLL\x01\0\0\0".to_vec();
        expected.extend_from_slice(&[0; 8]);
        expected.extend_from_slice(b"\x7f\xff");
        assert_eq!(stored, expected);
    }

    #[test]
    fn what_is_no_sketch_is_told() {
        let good = sketch_of(0..50).encode(SPARSE_BYTES_MAX);
        let foreign = |value: &[u8]| Sketch::decode(value).err() == Some(SketchError::Foreign);
        assert!(foreign(b"") && foreign(b"HYLL") && foreign(&[b'x'; 100]));
        let mut wrong = good.clone();
        wrong[ENCODING_AT] = DENSE;
        assert!(foreign(&wrong));
        wrong[ENCODING_AT] = 2;
        assert!(foreign(&wrong));
        for end in HEADER_BYTES..good.len() {
            let cut = Sketch::decode(&good[..end]);
            assert_eq!(cut.err(), Some(SketchError::Corrupt), "cut at {end}");
        }
    }
}
