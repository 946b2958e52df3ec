//! The primitives of [`sync`](crate::sync) under loom, and the way to run a model.
//!
//! Owns thin wrappers with the real types' faces. Must never be built without `--cfg loom`.
//!
//! Loom leaves out orders of steps that differ in nothing. Of a word it remembers the last access
//! only, so a load hides another thread's earlier load of the same word, and loom 0.7 takes a store
//! that follows for independent of that one: a reader's loads before a lock that is taken by "load,
//! then compare and exchange" would never be tried in other orders. So each load here first touches
//! one word that all threads share. It orders no memory, but it makes all loads dependent.

use std::sync::atomic::Ordering::Relaxed;

use loom::sync::atomic as watched;
pub use loom::{hint::spin_loop, sync::atomic::Ordering, sync::atomic::fence, thread::yield_now};

loom::lazy_static! {
    static ref ORDER: watched::AtomicU32 = watched::AtomicU32::new(0);
}

macro_rules! atomic {
    ($Name:ident: $value:ty { $($method:ident),* }) => {
        /// The watched type, of which each load is ordered among all loads.
        #[derive(Debug)]
        pub struct $Name(watched::$Name);

        #[expect(missing_docs, reason = "they are the real ones'")]
        impl $Name {
            pub fn new(value: $value) -> Self {
                Self(watched::$Name::new(value))
            }

            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                ORDER.fetch_add(0, Relaxed);
                self.0.load(order)
            }

            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                self.0.store(value, order);
            }

            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.0.compare_exchange(current, new, success, failure)
            }

            $(
                #[track_caller]
                pub fn $method(&self, value: $value, order: Ordering) -> $value {
                    self.0.$method(value, order)
                }
            )*
        }
    };
}

atomic!(AtomicBool: bool { swap });
atomic!(AtomicU8: u8 { swap });
atomic!(AtomicU32: u32 { swap, fetch_add, fetch_sub });
atomic!(AtomicU64: u64 { swap, fetch_add, fetch_sub, fetch_max, fetch_or, fetch_and });
atomic!(AtomicI64: i64 { swap, fetch_add, fetch_sub });
atomic!(AtomicUsize: usize { swap, fetch_add, fetch_sub });

/// Loom's mutex without poisoning, as the real one is.
pub struct Mutex<T>(loom::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// An open one.
    pub fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    /// Waits for it.
    pub fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
        self.0.lock().expect("a panic ends the model")
    }
}

/// A thread is interrupted this often at most: nearly all bugs need one or two times. The
/// environment's LOOM_MAX_PREEMPTIONS overrides it.
pub const PREEMPTIONS_MAX: usize = 2;
/// Steps of one order at most: beyond it a thread waits for something that never comes.
const STEPS_MAX: usize = 20_000;

/// Runs a test through the orders of its threads' steps, up to the bounds, and tells how many they
/// were: with a single one nothing was tested.
pub fn model(preemptions_max: usize, test: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(preemptions_max));
    builder.max_branches = STEPS_MAX;
    let orders = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let counted = std::sync::Arc::clone(&orders);
    builder.check(move || {
        counted.fetch_add(1, Relaxed);
        test();
    });
    let orders = orders.load(Relaxed);
    println!("{orders} orders");
    assert!(orders > 1, "the threads never met");
}
