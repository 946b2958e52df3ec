//! The classes of keyspace events, and which of them `notify-keyspace-events` chose.
//!
//! Owns their letters, which are Redis's, and their bits.

use crate::config::Setting;

/// A class of keyspace events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum EventClass {
    /// Commands that take keys of any type.
    Generic,
    /// Strings.
    String,
    /// Lists.
    List,
    /// Sets.
    Set,
    /// Hashes.
    Hash,
    /// Sorted sets.
    SortedSet,
    /// A key's deadline passed.
    Expired,
    /// A key gave way to others.
    Evicted,
    /// Streams.
    Stream,
    /// Modules.
    Module,
    /// A key came to be.
    New,
    /// A key was read that was not there.
    KeyMiss,
}

impl EventClass {
    /// Whether it tells of a change: what comes with another event, or of a read, does not.
    pub const fn is_change(self) -> bool {
        !matches!(self, Self::New | Self::KeyMiss)
    }
}

/// The letters of the classes that `A` stands for, then the one of the class that is told with
/// them, in the order in which they are printed.
const CLASSES: [(EventClass, char); 11] = [
    (EventClass::Generic, 'g'),
    (EventClass::String, '$'),
    (EventClass::List, 'l'),
    (EventClass::Set, 's'),
    (EventClass::Hash, 'h'),
    (EventClass::SortedSet, 'z'),
    (EventClass::Expired, 'x'),
    (EventClass::Evicted, 'e'),
    (EventClass::Stream, 't'),
    (EventClass::Module, 'd'),
    (EventClass::New, 'n'),
];

/// All classes but `n` and `m`, which are asked for by name only.
const ALL: u32 = (1 << EventClass::New as u8) - 1;
/// The channels that are named by the key.
const KEYSPACE: u32 = 1 << 16;
/// The channels that are named by the event.
const KEYEVENT: u32 = 1 << 17;

const UNKNOWN_LETTER: &str = "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.";

/// Which events are told, and on which channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EventClasses(u32);

impl EventClasses {
    /// No events.
    pub const NONE: Self = Self(0);

    /// Whether events of this class are told.
    pub const fn has(self, class: EventClass) -> bool {
        self.0 & (1 << class as u8) != 0
    }

    /// Whether they are told on the channels that are named by the key.
    pub const fn by_key(self) -> bool {
        self.0 & KEYSPACE != 0
    }

    /// Whether they are told on the channels that are named by the event.
    pub const fn by_event(self) -> bool {
        self.0 & KEYEVENT != 0
    }

    /// As a number that [`Self::from_bits`] takes back.
    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

    /// What [`Self::bits`] gave.
    pub(crate) const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut bits = 0;
        for letter in text.chars() {
            bits |= match letter {
                'A' => ALL,
                'K' => KEYSPACE,
                'E' => KEYEVENT,
                'm' => 1 << EventClass::KeyMiss as u8,
                _ => {
                    let (class, _) = CLASSES.iter().find(|(_, known)| *known == letter)?;
                    1 << *class as u8
                }
            };
        }
        Some(Self(bits))
    }
}

impl Setting for EventClasses {
    fn text(&self) -> String {
        let mut text = String::new();
        let has_all = self.0 & ALL == ALL;
        if has_all {
            text.push('A');
        }
        // Redis leaves the letter of the class that `A` does not stand for out beside `A`: what is
        // shown would not be what is in force.
        let chosen = CLASSES.iter().filter(|(class, _)| {
            let is_told = has_all && *class != EventClass::New;
            self.has(*class) && !is_told
        });
        text.extend(chosen.map(|(_, letter)| letter));
        for (is_set, letter) in [
            (self.by_key(), 'K'),
            (self.by_event(), 'E'),
            (self.has(EventClass::KeyMiss), 'm'),
        ] {
            if is_set {
                text.push(letter);
            }
        }
        text
    }

    fn toml(&self) -> String {
        self.text().toml()
    }

    fn set(&mut self, text: &str) -> Result<(), String> {
        *self = Self::parse(text).ok_or(UNKNOWN_LETTER)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let mut classes = EventClasses::NONE;
        classes.set(text).unwrap();
        assert_eq!(classes.text(), expected, "{text}");
    }

    #[test]
    fn letters_are_redis_letters() {
        check("", "");
        check("KEA", "AKE");
        check("AKE", "AKE");
        check("Kx$", "$xK");
        check("mE", "Em");
        check("g$lshzxetd", "A");
        check("lgn", "gln");
        check("KnA", "AnK");
    }

    #[test]
    fn files_lose_nothing() {
        for text in ["", "An", "KEAm", "gnK"] {
            let classes = EventClasses::parse(text).unwrap();
            let quoted = classes.toml();
            let again = EventClasses::parse(quoted.trim_matches('"')).unwrap();
            assert_eq!(again, classes, "{text}");
        }
    }

    #[test]
    fn an_unknown_letter_changes_nothing() {
        let mut classes = EventClasses::NONE;
        classes.set("Kg").unwrap();
        let error = classes.set("KgQ").unwrap_err();
        assert_eq!(
            error,
            "Invalid event class character. Use 'Ag$lshzxeKEtmdn'."
        );
        assert_eq!(classes.text(), "gK");
    }

    #[test]
    fn a_stands_for_all_but_two_classes() {
        let all = EventClasses::parse("A").unwrap();
        assert!(all.has(EventClass::Generic) && all.has(EventClass::Module));
        assert!(!all.has(EventClass::New) && !all.has(EventClass::KeyMiss));
        assert!(!all.by_key() && !all.by_event());
        assert_eq!(EventClasses::from_bits(all.bits()), all);
    }
}
