#!/usr/bin/env python3
"""Reads keys that `load.py` or `churn.py` wrote and compares every byte.

    verify.py --address 127.0.0.1:6379 --keys 4000000 [--sample 100000] [--versions FILE]

Keys are read in an order that jumps over the whole store, so that most reads miss every cache.
Ends with exit code 1 and the first key that is wrong.
"""

import argparse
import array
import math
import os
import random
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from soak import content, lane  # noqa: E402


def jumping_order(numbers, count, seed):
    """`count` numbers of the range, each at most once, far from one to the next."""
    size = len(numbers)
    stride = max(1, int(size * 0.618))
    while math.gcd(stride, size) != 1:
        stride += 1
    position = random.Random(seed).randrange(size) if size else 0
    for _ in range(min(count, size)):
        yield numbers[position]
        position = (position + stride) % size


def verify(address, numbers, count, depth, version_of):
    """Checks `count` keys of the range; `version_of` is a number or an array by key number."""
    connection = lane.Lane(address)
    meter = lane.Meter(f"verify {numbers.start}..{numbers.stop}", connection)
    batch = []
    for number in jumping_order(numbers, count, numbers.start):
        batch.append(number)
        if len(batch) == depth:
            submit(connection, meter, batch, version_of)
            batch = []
    submit(connection, meter, batch, version_of)
    connection.finish()
    print(meter.line(), flush=True)


def submit(connection, meter, batch, version_of):
    if not batch:
        return
    fixed = isinstance(version_of, int)
    versions = [version_of if fixed else version_of[number] for number in batch]
    replies = [content.get_reply(n, v) for n, v in zip(batch, versions)]
    names = [f"GET {content.key(n).decode()} version {v}" for n, v in zip(batch, versions)]
    connection.submit([content.get_request(number) for number in batch], replies, names)
    meter.add(len(batch), sum(map(len, replies)))


def read_versions(path, count):
    """The versions that churn.py left: a 32-bit number per key."""
    versions = array.array("I")
    with open(path, "rb") as file:
        versions.fromfile(file, count)
    return versions


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    lane.add_arguments(parser)
    parser.add_argument("--version", type=int, default=0, help="the version every key has")
    parser.add_argument("--versions", help="a file that churn.py wrote, instead of --version")
    parser.add_argument("--sample", type=int, help="check so many keys; default: all")
    args = parser.parse_args()
    version_of = read_versions(args.versions, args.keys) if args.versions else args.version
    count = min(args.sample or args.keys, args.keys)
    started = time.monotonic()
    tasks = [
        (args.address, part, -(-count // args.processes), args.depth, version_of)
        for part in lane.shares(0, args.keys, args.processes)
    ]
    if not lane.run_lanes(verify, tasks):
        return 1
    elapsed = time.monotonic() - started
    print(f"verified {count} keys in {elapsed:.1f} s, {count / elapsed:.0f}/s: all right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
