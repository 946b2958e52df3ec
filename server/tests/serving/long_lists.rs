//! A list of many pages, through the socket and over restarts.

use crate::harness::{Client, show};
use crate::process::{connect, start};

const COUNT: usize = 50_000;

/// Elements of one request.
const CHUNK: usize = 500;

fn element(index: usize) -> String {
    format!("element:{index}:{}", "x".repeat(index % 40))
}

fn push_all(client: &mut Client) {
    for start in (0..COUNT).step_by(CHUNK) {
        let elements: Vec<String> = (start..start + CHUNK).map(element).collect();
        let mut request = vec!["rpush", "l"];
        request.extend(elements.iter().map(String::as_str));
        let len = i64::try_from(start + CHUNK).unwrap();
        assert_eq!(client.call(&request).integer(), len);
    }
}

/// Checks a list that is `expected`, at its ends and in between.
fn check(client: &mut Client, expected: &[String]) {
    let len = expected.len();
    client.check("llen l", &format!(":{len}"));
    client.check("object encoding l", "quicklist");
    for index in [0, 1, len / 3, len / 2, len - 2, len - 1] {
        client.check(&format!("lindex l {index}"), &expected[index]);
        let from_end = format!("lindex l -{}", len - index);
        client.check(&from_end, &expected[index]);
    }
    let all = client.run("lrange l 0 -1");
    assert!(all.items().iter().map(show).eq(expected.iter().cloned()));
    let middle = len / 2;
    let range = client.run(&format!("lrange l {middle} {}", middle + 999));
    let found = range.items().iter().map(show);
    assert!(found.eq(expected[middle..middle + 1000].iter().cloned()));
    let wanted = &expected[len - 3];
    client.check(&format!("lpos l {wanted}"), &format!(":{}", len - 3));
}

/// Changes the list in all ways, and the model with it.
fn change(client: &mut Client, model: &mut Vec<String>) {
    let middle = model.len() / 2;
    client.check(&format!("lset l {middle} changed"), "+OK");
    model[middle] = "changed".into();
    let len = i64::try_from(model.len()).unwrap();
    let inserted = client.run("linsert l before changed inserted").integer();
    assert_eq!(inserted, len + 1);
    model.insert(middle, "inserted".into());
    client.check("lpop l", &model.remove(0));
    client.check("rpop l", &model.pop().unwrap());
    client.run("lpush l first");
    model.insert(0, "first".into());
    let long = "y".repeat(100_000);
    client.run(&format!("rpush l {long}"));
    model.push(long);
    let trimmed = model.len() - 1001;
    client.check(&format!("ltrim l 1000 {trimmed}"), "+OK");
    model.drain(trimmed + 1..);
    model.drain(..1000);
    let popped = client.run("rpop l 700");
    let expected = model.drain(model.len() - 700..).rev();
    assert!(popped.items().iter().map(show).eq(expected));
    let long = "z".repeat(70_000);
    client.run(&format!("lset l 3 {long}"));
    model[3] = long;
    client.check("lrem l 0 inserted", ":1");
    model.retain(|element| element != "inserted");
}

#[test]
fn a_long_list_survives_restarts() {
    let directory = tempfile::tempdir().unwrap();
    let (process, _) = start(directory.path(), &[]);
    let mut client = connect(directory.path());
    push_all(&mut client);
    let mut model: Vec<String> = (0..COUNT).map(element).collect();
    check(&mut client, &model);
    client.check("waitaof 1 0 0", "[:1 :0]");
    process.kill();
    let (process, _) = start(directory.path(), &[]);
    let mut client = connect(directory.path());
    check(&mut client, &model);
    change(&mut client, &mut model);
    check(&mut client, &model);
    client.send(&["shutdown"]);
    assert!(client.is_closed());
    assert!(process.wait().success());
    let (_process, _) = start(directory.path(), &[]);
    let mut client = connect(directory.path());
    check(&mut client, &model);
    client.check("copy l m", ":1");
    client.check("del l", ":1");
    client.check("lindex m 0", &model[0]);
    client.check("rpush l a", ":1");
    client.check("lrange l 0 -1", "[a]");
    client.check(
        &format!("lindex m {}", model.len() - 1),
        model.last().unwrap(),
    );
    client.check(
        "sort m limit 0 1",
        "-ERR One or more scores can't be converted into double",
    );
    let sorted = client.run("sort m alpha desc limit 1 3");
    model.sort_unstable_by(|a, b| b.cmp(a));
    assert!(
        sorted
            .items()
            .iter()
            .map(show)
            .eq(model[1..4].iter().cloned())
    );
}
