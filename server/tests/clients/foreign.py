#!/usr/bin/env python3
"""Runs clients that were not written for this server against it: redis-py and redis-benchmark.

    foreign.py --server target/release/cellar

Needs the Python package `redis` and the program `redis-benchmark`. Over the unix socket and over
TCP, with RESP2 and RESP3. Ends with exit code 1 at the first answer that is not Redis's.
"""

import argparse
import os
import subprocess
import sys
import tempfile

import redis

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from wire import process  # noqa: E402

# redis-benchmark with these ends within seconds; it exits at the first error reply.
BENCHMARKS = (
    ("-t", "ping,set,get,incr,mset", "-n", "20000", "-c", "50"),
    ("-t", "ping,set,get,incr,mset", "-n", "100000", "-c", "50", "-P", "32"),
    ("-t", "set,get", "-n", "20000", "-c", "50", "-d", "2048", "-r", "1000000", "-P", "32"),
)
BENCHMARK_S_MAX = 300
# Looks at a socket, of up to a second each, before a message counts as lost.
LOOKS_MAX = 30


def strings(client):
    assert client.set("a", b"\x00\xff\r\n") is True
    assert client.get("a") == b"\x00\xff\r\n"
    assert client.get("nothing") is None
    assert client.set("a", "b", nx=True) is None
    assert client.set("a", "b", get=True) == b"\x00\xff\r\n"
    assert client.mset({"m1": "1", "m2": "", "m3": "x" * 100_000}) is True
    assert client.mget("m1", "m2", "m3", "nothing") == [b"1", b"", b"x" * 100_000, None]
    assert client.msetnx({"m1": "2", "m9": "2"}) is False
    assert client.exists("m9") == 0
    assert client.incrby("number", 40) == 40
    assert client.decr("number") == 39
    assert client.incrbyfloat("number", 0.5) == 39.5
    assert client.append("a", "cd") == 3
    assert client.getrange("a", 1, -1) == b"cd"
    assert client.setrange("a", 5, "z") == 6
    assert client.get("a") == b"bcd\0\0z"
    assert client.getdel("a") == b"bcd\0\0z"
    assert client.strlen("a") == 0


def bits(client):
    assert client.setbit("bits", 7, 1) == 0
    assert client.getbit("bits", 7) == 1
    assert client.bitcount("bits") == 1
    assert client.bitpos("bits", 1) == 7
    assert client.bitop("NOT", "tib", "bits") == 1
    assert client.get("tib") == b"\xfe"
    assert client.bitfield("field").set("u8", 0, 200).incrby("u8", 0, 100).execute() == [0, 44]


def keys(client):
    for number in range(300):
        client.set(f"scan:{number}", number)
    assert len(set(client.scan_iter(match="scan:*", count=50))) == 300
    assert len(client.keys("scan:1?")) == 10
    assert client.delete(*[f"scan:{number}" for number in range(300)]) == 300
    client.set("old", "v", ex=100)
    assert client.rename("old", "new") is True
    assert 0 < client.ttl("new") <= 100
    assert client.persist("new") is True
    assert client.ttl("new") == -1
    assert client.pexpire("new", 100_000) in (1, True)
    assert client.copy("new", "copy") is True
    assert client.type("copy") == b"string"
    assert client.object("encoding", "number") in (b"embstr", b"raw")
    assert client.touch("new", "copy", "nothing") == 2
    assert client.randomkey() is not None


def errors(client):
    try:
        client.execute_command("NOSUCHCOMMAND", "x")
    except redis.ResponseError as error:
        assert "unknown command" in str(error).lower(), error
    else:
        raise AssertionError("an unknown command was answered")
    client.set("word", "not a number")
    try:
        client.incr("word")
    except redis.ResponseError as error:
        assert "not an integer" in str(error), error
    else:
        raise AssertionError("INCR of a word was answered")


def transactions(client):
    with client.pipeline(transaction=True) as pipeline:
        pipeline.set("t1", "1").incr("t1").get("t1").rename("nothing", "t2").mget("t1", "t2")
        replies = pipeline.execute(raise_on_error=False)
    assert replies[:3] == [True, 2, b"2"], replies
    assert isinstance(replies[3], redis.ResponseError), replies
    assert replies[4] == [b"2", None], replies

    def add_one(pipeline):
        seen = int(pipeline.get("t1"))
        pipeline.multi()
        pipeline.set("t1", seen + 1)

    assert client.transaction(add_one, "t1") == [True]
    assert client.get("t1") == b"3"
    with client.pipeline() as pipeline:
        pipeline.watch("t1")
        client.set("t1", "other")
        pipeline.multi()
        pipeline.set("t1", "lost")
        try:
            pipeline.execute()
        except redis.WatchError:
            pass
        else:
            raise AssertionError("a broken watch let a transaction run")
    assert client.get("t1") == b"other"
    with client.pipeline(transaction=True) as pipeline:
        pipeline.execute_command("NOSUCHCOMMAND").set("t1", "lost")
        try:
            pipeline.execute()
        except redis.ResponseError as error:
            assert "unknown command" in str(error).lower(), error
        else:
            raise AssertionError("a transaction with an unknown command ran")
    assert client.get("t1") == b"other"


def scripts(client):
    add = client.register_script(
        "local sum = redis.call('INCRBY', KEYS[1], ARGV[1]) return {KEYS[1], sum, ARGV[2]}"
    )
    client.script_flush()
    assert add(keys=["s1"], args=[5, "a"]) == [b"s1", 5, b"a"]
    assert add(keys=["s1"], args=[6, "b"]) == [b"s1", 11, b"b"]
    assert client.script_exists(add.sha, "0" * 40) == [True, False]
    with client.pipeline(transaction=True) as pipeline:
        add(keys=["s1"], args=[1, "c"], client=pipeline)
        pipeline.get("s1")
        assert pipeline.execute() == [[b"s1", 12, b"c"], b"12"]
    try:
        client.eval("return redis.call('INCR', KEYS[1], 1)", 1, "s1")
    except redis.ResponseError as error:
        assert "Wrong number of args calling Redis command from script" in str(error), error
    else:
        raise AssertionError("INCR with two arguments was answered")
    library = (
        "#!lua name=foreign\n"
        "redis.register_function('twice', function(keys, args) return args[1] * 2 end)"
    )
    assert client.function_load(library, replace=True) == b"foreign"
    assert client.fcall("twice", 0, 21) == 42
    dumped = client.function_dump()
    client.function_flush()
    client.function_restore(dumped)
    assert client.fcall("twice", 0, 4) == 8


def connection(client):
    pipeline = client.pipeline(transaction=False)
    for number in range(500):
        pipeline.set(f"p:{number}", number).get(f"p:{number}")
    replies = pipeline.execute()
    assert replies[1::2] == [str(number).encode() for number in range(500)]
    assert client.client_setname("foreign") is True
    assert client.client_getname() in ("foreign", b"foreign")
    assert any(entry["name"] == "foreign" for entry in client.client_list())
    assert client.config_get("appendfsync")["appendfsync"] == "everysec"
    info = client.info()
    assert info["db0"]["keys"] == client.dbsize() > 0
    assert info["role"] == "master"
    assert client.command_count() > 50
    assert client.flushdb() is True
    assert client.dbsize() == 0


def messages(client, make_client):
    pubsub = client.pubsub(ignore_subscribe_messages=True)
    pubsub.subscribe("news")
    pubsub.psubscribe("ne*")
    # the confirmations are read first
    wait_for(pubsub, lambda: pubsub.subscribed and client.pubsub_numpat() == 1)
    publisher = make_client()
    assert publisher.publish("news", "hello") == 2
    heard = [next_message(pubsub), next_message(pubsub)]
    assert [message["type"] for message in heard] == ["message", "pmessage"]
    assert all(message["data"] == b"hello" for message in heard)
    assert heard[1]["pattern"] == b"ne*"
    assert publisher.pubsub_numsub("news") == [(b"news", 1)]
    assert publisher.pubsub_channels() == [b"news"]
    assert publisher.config_set("notify-keyspace-events", "KEA") is True
    pubsub.psubscribe("__key*@0__:*")
    wait_for(pubsub, lambda: client.pubsub_numpat() == 2)
    assert publisher.set("noted", "v") is True
    heard = {next_message(pubsub)["channel"], next_message(pubsub)["channel"]}
    assert heard == {b"__keyspace@0__:noted", b"__keyevent@0__:set"}
    assert publisher.config_set("notify-keyspace-events", "") is True
    pubsub.unsubscribe()
    pubsub.punsubscribe()
    wait_for(pubsub, lambda: not pubsub.subscribed)
    pubsub.close()
    publisher.close()


def next_message(pubsub):
    for _ in range(LOOKS_MAX):
        message = pubsub.get_message(timeout=1)
        if message is not None:
            return message
    raise AssertionError("no message came")


def wait_for(pubsub, is_done):
    for _ in range(LOOKS_MAX):
        if is_done():
            return
        pubsub.get_message(timeout=0.1)
    raise AssertionError("the subscriptions did not come to what was asked")


def check_with_redis_py(name, make_client):
    client = make_client()
    for part in (strings, bits, keys, errors, transactions, scripts, connection):
        part(client)
    messages(client, make_client)
    client.close()
    print(f"redis-py {redis.__version__}, {name}: ok", flush=True)


def run_benchmark(where, words):
    command = ["redis-benchmark", "-q", *where, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=BENCHMARK_S_MAX)
    output = done.stdout + done.stderr
    if done.returncode != 0 or "rror" in output or "requests per second" not in output:
        raise AssertionError(f"{' '.join(command)}: code {done.returncode}\n{output}")
    print(f"{' '.join(command)}: ok", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--server", required=True, help="the server's binary")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cellar-foreign-") as directory:
        port = process.free_port()
        server = process.Server(args.server, directory, [], port)
        path = server.socket_path
        try:
            server.start()
            server.wait_ready()
            # redis-py 7 speaks RESP3 over TCP only: it wants a host's name for its notifications.
            check_with_redis_py("unix socket, RESP2", lambda: redis.Redis(unix_socket_path=path))
            check_with_redis_py("TCP, RESP2", lambda: redis.Redis(port=port, protocol=2))
            check_with_redis_py("TCP, RESP3", lambda: redis.Redis(port=port, protocol=3))
            for words in BENCHMARKS:
                run_benchmark(("-s", path), words)
                run_benchmark(("-p", str(port)), words)
            server.terminate()
            code = server.wait()
            assert code == 0, f"exit code {code} after SIGTERM"
        finally:
            server.end()
    print("foreign clients: ok")


if __name__ == "__main__":
    main()
