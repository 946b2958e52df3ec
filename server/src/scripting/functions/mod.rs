//! Libraries of functions: scripts that stay, and are called by their names.
//!
//! ```text
//!  FUNCTION LOAD --> the library runs once, and registers its functions --> file --> Catalog
//!  FCALL --> Catalog --> an interpreter that has run the library, or does so now --> the function
//! ```
//!
//! Owns the libraries of all workers, and that they are on the disk before they can be called.

mod catalog;
mod file;
mod header;
mod payload;

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

pub use catalog::{Catalog, FunctionSpec, Library};
pub(super) use catalog::{flag, is_name};
pub(crate) use header::library_name;
pub(crate) use payload::{decode, encode};

use crate::command::CommandError;

/// All libraries.
#[derive(Default)]
pub struct Functions {
    catalog: Mutex<Arc<Catalog>>,
    /// Held from the reading of the catalog until its successor is published.
    change: tokio::sync::Mutex<()>,
}

impl Functions {
    /// The libraries that there are now.
    pub fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.catalog.lock())
    }

    /// Changes the libraries: what `change` makes of them is on the disk before it is published.
    pub(crate) async fn change(
        &self,
        directory: PathBuf,
        change: impl FnOnce(&mut Catalog) -> Result<(), CommandError>,
    ) -> Result<(), CommandError> {
        let _turn = self.change.lock().await;
        let mut catalog = Catalog::clone(&self.catalog());
        let kept = encode(&catalog).await;
        change(&mut catalog)?;
        let payload = encode(&catalog).await;
        if payload == kept {
            // what is loaded once more is on the disk already
            self.publish(catalog);
            return Ok(());
        }
        let written = tokio::task::spawn_blocking(move || file::write(&directory, &payload)).await;
        match written {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                let text = format!("ERR the functions could not be written to the disk: {error}");
                return Err(CommandError::other(text));
            }
            Err(error) => return Err(CommandError::other(format!("ERR {error}"))),
        }
        self.publish(catalog);
        Ok(())
    }

    /// Serves these libraries from here on.
    pub(crate) fn publish(&self, catalog: Catalog) {
        *self.catalog.lock() = Arc::new(catalog);
    }
}

/// The texts of the libraries that were kept in a directory.
pub(crate) async fn kept_texts(directory: PathBuf) -> Result<Vec<Bytes>, String> {
    let read = tokio::task::spawn_blocking(move || file::read(&directory)).await;
    let payload = match read {
        Ok(Ok(Some(payload))) => payload,
        Ok(Ok(None)) => return Ok(Vec::new()),
        Ok(Err(error)) => return Err(error.to_string()),
        Err(error) => return Err(error.to_string()),
    };
    let texts = decode(&payload.into()).await;
    texts.ok_or_else(|| "it cannot be understood".to_owned())
}
