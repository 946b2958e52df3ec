#!/usr/bin/env python3
"""Runs the test suites of clients and of applications against a server.

    suites.py --server target/release/cellar redis-py-2 fakeredis
    suites.py --redis redis-server redis-py-2               the same against a stock server

Each suite comes from the source distribution of a Python package, unmodified, into target/clients,
and runs in a virtual environment there. Ends with exit code 1 where a test fails that the list
`suites.txt` does not name, or passes that it does name.
"""

import argparse
import dataclasses
import glob
import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from wire import process  # noqa: E402

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "suites.txt")
DIRECTORY = os.path.join("target", "clients")
# The longest suite takes some minutes on two cores beside other work.
SUITE_S_MAX = 1800
TEST_S_MAX = 300
DETAIL_BYTES_SHOWN = 300


@dataclasses.dataclass(frozen=True)
class Suite:
    """What a package's tests need. `port`: the one that they have written into them."""

    package: str
    requires: tuple
    tests: tuple
    port: int


# Without what needs a cluster, sentinels, TLS or modules.
REDIS_PY = (
    "-m", "not onlycluster and not redismod and not ssl and not replica",
    "tests/test_commands.py", "tests/test_pipeline.py", "tests/test_pubsub.py",
    "tests/test_scripting.py", "tests/test_lock.py", "tests/test_monitor.py",
    "tests/test_function.py", "tests/test_connection_pool.py", "tests/test_encoding.py",
    "tests/test_keyspace_notifications.py", "tests/test_cache.py", "tests/test_hash.py",
    "tests/test_command_parser.py",
    "tests/test_asyncio/test_commands.py", "tests/test_asyncio/test_pipeline.py",
    "tests/test_asyncio/test_pubsub.py", "tests/test_asyncio/test_lock.py",
)  # fmt: skip
REDIS_PY_REQUIRES = (
    "pytest-asyncio", "packaging", "numpy", "xxhash", "uvloop", "opentelemetry-api",
    "opentelemetry-sdk", "pybreaker", "aiohttp", "cryptography", "pyjwt", "redis-entraid",
)  # fmt: skip


def redis_py(protocol):
    # a few tests connect to the default port whatever they are told
    words = ("--protocol", str(protocol), "--redis-url", "redis://localhost:{port}/0")
    return Suite("redis==8.1.0", REDIS_PY_REQUIRES, (*words, *REDIS_PY), port=6379)


SUITES = {
    "redis-py-2": redis_py(2),
    "redis-py-3": redis_py(3),
    "fakeredis": Suite(
        "fakeredis==2.41.0",
        ("pytest-asyncio", "hypothesis", "valkey", "lupa", "jsonpath-ng", "pyprobables"),
        ("test/test_hypothesis",),
        port=6390,
    ),
    "rq": Suite(
        "rq==3.0.0",
        ("psutil", "sentry-sdk", "cryptography", "responses", "httpx"),
        ("tests",),
        port=6379,
    ),
}


def listed(name):
    """The tests that are expected to differ; a line that is none is an error that names it."""
    found = set()
    with open(LIST) as file:
        for number, line in enumerate(file, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            words = [word.strip() for word in line.split("|")]
            if len(words) != 3 or not all(words) or not (set(words[0].split()) <= set(SUITES)):
                raise ValueError(f"{LIST}:{number}: not `suites | test | reason`")
            if name in words[0].split():
                found.add(words[1])
    return found


def unpack(suite, python):
    """The directory of the package's sources, fetched unless they are there."""
    name, version = suite.package.split("==")
    root = os.path.join(DIRECTORY, f"{name}-{version}")
    if not os.path.isdir(root):
        words = ("download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", DIRECTORY)
        subprocess.run([python, "-m", "pip", *words, suite.package], check=True)
        archive = glob.glob(os.path.join(DIRECTORY, f"{name}-{version}.tar.gz"))[0]
        with tarfile.open(archive) as sources:
            sources.extractall(DIRECTORY, filter="data")
    return root


def environment(name, suite):
    """The interpreter of an environment that has the package and what its tests need."""
    root = os.path.abspath(os.path.join(DIRECTORY, f"venv-{suite.package.split('==')[0]}"))
    python = os.path.join(root, "bin", "python")
    if not os.path.exists(python):
        venv.create(root, with_pip=True)
        words = ("install", "--quiet", "--disable-pip-version-check")
        requires = ("pytest", "pytest-timeout", *suite.requires)
        subprocess.run([python, "-m", "pip", *words, suite.package, *requires], check=True)
    return python


def run(options, name, suite):
    """Lines on what is not as the list says."""
    os.makedirs(DIRECTORY, exist_ok=True)
    python = environment(name, suite)
    root = unpack(suite, python)
    with tempfile.TemporaryDirectory(prefix="clients-") as directory:
        if options.redis:
            server = process.Stock(options.redis, directory, suite.port)
        else:
            words = ("--devices", "store.cellar 2gb")
            server = process.Server(options.server, directory, words, suite.port)
        server.start()
        server.wait_ready()
        report = os.path.join(directory, "report.xml")
        command = [
            python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short",
            "--timeout", str(TEST_S_MAX), f"--junit-xml={report}",
            *(word.format(port=suite.port) for word in suite.tests),
        ]  # fmt: skip
        log = os.path.join(DIRECTORY, f"{name}.log")
        try:
            # tests start the programs that their package installs
            path = os.path.dirname(python) + os.pathsep + os.environ["PATH"]
            with open(log, "w") as file:
                subprocess.run(
                    command,
                    cwd=root,
                    env={**os.environ, "PATH": path},
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    timeout=SUITE_S_MAX,
                )
            found = outcomes(report)
        finally:
            server.end()
    return judge(name, found, set() if options.redis else listed(name))


def outcomes(report):
    """Tests by what they came to, each failure with its message."""
    passed, failed, skipped = set(), {}, set()
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        test = f"{case.get('classname')}::{case.get('name')}"
        bad = [child for child in case if child.tag in ("failure", "error")]
        if bad:
            failed[test] = (bad[0].get("message") or "")[:DETAIL_BYTES_SHOWN]
        elif any(child.tag == "skipped" for child in case):
            skipped.add(test)
        else:
            passed.add(test)
    return passed - set(failed), failed, skipped


def judge(name, found, expected):
    passed, failed, skipped = found
    executed = len(passed) + len(failed)
    print(
        f"{name:14}{executed:>10}{len(passed):>8}{len(failed):>8}{len(skipped):>8}",
        flush=True,
    )
    if not executed:
        yield f"  {name}: no test ran: see {DIRECTORY}/{name}.log"
    for test in sorted(set(failed) - expected):
        yield f"  failed: {name}: {test}: {failed[test]}"
    for test in sorted(expected & passed):
        yield f"  passed: {name}: {test}: strike it from the list"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--server", help="Cellar's binary")
    which.add_argument("--redis", help="a stock redis-server in its place")
    parser.add_argument("suites", nargs="*", choices=[*SUITES, []], help="all unless named")
    options = parser.parse_args()
    print(f"{'suite':14}{'executed':>10}{'passed':>8}{'failed':>8}{'skipped':>8}", flush=True)
    complaints = []
    for name in options.suites or SUITES:
        complaints += run(options, name, SUITES[name])
    print("\n".join(complaints))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
