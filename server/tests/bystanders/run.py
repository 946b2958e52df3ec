#!/usr/bin/env python3
"""Bystanders: how long other clients wait while one works on a collection of a million elements.

A server with one worker; one client runs the commands of the list below, another process sends
PING and GET of a small key in turn and notes how long each took. The same is measured while
nothing runs: what the machine itself does. Ends with 1 where a bystander waited longer than the
bound and longer than ten times the idle machine. Only a release build says anything.

    run.py --server target/release/cellar [--count 1000000] [name ...]
"""

import argparse
import multiprocessing
import os
import socket
import subprocess
import sys
import tempfile
import time

BOUND_MS = 10.0
IDLE_SECONDS = 3.0


class Client:
    """Speaks as much of the protocol as is needed here."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb", 1 << 20)

    def send(self, *words):
        self.socket.sendall(encode(words))

    def call(self, *words):
        self.send(*words)
        return self.read()

    def read(self):
        line = self.file.readline()
        if not line:
            raise EOFError
        kind, rest = line[:1], line[1:-2]
        if kind in b"+:":
            return rest
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b"$":
            length = int(rest)
            return None if length < 0 else self.file.read(length + 2)[:-2]
        if kind == b"*":
            last = None
            for _ in range(int(rest)):
                last = self.read()
            return [rest, last]
        raise RuntimeError(f"unknown reply {line!r}")


def encode(words):
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        word = word if isinstance(word, bytes) else str(word).encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(word), word))
    return b"".join(parts)


def watch(port, pipe):
    """Sends PING and GET in turn until told to stop; then what they took, in milliseconds."""
    client, taken, turn = Client(port), [], 0
    requests = [encode(["PING"]), encode(["GET", "small"])]
    pipe.send("ready")
    while not pipe.poll():
        before = time.perf_counter()
        client.socket.sendall(requests[turn])
        client.read()
        taken.append(((time.perf_counter() - before) * 1e3, turn))
        turn = 1 - turn
        time.sleep(0.0002)
    pipe.send(taken)


def beside(port, work):
    """Runs `work` beside a bystander: seconds, and the bystander's milliseconds."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.Process(target=watch, args=(port, there))
    process.start()
    here.recv()
    before = time.perf_counter()
    work()
    seconds = time.perf_counter() - before
    time.sleep(0.05)
    here.send("stop")
    taken = here.recv()
    process.join()
    return seconds, taken


def percentile(taken, share):
    taken = sorted(taken)
    return taken[min(len(taken) - 1, int(len(taken) * share))]


def fill(client, name, count):
    """Collections of `count` elements, each by one command: h, s, z, l and their likes."""
    numbers = range(count)
    if name[0] == "h":
        words = [w for n in numbers for w in (f"field:{n:07}", f"value:{n:016}")]
        client.call("HSET", name, *words)
    elif name[0] == "s":
        client.call("SADD", name, *(f"member:{n:07}" for n in numbers))
    elif name[0] == "z":
        words = [w for n in numbers for w in (n * 7 % count, f"member:{n:07}")]
        client.call("ZADD", name, *words)
    else:
        client.call("RPUSH", name, *(f"element:{n % 1000:07}" for n in numbers))


SCRIPT = "local n = 0 for i = 1, 20000000 do n = n + i end return n"
CALLS = "for i = 1, 20000 do redis.call('HSET', 'script:h', 'f' .. i, i) end return 1"


def works(count):
    """Name, what has to be there, and the command."""
    half = count // 2
    return [
        ("hgetall", ["h"], ["HGETALL", "h"]),
        ("hkeys", ["h"], ["HKEYS", "h"]),
        ("smembers", ["s"], ["SMEMBERS", "s"]),
        ("zrange", ["z"], ["ZRANGE", "z", "0", "-1", "WITHSCORES"]),
        ("lrange", ["l"], ["LRANGE", "l", "0", "-1"]),
        ("lpos", ["l"], ["LPOS", "l", "nothing"]),
        ("sort", ["l"], ["SORT", "l", "ALPHA", "LIMIT", "0", "10"]),
        ("sort-all", ["s"], ["SORT", "s", "ALPHA"]),
        ("sort-store", ["s"], ["SORT", "s", "ALPHA", "STORE", "sorted"]),
        ("sintercard", ["s", "s2"], ["SINTERCARD", "2", "s", "s2"]),
        ("sunion", ["s", "s2"], ["SUNION", "s", "s2"]),
        ("sunionstore", ["s", "s2"], ["SUNIONSTORE", "s3", "s", "s2"]),
        ("sdiffstore", ["s", "s2"], ["SDIFFSTORE", "s4", "s", "s2"]),
        ("zunionstore", ["z", "z2"], ["ZUNIONSTORE", "z3", "2", "z", "z2"]),
        ("zinterstore", ["z", "z2"], ["ZINTERSTORE", "z4", "2", "z", "z2"]),
        ("zrangestore", ["z"], ["ZRANGESTORE", "z5", "z", "0", "-1"]),
        ("hrandfield", ["h"], ["HRANDFIELD", "h", str(half)]),
        ("srandmember", ["s"], ["SRANDMEMBER", "s", str(-half)]),
        ("copy", ["h"], ["COPY", "h", "h2"]),
        ("rename", ["h2"], ["RENAME", "h2", "h3"]),
        ("linsert", ["l"], ["LINSERT", "l", "BEFORE", "nothing", "x"]),
        ("lrem", ["l"], ["LREM", "l", "0", "element:0000007"]),
        ("ltrim", ["l"], ["LTRIM", "l", "1", str(half)]),
        ("lpop", ["l"], ["LPOP", "l", str(half // 2)]),
        ("spop", ["s4"], ["SPOP", "s2", str(half)]),
        ("zremrangebyrank", ["z2"], ["ZREMRANGEBYRANK", "z2", "0", str(half)]),
        ("zpopmin", ["z4"], ["ZPOPMIN", "z4", str(half)]),
        ("script-loop", [], ["EVAL", SCRIPT, "0"]),
        ("script-calls", [], ["EVAL", CALLS, "1", "script:h"]),
        ("set-over", ["h3"], ["SET", "h3", "x"]),
        ("del", ["s3"], ["DEL", "s3"]),
        ("expire", ["z3"], ["PEXPIRE", "z3", "1"]),
        ("unlink", ["z"], ["UNLINK", "z"]),
        ("flushall", ["h"], ["FLUSHALL"]),
    ]


def resident_kib(pid):
    with open(f"/proc/{pid}/status") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    return 0


def slow_reader(port, pid):
    """HGETALL to a client that takes 64 KiB at a time: how much the server grows meanwhile."""
    client = Client(port)
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    before, peak = resident_kib(pid), 0
    client.send("HGETALL", "h")
    received = 0
    for step in range(400):
        received += len(client.socket.recv(65536))
        time.sleep(0.002)
        peak = max(peak, resident_kib(pid))
    client.socket.close()
    print(f"slow reader: {received >> 10} KiB read, server grew by {peak - before} KiB")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", required=True)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--maxmemory", default="2gb")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        arguments = ["--dir", directory, "--devices", "store.cellar 8gb", "--workers", "1"]
        arguments += ["--port", str(port), "--maxmemory", options.maxmemory]
        server = subprocess.Popen([options.server, *arguments], stdout=subprocess.DEVNULL)
        try:
            sys.exit(measure(port, server.pid, options))
        finally:
            server.terminate()
            server.wait()


def connect(port):
    for _ in range(200):
        try:
            client = Client(port)
            client.call("PING")
            return client
        except (OSError, RuntimeError):
            time.sleep(0.1)
    raise RuntimeError("the server does not answer")


def measure(port, pid, options):
    client = connect(port)
    while True:
        try:
            client.call("SET", "small", "x" * 100)
            break
        except RuntimeError:
            time.sleep(0.1)
    _, idle = beside(port, lambda: time.sleep(IDLE_SECONDS))
    idle_max = report("idle", 0, idle)
    failed = 0
    for name, needed, command in works(options.count):
        if options.names and name not in options.names:
            continue
        for key in needed:
            if client.call("EXISTS", key) == b"0":
                seconds, taken = beside(port, lambda: fill(client, key, options.count))
                report(f"fill {key}", seconds, taken)
        if name == "hgetall":
            slow_reader(port, pid)
        work = lambda: run(client, command)
        seconds, taken = beside(port, work)
        if report(name, seconds, taken) > max(BOUND_MS, 10 * idle_max):
            failed = 1
    _, idle = beside(port, lambda: time.sleep(IDLE_SECONDS))
    report("idle", 0, idle)
    return failed


def run(client, command):
    try:
        client.call(*command)
    except RuntimeError as error:
        print(f"   {command[0]}: {error}")
    if command[0] in ("DEL", "UNLINK", "SET", "PEXPIRE", "FLUSHALL"):
        # its pages are swept now
        time.sleep(1.0)


def report(name, seconds, taken):
    times = [ms for ms, _ in taken]
    pings, gets = ([ms for ms, turn in taken if turn == which] for which in (0, 1))
    print(
        f"{name:16} {seconds:8.2f} s  n {len(times):6}  p99 {percentile(times, 0.99):6.2f}"
        f"  p99.9 {percentile(times, 0.999):6.2f}  max PING {max(pings):6.2f}"
        f"  max GET {max(gets, default=0):6.2f} ms",
        flush=True,
    )
    return max(times)


if __name__ == "__main__":
    main()
