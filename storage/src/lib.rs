//! The storage engine of Cellar: values on a device, in one shared, ordered, append-only log.
//!
//! ```text
//!            Handle (a worker's)                                   Store (all workers')
//!   write    batch -> Prepared -> bucket locks -> reserve ------>  Log: write buffers, rounds
//!                                  copy, put, publish       \        | flush units, group commit
//!   read     lookup (pins) -> write buffer? cache? -> Fetch  \       v
//!                                                 \           Index    Device (Channel a worker)
//!   clean    victim -> live records -> ColdLog --- relocate --^        ^
//!   evict    victim or hand -> keys not worth keeping -> tombstones, as any removal
//!   recover  superblocks -> young records -> summaries -> Index -------+
//! ```
//!
//! Threads: a `Handle` and all its reads and writes stay on one worker; `Store`, `Log`, `Index` and
//! the tables are shared. Operations on a device end in callbacks on the worker that submitted
//! them. The rules that hold all this together are those of `docs/architecture.md`.
//!
//! Owns everything on the device. Must never know a socket, RESP or a command.

mod cache;
pub mod check;
mod cleaner;
pub mod clock;
mod cold;
mod damage;
mod database;
mod departure;
pub mod device;
mod error;
mod evict;
mod expiry;
pub mod format;
mod handle;
mod lock;
mod log;
mod options;
mod overlay;
mod paged;
mod place;
mod read;
mod recovery;
mod segment;
mod stats;
mod store;
mod sync;
pub mod units;
mod upkeep;
mod value;
mod watch;
mod worker;
mod write;

pub use cleaner::{CleanerState, CleanerStats, rule as cleaning};
pub use clock::{Clock, SystemClock};
pub use damage::{Damage, Loss, Part};
pub use database::Db;
pub use departure::{Departure, DepartureListener};
pub use device::Device;
pub use error::{OpenError, StoreError};
pub use evict::EvictionPolicy;
pub use handle::{Handle, KeyLocks, Transaction};
pub use options::{
    AppendFsync, DATABASE_COUNT_MAX, INLINE_BYTES_MAX, KEY_BYTES_MAX, ROOT_DETAIL_BYTES_MAX,
    SCRUB_BYTES_PER_S_DEFAULT, SEGMENT_BYTES_DEFAULT, SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN,
    StoreOptions, VALUE_BYTES_MAX,
};
pub use overlay::Conflict;
pub use paged::{NewCollection, PageRead};
pub use read::Read;
pub use recovery::Progress;
pub use stats::StoreStats;
pub use store::Store;
pub use units::{CollectionId, Lsn};
pub use upkeep::{ScrubRunning, ScrubState, ScrubStatus};
pub use value::{Encoding, Lookup, Peek, Root, Snapshot, TypedValue, ValueBody, ValueType};
pub use watch::{KeyChange, KeyWatcher, Watch};
pub use write::{Attempt, Outcome, WriteBatch};
