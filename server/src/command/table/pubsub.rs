//! Rows of the commands that publish and subscribe.

use crate::command::Flag::{Fast, Loading, MayReplicate, Noscript, Pubsub, Stale};
use crate::command::{CommandSpec, Group, Handler};
use crate::commands::{help, pubsub};

const GROUP: Group = Group::Pubsub;

pub(super) const ROWS: &[CommandSpec] = &[
    CommandSpec::new("psubscribe", -2, GROUP, Handler::Now(pubsub::psubscribe))
        .flags(&[Pubsub, Noscript, Loading, Stale], &[])
        .syntax("pattern [pattern ...]")
        .doc(
            "2.0.0",
            "Listens to all channels that match.",
            "O(N) patterns",
        ),
    CommandSpec::new("publish", 3, GROUP, Handler::Now(pubsub::publish))
        .flags(&[Pubsub, Loading, Stale, Fast, MayReplicate], &[])
        .syntax("channel message")
        .doc(
            "2.0.0",
            "Sends a message to all who listen to a channel.",
            "O(N+M) listeners and patterns",
        ),
    CommandSpec::container("pubsub", GROUP, PUBSUB).doc(
        "2.8.0",
        "Commands about channels and who listens to them.",
        "Depends on subcommand.",
    ),
    CommandSpec::new(
        "punsubscribe",
        -1,
        GROUP,
        Handler::Now(pubsub::punsubscribe),
    )
    .flags(&[Pubsub, Noscript, Loading, Stale], &[])
    .syntax("[pattern [pattern ...]]")
    .doc(
        "2.0.0",
        "Listens no longer to channels that match.",
        "O(N) patterns",
    ),
    CommandSpec::new("spublish", 3, GROUP, Handler::Now(pubsub::spublish))
        .flags(&[Pubsub, Loading, Stale, Fast, MayReplicate], &[])
        .syntax("shardchannel message")
        .doc(
            "7.0.0",
            "Sends a message to all who listen to a shard channel.",
            "O(N) listeners",
        ),
    CommandSpec::new("ssubscribe", -2, GROUP, Handler::Now(pubsub::ssubscribe))
        .flags(&[Pubsub, Noscript, Loading, Stale], &[])
        .syntax("shardchannel [shardchannel ...]")
        .doc("7.0.0", "Listens to shard channels.", "O(N) channels"),
    CommandSpec::new("subscribe", -2, GROUP, Handler::Now(pubsub::subscribe))
        .flags(&[Pubsub, Noscript, Loading, Stale], &[])
        .syntax("channel [channel ...]")
        .doc("2.0.0", "Listens to channels.", "O(N) channels"),
    CommandSpec::new(
        "sunsubscribe",
        -1,
        GROUP,
        Handler::Now(pubsub::sunsubscribe),
    )
    .flags(&[Pubsub, Noscript, Loading, Stale], &[])
    .syntax("[shardchannel [shardchannel ...]]")
    .doc(
        "7.0.0",
        "Listens no longer to shard channels.",
        "O(N) channels",
    ),
    CommandSpec::new("unsubscribe", -1, GROUP, Handler::Now(pubsub::unsubscribe))
        .flags(&[Pubsub, Noscript, Loading, Stale], &[])
        .syntax("[channel [channel ...]]")
        .doc("2.0.0", "Listens no longer to channels.", "O(N) channels"),
];

const PUBSUB: &[CommandSpec] = &[
    CommandSpec::new("channels", -2, GROUP, Handler::Now(pubsub::channels))
        .flags(&[Pubsub, Loading, Stale], &[])
        .syntax("[pattern]")
        .doc(
            "2.8.0",
            "Lists the channels that somebody listens to.",
            "O(N) channels",
        ),
    CommandSpec::new("help", 2, GROUP, Handler::Now(help::help))
        .flags(&[Loading, Stale], &[])
        .doc("6.2.0", "Lists the subcommands.", "O(1)"),
    CommandSpec::new("numpat", 2, GROUP, Handler::Now(pubsub::numpat))
        .flags(&[Pubsub, Loading, Stale], &[])
        .doc(
            "2.8.0",
            "Counts the patterns that somebody listens to.",
            "O(1)",
        ),
    CommandSpec::new("numsub", -2, GROUP, Handler::Now(pubsub::numsub))
        .flags(&[Pubsub, Loading, Stale], &[])
        .syntax("[channel [channel ...]]")
        .doc("2.8.0", "Counts who listens to channels.", "O(N) channels"),
    CommandSpec::new(
        "shardchannels",
        -2,
        GROUP,
        Handler::Now(pubsub::shardchannels),
    )
    .flags(&[Pubsub, Loading, Stale], &[])
    .syntax("[pattern]")
    .doc(
        "7.0.0",
        "Lists the shard channels that somebody listens to.",
        "O(N) channels",
    ),
    CommandSpec::new("shardnumsub", -2, GROUP, Handler::Now(pubsub::shardnumsub))
        .flags(&[Pubsub, Loading, Stale], &[])
        .syntax("[shardchannel [shardchannel ...]]")
        .doc(
            "7.0.0",
            "Counts who listens to shard channels.",
            "O(N) channels",
        ),
];
