//! The binary: its complaints, its banner, its exit codes.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use nix::sys::signal::Signal;

use crate::process::{Process, connect, run, serving, start};

#[test]
fn complaints_name_the_place_and_nothing_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("c.toml");
    let check = |text: &str, arguments: &[&str], expected: &str| {
        std::fs::write(&file, text).unwrap();
        let output = run(
            &[&["--config", "c.toml"], arguments].concat(),
            directory.path(),
        );
        assert_eq!(
            String::from_utf8_lossy(&output.stderr),
            format!("cellar: {expected}\n")
        );
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    };
    check(
        "[network]\nport = -1\n",
        &[],
        "c.toml:2: network.port: argument must be between 0 and 65535 inclusive",
    );
    check(
        "[memory]\nmaxmemory = \"1x\"\n",
        &[],
        "c.toml:2: memory.maxmemory: argument must be a memory value",
    );
    check(
        "[storage]\n\ndir = \"c.toml\"\n",
        &[],
        "c.toml:3: storage.dir: 'c.toml' is not a directory",
    );
    check(
        "",
        &["--port", "x"],
        "flag --port: argument couldn't be parsed into an integer",
    );
    check(
        "[storage]\ndevices = [{ path = \"/dev/null\" }]\n",
        &[],
        "c.toml:2: storage.devices: '/dev/null' is neither a file nor a block device",
    );
    let output = run(&["--config", "missing.toml"], directory.path());
    assert!(String::from_utf8_lossy(&output.stderr).contains("missing.toml: cannot read"));
    let output = run(&["--nothing"], directory.path());
    assert!(!output.status.success());
}

#[test]
fn a_foreign_device_is_named_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let content = vec![b'x'; 32 << 20];
    std::fs::write(directory.path().join("foreign"), &content).unwrap();
    let text = "[storage]\nsegment-size = \"1mb\"\ndir = \".\"\n\
                devices = [{ path = \"foreign\", size = \"32mb\" }]\n";
    std::fs::write(directory.path().join("c.toml"), text).unwrap();
    let output = run(
        &[
            "--config",
            "c.toml",
            "--port",
            "0",
            "--unixsocket",
            "socket",
        ],
        directory.path(),
    );
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        complaint.starts_with("cellar: c.toml:4: storage.devices: "),
        "{complaint}"
    );
    assert!(complaint.contains("foreign"), "{complaint}");
    assert_eq!(output.status.code(), Some(1));
    assert!(std::fs::read(directory.path().join("foreign")).unwrap() == content);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
}

#[test]
fn a_used_port_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let used = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = used.local_addr().unwrap().port().to_string();
    let output = run(&["--port", &port], directory.path());
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    let expected = format!("cellar: cannot listen on 127.0.0.1:{port}: Address already in use");
    assert!(complaint.starts_with(&expected), "{complaint}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn the_configuration_is_printed_and_checked() {
    let directory = tempfile::tempdir().unwrap();
    let output = run(&["--port", "7000", "--print-config"], directory.path());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\nport = 7000\n"));
    std::fs::write(directory.path().join("c.toml"), &text).unwrap();
    let again = run(&["--config", "c.toml", "--print-config"], directory.path());
    assert_eq!(String::from_utf8(again.stdout).unwrap(), text);
    let output = run(&["--config", "c.toml", "--check-config"], directory.path());
    assert!(output.status.success());
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn it_serves_a_unix_socket_and_stops_on_sigterm() {
    let directory = tempfile::tempdir().unwrap();
    let (child, lines) = start(directory.path(), &[]);
    assert!(
        lines.iter().any(|line| line.starts_with("Cellar ")),
        "{lines:?}"
    );
    assert!(
        lines
            .iter()
            .any(|line| line.contains("redis-cli -s socket")),
        "{lines:?}"
    );
    let socket = directory.path().join("socket");
    let mode = std::fs::metadata(&socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let mut client = connect(directory.path());
    client.check("set k v", "+OK");
    assert!(client.run("client info").text().contains(" flags=U "));
    child.signal(Signal::SIGTERM);
    assert!(client.is_closed());
    assert!(child.wait().success());
    assert!(!socket.exists());
}

/// Flips a bit of the only place in a file that reads `needle`.
fn rot(file: &Path, needle: &[u8]) {
    let mut bytes = std::fs::read(file).unwrap();
    let mut places = bytes.windows(needle.len()).enumerate();
    let found = places.find(|(_, window)| *window == needle);
    let place = found.expect("it is there").0;
    bytes[place] ^= 1;
    std::fs::write(file, bytes).unwrap();
}

const STORE: [&str; 4] = ["--devices", "store.cellar 256mb", "--segment-size", "1mb"];

fn check_store(directory: &Path, more: &[&str]) -> (i32, String) {
    let output = run(&[&["check"], &STORE[..], more].concat(), directory);
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code().unwrap(),
        String::from_utf8(text).unwrap(),
    )
}

fn stop(child: Process) {
    child.signal(Signal::SIGTERM);
    assert!(child.wait().success());
}

#[test]
fn a_store_is_checked_and_repaired_while_nobody_serves_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    assert_eq!(check_store(path, &[]).0, 2);
    let (child, _) = start(path, &[]);
    let mut client = connect(path);
    client.check("set good fine", "+OK");
    client.check("set bad needle-in-the-store", "+OK");
    let (code, text) = check_store(path, &[]);
    assert!(code == 2 && text.contains("in use"), "{code} {text}");
    stop(child);
    let (code, text) = check_store(path, &[]);
    assert!(code == 0 && text.contains("clean"), "{code} {text}");

    rot(
        &path.join("cellar-data/store.cellar"),
        b"needle-in-the-store",
    );
    let (child, _) = start(path, &[]);
    let mut client = connect(path);
    let reply = client.run("get bad").text();
    assert!(reply.contains("damaged"), "{reply}");
    client.check("get good", "fine");
    assert!(
        client
            .run("info device")
            .text()
            .contains("corrupt_records:1")
    );
    stop(child);

    let (code, text) = check_store(path, &["--json"]);
    assert!(
        code == 1 && text.contains("\"key\":\"bad\""),
        "{code} {text}"
    );
    let (code, text) = check_store(path, &["--repair"]);
    assert!(
        code == 0 && text.contains("repair: remove key \"bad\""),
        "{code} {text}"
    );
    assert_eq!(check_store(path, &[]).0, 0);
    let (child, _) = start(path, &[]);
    let mut client = connect(path);
    client.check("get bad", "nil");
    client.check("get good", "fine");
    stop(child);
}

#[test]
fn the_socket_of_a_killed_server_is_taken_over() {
    let directory = tempfile::tempdir().unwrap();
    let (child, _) = start(directory.path(), &[]);
    child.kill();
    assert!(directory.path().join("socket").exists());
    let (child, _) = start(directory.path(), &[]);
    let mut client = connect(directory.path());
    client.check("ping", "+PONG");
    client.send(&["shutdown", "nosave"]);
    assert!(client.is_closed());
    assert!(child.wait().success());
}

#[test]
fn the_log_goes_to_its_file() {
    let directory = tempfile::tempdir().unwrap();
    let more = ["--logfile", "cellar.log", "--loglevel", "verbose"];
    let mut command = serving(directory.path(), "store.cellar 256mb", &more);
    let mut child = Process(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut banner = String::new();
    let mut output = BufReader::new(child.0.stdout.take().unwrap());
    while !banner.contains("type next") {
        assert!(output.read_line(&mut banner).unwrap() > 0, "{banner}");
    }
    let log = || std::fs::read_to_string(directory.path().join("cellar.log")).unwrap();
    // it serves before it is ready, and says so at the level that is turned off next
    while !log().contains("ready to accept connections") {
        std::thread::yield_now();
    }
    let mut client = connect(directory.path());
    client.check("config set loglevel warning", "+OK");
    client.check("debug log hello", "+OK");
    client.send(&["shutdown"]);
    assert!(client.is_closed());
    assert!(child.wait().success());
    let log = log();
    assert!(log.contains("WARN DEBUG LOG: hello"), "{log}");
    assert!(!log.contains("stopped"), "{log}");
}
