#!/usr/bin/env python3
"""Runs Redis's own test suite, unmodified, against a server.

    run.py --server target/release/cellar                 every file, in the strict form
    run.py --server target/release/cellar --jobs 4        the same, four files at a time
    run.py --server target/release/cellar --form normal unit/type/hash unit/expire
    run.py --redis redis-server                           the same against a stock server

The suite comes from Debian's source package `redis`, into target/redis-suite; `tclsh` is needed.
Each file has a server of its own. Ends with exit code 1 where a test fails that the list of
differences does not name, or passes that it does name.
"""

import argparse
import concurrent.futures
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from redis_suite import differences, outcome, source  # noqa: E402
from wire import process  # noqa: E402

FILES = tuple(
    f"unit/{name}"
    for name in (
        "type/string type/incr type/list type/list-2 type/list-3 type/set type/zset type/hash "
        "type/stream type/stream-cgroups keyspace scan expire sort multi protocol pubsub "
        "pubsubshard scripting functions geo hyperloglog bitops bitfield dump introspection "
        "introspection-2 info quit other lazyfree slowlog tracking pause querybuf networking "
        "limits violations latency-monitor maxmemory"
    ).split()
)
DENIED_STRICT = (
    "-slow -needs:debug -needs:repl -needs:save -needs:config-maxmemory -needs:config-resetstat "
    "-needs:reset -needs:pfdebug -needs:latency -large-memory"
)
FORMS = {
    "strict": (
        "--durable", "--singledb", "--ignore-encoding", "--ignore-digest",
        "--tags", DENIED_STRICT,
    ),
    # there are no replicas, and DEBUG DIGEST would read the whole store
    "normal": ("--durable", "--ignore-digest", "--tags", "-slow -needs:repl"),
}  # fmt: skip
# The longest file takes a minute on two cores beside other work.
FILE_S_MAX = 300
DETAIL_LINES_SHOWN = 6
# What takes longest begins first, so that several jobs end at about the same time.
LONGEST = ("scripting", "type/list", "type/zset", "type/set", "hyperloglog", "bitops", "expire")
# The harness talks to its own processes on one of so many ports below its base port, and wants the
# ports 10,000 above them free as well.
PORTS = 32
FIRST_PORT = 11_000
LAST_PORT = 22_000


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", default="target/release/cellar", help="the binary under test")
    parser.add_argument("--redis", help="a redis-server to run against instead")
    parser.add_argument("--form", choices=FORMS, default="strict")
    parser.add_argument("--jobs", type=int, default=1, help="files at a time")
    parser.add_argument("--counts", help="a file to write the counts to, as JSON")
    parser.add_argument("--suite", help="the suite's directory; fetched otherwise")
    parser.add_argument("files", nargs="*", help="files of the suite, such as unit/type/hash")
    return parser.parse_args()


def start(options, directory):
    port = process.free_port()
    if options.redis:
        server = process.Stock(options.redis, directory, port)
    else:
        # The tests lean on one thread: what one client has sent is done before what another sends.
        words = ("--devices", "store.cellar 1gb", "--workers", "1")
        server = process.Server(options.server, directory, words, port)
    server.start()
    server.wait_ready()
    return server, port


BASES = itertools.count(os.getpid() * 64)


def base_port():
    """A base port that no other file of this run has, and other runs on this machine hardly."""
    ranges = (LAST_PORT - FIRST_PORT) // PORTS
    return FIRST_PORT + PORTS * (1 + next(BASES) % (ranges - 1))


def run_file(options, suite, name, here):
    """What a file came to against a server of its own."""
    skipped = [entry.test for entry in here if entry.kind == "skip"]
    words = [entry.test for entry in here if entry.kind == "option"]
    with tempfile.TemporaryDirectory(prefix="redis-suite-") as directory:
        skip_path = os.path.join(directory, "skip")
        with open(skip_path, "w") as file:
            file.writelines(f"{test}\n" for test in skipped)
        server, port = start(options, directory)
        command = [
            "tclsh", "tests/test_helper.tcl", "--host", "127.0.0.1", "--port", str(port),
            "--baseport", str(base_port()),
            "--single", name, "--skipfile", skip_path, *FORMS[options.form], *words,
        ]  # fmt: skip
        try:
            return outcome.read(run_harness(command, suite))
        finally:
            server.end()


def run_harness(command, suite):
    """What the harness prints; it and its own processes are ended where they take too long."""
    harness = subprocess.Popen(
        command,
        cwd=suite,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    late = ""
    try:
        printed, _ = harness.communicate(timeout=FILE_S_MAX)
    except subprocess.TimeoutExpired:
        os.killpg(harness.pid, signal.SIGKILL)
        printed, _ = harness.communicate()
        late = f"\n[timeout]: not done within {FILE_S_MAX} s\n"
    return printed.decode(errors="replace") + late


def judge(name, found, listed):
    """Lines on what is not as the list says."""
    expected = {entry.test for entry in listed if entry.kind == "differs"}
    for test, detail in found.failed.items():
        if test not in expected:
            shown = "\n".join(detail.splitlines()[:DETAIL_LINES_SHOWN])
            yield f"  failed: {name}: {test}{shown}"
    for test in expected & set(found.passed):
        yield f"  passed: {name}: {test}: strike it from the list"


def line(name, found):
    counts = (found.executed, len(found.passed), found.failure_count, len(found.left_out))
    return counts, "{:28}{:10}{:8}{:8}{:10}".format(name, *counts)


def main():
    options = parse()
    listed = [] if options.redis else differences.read()
    listed = [entry for entry in listed if entry.form in ("*", options.form)]
    directory = os.path.abspath("target/redis-suite")
    os.makedirs(directory, exist_ok=True)
    suite = options.suite or source.fetch(directory)
    names = options.files or sorted(FILES, key=lambda name: name[5:] not in LONGEST)
    complaints, counts = [], {}
    total = outcome.Outcome()
    print(f"{'file':28}{'executed':>10}{'passed':>8}{'failed':>8}{'left out':>10}", flush=True)

    def run(name):
        here = [entry for entry in listed if entry.file in ("*", name)]
        return name, here, run_file(options, suite, name, here)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(run, name) for name in names]):
            name, here, found = done.result()
            counts[name], text = line(name, found)
            print(text, flush=True)
            complaints += judge(name, found, here)
            total.passed += found.passed
            total.failure_count += found.failure_count
            total.left_out += found.left_out
    print(line("all", total)[1])
    print("\n".join(complaints))
    if options.counts:
        with open(options.counts, "w") as file:
            json.dump(counts, file, indent=1, sort_keys=True)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
