//! Large values: kept as pages, each a record of its own, under a root record that bears the key.
//!
//! A page's identity is (collection id, page number), so that the index finds it, and cleaning,
//! caching and recovery know nothing of large values. A page is live while its root is (design rule
//! 8).

mod collection_pages;
mod collections;
mod reader;
mod writer;

pub(crate) use collection_pages::CollectionPages;
pub use collection_pages::PageRead;
pub use collections::NewCollection;
pub(crate) use collections::{Abandoned, Collection, Collections};
pub(crate) use reader::PagedValue;
pub(crate) use writer::{PageContent, PageSource, page_identity};
