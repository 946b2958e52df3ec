//! The commands between MULTI and EXEC.
//!
//! Owns what they take in memory. Whoever adds to it bounds that: as in Redis it counts as a part
//! of the query buffer.

use crate::command::{CommandEntry, Flags};
use crate::resp::Args;

/// A command that waits for EXEC.
pub(crate) struct Queued {
    /// What it is.
    pub(crate) entry: &'static CommandEntry,
    /// Its arguments, the name included.
    pub(crate) args: Args,
}

/// Commands that wait for EXEC, in order.
#[derive(Default)]
pub(crate) struct Queue {
    commands: Vec<Queued>,
    flags: Flags,
    argument_bytes: usize,
}

impl Queue {
    /// Adds a command, with what is known of it.
    pub(crate) fn push(&mut self, entry: &'static CommandEntry, args: &Args, flags: Flags) {
        let args = args.detached();
        self.flags = self.flags.with(flags);
        self.argument_bytes += args.memory_bytes();
        self.commands.push(Queued { entry, args });
    }

    /// The commands.
    pub(crate) fn commands(&self) -> &[Queued] {
        &self.commands
    }

    /// All flags that any of them has.
    pub(crate) fn flags(&self) -> Flags {
        self.flags
    }

    /// Bytes that they take.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.argument_bytes + self.commands.capacity() * size_of::<Queued>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Flag, find};

    #[test]
    fn it_knows_what_it_takes_and_what_it_does() {
        let mut queue = Queue::default();
        assert_eq!(queue.memory_bytes(), 0);
        let get = find(b"get").unwrap();
        queue.push(get, &["get", "k"].into_iter().collect(), get.spec.flags);
        assert!(!queue.flags().has(Flag::Write) && queue.flags().has(Flag::Readonly));
        let before = queue.memory_bytes();
        let value = "v".repeat(1000);
        let args = ["set", "k", &value]
            .map(str::to_owned)
            .into_iter()
            .collect();
        let set = find(b"set").unwrap();
        queue.push(set, &args, set.spec.flags);
        assert!(queue.flags().has(Flag::Write) && queue.flags().has(Flag::Readonly));
        assert!(queue.memory_bytes() >= before + 1000);
        assert_eq!(queue.commands().len(), 2);
        assert_eq!(queue.commands()[1].args[2], value);
    }
}
