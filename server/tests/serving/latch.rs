//! A device that fails: the binary on a file that it may no longer write to.
//!
//! The failure is a limit on the size of files, set from outside while the server runs: every write
//! fails from then on, whatever its place.

use std::path::Path;

use nix::sys::signal::Signal;

use crate::harness::{Client, encode, show};
use crate::process::{Process, connect, start};
use crate::server_commands::field;

const REFUSED: &str = "-MISCONF Errors writing to the AOF file: ";
const REFUSED_SHUTDOWN: &str = "-ERR Errors trying to SHUTDOWN. Check logs.";

/// A server with keys `before` (durable) and `after` (not), whose device fails.
fn start_latched(directory: &Path) -> (Process, Client) {
    let (process, _) = start(directory, &[]);
    let mut client = connect(directory);
    client.check("set before durable", "+OK");
    client.check("waitaof 1 0 0", "[:1 :0]");
    process.let_writes_fail(true);
    client.check("set after lost", "+OK");
    let unknown = show(&client.run("waitaof 1 0 0"));
    assert!(unknown.starts_with(REFUSED), "{unknown}");
    assert!(unknown.contains("its outcome is unknown"), "{unknown}");
    (process, client)
}

#[test]
fn a_transaction_that_writes_is_refused_and_one_that_reads_runs() {
    let directory = tempfile::tempdir().unwrap();
    let (process, _) = start(directory.path(), &[]);
    let (mut writer, mut reader) = (connect(directory.path()), connect(directory.path()));
    for client in [&mut writer, &mut reader] {
        client.check("multi", "+OK");
        client.check("get k", "+QUEUED");
    }
    writer.check("set k v", "+QUEUED");
    let mut other = connect(directory.path());
    other.check("set before durable", "+OK");
    other.check("waitaof 1 0 0", "[:1 :0]");
    process.let_writes_fail(true);
    other.check("set k lost", "+OK");
    assert!(show(&other.run("waitaof 1 0 0")).starts_with(REFUSED));
    let reply = show(&writer.run("exec"));
    let expected = format!(
        "-EXECABORT Transaction discarded because of: {}",
        &REFUSED[1..]
    );
    assert!(reply.starts_with(&expected), "{reply}");
    reader.check("exec", "[lost]");
    writer.check("multi", "+OK");
    assert!(show(&writer.run("set k v")).starts_with(REFUSED));
    writer.check("get k", "+QUEUED");
    let discarded = "-EXECABORT Transaction discarded because of previous errors.";
    writer.check("exec", discarded);
    process.kill();
}

#[test]
fn writes_are_refused_and_reads_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let (process, mut client) = start_latched(directory.path());
    for line in [
        "set k v",
        "del before",
        "del nothing",
        "incr n",
        "expire before 100",
        "mset a 1 b 2",
        "append before x",
        "flushdb",
        "flushall",
        "swapdb 0 1",
        "rename before other",
        "setrange before 1 x",
        "getdel before",
        "persist before",
    ] {
        let reply = show(&client.run(line));
        assert!(reply.starts_with(REFUSED), "{line}: {reply}");
        assert!(
            reply.contains("store.cellar: no space for write"),
            "{line}: {reply}"
        );
    }
    // acknowledged and not on the device: still readable, also for others
    for client in [&mut client, &mut connect(directory.path())] {
        client.check("get before", "durable");
        client.check("get after", "lost");
        client.check("exists before after nothing", ":2");
        client.check("dbsize", ":2");
        let found = show(&client.run("scan 0 count 100"));
        assert!(
            found.contains("after") && found.contains("before"),
            "{found}"
        );
        client.check("ping", "+PONG");
    }
    let info = client.run("info persistence").text();
    assert_eq!(field(&info, "aof_last_write_status"), "err");
    assert_eq!(field(&info, "latched"), "1");
    assert!(
        field(&info, "latch_reason").contains("no space for write"),
        "{info}"
    );
    let number = |name: &str| field(&info, name).parse::<u64>().unwrap();
    assert!(number("lsn_at_risk") > 0, "{info}");
    assert_eq!(
        number("lsn_published") - number("lsn_durable"),
        number("lsn_at_risk")
    );
    for line in ["save", "waitaof 1 0 0"] {
        let reply = show(&client.run(line));
        assert!(reply.starts_with(REFUSED), "{line}: {reply}");
    }
    // a device that works again changes nothing: what it kept is not known
    process.let_writes_fail(false);
    let reply = show(&client.run("set k v"));
    assert!(reply.starts_with(REFUSED), "{reply}");
}

#[test]
fn replies_that_wait_for_durability_say_that_it_is_unknown() {
    let directory = tempfile::tempdir().unwrap();
    let (process, _) = start(directory.path(), &["--appendfsync", "always"]);
    let mut writers: Vec<Client> = (0..20).map(|_| connect(directory.path())).collect();
    for client in &mut writers {
        client.check("set before v", "+OK");
    }
    process.let_writes_fail(true);
    for (index, client) in writers.iter_mut().enumerate() {
        let key = format!("k{index}");
        let get = encode(&[b"GET", key.as_bytes()]);
        client.send_raw(&[encode(&[b"SET", key.as_bytes(), b"v"]), get].concat());
    }
    let mut unknown_count = 0;
    for client in &mut writers {
        let replies = [client.read(), client.read()].map(|reply| show(&reply));
        assert!(replies[0].starts_with(REFUSED), "{replies:?}");
        // the first to come learn it from their wait, the others are refused before they write
        unknown_count += usize::from(replies[0].contains("its outcome is unknown"));
        assert!(
            replies[1] == "nil" || replies[1].starts_with(REFUSED),
            "{replies:?}"
        );
        client.check("get before", "v");
    }
    assert!(unknown_count > 0);
}

#[test]
fn an_orderly_end_is_refused_and_a_forced_one_tells() {
    for how in ["nosave", "force"] {
        let directory = tempfile::tempdir().unwrap();
        let (process, mut client) = start_latched(directory.path());
        client.check("shutdown", REFUSED_SHUTDOWN);
        client.check("shutdown save", REFUSED_SHUTDOWN);
        client.check("get after", "lost");
        client.send(&["shutdown", how]);
        assert!(client.is_closed());
        assert_eq!(process.wait().code(), Some(1), "{how}");
        // what was durable is there, and the store takes writes again
        let (process, _) = start(directory.path(), &[]);
        let mut client = connect(directory.path());
        client.check("get before", "durable");
        client.check("set k v", "+OK");
        client.send(&["shutdown"]);
        assert!(client.is_closed());
        assert!(process.wait().success());
    }
}

#[test]
fn a_failure_that_the_orderly_end_meets_first_refuses_it() {
    let directory = tempfile::tempdir().unwrap();
    let (process, _) = start(directory.path(), &["--appendfsync", "no"]);
    let mut client = connect(directory.path());
    // from here on the log has a segment that it writes to
    client.check("set before v", "+OK");
    process.let_writes_fail(true);
    client.check("set k v", "+OK");
    client.check("shutdown", REFUSED_SHUTDOWN);
    client.check("get k", "v");
}

#[test]
fn the_first_signal_is_refused_and_the_second_ends() {
    let directory = tempfile::tempdir().unwrap();
    let (mut process, mut client) = start_latched(directory.path());
    process.signal(Signal::SIGTERM);
    process.wait_log("not stopping");
    client.check("get after", "lost");
    process.signal(Signal::SIGTERM);
    assert!(client.is_closed());
    assert_eq!(process.wait().code(), Some(1));
}
