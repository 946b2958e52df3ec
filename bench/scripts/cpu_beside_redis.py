#!/usr/bin/env python3
"""Server CPU per GET and per SET, beside stock redis-server's in the same run.

    bench/scripts/cpu_beside_redis.py --server target/release/cellar

Each server runs pinned to core 0, redis-benchmark to core 1, over a unix socket. CPU is what the
kernel charged to all threads of the server's process, user and system, by the number of requests.
The servers take turns, so that a machine that slows down slows both; the median of the turns is
printed, as a Markdown table. Values fit in DRAM and were read before GET is measured. Stock Redis
keeps nothing on disk, which cellar at its default does; `--redis-option=--appendonly
--redis-option=yes` makes Redis keep its log too.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "server", "tests"))

from wire import process, resp, usage  # noqa: E402

SERVER_CORE, CLIENT_CORE = 0, 1
PIPELINES = (1, 32)
COMMANDS = ("set", "get")
BENCHMARK_S_MAX = 600


def benchmark(server, command, pipeline, args):
    """CPU microseconds of the server per request."""
    count = args.requests * (8 if pipeline > 1 else 1)
    words = [
        "redis-benchmark", "-q", "-s", server.socket_path, "-t", command, "-n", str(count),
        "-c", "50", "-P", str(pipeline), "-d", str(args.value_bytes), "-r", str(args.keys),
    ]  # fmt: skip
    before = usage.cpu_s(server.pid)
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=BENCHMARK_S_MAX,
        preexec_fn=lambda: os.sched_setaffinity(0, {CLIENT_CORE}),
    )  # fmt: skip
    if done.returncode != 0 or "rror" in done.stdout + done.stderr:
        raise SystemExit(f"{' '.join(words)}: {done.stdout}{done.stderr}")
    return (usage.cpu_s(server.pid) - before) * 1e6 / count


def fill(server, args):
    """Every key that the benchmark may ask for, under redis-benchmark's own names."""
    client = resp.Client(server.socket_path)
    value = b"x" * args.value_bytes
    for start in range(0, args.keys, 1000):
        numbers = range(start, min(start + 1000, args.keys))
        replies = client.pipeline([("SET", f"key:{number:012d}", value) for number in numbers])
        assert all(reply == "OK" for reply in replies), replies[0]
    client.close()


def warm(server, args):
    """Reads every key, twice so that a cache that wants to see a key again has seen it."""
    client = resp.Client(server.socket_path)
    for start in [*range(0, args.keys, 1000)] * 2:
        numbers = range(start, min(start + 1000, args.keys))
        replies = client.pipeline([("GET", f"key:{number:012d}") for number in numbers])
        assert all(len(reply) == args.value_bytes for reply in replies), replies[0]
    client.close()


def start(binary, directory, options):
    server = process.Server(binary, directory, options)
    own = os.sched_getaffinity(0)
    # The child inherits the core; this process takes its own back.
    os.sched_setaffinity(0, {SERVER_CORE})
    server.start()
    os.sched_setaffinity(0, own)
    server.wait_ready()
    return server


def print_table(samples, args):
    print(f"\nvalues of {args.value_bytes} bytes, {args.keys} keys, median of {args.turns} turns\n")
    print("| | redis-server, us | cellar, us | ratio |")
    print("|---|---|---|---|")
    for pipeline in PIPELINES:
        for command in COMMANDS:
            redis = statistics.median(samples["redis", command, pipeline])
            cellar = statistics.median(samples["cellar", command, pipeline])
            name = f"CPU per {command.upper()}, -P {pipeline}"
            print(f"| {name} | {redis:.2f} | {cellar:.2f} | {cellar / redis:.2f} |")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--server", required=True, help="the server's binary")
    parser.add_argument("--redis", default="redis-server")
    parser.add_argument("--requests", type=int, default=200_000, help="at -P 1; 8 times at -P 32")
    parser.add_argument("--keys", type=int, default=20_000)
    parser.add_argument("--value-bytes", type=int, default=1024)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--option", action="append", default=[], metavar="WORD",
                        help="a further word for cellar's command line; repeatable")
    parser.add_argument("--redis-option", action="append", default=["--save", ""], metavar="WORD",
                        help="a further word for redis-server's command line; repeatable")
    args = parser.parse_args()  # fmt: skip
    redis_binary = subprocess.run(
        ["which", args.redis], capture_output=True, text=True, check=True
    ).stdout.strip()
    samples = {}
    with tempfile.TemporaryDirectory(prefix="cellar-cpu-") as directory:
        folders = [os.path.join(directory, name) for name in ("redis", "cellar")]
        for folder in folders:
            os.mkdir(folder)
        servers = {}
        try:
            servers["redis"] = start(redis_binary, folders[0], args.redis_option)
            servers["cellar"] = start(args.server, folders[1], ["--workers", "1", *args.option])
            for server in servers.values():
                fill(server, args)
            for _ in range(args.turns):
                for pipeline in PIPELINES:
                    for command in COMMANDS:
                        for name, server in servers.items():
                            if command == "get":
                                warm(server, args)
                            micros = benchmark(server, command, pipeline, args)
                            samples.setdefault((name, command, pipeline), []).append(micros)
                            print(f"{name} {command} -P {pipeline}: {micros:.2f} us", flush=True)
        finally:
            for server in servers.values():
                server.end()
    print_table(samples, args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
