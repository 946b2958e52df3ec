//! Rows of the commands for transactions.

use crate::command::Flag::{AllowBusy, Fast, Loading, Noscript, SkipSlowlog, Stale};
use crate::command::{Acl, CommandSpec, Group, Handler, KeyAccess, KeySpec};
use crate::commands::transactions;

const GROUP: Group = Group::Transactions;

pub(super) const ROWS: &[CommandSpec] = &[
    CommandSpec::new("discard", 1, GROUP, Handler::Now(transactions::discard))
        .flags(
            &[Noscript, Loading, Stale, Fast, AllowBusy],
            &[Acl::Transaction],
        )
        .doc(
            "2.0.0",
            "Forgets the commands since MULTI, and what is watched.",
            "O(N) commands",
        ),
    CommandSpec::new("exec", 1, GROUP, Handler::Wait(transactions::exec))
        .flags(
            &[Noscript, Loading, Stale, SkipSlowlog],
            &[Acl::Transaction],
        )
        .doc(
            "1.2.0",
            "Runs the commands since MULTI as one, unless a watched key was changed.",
            "Depends on the commands.",
        ),
    CommandSpec::new("multi", 1, GROUP, Handler::Now(transactions::multi))
        .flags(
            &[Noscript, Loading, Stale, Fast, AllowBusy],
            &[Acl::Transaction],
        )
        .doc("1.2.0", "Begins a transaction.", "O(1)"),
    CommandSpec::new("unwatch", 1, GROUP, Handler::Now(transactions::unwatch))
        .flags(
            &[Noscript, Loading, Stale, Fast, AllowBusy],
            &[Acl::Transaction],
        )
        .doc("2.2.0", "Watches no key any more.", "O(1)"),
    CommandSpec::new("watch", -2, GROUP, Handler::Wait(transactions::watch))
        .flags(
            &[Noscript, Loading, Stale, Fast, AllowBusy],
            &[Acl::Transaction],
        )
        .keys(&[KeySpec::all(KeyAccess::LOOK)])
        .syntax("key [key ...]")
        .doc(
            "2.2.0",
            "Lets EXEC run nothing if one of the keys is changed before it.",
            "O(N) keys",
        ),
];
