//! The texts of scripts by their names, shared by all workers.
//!
//! Owns how many are kept: those of SCRIPT LOAD stay until SCRIPT FLUSH, as clients rely on; of
//! those that only EVAL brought, the ones that were not used for the longest time go.

use std::collections::HashMap;

use bytes::Bytes;
use parking_lot::Mutex;

use super::sha1::Sha1;

/// Scripts kept that only EVAL brought: as many as Redis 7.4 keeps.
const EVALUATED_COUNT_MAX: usize = 500;

struct Source {
    text: Bytes,
    is_loaded: bool,
    used: u64,
}

#[derive(Default)]
struct Inner {
    sources: HashMap<Sha1, Source>,
    text_bytes: usize,
    evaluated_count: usize,
    uses: u64,
}

/// All texts that are kept.
#[derive(Default)]
pub struct Sources(Mutex<Inner>);

impl Sources {
    /// Keeps a text that EVAL ran.
    pub fn note_evaluated(&self, name: Sha1, text: &Bytes) {
        let mut inner = self.0.lock();
        if inner.touch(name).is_some() {
            return;
        }
        if inner.evaluated_count == EVALUATED_COUNT_MAX {
            inner.drop_oldest();
        }
        inner.insert(name, text, false);
    }

    /// Keeps a text until SCRIPT FLUSH.
    pub fn load(&self, name: Sha1, text: &Bytes) {
        let mut inner = self.0.lock();
        inner.remove(name);
        inner.insert(name, text, true);
    }

    /// The text of that name.
    pub fn find(&self, name: Sha1) -> Option<Bytes> {
        self.0.lock().touch(name)
    }

    /// Whether there is a text of that name.
    pub fn has(&self, name: Sha1) -> bool {
        self.0.lock().sources.contains_key(&name)
    }

    /// Forgets all.
    pub fn flush(&self) {
        *self.0.lock() = Inner::default();
    }

    /// How many there are, and the bytes of their texts.
    pub fn sizes(&self) -> (usize, usize) {
        let inner = self.0.lock();
        (inner.sources.len(), inner.text_bytes)
    }
}

impl Inner {
    fn touch(&mut self, name: Sha1) -> Option<Bytes> {
        self.uses += 1;
        let source = self.sources.get_mut(&name)?;
        source.used = self.uses;
        Some(source.text.clone())
    }

    fn insert(&mut self, name: Sha1, text: &Bytes, is_loaded: bool) {
        // a slice would keep the whole read buffer in memory
        let text = Bytes::copy_from_slice(text);
        self.text_bytes += text.len();
        self.evaluated_count += usize::from(!is_loaded);
        let used = self.uses;
        let source = Source {
            text,
            is_loaded,
            used,
        };
        self.sources.insert(name, source);
    }

    fn remove(&mut self, name: Sha1) {
        if let Some(source) = self.sources.remove(&name) {
            self.text_bytes -= source.text.len();
            self.evaluated_count -= usize::from(!source.is_loaded);
        }
    }

    fn drop_oldest(&mut self) {
        let evaluated = self.sources.iter().filter(|(_, source)| !source.is_loaded);
        let oldest = evaluated.min_by_key(|(_, source)| source.used);
        if let Some(name) = oldest.map(|(name, _)| *name) {
            self.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(number: usize) -> (Sha1, Bytes) {
        let text = Bytes::from(format!("return {number}"));
        (Sha1::of(&text), text)
    }

    #[test]
    fn loaded_texts_stay_and_others_go_by_their_age() {
        let sources = Sources::default();
        let (loaded, loaded_text) = text(0);
        sources.load(loaded, &loaded_text);
        for number in 1..=EVALUATED_COUNT_MAX {
            let (name, text) = text(number);
            sources.note_evaluated(name, &text);
        }
        assert!(sources.find(text(1).0).is_some());
        let (name, newest) = text(EVALUATED_COUNT_MAX + 1);
        sources.note_evaluated(name, &newest);
        assert!(sources.has(loaded) && sources.has(text(1).0) && sources.has(name));
        assert!(!sources.has(text(2).0));
        assert_eq!(sources.sizes().0, EVALUATED_COUNT_MAX + 1);
        sources.flush();
        assert_eq!(sources.sizes(), (0, 0));
    }
}
