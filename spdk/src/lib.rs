//! The place of SPDK block devices behind the storage crate's device seam. Owns nothing yet: there
//! is no binding, and with the feature `link` the crate refuses to build rather than pretend.
//! Without it the crate is empty, so that every machine builds the workspace.
//!
//! What a binding has to bring, so that the engine need not change:
//!
//! - A `cellar_storage::device::Device` over a bdev, whose `Channel`s are bdev channels of SPDK
//!   threads that the workers poll, in `Channel::end_of_turn` and `Channel::submit`.
//! - Its own `MemorySource` (`spdk_dma_zmalloc`, `spdk_dma_free`): an NVMe drive transfers only
//!   memory that is pinned for it, which is why the device allocates every buffer.
//! - Operations kept in an `Operations` table, completed from the bdev's callbacks, so that a
//!   dropped future frees nothing that the drive may write to.
//! - `Geometry::has_durability_point` only where the bdev has a flush or no write cache. The
//!   `uring` bdev reports neither, and is refused where durability is asked for.
//! - A pass through `cellar_storage::device::conformance`. SPDK starts once a process, so each test
//!   that uses it is a process of its own.
//! - No raw pointer beyond its outermost module.

#[cfg(feature = "link")]
compile_error!("there is no binding to SPDK in this version: build without the feature `spdk`");
