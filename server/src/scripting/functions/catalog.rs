//! Which libraries there are, and whose each function is.
//!
//! Owns that no two libraries have a function of the same name.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use bytes::Bytes;

use crate::command::CommandError;

/// Flags of functions, as FUNCTION LIST prints them.
const FLAG_NAMES: [&str; 5] = [
    "no-writes",
    "allow-oom",
    "allow-stale",
    "no-cluster",
    "allow-cross-slot-keys",
];

/// One function.
#[derive(Debug, Clone)]
pub struct FunctionSpec {
    /// Its name.
    pub name: String,
    /// What it says of itself.
    pub description: Option<String>,
    /// Its flags.
    pub flags: Vec<&'static str>,
}

/// The flag of that name.
pub(in crate::scripting) fn flag(name: &[u8]) -> Option<&'static str> {
    FLAG_NAMES.into_iter().find(|flag| flag.as_bytes() == name)
}

/// One library.
#[derive(Debug)]
pub struct Library {
    /// Its name.
    pub name: String,
    /// Its whole text.
    pub text: Bytes,
    /// What it registers.
    pub functions: Vec<FunctionSpec>,
    /// A number that no other library has.
    pub(in crate::scripting) id: u64,
}

impl Library {
    /// A library of that text.
    pub(crate) fn new(name: String, text: Bytes, functions: Vec<FunctionSpec>) -> Self {
        static NEXT_ID: AtomicU64 = AtomicU64::new(0);
        Self {
            name,
            text,
            functions,
            id: NEXT_ID.fetch_add(1, Relaxed),
        }
    }
}

/// All libraries.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    libraries: BTreeMap<String, Arc<Library>>,
    /// Whose each function is, by its name in lower case.
    owners: BTreeMap<String, Arc<Library>>,
}

impl Catalog {
    /// The libraries, by their names.
    pub fn libraries(&self) -> impl Iterator<Item = &Arc<Library>> {
        self.libraries.values()
    }

    /// How many libraries and functions there are.
    pub fn counts(&self) -> (usize, usize) {
        (self.libraries.len(), self.owners.len())
    }

    /// A function and its library. As in Redis the case of a function's name does not matter.
    pub fn find(&self, function: &str) -> Option<(&Arc<Library>, &FunctionSpec)> {
        let library = self.owners.get(&function.to_ascii_lowercase())?;
        let mut functions = library.functions.iter();
        let spec = functions.find(|spec| spec.name.eq_ignore_ascii_case(function))?;
        Some((library, spec))
    }

    /// Whether there is a library of that name.
    pub(crate) fn has(&self, library: &str) -> bool {
        self.libraries.contains_key(library)
    }

    /// Adds a library, in place of another of its name only where that may be.
    pub(crate) fn add(&mut self, library: Library, may_replace: bool) -> Result<(), CommandError> {
        let name = &library.name;
        if !may_replace && self.libraries.contains_key(name) {
            return Err(CommandError::other(format!(
                "ERR Library '{name}' already exists"
            )));
        }
        for spec in &library.functions {
            let owner = self.owners.get(&spec.name.to_ascii_lowercase());
            if owner.is_some_and(|owner| owner.name != *name) {
                let function = &spec.name;
                return Err(CommandError::other(format!(
                    "ERR Function {function} already exists"
                )));
            }
        }
        self.remove(&name.clone());
        let library = Arc::new(library);
        for spec in &library.functions {
            let name = spec.name.to_ascii_lowercase();
            self.owners.insert(name, Arc::clone(&library));
        }
        self.libraries.insert(library.name.clone(), library);
        Ok(())
    }

    /// Removes a library; false where there is none of that name.
    pub(crate) fn remove(&mut self, name: &str) -> bool {
        self.owners.retain(|_, owner| owner.name != name);
        self.libraries.remove(name).is_some()
    }
}

/// Whether libraries and functions may have that name.
pub(in crate::scripting) fn is_name(name: &[u8]) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    !name.is_empty() && name.iter().all(is_letter)
}
