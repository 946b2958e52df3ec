#!/usr/bin/env python3
"""Overwrites a store at random with many times its size, reading back what it wrote.

    load.py  --keys 676000                          # 80 % of a device of 2 GB
    churn.py --keys 676000 --factor 10 --versions versions.bin

Every overwrite gives the key's value a new version; one read for every four writes checks a random
key against its newest version, and at the end every key is read. The versions are written to a
file, so that `verify.py --versions` can check the store again after a restart.
"""

import argparse
import array
import mmap
import os
import random
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from soak import content, lane, verify  # noqa: E402

READS_EVERY = 4
MEAN_BYTES = (content.BYTES_MIN + content.BYTES_MAX) // 2


def churn(address, numbers, depth, overwrite_count, versions, seed):
    """Overwrites keys of the range; `versions` is shared memory, this lane's part its own."""
    rng = random.Random(seed + numbers.start)
    connection = lane.Lane(address)
    meter = lane.Meter(f"churn {numbers.start}..{numbers.stop}", connection)
    written = 0
    while written < overwrite_count:
        requests, replies, names = [], [], []
        for index in range(min(depth, overwrite_count - written)):
            number = rng.randrange(numbers.start, numbers.stop)
            versions[number] += 1
            requests.append(content.set_request(number, versions[number]))
            replies.append(b"+OK\r\n")
            names.append(f"SET {number} version {versions[number]}")
            if index % READS_EVERY == 0:
                number = rng.randrange(numbers.start, numbers.stop)
                requests.append(content.get_request(number))
                replies.append(content.get_reply(number, versions[number]))
                names.append(f"GET {number} version {versions[number]}")
            written += 1
        connection.submit(requests, replies, names)
        meter.add(len(requests), sum(map(len, requests)) + sum(map(len, replies)))
    connection.finish()
    print(meter.line(), flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    lane.add_arguments(parser)
    parser.add_argument("--factor", type=float, default=10, help="times the store's size to write")
    parser.add_argument("--versions", help="where to leave the versions; read first if it is there")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    memory = mmap.mmap(-1, args.keys * array.array("I").itemsize)
    versions = memoryview(memory).cast("I")
    if args.versions and os.path.exists(args.versions):
        versions[:] = verify.read_versions(args.versions, args.keys)
    parts = lane.shares(0, args.keys, args.processes)
    started = time.monotonic()
    tasks = [
        (args.address, part, args.depth, int(len(part) * args.factor), versions, args.seed)
        for part in parts
    ]
    churned = lane.run_lanes(churn, tasks)
    elapsed = time.monotonic() - started
    if args.versions:
        with open(args.versions, "wb") as file:
            file.write(versions)
    if not churned:
        return 1
    count = int(args.keys * args.factor)
    print(f"overwrote {count} values, about {count * MEAN_BYTES / 1e6:.0f} MB, in {elapsed:.1f} s")
    tasks = [(args.address, part, len(part), args.depth, versions) for part in parts]
    if not lane.run_lanes(verify.verify, tasks):
        return 1
    print(f"verified {args.keys} keys: all right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
