//! Rows of the commands that run scripts.

use crate::command::Acl::Scripting;
use crate::command::Flag::{
    AllowBusy, DenyOom, Loading, MayReplicate, MovableKeys, NoMandatoryKeys, Noscript, Readonly,
    SkipMonitor, Stale, Write,
};
use crate::command::{CommandSpec, FindKeys, Group, Handler, KeyAccess, KeySpec};
use crate::commands::{functions, help, scripting};

const GROUP: Group = Group::Scripting;

const WRITE_KEYS: KeyAccess = KeyAccess {
    names: &["RW", "access", "update"],
};

const fn counted(access: KeyAccess) -> KeySpec {
    KeySpec {
        access,
        first: 2,
        find: FindKeys::Counted,
        is_variable: false,
    }
}

const DONE: &str = "Depends on the script that is executed.";
const FUNCTION_COST: &str = "Depends on the function that is executed.";

pub(super) const ROWS: &[CommandSpec] = &[
    CommandSpec::new("eval", -3, GROUP, Handler::Wait(scripting::eval))
        .flags(
            &[
                Noscript,
                Stale,
                SkipMonitor,
                MayReplicate,
                NoMandatoryKeys,
                MovableKeys,
            ],
            &[Scripting],
        )
        .keys(&[counted(WRITE_KEYS)])
        .syntax("script numkeys [key [key ...]] [arg [arg ...]]")
        .doc("2.6.0", "Runs a script.", DONE),
    CommandSpec::new("eval_ro", -3, GROUP, Handler::Wait(scripting::eval_ro))
        .flags(
            &[
                Noscript,
                Stale,
                SkipMonitor,
                Readonly,
                NoMandatoryKeys,
                MovableKeys,
            ],
            &[Scripting],
        )
        .keys(&[counted(KeyAccess::READ)])
        .syntax("script numkeys [key [key ...]] [arg [arg ...]]")
        .doc("7.0.0", "Runs a script that does not write.", DONE),
    CommandSpec::new("evalsha", -3, GROUP, Handler::Wait(scripting::evalsha))
        .flags(
            &[
                Noscript,
                Stale,
                SkipMonitor,
                MayReplicate,
                NoMandatoryKeys,
                MovableKeys,
            ],
            &[Scripting],
        )
        .keys(&[counted(WRITE_KEYS)])
        .syntax("sha1 numkeys [key [key ...]] [arg [arg ...]]")
        .doc(
            "2.6.0",
            "Runs a script that the server knows, by its name.",
            DONE,
        ),
    CommandSpec::new(
        "evalsha_ro",
        -3,
        GROUP,
        Handler::Wait(scripting::evalsha_ro),
    )
    .flags(
        &[
            Noscript,
            Stale,
            SkipMonitor,
            Readonly,
            NoMandatoryKeys,
            MovableKeys,
        ],
        &[Scripting],
    )
    .keys(&[counted(KeyAccess::READ)])
    .syntax("sha1 numkeys [key [key ...]] [arg [arg ...]]")
    .doc(
        "7.0.0",
        "Runs a script that the server knows and that does not write.",
        DONE,
    ),
    CommandSpec::new("fcall", -3, GROUP, Handler::Wait(functions::fcall))
        .flags(
            &[
                Noscript,
                Stale,
                SkipMonitor,
                MayReplicate,
                NoMandatoryKeys,
                MovableKeys,
            ],
            &[Scripting],
        )
        .keys(&[counted(WRITE_KEYS)])
        .syntax("function numkeys [key [key ...]] [arg [arg ...]]")
        .doc("7.0.0", "Runs a function.", FUNCTION_COST),
    CommandSpec::new("fcall_ro", -3, GROUP, Handler::Wait(functions::fcall_ro))
        .flags(
            &[
                Noscript,
                Stale,
                SkipMonitor,
                Readonly,
                NoMandatoryKeys,
                MovableKeys,
            ],
            &[Scripting],
        )
        .keys(&[counted(KeyAccess::READ)])
        .syntax("function numkeys [key [key ...]] [arg [arg ...]]")
        .doc(
            "7.0.0",
            "Runs a function that does not write.",
            FUNCTION_COST,
        ),
    CommandSpec::container("function", GROUP, FUNCTION).doc(
        "7.0.0",
        "Commands about libraries of functions.",
        "Depends on subcommand.",
    ),
    CommandSpec::container("script", GROUP, SCRIPT).doc(
        "2.6.0",
        "Commands about the scripts that the server knows.",
        "Depends on subcommand.",
    ),
];

const SCRIPT: &[CommandSpec] = &[
    CommandSpec::new("debug", 3, GROUP, Handler::Now(scripting::debug))
        .flags(&[Noscript], &[Scripting])
        .syntax("YES | SYNC | NO")
        .doc("3.2.0", "Refuses all but NO: there is no debugger.", "O(1)"),
    CommandSpec::new("exists", -3, GROUP, Handler::Now(scripting::exists))
        .flags(&[Noscript], &[Scripting])
        .syntax("sha1 [sha1 ...]")
        .doc(
            "2.6.0",
            "Tells which scripts the server knows.",
            "O(N) names",
        ),
    CommandSpec::new("flush", -2, GROUP, Handler::Now(scripting::flush))
        .flags(&[Noscript], &[Scripting])
        .syntax("[ASYNC | SYNC]")
        .doc("2.6.0", "Forgets all scripts.", "O(N) scripts")
        .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"]),
    CommandSpec::new("help", 2, GROUP, Handler::Now(help::help))
        .flags(&[Loading, Stale], &[Scripting])
        .doc("5.0.0", "Lists the subcommands.", "O(1)"),
    CommandSpec::new("kill", 2, GROUP, Handler::Now(scripting::kill))
        .flags(&[Noscript, AllowBusy], &[Scripting])
        .doc(
            "2.6.0",
            "Ends scripts that run for long and have not written.",
            "O(1)",
        )
        .tips(&["request_policy:all_shards", "response_policy:one_succeeded"]),
    CommandSpec::new("load", 3, GROUP, Handler::Wait(scripting::load))
        .flags(&[Noscript, Stale], &[Scripting])
        .syntax("script")
        .doc(
            "2.6.0",
            "Keeps a script and answers its name.",
            "O(N) bytes",
        )
        .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"]),
];

const FUNCTION: &[CommandSpec] = &[
    CommandSpec::new("delete", 3, GROUP, Handler::Wait(functions::delete))
        .flags(&[Write, Noscript], &[Scripting])
        .syntax("library-name")
        .doc("7.0.0", "Removes a library and its functions.", "O(1)")
        .tips(&["request_policy:all_shards", "response_policy:all_succeeded"]),
    CommandSpec::new("dump", 2, GROUP, Handler::Wait(functions::dump))
        .flags(&[Noscript], &[Scripting])
        .doc(
            "7.0.0",
            "Answers all libraries, for RESTORE.",
            "O(N) functions",
        ),
    CommandSpec::new("flush", -2, GROUP, Handler::Wait(functions::flush))
        .flags(&[Write, Noscript], &[Scripting])
        .syntax("[ASYNC | SYNC]")
        .doc("7.0.0", "Removes all libraries.", "O(N) functions")
        .tips(&["request_policy:all_shards", "response_policy:all_succeeded"]),
    CommandSpec::new("help", 2, GROUP, Handler::Now(help::help))
        .flags(&[Loading, Stale], &[Scripting])
        .doc("7.0.0", "Lists the subcommands.", "O(1)"),
    CommandSpec::new("kill", 2, GROUP, Handler::Now(functions::kill))
        .flags(&[Noscript, AllowBusy], &[Scripting])
        .doc(
            "7.0.0",
            "Ends functions that run for long and have not written.",
            "O(1)",
        )
        .tips(&["request_policy:all_shards", "response_policy:one_succeeded"]),
    CommandSpec::new("list", -2, GROUP, Handler::Now(functions::list))
        .flags(&[Noscript], &[Scripting])
        .syntax("[LIBRARYNAME library-name-pattern] [WITHCODE]")
        .doc(
            "7.0.0",
            "Lists libraries and their functions.",
            "O(N) functions",
        )
        .tips(&["nondeterministic_output_order"]),
    CommandSpec::new("load", -3, GROUP, Handler::Wait(functions::load))
        .flags(&[Write, DenyOom, Noscript], &[Scripting])
        .syntax("[REPLACE] function-code")
        .doc("7.0.0", "Adds a library.", "O(1)")
        .tips(&["request_policy:all_shards", "response_policy:all_succeeded"]),
    CommandSpec::new("restore", -3, GROUP, Handler::Wait(functions::restore))
        .flags(&[Write, DenyOom, Noscript], &[Scripting])
        .syntax("serialized-value [FLUSH | APPEND | REPLACE]")
        .doc("7.0.0", "Adds the libraries of a DUMP.", "O(N) functions")
        .tips(&["request_policy:all_shards", "response_policy:all_succeeded"]),
    CommandSpec::new("stats", 2, GROUP, Handler::Now(functions::stats))
        .flags(&[Noscript, AllowBusy], &[Scripting])
        .doc(
            "7.0.0",
            "Tells which function runs, and how many there are.",
            "O(1)",
        )
        .tips(&[
            "nondeterministic_output",
            "request_policy:all_shards",
            "response_policy:special",
        ]),
];
