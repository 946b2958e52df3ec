//! What a record says about its value. Owns the stored numbers of types and encodings, which are
//! frozen; what they mean is the server's business.

use super::error::FormatError;

/// The type of a key's value, as Redis's TYPE names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ValueType {
    /// A string.
    #[default]
    String = 0,
    /// A list.
    List = 1,
    /// A set.
    Set = 2,
    /// A sorted set.
    SortedSet = 3,
    /// A hash.
    Hash = 4,
    /// A stream.
    Stream = 5,
    /// A hash some of whose fields have deadlines of their own, or had. Users see a hash; whoever
    /// removes fields in time finds them by this.
    TimedHash = 6,
}

impl ValueType {
    const ALL: [Self; 7] = [
        Self::String,
        Self::List,
        Self::Set,
        Self::SortedSet,
        Self::Hash,
        Self::Stream,
        Self::TimedHash,
    ];

    /// Its stored number.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Whether users call a value with this number one of this type.
    pub fn shows(self, code: u8) -> bool {
        code == self.code() || (self == Self::Hash && code == Self::TimedHash.code())
    }

    /// The type with this number.
    pub fn decode(code: u8) -> Result<Self, FormatError> {
        let found = Self::ALL.get(usize::from(code)).copied();
        found.ok_or(FormatError::Malformed {
            field: "value_type",
        })
    }
}

/// How a value is held, as far as a user sees it (OBJECT ENCODING).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Encoding {
    /// Plain bytes.
    #[default]
    Raw = 0,
    /// The decimal form of an integer.
    Int = 1,
    /// A short string.
    Embstr = 2,
    /// A small collection, as Redis packs them.
    Listpack = 3,
    /// A hash or set with a table.
    Hashtable = 4,
    /// A set of integers.
    Intset = 5,
    /// A sorted set with a skip list.
    Skiplist = 6,
    /// A list of packed parts.
    Quicklist = 7,
    /// A stream.
    Stream = 8,
    /// A small hash with fields that expire.
    Listpackex = 9,
}

impl Encoding {
    const ALL: [Self; 10] = [
        Self::Raw,
        Self::Int,
        Self::Embstr,
        Self::Listpack,
        Self::Hashtable,
        Self::Intset,
        Self::Skiplist,
        Self::Quicklist,
        Self::Stream,
        Self::Listpackex,
    ];

    /// Its stored number.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The encoding with this number.
    pub fn decode(code: u8) -> Result<Self, FormatError> {
        let found = Self::ALL.get(usize::from(code)).copied();
        found.ok_or(FormatError::Malformed { field: "encoding" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_numbers_come_back_and_others_are_refused() {
        for code in 0..=u8::MAX {
            assert_eq!(ValueType::decode(code).is_ok(), code < 7);
            assert!(ValueType::decode(code).is_ok_and(|value| value.code() == code) || code >= 7);
            assert_eq!(Encoding::decode(code).is_ok(), code < 10);
            assert!(Encoding::decode(code).is_ok_and(|value| value.code() == code) || code >= 10);
        }
    }
}
