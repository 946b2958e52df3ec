//! Places: GEOADD, what is said of them, searches and stored searches.

use crate::script::Script;

#[test]
fn places() {
    let mut script = Script::start();
    script.run(
        "
        SET s v -> +OK
        GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania -> :2
        GEOADD g 13.361389 38.115556 Palermo -> :0
        GEOADD g CH 13.5 38.2 Palermo -> :1
        GEOADD g NX 1 1 Palermo 2.5 -33.25 other -> :1
        GEOADD g XX 1 1 none -> :0
        GEOADD g XX CH 13.361389 38.115556 Palermo -> :1
        GEOADD g 180 85.05112878 corner -180 -85.05112878 origin 0 0 zero -> :3
        GEOADD g 181 0 x -> -ERR invalid longitude,latitude pair 181.000000,0.000000
        GEOADD g 0 86 x -> -ERR invalid longitude,latitude pair 0.000000,86.000000
        GEOADD g -180.5 -90.25 x -> -ERR invalid longitude,latitude pair -180.500000,-90.250000
        GEOADD g x 1 m -> -ERR value is not a valid float
        GEOADD g 1 1 a 2 -> -ERR syntax error
        GEOADD g NX XX 1 1 a -> -ERR syntax error
        GEOADD g NX CH -> -ERR wrong number of arguments for 'geoadd' command
        GEOADD g NX CH CH -> -ERR syntax error
        GEOADD s 1 1 a -> -WRONGTYPE Operation against a key holding the wrong kind of value
        ZSCORE g Palermo -> '3479099956230698'
        ZSCORE g corner -> '13510798882111488'
        ZSCORE g origin -> '0'
        ZSCORE g zero -> '3377699720527872'
        ",
    );
    script.check(
        "GEOPOS g Palermo none zero",
        "[['13.36138933897018433' '38.11555639549629859'] nil ['0.00000268220901489' \
         '0.00000126736058093']]",
    );
    script.check(
        "GEOPOS g corner origin",
        "[['180' '85.0511287799999991'] ['-179.99999731779098511' '-85.05112751263942528']]",
    );
    script.run(
        "
        GEOPOS g -> []
        GEOPOS none a -> [nil]
        GEOPOS s a -> -WRONGTYPE Operation against a key holding the wrong kind of value
        ",
    );
}

#[test]
fn hashes_and_distances() {
    let mut script = Script::start();
    script.run(
        "
        SET s v -> +OK
        GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 0 0 zero -> :3
        GEOADD g 180 85.05112878 corner -180 -85.05112878 origin -> :2
        ",
    );
    script.check(
        "GEOHASH g Palermo Catania none corner origin zero",
        "['sqc8b49rny0' 'sqdtr74hyu0' nil 'bp05b5048p0' '00bh0hbj200' 's0000000000']",
    );
    script.run(
        "
        GEOHASH g -> []
        GEOHASH none a -> [nil]
        GEOHASH s a -> -WRONGTYPE Operation against a key holding the wrong kind of value
        GEODIST g Palermo Catania -> '166274.1516'
        GEODIST g Palermo Catania km -> '166.2742'
        GEODIST g Palermo Catania MI -> '103.3182'
        GEODIST g Palermo Catania Ft -> '545518.8700'
        GEODIST g Palermo Palermo -> '0.0000'
        GEODIST g corner origin -> '18919844.5891'
        GEODIST g zero corner m -> '10560811.4940'
        GEODIST g Palermo none -> nil
        GEODIST none a b -> nil
        GEODIST g Palermo Catania foo -> -ERR unsupported unit provided. please use M, KM, FT, MI
        GEODIST g Palermo Catania km x -> -ERR syntax error
        GEODIST s a b -> -WRONGTYPE Operation against a key holding the wrong kind of value
        TYPE g -> +zset
        OBJECT ENCODING g -> 'listpack'
        ",
    );
    script.call(&[b"HELLO", b"3"]);
    script.run(
        "
        GEOPOS g Palermo none -> [[,13.36138933897018433 ,38.11555639549629859] _]
        GEODIST g Palermo Catania -> '166274.1516'
        GEODIST g Palermo none -> _
        ",
    );
}

#[test]
fn searches() {
    let mut script = Script::start();
    script.run(
        "
        SET s v -> +OK
        GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania -> :2
        GEOADD g 12.758489 38.788135 edge1 17.241510 38.788135 edge2 -> :2
        GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km ASC -> ['Catania' 'Palermo']
        GEOSEARCH g FROMLONLAT 15 37 BYBOX 400 400 km DESC -> ['edge1' 'edge2' 'Palermo' 'Catania']
        GEOSEARCH g FROMLONLAT 15 37 BYBOX 400 400 km ASC COUNT 2 -> ['Catania' 'Palermo']
        GEOSEARCH g FROMLONLAT 15 37 BYBOX 400 400 km COUNT 1 -> ['Catania']
        ",
    );
    script.check(
        "GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km ASC WITHDIST",
        "[['Catania' '56.4413'] ['Palermo' '190.4424']]",
    );
    script.check(
        "GEOSEARCH g FROMMEMBER Palermo BYRADIUS 200 km ASC WITHDIST WITHHASH",
        "[['Palermo' '0.0000' :3479099956230698] ['edge1' '91.4007' :3479273021651468] \
         ['Catania' '166.2742' :3479447370796909]]",
    );
    script.check(
        "GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 100 mi ASC WITHCOORD",
        "[['Catania' ['15.08726745843887329' '37.50266842333162032']]]",
    );
    script.run(
        "
        GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 1 m -> []
        GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 0 m -> []
        GEOSEARCH g FROMMEMBER Palermo BYRADIUS 0 m -> ['Palermo']
        GEOSEARCH g FROMLONLAT 0 0 BYRADIUS 20000 km ASC -> ['Catania' 'Palermo' 'edge1' 'edge2']
        ",
    );
    script.check(
        "GEOSEARCH g FROMLONLAT -170 -80 BYBOX 40000 40000 km ASC",
        "['Catania' 'Palermo' 'edge2' 'edge1']",
    );
}

#[test]
fn searches_that_find_nothing_or_are_refused() {
    let mut script = Script::start();
    script.run(
        "
        SET s v -> +OK
        GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania -> :2
        GEOADD g 12.758489 38.788135 edge1 17.241510 38.788135 edge2 -> :2
        GEOSEARCH none FROMLONLAT 15 37 BYRADIUS 200 km -> []
        GEOSEARCH none FROMMEMBER a BYRADIUS 200 km -> []
        ",
    );
    script.check(
        "GEOSEARCH s FROMMEMBER a BYRADIUS 200 km",
        "-WRONGTYPE Operation against a key holding the wrong kind of value",
    );
    script.run(
        "
        GEOSEARCH g FROMMEMBER none BYRADIUS 200 km -> -ERR could not decode requested zset member
        ",
    );
    script.check(
        "GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 foo",
        "-ERR unsupported unit provided. please use M, KM, FT, MI",
    );
    script.run(
        "
        GEOSEARCH g FROMLONLAT 15 37 BYRADIUS x km -> -ERR need numeric radius
        GEOSEARCH g FROMLONLAT 15 37 BYRADIUS -1 km -> -ERR radius cannot be negative
        GEOSEARCH g FROMLONLAT 15 37 BYBOX 1 x km -> -ERR need numeric height
        GEOSEARCH g FROMLONLAT 15 37 BYBOX x 1 km -> -ERR need numeric width
        GEOSEARCH g FROMLONLAT 15 37 BYBOX 1 -1 km -> -ERR height or width cannot be negative
        ",
    );
}

#[test]
fn options_that_do_not_go_together() {
    let mut script = Script::start();
    script.run(
        "
        SET s v -> +OK
        GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania -> :2
        ",
    );
    script.check(
        "GEOSEARCH g FROMLONLAT 15 37 ASC DESC WITHDIST",
        "-ERR exactly one of BYRADIUS and BYBOX can be specified for GEOSEARCH",
    );
    script.check(
        "GEOSEARCH g BYRADIUS 1 km ASC DESC WITHDIST",
        "-ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for GEOSEARCH",
    );
    script.check(
        "geosearch g BYRADIUS 1 km ASC DESC WITHDIST",
        "-ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for geosearch",
    );
    script.run(
        "
        GEOSEARCH g FROMLONLAT 15 37 FROMMEMBER Palermo BYRADIUS 1 km -> -ERR syntax error
        GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 1 km BYBOX 1 1 km -> -ERR syntax error
        ",
    );
    script.check(
        "GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 1 km ANY",
        "-ERR the ANY argument requires COUNT argument",
    );
    script.run(
        "
        GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 1 km COUNT 0 -> -ERR COUNT must be > 0
        ",
    );
    script.check(
        "GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 1 km COUNT x",
        "-ERR value is not an integer or out of range",
    );
    script.run(
        "
        GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 1 km STORE d -> -ERR syntax error
        GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 1 km STOREDIST -> -ERR syntax error
        ",
    );
    script.check(
        "GEOSEARCH g FROMLONLAT 215 37 BYRADIUS 1 km",
        "-ERR invalid longitude,latitude pair 215.000000,37.000000",
    );
    script.run(
        "
        GEOSEARCH g FROMLONLAT 15 37 -> -ERR wrong number of arguments for 'geosearch' command
        ",
    );
}

#[test]
fn circles() {
    let mut script = Script::start();
    script.run(
        "
        SET s v -> +OK
        GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania -> :2
        GEOADD g 12.758489 38.788135 edge1 17.241510 38.788135 edge2 -> :2
        GEORADIUS g 15 37 200 km ASC -> ['Catania' 'Palermo']
        ",
    );
    script.check(
        "GEORADIUS g 15 37 200 km WITHDIST WITHHASH DESC COUNT 1",
        "[['Palermo' '190.4424' :3479099956230698]]",
    );
    script.run(
        "
        GEORADIUS g 15 37 200 km COUNT 1 ANY -> ['Palermo']
        GEORADIUS_RO g 15 37 200 km DESC -> ['Palermo' 'Catania']
        GEORADIUS_RO g 15 37 200 km STORE d -> -ERR syntax error
        GEORADIUSBYMEMBER g Catania 200 km ASC -> ['Catania' 'Palermo']
        ",
    );
    script.check(
        "GEORADIUSBYMEMBER_RO g Catania 200 km DESC WITHDIST",
        "[['Palermo' '166.2742'] ['Catania' '0.0000']]",
    );
    script.run(
        "
        GEORADIUSBYMEMBER g none 200 km -> -ERR could not decode requested zset member
        GEORADIUSBYMEMBER none a 200 km -> []
        GEORADIUSBYMEMBER none a x foo -> []
        GEORADIUS none 15 37 x km -> -ERR need numeric radius
        GEORADIUS none 15 37 200 km -> []
        ",
    );
    script.check(
        "GEORADIUS s 15 37 200 km",
        "-WRONGTYPE Operation against a key holding the wrong kind of value",
    );
}

#[test]
fn stored_searches() {
    let mut script = Script::start();
    script.run(
        "
        SET s v -> +OK
        GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania -> :2
        GEOADD g 12.758489 38.788135 edge1 17.241510 38.788135 edge2 -> :2
        GEORADIUS g 15 37 200 km STORE d -> :2
        ZRANGE d 0 -1 WITHSCORES -> ['Palermo' '3479099956230698' 'Catania' '3479447370796909']
        GEORADIUS g 15 37 200 km STOREDIST d -> :2
        ZRANGE d 0 0 WITHSCORES -> ['Catania' '56.4412578701582']
        ",
    );
    script.check(
        "GEORADIUS g 15 37 200 km STORE d WITHDIST",
        "-ERR STORE option in GEORADIUS is not compatible with WITHDIST, WITHHASH and \
         WITHCOORD options",
    );
    script.run(
        "
        GEORADIUS g 15 37 1 km STORE d -> :0
        EXISTS d -> :0
        GEORADIUSBYMEMBER g Palermo 200 km ASC COUNT 1 STORE d -> :1
        ZRANGE d 0 -1 -> ['Palermo']
        GEORADIUSBYMEMBER none a 200 km STORE d -> :0
        EXISTS d -> :0
        GEOSEARCHSTORE d g FROMLONLAT 15 37 BYRADIUS 200 km -> :2
        ZRANGE d 0 -1 WITHSCORES -> ['Palermo' '3479099956230698' 'Catania' '3479447370796909']
        GEOSEARCHSTORE d g FROMLONLAT 15 37 BYBOX 400 400 km ASC COUNT 3 STOREDIST -> :3
        ZRANGE d 0 -1 -> ['Catania' 'Palermo' 'edge2']
        ",
    );
    script.check(
        "GEOSEARCHSTORE d g FROMLONLAT 15 37 BYRADIUS 200 km WITHDIST",
        "-ERR GEOSEARCHSTORE is not compatible with WITHDIST, WITHHASH and WITHCOORD options",
    );
    script.run(
        "
        GEOSEARCHSTORE d none FROMLONLAT 15 37 BYRADIUS 200 km -> :0
        EXISTS d -> :0
        GEOSEARCHSTORE g g FROMLONLAT 15 37 BYRADIUS 200 km -> :2
        ZRANGE g 0 -1 -> ['Palermo' 'Catania']
        ",
    );
    script.call(&[b"HELLO", b"3"]);
    script.check(
        "GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km ASC WITHDIST WITHCOORD",
        "[['Catania' '56.4413' [,15.08726745843887329 ,37.50266842333162032]] ['Palermo' \
         '190.4424' [,13.36138933897018433 ,38.11555639549629859]]]",
    );
}
