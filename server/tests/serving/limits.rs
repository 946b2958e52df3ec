//! The bounds of what one client may take.

use crate::harness::{Running, encode, show};

#[test]
fn too_much_unfinished_input_closes() {
    let server = Running::start(&[("client-query-buffer-limit", "1mb")]);
    let mut client = server.connect();
    client.send_raw(b"*2\r\n$4\r\nECHO\r\n$2000000\r\n");
    // the server may close before all of it is sent
    let sent = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        client.send_raw(&vec![b'x'; 1_500_000]);
    }));
    drop(sent);
    assert!(client.is_closed());
    let mut other = server.connect();
    let info = other.run("info stats").text();
    assert!(
        info.contains("client_query_buffer_limit_disconnections:1\r\n"),
        "{info}"
    );
}

#[test]
fn a_reply_beyond_the_hard_bound_closes() {
    let limit = ("client-output-buffer-limit", "normal 100kb 0 0");
    let server = Running::start(&[limit]);
    let mut client = server.connect();
    client.send_raw(&encode(&[b"SET", b"k", &vec![b'x'; 20_000]]));
    assert_eq!(show(&client.read()), "+OK");
    let mut request: Vec<&[u8]> = vec![b"MGET"];
    request.resize(11, b"k");
    client.send_raw(&encode(&request));
    assert!(client.is_closed());
    let mut other = server.connect();
    let info = other.run("info stats").text();
    assert!(
        info.contains("client_output_buffer_limit_disconnections:1\r\n"),
        "{info}"
    );
}

#[test]
fn arguments_are_bounded() {
    let server = Running::start(&[]);
    let mut client = server.connect();
    client.check("config set proto-max-bulk-len 1mb", "+OK");
    client.send_raw(b"*2\r\n$4\r\nECHO\r\n$1048577\r\n");
    assert_eq!(
        show(&client.read()),
        "-ERR Protocol error: invalid bulk length"
    );
    assert!(client.is_closed());
}

#[test]
fn a_length_alone_takes_no_memory() {
    let server = Running::start(&[]);
    let mut clients: Vec<_> = (0..50).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.send_raw(b"*2\r\n$4\r\nECHO\r\n$536870912\r\n");
    }
    let mut other = server.connect();
    // each connection notes its own buffers before it waits
    let list = other.run("client list").text();
    for line in list.lines() {
        let memory: u64 = line
            .split(' ')
            .find_map(|field| field.strip_prefix("tot-mem="))
            .unwrap()
            .parse()
            .unwrap();
        assert!(memory < 1 << 20, "{line}");
    }
}
