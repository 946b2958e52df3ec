//! Rows of CLUSTER: what clients ask to find out whether the server is one of a cluster.

use crate::command::Flag::{Admin, Loading, Noscript, Stale};
use crate::command::{CommandSpec, Group, Handler};
use crate::commands::{cluster, help};

const GROUP: Group = Group::Cluster;

pub(super) const ROWS: &[CommandSpec] = &[CommandSpec::container("cluster", GROUP, CLUSTER).doc(
    "3.0.0",
    "Commands about a cluster, which this server is not.",
    "Depends on subcommand.",
)];

const CLUSTER: &[CommandSpec] = &[
    CommandSpec::new("help", 2, GROUP, Handler::Now(help::help))
        .flags(&[Loading, Stale], &[])
        .doc("5.0.0", "Lists the subcommands.", "O(1)"),
    CommandSpec::new("info", 2, GROUP, Handler::Now(cluster::refuse))
        .flags(&[Stale], &[])
        .doc("3.0.0", "Refuses: there is no cluster.", "O(1)"),
    CommandSpec::new("keyslot", 3, GROUP, Handler::Now(cluster::refuse))
        .flags(&[Stale], &[])
        .syntax("key")
        .doc("3.0.0", "Refuses: there is no cluster.", "O(1)"),
    CommandSpec::new("myid", 2, GROUP, Handler::Now(cluster::refuse))
        .flags(&[Stale], &[])
        .doc("3.0.0", "Refuses: there is no cluster.", "O(1)"),
    CommandSpec::new("nodes", 2, GROUP, Handler::Now(cluster::refuse))
        .flags(&[Stale], &[])
        .doc("3.0.0", "Refuses: there is no cluster.", "O(1)"),
    CommandSpec::new("reset", -2, GROUP, Handler::Now(cluster::refuse))
        .flags(&[Admin, Stale, Noscript], &[])
        .syntax("[HARD | SOFT]")
        .doc("3.0.0", "Refuses: there is no cluster.", "O(1)"),
    CommandSpec::new("shards", 2, GROUP, Handler::Now(cluster::refuse))
        .flags(&[Loading, Stale], &[])
        .doc("7.0.0", "Refuses: there is no cluster.", "O(1)"),
    CommandSpec::new("slots", 2, GROUP, Handler::Now(cluster::refuse))
        .flags(&[Stale], &[])
        .doc("3.0.0", "Refuses: there is no cluster.", "O(1)"),
];
