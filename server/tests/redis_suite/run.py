#!/usr/bin/env python3
"""Runs Redis's own test suite, unmodified, against a server.

    run.py --server target/release/cellar                 every file, in the strict form
    run.py --server target/release/cellar --form normal unit/type/hash unit/expire
    run.py --redis redis-server                           the same against a stock server

The suite comes from Debian's source package `redis`, into target/redis-suite; `tclsh` is needed.
Each file has a server of its own. Ends with exit code 1 where a test fails that the list of
differences does not name, or passes that it does name.
"""

import argparse
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
    "normal": ("--durable", "--tags", "-slow"),
}  # fmt: skip
# The longest file takes a minute on two cores beside other work.
FILE_S_MAX = 300
DETAIL_LINES_SHOWN = 6
# The harness talks to its own processes on one of so many ports below its base port, and wants the
# ports 10,000 above them free as well.
PORTS = 32
FIRST_PORT = 20_000
LAST_PORT = 50_000


class Stock(process.Server):
    """A redis-server, started as the suite expects to find one."""

    def __init__(self, binary, directory, port):
        super().__init__(binary, directory, (), port)
        self._command = [
            binary, "--dir", directory, "--port", str(port), "--unixsocket", self.socket_path,
            "--save", "", "--enable-debug-command", "yes",
        ]  # fmt: skip


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", default="target/release/cellar", help="the binary under test")
    parser.add_argument("--redis", help="a redis-server to run against instead")
    parser.add_argument("--form", choices=FORMS, default="strict")
    parser.add_argument("--shard", default="1/1", help="i/n: every n-th file from the i-th on")
    parser.add_argument("--suite", help="the suite's directory; fetched otherwise")
    parser.add_argument("files", nargs="*", help="files of the suite, such as unit/type/hash")
    return parser.parse_args()


def start(options, directory):
    port = process.free_port()
    if options.redis:
        server = Stock(options.redis, directory, port)
    else:
        words = ("--devices", "store.cellar 1gb")
        server = process.Server(options.server, directory, words, port)
    server.start()
    server.wait_ready()
    return server, port


def base_port():
    """A base port that other runs on this machine hardly have."""
    ranges = (LAST_PORT - FIRST_PORT) // PORTS
    return FIRST_PORT + PORTS * (1 + os.getpid() % (ranges - 1))


def run_file(options, suite, name, skipped):
    """What a file came to against a server of its own."""
    with tempfile.TemporaryDirectory(prefix="redis-suite-") as directory:
        skip_path = os.path.join(directory, "skip")
        with open(skip_path, "w") as file:
            file.writelines(f"{test}\n" for test in skipped)
        server, port = start(options, directory)
        command = [
            "tclsh", "tests/test_helper.tcl", "--host", "127.0.0.1", "--port", str(port),
            "--baseport", str(base_port()),
            "--single", name, "--skipfile", skip_path, *FORMS[options.form],
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
    expected = {line.test for line in listed if line.kind == "differs" and line.file == name}
    for test, detail in found.failed.items():
        if test not in expected:
            shown = "\n".join(detail.splitlines()[:DETAIL_LINES_SHOWN])
            yield f"  failed: {name}: {test}{shown}"
    for test in expected & set(found.passed):
        yield f"  passed: {name}: {test}: strike it from the list"


def main():
    options = parse()
    listed = [] if options.redis else differences.read()
    directory = os.path.abspath("target/redis-suite")
    os.makedirs(directory, exist_ok=True)
    suite = options.suite or source.fetch(directory)
    first, step = map(int, options.shard.split("/"))
    complaints = []
    total = outcome.Outcome()
    print(f"{'file':28}{'executed':>10}{'passed':>8}{'failed':>8}{'left out':>10}", flush=True)
    for name in (options.files or FILES)[first - 1 :: step]:
        skipped = [line.test for line in listed if line.kind == "skip" and line.file in ("*", name)]
        found = run_file(options, suite, name, skipped)
        counts = (found.executed, len(found.passed), len(found.failed), len(found.left_out))
        print("{:28}{:10}{:8}{:8}{:10}".format(name, *counts), flush=True)
        complaints += judge(name, found, listed)
        total.passed += found.passed
        total.failed.update({(name, test): "" for test in found.failed})
        total.left_out += found.left_out
    counts = (total.executed, len(total.passed), len(total.failed), len(total.left_out))
    print("{:28}{:10}{:8}{:8}{:10}".format("all", *counts))
    print("\n".join(complaints))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
