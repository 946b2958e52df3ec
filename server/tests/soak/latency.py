#!/usr/bin/env python3
"""Latency of GET beside a steady stream of SETs, with the cleaner at work and held, in turns.

    load.py    --address 127.0.0.1:6379 --keys 655000     # 80 % of a device of 2 GB
    latency.py --address 127.0.0.1:6379 --keys 655000 --rate 4000

Both windows see the same load in the same run. A held cleaner frees nothing, so its windows are
short: they must end before the free segments do. Ends with exit code 1 at a refused write.
"""

import argparse
import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from soak import content  # noqa: E402
from wire import resp  # noqa: E402

# SETs sent together.
BATCH = 16
HELD_S = 2.5
CLEANING_S = 6.0


class Setter(threading.Thread):
    """Overwrites random keys at a rate; counts what was refused."""

    def __init__(self, address, keys, rate):
        super().__init__(daemon=True)
        self._client = resp.Client(address)
        self._keys = keys
        self._interval_s = BATCH / rate
        self._is_ending = threading.Event()
        self.refused = 0

    def run(self):
        rng = random.Random(1)
        due = time.monotonic()
        version = 0
        while not self._is_ending.is_set():
            version += 1
            numbers = [rng.randrange(self._keys) for _ in range(BATCH)]
            commands = [("SET", content.key(n), content.value(n, version)) for n in numbers]
            replies = self._client.pipeline(commands)
            self.refused += sum(isinstance(reply, resp.ReplyError) for reply in replies)
            due = max(due + self._interval_s, time.monotonic() - self._interval_s)
            time.sleep(max(0.0, due - time.monotonic()))

    def end(self):
        """Lets the thread come to its end, and waits for it."""
        self._is_ending.set()
        self.join()


def window(client, keys, rng, seconds):
    """Seconds of each of the GETs, one at a time, that fit into a window."""
    taken = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        started = time.perf_counter()
        client.call("GET", content.key(rng.randrange(keys)))
        taken.append(time.perf_counter() - started)
    return taken


def show(name, taken):
    """Prints percentiles in milliseconds."""
    taken.sort()
    share = lambda part: taken[min(len(taken) - 1, int(len(taken) * part))] * 1e3  # noqa: E731
    print(
        f"cleaner {name}: {len(taken)} GETs, p50 {share(0.5):.2f} ms, p99 {share(0.99):.2f} ms,"
        f" p99.9 {share(0.999):.2f} ms, longest {taken[-1] * 1e3:.2f} ms"
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--address", default="127.0.0.1:6379", help="HOST:PORT or a socket's path")
    parser.add_argument("--keys", type=int, required=True, help="how many keys the store has")
    parser.add_argument("--rate", type=float, default=4000, help="SETs a second (4000)")
    parser.add_argument("--rounds", type=int, default=10, help="pairs of windows (10)")
    parser.add_argument(
        "--before", type=float, default=60, help="seconds of SETs first, so that cleaning runs (60)"
    )
    options = parser.parse_args()
    client = resp.Client(options.address)
    setter = Setter(options.address, options.keys, options.rate)
    setter.start()
    time.sleep(options.before)
    rng = random.Random(2)
    held, cleaning = [], []
    for _ in range(options.rounds):
        client.call("CELLAR", "CLEANER", "PAUSE")
        held += window(client, options.keys, rng, HELD_S)
        client.call("CELLAR", "CLEANER", "RESUME")
        cleaning += window(client, options.keys, rng, CLEANING_S)
    setter.end()
    show("held", held)
    show("at work", cleaning)
    print(f"refused SETs: {setter.refused}")
    return 1 if setter.refused else 0


if __name__ == "__main__":
    sys.exit(main())
