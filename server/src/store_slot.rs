//! A worker's way to the store, which is open some time after the worker begins to serve.
//!
//! Owns that moment: until then only commands that do without the store are admitted.

use std::cell::OnceCell;
use std::ops::Deref;
use std::rc::Rc;

use cellar_storage::Handle;

/// The store's handle of one worker, once there is one. Clones share it.
#[derive(Clone, Default)]
pub struct StoreSlot(Rc<OnceCell<Handle>>);

impl StoreSlot {
    /// A slot without a handle.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives it its handle; called once.
    pub fn fill(&self, handle: Handle) {
        assert!(self.0.set(handle).is_ok(), "a worker attaches once");
    }

    /// The handle, where the store is open.
    pub fn attached(&self) -> Option<&Handle> {
        self.0.get()
    }

    /// Tells the store that a coroutine ends its turn.
    pub(crate) fn end_of_turn(&self) {
        if let Some(handle) = self.attached() {
            handle.end_of_turn();
        }
    }
}

impl From<Handle> for StoreSlot {
    fn from(handle: Handle) -> Self {
        Self(Rc::new(OnceCell::from(handle)))
    }
}

impl Deref for StoreSlot {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        self.attached()
            .expect("commands that need the store are admitted once it is open")
    }
}
