//! What happens to keys, told to those who asked: keyspace notifications.
//!
//! Owns the classes of events and the names of the channels that tell of them. Costs one load a
//! change while nobody asked.

mod announce;
mod class;
mod departures;
mod held;

pub use announce::announce;
pub use class::{EventClass, EventClasses};
pub use departures::Departures;
pub use held::{HeldEvent, HeldEvents};
