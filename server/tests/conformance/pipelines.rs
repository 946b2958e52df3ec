//! Pipelines: replies in order, whatever each of them waits for.

use crate::socket::{Cellar, Reply, encode};

#[test]
fn replies_come_in_order() {
    const ROUNDS: usize = 500;
    let cellar = Cellar::start();
    let mut client = cellar.connect();
    let large = vec![b'x'; 100_000];
    let mut requests = encode(&[&b"SET"[..], b"large", &large]);
    let mut expected = vec![Reply::Line(b'+', b"OK".to_vec())];
    for round in 0..ROUNDS {
        let text = round.to_string();
        let key = format!("key:{text}");
        requests.extend(encode(&["SET", &key, &text]));
        requests.extend(encode(&["GET", &key]));
        requests.extend(encode(&["INCR", &key]));
        requests.extend(encode(&["GET", "large"]));
        requests.extend(encode(&["MGET", &key, "none"]));
        requests.extend(encode(&["DEL", &key]));
        let bulk = |bytes: &[u8]| Reply::Bulk(b'$', Some(bytes.to_vec()));
        let next = (round + 1).to_string();
        let both = vec![bulk(next.as_bytes()), Reply::Bulk(b'$', None)];
        expected.extend([
            Reply::Line(b'+', b"OK".to_vec()),
            bulk(text.as_bytes()),
            Reply::Line(b':', next.into_bytes()),
            bulk(&large),
            Reply::Many(b'*', Some(both)),
            Reply::Line(b':', b"1".to_vec()),
        ]);
    }
    let replies = client.pipeline(&requests, expected.len()).unwrap();
    for (index, (found, expected)) in replies.iter().zip(&expected).enumerate() {
        assert!(found == expected, "reply {index}: {found}, not {expected}");
    }
}

#[test]
fn a_reply_has_the_form_of_its_own_place() {
    let cellar = Cellar::start();
    let requests = [
        encode(&["GET", "none"]),
        encode(&["LCS", "a", "b", "IDX"]),
        encode(&["HELLO", "3"]),
        encode(&["GET", "none"]),
        encode(&["LCS", "a", "b", "IDX"]),
    ];
    let replies = cellar.connect().pipeline(&requests.concat(), 5).unwrap();
    assert_eq!(replies[0], Reply::Bulk(b'$', None));
    assert!(matches!(replies[1], Reply::Many(b'*', _)), "{}", replies[1]);
    assert!(matches!(replies[2], Reply::Many(b'%', _)), "{}", replies[2]);
    assert_eq!(replies[3], Reply::Line(b'_', Vec::new()));
    assert!(matches!(replies[4], Reply::Many(b'%', _)), "{}", replies[4]);
}

#[test]
fn counters_lose_no_update_between_clients() {
    const CLIENTS: usize = 4;
    const ROUNDS: usize = 500;
    let cellar = Cellar::start();
    let increments = encode(&["INCR", "counter"]).repeat(ROUNDS);
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            let mut client = cellar.connect();
            let increments = &increments;
            scope.spawn(move || client.pipeline(increments, ROUNDS).unwrap());
        }
    });
    let total = (CLIENTS * ROUNDS).to_string().into_bytes();
    let found = cellar.connect().call(&["GET", "counter"]).unwrap();
    assert_eq!(found, Reply::Bulk(b'$', Some(total)));
}
