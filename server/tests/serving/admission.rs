//! Who is let in, and who stays.

use crate::harness::{Running, show};

#[test]
fn clients_are_counted() {
    let server = Running::start(&[("maxclients", "2")]);
    let (mut one, mut two) = (server.connect(), server.connect());
    one.check("ping", "+PONG");
    two.check("ping", "+PONG");
    let mut three = server.connect();
    assert_eq!(show(&three.read()), "-ERR max number of clients reached");
    assert!(three.is_closed());
    one.check("config set maxclients 3", "+OK");
    let mut three = server.connect();
    three.check("ping", "+PONG");
    let info = three.run("info stats").text();
    assert!(info.contains("rejected_connections:1\r\n"), "{info}");
}

#[test]
fn idle_clients_are_closed() {
    let server = Running::start(&[("timeout", "1")]);
    let mut client = server.connect();
    client.check("ping", "+PONG");
    assert!(client.is_closed());
}

#[test]
fn connections_are_spread() {
    let server = Running::start(&[("workers", "3")]);
    // each connection is served, wherever it went
    let mut clients: Vec<_> = (0..9).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.check("ping", "+PONG");
    }
    let info = clients[0].run("info").text();
    assert!(info.contains("connected_clients:9\r\n") && info.contains("workers:3\r\n"));
}
