//! Rows of the commands on sorted sets.

use crate::command::Flag::{Blocking, DenyOom, Fast, MovableKeys, Readonly, Write};
use crate::command::{Acl, CommandSpec, Flag, Group, Handler, KeyAccess, KeySpec};
use crate::commands::access::{changes, reads};
use crate::commands::sorted_set::{
    add, aggregate, blocking, pop, random, range, read, remove, scan, store,
};

/// A command on sorted sets.
const fn row(name: &'static str, arity: i32, flags: &[Flag], handler: Handler) -> CommandSpec {
    CommandSpec::new(name, arity, Group::SortedSet, handler).flags(flags, &[Acl::SortedSet])
}

/// All arguments but the last, which is a time limit.
const BEFORE_TIMEOUT: &[KeySpec] = &[KeySpec::range(1, -2, 1, KeyAccess::READ_REMOVE)];

pub(super) const ROWS: &[CommandSpec] = &[
    row(
        "bzmpop",
        -5,
        &[Write, Blocking, MovableKeys],
        Handler::Wait(blocking::bzmpop),
    )
    .keys(&[KeySpec::counted(2, KeyAccess::READ_REMOVE)])
    .syntax("timeout numkeys key [key ...] (MIN | MAX) [COUNT count]")
    .doc(
        "7.0.0",
        "Takes members from an end of the first set that has any, and waits for one.",
        "O(K + M*log(N)), K keys, M members taken",
    ),
    row(
        "bzpopmax",
        -3,
        &[Write, Blocking, Fast],
        Handler::Wait(blocking::bzpopmax),
    )
    .keys(BEFORE_TIMEOUT)
    .syntax("key [key ...] timeout")
    .doc(
        "5.0.0",
        "Takes the member with the highest score of the first set that has any, and waits for one.",
        "O(K + log(N)), K keys",
    ),
    row(
        "bzpopmin",
        -3,
        &[Write, Blocking, Fast],
        Handler::Wait(blocking::bzpopmin),
    )
    .keys(BEFORE_TIMEOUT)
    .syntax("key [key ...] timeout")
    .doc(
        "5.0.0",
        "Takes the member with the lowest score of the first set that has any, and waits for one.",
        "O(K + log(N)), K keys",
    ),
    row("zadd", -4, &[Write, DenyOom, Fast], changes!(add::zadd))
        .keys(&[KeySpec::one(KeyAccess::UPDATE)])
        .syntax("key [NX | XX] [GT | LT] [CH] [INCR] score member [score member ...]")
        .doc(
            "1.2.0",
            "Adds members with scores, or changes their scores.",
            "O(log(N)) for each member",
        ),
    row("zcard", 2, &[Readonly, Fast], reads!(read::zcard))
        .keys(&[KeySpec::one(KeyAccess::LOOK)])
        .syntax("key")
        .doc("1.2.0", "Counts the members.", "O(1)"),
    row("zcount", 4, &[Readonly, Fast], reads!(read::zcount))
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key min max")
        .doc(
            "2.0.0",
            "Counts the members with scores in a range.",
            "O(log(N))",
        ),
    row(
        "zdiff",
        -3,
        &[Readonly, MovableKeys],
        Handler::Wait(aggregate::zdiff),
    )
    .keys(&[KeySpec::counted(1, KeyAccess::READ)])
    .syntax("numkeys key [key ...] [WITHSCORES]")
    .doc(
        "6.2.0",
        "Answers the members of the first set that no other one has.",
        "O(N*K + M*log(M)), N members of the first of K sets, M in the result",
    ),
    row(
        "zdiffstore",
        -4,
        &[Write, DenyOom, MovableKeys],
        Handler::Wait(aggregate::zdiffstore),
    )
    .keys(&[
        KeySpec::one(KeyAccess::OVERWRITE),
        KeySpec::counted(2, KeyAccess::READ),
    ])
    .syntax("destination numkeys key [key ...]")
    .doc(
        "6.2.0",
        "Stores the members of the first set that no other one has.",
        "O(N*K + M*log(M)), N members of the first of K sets, M in the result",
    ),
    row(
        "zincrby",
        4,
        &[Write, DenyOom, Fast],
        changes!(add::zincrby),
    )
    .keys(&[KeySpec::one(KeyAccess::READ_WRITE)])
    .syntax("key increment member")
    .doc(
        "1.2.0",
        "Adds to the score of a member, 0 where there is none.",
        "O(log(N))",
    ),
    row(
        "zinter",
        -3,
        &[Readonly, MovableKeys],
        Handler::Wait(aggregate::zinter),
    )
    .keys(&[KeySpec::counted(1, KeyAccess::READ)])
    .syntax(
        "numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE SUM | MIN | \
MAX] [WITHSCORES]",
    )
    .doc(
        "6.2.0",
        "Answers the members that all sets have.",
        "O(N*K + M*log(M)), N members of the smallest of K sets, M in the result",
    ),
    row(
        "zintercard",
        -3,
        &[Readonly, MovableKeys],
        Handler::Wait(aggregate::zintercard),
    )
    .keys(&[KeySpec::counted(1, KeyAccess::READ)])
    .syntax("numkeys key [key ...] [LIMIT limit]")
    .doc(
        "7.0.0",
        "Counts the members that all sets have.",
        "O(N*K), N members of the smallest of K sets",
    ),
    row(
        "zinterstore",
        -4,
        &[Write, DenyOom, MovableKeys],
        Handler::Wait(aggregate::zinterstore),
    )
    .keys(&[
        KeySpec::one(KeyAccess::OVERWRITE),
        KeySpec::counted(2, KeyAccess::READ),
    ])
    .syntax(
        "destination numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE \
SUM | MIN | MAX]",
    )
    .doc(
        "2.0.0",
        "Stores the members that all sets have.",
        "O(N*K + M*log(M)), N members of the smallest of K sets, M in the result",
    ),
    row("zlexcount", 4, &[Readonly, Fast], reads!(read::zlexcount))
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key min max")
        .doc(
            "2.8.9",
            "Counts the members in a range of members, where all have one score.",
            "O(log(N))",
        ),
    row(
        "zmpop",
        -4,
        &[Write, MovableKeys],
        Handler::Wait(pop::zmpop),
    )
    .keys(&[KeySpec::counted(1, KeyAccess::READ_REMOVE)])
    .syntax("numkeys key [key ...] MIN | MAX [COUNT count]")
    .doc(
        "7.0.0",
        "Takes members from an end of the first set that has any.",
        "O(K + M*log(N)), K keys, M members taken",
    ),
    row("zmscore", -3, &[Readonly, Fast], reads!(read::zmscore))
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key member [member ...]")
        .doc("6.2.0", "Answers the scores of members.", "O(M) members"),
    row("zpopmax", -2, &[Write, Fast], changes!(pop::zpopmax))
        .keys(&[KeySpec::one(KeyAccess::READ_REMOVE)])
        .syntax("key [count]")
        .doc(
            "5.0.0",
            "Takes the members with the highest scores.",
            "O(M*log(N)), M members taken",
        ),
    row("zpopmin", -2, &[Write, Fast], changes!(pop::zpopmin))
        .keys(&[KeySpec::one(KeyAccess::READ_REMOVE)])
        .syntax("key [count]")
        .doc(
            "5.0.0",
            "Takes the members with the lowest scores.",
            "O(M*log(N)), M members taken",
        ),
    row("zrandmember", -2, &[Readonly], reads!(random::zrandmember))
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key [count [WITHSCORES]]")
        .doc(
            "6.2.0",
            "Answers random members.",
            "O(M*log(N)), M members answered",
        )
        .tips(&["nondeterministic_output"]),
    row("zrange", -4, &[Readonly], reads!(range::zrange))
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key start stop [BYSCORE | BYLEX] [REV] [LIMIT offset count] [WITHSCORES]")
        .doc(
            "1.2.0",
            "Answers the members in a range of ranks, scores or members.",
            "O(log(N) + M), M members answered",
        ),
    row("zrangebylex", -4, &[Readonly], reads!(range::zrangebylex))
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key min max [LIMIT offset count]")
        .doc(
            "2.8.9",
            "Answers the members in a range of members, where all have one score.",
            "O(log(N) + M), M members answered",
        ),
    row(
        "zrangebyscore",
        -4,
        &[Readonly],
        reads!(range::zrangebyscore),
    )
    .keys(&[KeySpec::one(KeyAccess::READ)])
    .syntax("key min max [WITHSCORES] [LIMIT offset count]")
    .doc(
        "1.0.5",
        "Answers the members with scores in a range.",
        "O(log(N) + M), M members answered",
    ),
    row(
        "zrangestore",
        -5,
        &[Write, DenyOom],
        Handler::Wait(store::zrangestore),
    )
    .keys(&[
        KeySpec::one(KeyAccess::OVERWRITE),
        KeySpec::at(2, KeyAccess::READ),
    ])
    .syntax("dst src min max [BYSCORE | BYLEX] [REV] [LIMIT offset count]")
    .doc(
        "6.2.0",
        "Stores the members in a range of ranks, scores or members.",
        "O(log(N) + M), M members stored",
    ),
    row("zrank", -3, &[Readonly, Fast], reads!(read::zrank))
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key member [WITHSCORE]")
        .doc(
            "2.0.0",
            "Tells how many members come before one.",
            "O(log(N))",
        ),
    row("zrem", -3, &[Write, Fast], changes!(remove::zrem))
        .keys(&[KeySpec::one(KeyAccess::REMOVE_PART)])
        .syntax("key member [member ...]")
        .doc(
            "1.2.0",
            "Removes members.",
            "O(M*log(N)), M members removed",
        ),
    row(
        "zremrangebylex",
        4,
        &[Write],
        changes!(remove::zremrangebylex),
    )
    .keys(&[KeySpec::one(KeyAccess::REMOVE_PART)])
    .syntax("key min max")
    .doc(
        "2.8.9",
        "Removes the members in a range of members, where all have one score.",
        "O(log(N) + M), M members removed",
    ),
    row(
        "zremrangebyrank",
        4,
        &[Write],
        changes!(remove::zremrangebyrank),
    )
    .keys(&[KeySpec::one(KeyAccess::REMOVE_PART)])
    .syntax("key start stop")
    .doc(
        "2.0.0",
        "Removes the members in a range of ranks.",
        "O(log(N) + M), M members removed",
    ),
    row(
        "zremrangebyscore",
        4,
        &[Write],
        changes!(remove::zremrangebyscore),
    )
    .keys(&[KeySpec::one(KeyAccess::REMOVE_PART)])
    .syntax("key min max")
    .doc(
        "1.2.0",
        "Removes the members with scores in a range.",
        "O(log(N) + M), M members removed",
    ),
    row("zrevrange", -4, &[Readonly], reads!(range::zrevrange))
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key start stop [WITHSCORES]")
        .doc(
            "1.2.0",
            "Answers the members in a range of ranks, counted from the highest score.",
            "O(log(N) + M), M members answered",
        ),
    row(
        "zrevrangebylex",
        -4,
        &[Readonly],
        reads!(range::zrevrangebylex),
    )
    .keys(&[KeySpec::one(KeyAccess::READ)])
    .syntax("key max min [LIMIT offset count]")
    .doc(
        "2.8.9",
        "Does what ZRANGEBYLEX does, from the last member on.",
        "O(log(N) + M), M members answered",
    ),
    row(
        "zrevrangebyscore",
        -4,
        &[Readonly],
        reads!(range::zrevrangebyscore),
    )
    .keys(&[KeySpec::one(KeyAccess::READ)])
    .syntax("key max min [WITHSCORES] [LIMIT offset count]")
    .doc(
        "2.2.0",
        "Does what ZRANGEBYSCORE does, from the highest score on.",
        "O(log(N) + M), M members answered",
    ),
    row("zrevrank", -3, &[Readonly, Fast], reads!(read::zrevrank))
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key member [WITHSCORE]")
        .doc(
            "2.0.0",
            "Tells how many members come after one.",
            "O(log(N))",
        ),
    row("zscan", -3, &[Readonly], reads!(scan::zscan))
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key cursor [MATCH pattern] [COUNT count]")
        .doc(
            "2.8.0",
            "Goes over members and scores in steps.",
            "O(1) for a step, O(N) for all",
        )
        .tips(&["nondeterministic_output"]),
    row("zscore", 3, &[Readonly, Fast], reads!(read::zscore))
        .keys(&[KeySpec::one(KeyAccess::READ)])
        .syntax("key member")
        .doc("1.2.0", "Answers the score of a member.", "O(1)"),
    row(
        "zunion",
        -3,
        &[Readonly, MovableKeys],
        Handler::Wait(aggregate::zunion),
    )
    .keys(&[KeySpec::counted(1, KeyAccess::READ)])
    .syntax(
        "numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE SUM | MIN | \
MAX] [WITHSCORES]",
    )
    .doc(
        "6.2.0",
        "Answers the members that any set has.",
        "O(N + M*log(M)), N members of all sets, M in the result",
    ),
    row(
        "zunionstore",
        -4,
        &[Write, DenyOom, MovableKeys],
        Handler::Wait(aggregate::zunionstore),
    )
    .keys(&[
        KeySpec::one(KeyAccess::OVERWRITE),
        KeySpec::counted(2, KeyAccess::READ),
    ])
    .syntax(
        "destination numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE \
SUM | MIN | MAX]",
    )
    .doc(
        "2.0.0",
        "Stores the members that any set has.",
        "O(N + M*log(M)), N members of all sets, M in the result",
    ),
];
