//! The write path: from what a command wants written to records in the log and entries in the
//! index.
//!
//! ```text
//! batch -> items (large values: pages are written first) -> drafts with payload checksums
//!   -> commit: bucket locks, key locks free?, conditions, index room, log place, copy, put,
//!      publish
//! ```

mod batch;
mod commit;
mod feed;
mod item;
mod map;
mod settle;
mod terms;

pub use batch::{Attempt, Outcome, WriteBatch};
pub(crate) use batch::{Condition, Write};
pub(crate) use commit::{Effect, Prepared, Refused, keep_rooted};
pub(crate) use item::{
    Content, Item, check_detail, check_inline, check_key, check_page, check_value,
};
pub(crate) use terms::{Mark, Terms};
