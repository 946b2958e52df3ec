#!/usr/bin/env python3
"""A store's life: load, read all, overwrite, stop, start, kill -9, start; checked throughout.

    life.py --server target/release/cellar --device-size 2gb --keys 640000 --factor 10
    life.py --server target/release/cellar --device-size 16gb --keys 4000000 --factor 0 \\
            --option=--maxmemory --option=1gb --resident-max-mb 1200

Values are 1000-4000 bytes. The first line overwrites a store at 80 % of its device ten times; the
second holds ten times more data than memory. After each stage it prints what the kernel counted:
time, resident memory, bytes read from and written to the device, by bytes of values read, written
or held. Ends with exit code 1 at the first wrong value, refused write or broken bound.
"""

import argparse
import mmap
import os
import shutil
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from soak import churn, lane, load, verify  # noqa: E402
from wire import process, resp, usage  # noqa: E402

VERSION_BYTES = 4


class Broken(Exception):
    """The store broke a promise; the text says which."""


class Life:
    """One store and the stages it goes through."""

    def __init__(self, args, directory):
        self._args = args
        options = ["--devices", f"store.cellar {args.device_size}", *args.option]
        self.server = process.Server(args.server, directory, options)
        self._versions = memoryview(mmap.mmap(-1, args.keys * VERSION_BYTES)).cast("I")
        self._parts = lane.shares(0, args.keys, args.processes)
        self._held_mb = args.keys * churn.MEAN_BYTES / 1e6

    def start(self, name):
        """Starts the server and says what that cost."""
        self.server.start()
        seconds = self.server.wait_ready()
        read, _ = usage.device_bytes(self.server.pid)
        share = 100 * read / 1e6 / self._held_mb
        print(
            f"{name}: ready in {seconds:.2f} s, read {read / 1e6:.1f} MB from the device,"
            f" {share:.2f} % of {self._held_mb:.0f} MB of values",
            flush=True,
        )

    def stage(self, name, user_mb, work, tasks):
        """Runs lanes, checks the bounds, prints the counts."""
        pid = self.server.pid
        read_before, written_before = usage.device_bytes(pid)
        cpu_before, started = usage.cpu_s(pid), time.monotonic()
        with usage.ResidentPeak(pid) as resident:
            good = lane.run_lanes(work, tasks)
        seconds = time.monotonic() - started
        if not good:
            raise Broken(f"{name} failed")
        read, written = usage.device_bytes(pid)
        print(
            f"{name}: {user_mb:.0f} MB of values in {seconds:.1f} s; device read"
            f" {(read - read_before) / 1e6:.0f} MB, written {(written - written_before) / 1e6:.0f}"
            f" MB; CPU {usage.cpu_s(pid) - cpu_before:.1f} s; resident at most"
            f" {resident.bytes / 1e6:.0f} MB",
            flush=True,
        )
        bound_mb = self._args.resident_max_mb
        if bound_mb and resident.bytes / 1e6 > bound_mb:
            raise Broken(f"{name}: more than {bound_mb} MB resident")

    def load(self):
        args = self._args
        tasks = [(self.server.socket_path, part, args.depth, 0) for part in self._parts]
        self.stage("load", self._held_mb, load.load, tasks)

    def churn(self):
        args = self._args
        tasks = [
            (self.server.socket_path, part, args.depth, int(len(part) * args.factor),
             self._versions, args.seed)
            for part in self._parts
        ]  # fmt: skip
        self.stage("overwrite", self._held_mb * args.factor, churn.churn, tasks)

    def verify(self, count):
        """Reads `count` keys, spread over the store, and compares every byte."""
        args = self._args
        count = min(count, args.keys)
        tasks = [
            (self.server.socket_path, part, -(-count // args.processes), args.depth,
             self._versions)
            for part in self._parts
        ]  # fmt: skip
        self.stage(f"read {count} keys", count * churn.MEAN_BYTES / 1e6, verify.verify, tasks)
        client = resp.Client(self.server.socket_path)
        size = client.call("DBSIZE")
        client.close()
        if size != args.keys:
            raise Broken(f"DBSIZE says {size} of {args.keys} keys")

    def stop(self):
        """A graceful stop; with it nothing may be lost at any durability level."""
        self.server.terminate()
        code = self.server.wait()
        if code != 0:
            raise Broken(f"exit code {code} after SIGTERM")

    def kill(self):
        """kill -9, once all that was written is confirmed durable."""
        client = resp.Client(self.server.socket_path)
        if client.call("WAITAOF", 1, 0, 60_000)[0] != 1:
            raise Broken("WAITAOF did not confirm within 60 s")
        client.close()
        self.server.kill()
        self.server.wait()


def live(life, args):
    sample = args.sample or args.keys
    life.start("fresh start")
    life.load()
    life.verify(sample)
    if args.factor > 0:
        life.churn()
        life.verify(args.keys)
    life.stop()
    life.start("start after SIGTERM")
    life.verify(sample)
    life.kill()
    life.start("start after kill -9")
    life.verify(sample)
    life.stop()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--server", required=True, help="the server's binary")
    parser.add_argument("--keys", type=int, required=True)
    parser.add_argument("--device-size", required=True, help="as in the configuration: 2gb")
    parser.add_argument("--factor", type=float, default=10, help="times the store to overwrite")
    parser.add_argument("--sample", type=int, help="keys to read after a start; default: all")
    parser.add_argument("--resident-max-mb", type=float, help="fail above this")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--depth", type=int, default=64, help="requests in a batch")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--directory", help="an empty folder on the device to use")
    parser.add_argument("--option", action="append", default=[], metavar="WORD",
                        help="a further word for the server's command line; repeatable")
    args = parser.parse_args()  # fmt: skip
    directory = args.directory or tempfile.mkdtemp(prefix="cellar-life-")
    life = Life(args, directory)
    try:
        live(life, args)
    except (Broken, process.ServerFailed, resp.ReplyError, resp.ConnectionLost) as error:
        print(f"life: FAILED: {error}; the store is kept in {directory}")
        return 1
    finally:
        life.server.end()
    if args.directory is None:
        shutil.rmtree(directory)
    print("life: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
