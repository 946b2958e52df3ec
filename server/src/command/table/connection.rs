//! Rows of the commands about the connection itself.

use crate::command::Flag::{Admin, AllowBusy, Fast, Loading, NoAuth, Noscript, Stale};
use crate::command::{Acl, CommandSpec, Group, Handler};
use crate::commands::{auth, client, client_list, connection, help, tracking};

const GROUP: Group = Group::Connection;

pub(super) const ROWS: &[CommandSpec] = &[
    CommandSpec::new("auth", -2, GROUP, Handler::Now(auth::auth))
        .flags(
            &[Noscript, Loading, Stale, Fast, NoAuth, AllowBusy],
            &[Acl::Connection],
        )
        .syntax("[username] password")
        .doc("1.0.0", "Shows the password.", "O(1)"),
    CommandSpec::container("client", GROUP, CLIENT).doc(
        "2.4.0",
        "Commands about connections.",
        "Depends on subcommand.",
    ),
    CommandSpec::new("echo", 2, GROUP, Handler::Now(connection::echo))
        .flags(&[Loading, Stale, Fast], &[Acl::Connection])
        .syntax("message")
        .doc("1.0.0", "Answers its argument.", "O(1)"),
    CommandSpec::new("hello", -1, GROUP, Handler::Now(auth::hello))
        .flags(
            &[Noscript, Loading, Stale, Fast, NoAuth, AllowBusy],
            &[Acl::Connection],
        )
        .syntax("[protover [AUTH username password] [SETNAME clientname]]")
        .doc(
            "6.0.0",
            "Greets the server and chooses the protocol version.",
            "O(1)",
        ),
    CommandSpec::new("ping", -1, GROUP, Handler::Now(connection::ping))
        .flags(&[Fast], &[Acl::Connection])
        .syntax("[message]")
        .doc("1.0.0", "Answers PONG, or its argument.", "O(1)")
        .tips(&["request_policy:all_shards", "response_policy:all_succeeded"]),
    CommandSpec::new("quit", -1, GROUP, Handler::Now(connection::quit))
        .flags(
            &[Noscript, Loading, Stale, Fast, NoAuth, AllowBusy],
            &[Acl::Connection],
        )
        .doc("1.0.0", "Closes the connection.", "O(1)"),
    CommandSpec::new("reset", 1, GROUP, Handler::Now(connection::reset))
        .flags(
            &[Noscript, Loading, Stale, Fast, NoAuth, AllowBusy],
            &[Acl::Connection],
        )
        .doc(
            "6.2.0",
            "Takes the connection back to where it began.",
            "O(1)",
        ),
    CommandSpec::new("select", 2, GROUP, Handler::Now(connection::select))
        .flags(&[Loading, Stale, Fast], &[Acl::Connection])
        .syntax("index")
        .doc("1.0.0", "Selects a database.", "O(1)"),
];

const CLIENT: &[CommandSpec] = &[
    CommandSpec::new("caching", 3, GROUP, Handler::Now(tracking::caching))
        .flags(&[Noscript, Loading, Stale], &[Acl::Connection])
        .syntax("YES | NO")
        .doc(
            "6.0.0",
            "Chooses whether the next command's keys are tracked.",
            "O(1)",
        ),
    CommandSpec::new("getname", 2, GROUP, Handler::Now(client::getname))
        .flags(&[Noscript, Loading, Stale], &[Acl::Connection])
        .doc("2.6.9", "Answers the connection's name.", "O(1)"),
    CommandSpec::new("getredir", 2, GROUP, Handler::Now(tracking::getredir))
        .flags(&[Noscript, Loading, Stale], &[Acl::Connection])
        .doc(
            "6.0.0",
            "Answers who is told of changes in the connection's place.",
            "O(1)",
        ),
    CommandSpec::new("help", 2, GROUP, Handler::Now(help::help))
        .flags(&[Loading, Stale], &[Acl::Connection])
        .doc("5.0.0", "Lists the subcommands.", "O(1)"),
    CommandSpec::new("id", 2, GROUP, Handler::Now(client::id))
        .flags(&[Noscript, Loading, Stale], &[Acl::Connection])
        .doc("5.0.0", "Answers the connection's id.", "O(1)"),
    CommandSpec::new("info", 2, GROUP, Handler::Now(client_list::info))
        .flags(&[Noscript, Loading, Stale], &[Acl::Connection])
        .doc("6.2.0", "Describes the connection.", "O(1)")
        .tips(&["nondeterministic_output"]),
    CommandSpec::new("kill", -3, GROUP, Handler::Now(client_list::kill))
        .flags(&[Admin, Noscript, Loading, Stale], &[Acl::Connection])
        .syntax(
            "ip:port | [ID client-id] [TYPE type] [USER username] [ADDR addr] [LADDR addr] \
             [SKIPME yes/no]",
        )
        .doc("2.4.0", "Closes connections.", "O(N) connections"),
    CommandSpec::new("list", -2, GROUP, Handler::Now(client_list::list))
        .flags(&[Admin, Noscript, Loading, Stale], &[Acl::Connection])
        .syntax("[TYPE type] [ID client-id [client-id ...]]")
        .doc("2.4.0", "Describes connections.", "O(N) connections")
        .tips(&["nondeterministic_output"]),
    CommandSpec::new("no-evict", 3, GROUP, Handler::Now(client::no_evict))
        .flags(&[Admin, Noscript, Loading, Stale], &[Acl::Connection])
        .syntax("ON | OFF")
        .doc(
            "7.0.0",
            "Marks the connection as one not to be closed for its memory.",
            "O(1)",
        ),
    CommandSpec::new("no-touch", 3, GROUP, Handler::Now(client::no_touch))
        .flags(&[Noscript, Loading, Stale], &[Acl::Connection])
        .syntax("ON | OFF")
        .doc(
            "7.2.0",
            "Marks the connection as one whose reads are no use of a key.",
            "O(1)",
        ),
    CommandSpec::new("pause", -3, GROUP, Handler::Now(client::pause))
        .flags(&[Admin, Noscript, Loading, Stale], &[Acl::Connection])
        .syntax("timeout [WRITE | ALL]")
        .doc("3.0.0", "Lets commands wait.", "O(1)"),
    CommandSpec::new("reply", 3, GROUP, Handler::Now(client::reply))
        .flags(&[Noscript, Loading, Stale], &[Acl::Connection])
        .syntax("ON | OFF | SKIP")
        .doc("3.2.0", "Chooses which commands are answered.", "O(1)"),
    CommandSpec::new("setinfo", 4, GROUP, Handler::Now(client::setinfo))
        .flags(&[Noscript, Loading, Stale], &[Acl::Connection])
        .syntax("LIB-NAME libname | LIB-VER libver")
        .doc("7.2.0", "Tells which client library this is.", "O(1)"),
    CommandSpec::new("setname", 3, GROUP, Handler::Now(client::setname))
        .flags(&[Noscript, Loading, Stale], &[Acl::Connection])
        .syntax("connection-name")
        .doc("2.6.9", "Names the connection.", "O(1)"),
    CommandSpec::new("tracking", -3, GROUP, Handler::Now(tracking::tracking))
        .flags(&[Noscript, Loading, Stale], &[Acl::Connection])
        .syntax(
            "ON | OFF [REDIRECT client-id] [PREFIX prefix [PREFIX prefix ...]] [BCAST] [OPTIN] \
             [OPTOUT] [NOLOOP]",
        )
        .doc(
            "6.0.0",
            "Has the connection told when what it has read changes.",
            "O(1)",
        ),
    CommandSpec::new(
        "trackinginfo",
        2,
        GROUP,
        Handler::Now(tracking::trackinginfo),
    )
    .flags(&[Noscript, Loading, Stale], &[Acl::Connection])
    .doc("6.2.0", "Tells how the connection tracks.", "O(1)"),
    CommandSpec::new("unblock", -3, GROUP, Handler::Now(client::unblock))
        .flags(&[Admin, Noscript, Loading, Stale], &[Acl::Connection])
        .syntax("client-id [TIMEOUT | ERROR]")
        .doc(
            "5.0.0",
            "Ends another connection's blocking command.",
            "O(1)",
        ),
    CommandSpec::new("unpause", 2, GROUP, Handler::Now(client::unpause))
        .flags(&[Admin, Noscript, Loading, Stale], &[Acl::Connection])
        .doc("6.2.0", "Ends CLIENT PAUSE.", "O(1)"),
];
