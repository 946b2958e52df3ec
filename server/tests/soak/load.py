#!/usr/bin/env python3
"""Fills a running server with keys whose values follow from their number.

    load.py --address 127.0.0.1:6379 --keys 4000000

4 million keys of 1000-4000 bytes are about 10 GB. `verify.py` checks them, also after a restart.
"""

import argparse
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from soak import content, lane  # noqa: E402


def load(address, numbers, depth, version):
    connection = lane.Lane(address)
    meter = lane.Meter(f"load {numbers.start}..{numbers.stop}", connection)
    for start in range(numbers.start, numbers.stop, depth):
        batch = range(start, min(start + depth, numbers.stop))
        requests = [content.set_request(number, version) for number in batch]
        connection.submit(requests, [b"+OK\r\n"] * len(requests), [f"SET {n}" for n in batch])
        meter.add(len(requests), sum(map(len, requests)))
    connection.finish()
    print(meter.line(), flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    lane.add_arguments(parser)
    parser.add_argument("--first", type=int, default=0, help="the first key's number")
    parser.add_argument("--version", type=int, default=0, help="the version to write")
    args = parser.parse_args()
    started = time.monotonic()
    parts = lane.shares(args.first, args.keys, args.processes)
    tasks = [(args.address, part, args.depth, args.version) for part in parts]
    if not lane.run_lanes(load, tasks):
        return 1
    elapsed = time.monotonic() - started
    print(f"loaded {args.keys} keys in {elapsed:.1f} s, {args.keys / elapsed:.0f}/s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
