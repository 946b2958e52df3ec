//! The slow log: the last commands that took long, for SLOWLOG.
//!
//! Owns its entries and their bounds.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::resp::Args;

/// Arguments that an entry keeps, as in Redis.
const ARGUMENT_COUNT_MAX: usize = 32;
/// Bytes of an argument that an entry keeps, as in Redis.
const ARGUMENT_BYTES_MAX: usize = 128;

/// One slow command.
#[derive(Debug, Clone)]
pub struct SlowEntry {
    /// Its number, rising for the life of the server.
    pub id: u64,
    /// When it ran, in seconds since the Unix epoch.
    pub unix_seconds: u64,
    /// How long it took, in microseconds.
    pub us: u64,
    /// Its arguments, cut.
    pub args: Vec<Bytes>,
    /// The client's address.
    pub peer: String,
    /// The client's name.
    pub client_name: Bytes,
}

/// The last slow commands, the newest first.
#[derive(Debug, Default)]
pub struct Slowlog {
    entries: VecDeque<SlowEntry>,
    next_id: u64,
}

impl Slowlog {
    /// Adds an entry (its id is set here) and forgets what is beyond `count_max`.
    pub fn push(&mut self, mut entry: SlowEntry, count_max: usize) {
        entry.id = self.next_id;
        self.next_id += 1;
        self.entries.push_front(entry);
        self.entries.truncate(count_max);
    }

    /// The entries, the newest first.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = &SlowEntry> {
        self.entries.iter()
    }

    /// Forgets all entries; ids go on.
    pub fn clear(&mut self) {
        self.entries.clear();
    }
}

/// The arguments as an entry keeps them.
pub fn cut_arguments(args: &Args) -> Vec<Bytes> {
    let kept = if args.len() > ARGUMENT_COUNT_MAX {
        ARGUMENT_COUNT_MAX - 1
    } else {
        args.len()
    };
    let mut cut: Vec<Bytes> = args[..kept].iter().map(cut_argument).collect();
    if kept < args.len() {
        cut.push(Bytes::from(format!(
            "... ({} more arguments)",
            args.len() - kept
        )));
    }
    cut
}

fn cut_argument(argument: &Bytes) -> Bytes {
    if argument.len() <= ARGUMENT_BYTES_MAX {
        // a copy: a slice would keep the whole read buffer in memory
        return Bytes::copy_from_slice(argument);
    }
    let mut cut = argument[..ARGUMENT_BYTES_MAX].to_vec();
    let more = argument.len() - ARGUMENT_BYTES_MAX;
    cut.extend_from_slice(format!("... ({more} more bytes)").as_bytes());
    Bytes::from(cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_as_redis_does() {
        let args: Args = (0..40).map(|index| index.to_string()).collect();
        let cut = cut_arguments(&args);
        assert_eq!(cut.len(), 32);
        assert_eq!(cut[31], "... (9 more arguments)");
        let args: Args = ["x".repeat(130)].into_iter().collect();
        assert_eq!(
            cut_arguments(&args)[0],
            format!("{}... (2 more bytes)", "x".repeat(128))
        );
    }

    #[test]
    fn keeps_the_newest() {
        let mut slowlog = Slowlog::default();
        for us in 0..5 {
            let entry = SlowEntry {
                id: 0,
                unix_seconds: 0,
                us,
                args: Vec::new(),
                peer: String::new(),
                client_name: Bytes::new(),
            };
            slowlog.push(entry, 2);
        }
        let kept: Vec<(u64, u64)> = slowlog
            .entries()
            .map(|entry| (entry.id, entry.us))
            .collect();
        assert_eq!(kept, [(4, 4), (3, 3)]);
    }
}
