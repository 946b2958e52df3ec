//! CLIENT TRACKING and its kin, and channels, as far as one connection shows them.

use crate::script::Script;

#[test]
fn tracking_options_go_together_or_not() {
    let mut script = Script::start();
    script.run(
        "
        CLIENT TRACKING maybe -> -ERR syntax error
        CLIENT TRACKING on x -> -ERR syntax error
        CLIENT TRACKING on redirect -> -ERR syntax error
        CLIENT TRACKING on redirect x -> -ERR value is not an integer or out of range
        CLIENT TRACKING on redirect 99 -> -ERR The client ID you want redirect to does not exist
        CLIENT TRACKING on prefix a -> -ERR PREFIX option requires BCAST mode to be enabled
        CLIENT TRACKING on bcast optin -> -ERR OPTIN and OPTOUT are not compatible with BCAST
        CLIENT TRACKING on optin optout -> -ERR You can't specify both OPTIN mode and OPTOUT mode
        CLIENT GETREDIR -> :-1
        CLIENT TRACKINGINFO -> ['flags' ['off'] 'redirect' :-1 'prefixes' []]
        CLIENT TRACKING ON noloop OPTOUT -> +OK
        CLIENT TRACKINGINFO -> ['flags' ['on' 'optout' 'noloop'] 'redirect' :0 'prefixes' []]
        CLIENT CACHING no -> +OK
        CLIENT CACHING x -> -ERR syntax error
        CLIENT GETREDIR -> :0
        CLIENT TRACKING off -> +OK
        CLIENT TRACKING on BCAST PREFIX b PREFIX a -> +OK
        CLIENT TRACKINGINFO -> ['flags' ['on' 'bcast'] 'redirect' :0 'prefixes' ['a' 'b']]
        CLIENT TRACKING -> -ERR wrong number of arguments for 'client|tracking' command
        ",
    );
    script.check(
        "CLIENT TRACKING on",
        "-ERR You can't switch BCAST mode on/off before disabling tracking for this client, and \
         then re-enabling it with a different mode.",
    );
    script.check(
        "CLIENT TRACKING on bcast prefix c prefix ca",
        "-ERR Prefix 'c' overlaps with another provided prefix 'ca'. Prefixes for a single client \
         must not overlap.",
    );
}

#[test]
fn channels_of_one_connection() {
    Script::start().run(
        "
        PUBLISH c m -> :0
        PUBSUB NUMPAT -> :0
        PUBSUB NUMSUB c -> ['c' :0]
        UNSUBSCRIBE -> ['unsubscribe' nil :0]
        PUNSUBSCRIBE x -> ['punsubscribe' 'x' :0]
        SUBSCRIBE -> -ERR wrong number of arguments for 'subscribe' command
        HELLO 3 AUTH -> -ERR Syntax error in HELLO option 'AUTH'
        SSUBSCRIBE s -> ['ssubscribe' 's' :1]
        PSUBSCRIBE p* -> ['psubscribe' 'p*' :1]
        PING -> ['pong' '']
        SUNSUBSCRIBE s -> ['sunsubscribe' 's' :0]
        PUNSUBSCRIBE -> ['punsubscribe' 'p*' :0]
        PING -> +PONG
        ",
    );
}
