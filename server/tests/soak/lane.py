"""One connection whose replies are known beforehand: it compares bytes, it parses nothing.

That is what lets a script check tens of thousands of values a second. Two batches are in flight,
so that the server never waits for the script. Several lanes, a process each, run side by side.
"""

import multiprocessing
import socket
import sys
import time

from wire import resp

RECEIVE_BYTES = 1 << 18
# A reply that takes longer is reported as missing.
SILENCE_S_MAX = 60
REPORT_S = 10


class WrongReply(Exception):
    """The server answered something else, or nothing."""


class Lane:
    """Sends batches and checks that exactly the expected replies come back."""

    def __init__(self, address):
        self._socket = resp.connect(address)
        self._socket.settimeout(SILENCE_S_MAX)
        self._waiting = []
        self.batch_s_max = 0.0

    def submit(self, requests, replies, names):
        """`replies`: the expected bytes, one per request; `names`: what to call each."""
        self._socket.sendall(b"".join(requests))
        self._waiting.append((replies, names, time.monotonic()))
        if len(self._waiting) > 1:
            self._settle()

    def finish(self):
        """Waits for everything sent."""
        while self._waiting:
            self._settle()

    def _settle(self):
        replies, names, sent_at = self._waiting.pop(0)
        expected = b"".join(replies)
        position = 0
        while position < len(expected):
            try:
                want = min(RECEIVE_BYTES, len(expected) - position)
                data = self._socket.recv(want)
            except socket.timeout:
                data = b""
            if not data or data != expected[position : position + len(data)]:
                raise WrongReply(_explain(replies, names, position, data))
            position += len(data)
        self.batch_s_max = max(self.batch_s_max, time.monotonic() - sent_at)


def _explain(replies, names, position, data):
    """Names the first request whose reply differs."""
    end = 0
    for reply, name in zip(replies, names):
        start, end = end, end + len(reply)
        offset = max(start, position)
        got = data[offset - position : end - position]
        if end > position and got != reply[offset - start :]:
            what = f"{got[:32]!r}" if data else "nothing more"
            return f"{name}: expected {reply[offset - start :][:32]!r}..., got {what}"
    return "the stream ended"


class Meter:
    """Prints progress of one lane every few seconds."""

    def __init__(self, label, lane):
        self._label = label
        self._lane = lane
        self._started = self._printed = time.monotonic()
        self.count = 0
        self.byte_count = 0

    def add(self, count, byte_count):
        self.count += count
        self.byte_count += byte_count
        now = time.monotonic()
        if now - self._printed >= REPORT_S:
            self._printed = now
            print(self.line(), flush=True)

    def line(self):
        elapsed = max(1e-9, time.monotonic() - self._started)
        return (
            f"{self._label}: {self.count} operations, {self.byte_count / 1e6:.0f} MB,"
            f" {self.count / elapsed:.0f}/s, {self.byte_count / 1e6 / elapsed:.1f} MB/s,"
            f" slowest batch {self._lane.batch_s_max * 1000:.0f} ms"
        )


def shares(first, count, parts):
    """Splits first..first+count into ranges of nearly equal size."""
    bounds = [first + count * part // parts for part in range(parts + 1)]
    return [range(low, high) for low, high in zip(bounds, bounds[1:])]


def run_lanes(work, tasks):
    """Runs work(*task) in a process each; returns whether all succeeded."""
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_guarded, args=(work, task)) for task in tasks]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return all(process.exitcode == 0 for process in processes)


def _guarded(work, task):
    try:
        work(*task)
    except (WrongReply, OSError) as error:
        print(f"WRONG: {error}", flush=True)
        sys.exit(1)


def add_arguments(parser):
    """The arguments that all scripts of this folder share."""
    parser.add_argument("--address", default="127.0.0.1:6379", help="HOST:PORT or a socket's path")
    parser.add_argument("--keys", type=int, required=True, help="how many keys the store has")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--depth", type=int, default=64, help="requests in a batch")
