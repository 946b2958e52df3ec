#!/usr/bin/env python3
"""Kills a server under load, again and again on one directory, and checks what it recovers.

    kill9.py --server target/release/cellar --appendfsync always --rounds 10 --seconds 3

Several connections write pipelines to key sets of their own (SET, SETEX, INCR, APPEND, SETRANGE,
DEL, MSET, PEXPIREAT; values of 0 bytes to 100 KiB). At a random moment the server gets kill -9 and
is started again, sometimes killed once more while it recovers. Then, per connection, the state
must be the one after a prefix of what was sent: all that was acknowledged with `always`, all but
the last moments with `everysec`, at least what WAITAOF confirmed with each. A token is passed from
connection to connection, each time sent after the last was acknowledged; it must not outlive its
forerunner, so the prefixes are cuts of one order. Exit code 0: all rounds held. SEED=n in the
environment replays the choices.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from crash import load, verdict  # noqa: E402
from wire import process, resp  # noqa: E402

# How long after its start a second kill may hit a recovering server.
INTERRUPT_S_MAX = 0.4
INTERRUPT_SHARE = 0.3


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--server", required=True, help="the server's binary")
    parser.add_argument("--appendfsync", choices=("always", "everysec", "no"), default="everysec")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=3, help="longest load before a kill")
    parser.add_argument("--connections", type=int, default=6)
    parser.add_argument("--value-bytes-max", type=int, default=100 * 1024)
    parser.add_argument("--sigterm-every", type=int, default=0, metavar="N",
                        help="every Nth round ends with SIGTERM: nothing at all may be lost")
    parser.add_argument("--loss-ms-max", type=float, default=3000,
                        help="with everysec: the oldest acknowledged write that may be lost")
    parser.add_argument("--without-waitaof", action="store_true",
                        help="for a server that lacks WAITAOF")
    parser.add_argument("--directory", help="an empty folder; default: a temporary one")
    parser.add_argument("--device-size", default="256mb",
                        help="small enough that the cleaner works too; empty: the server's default")
    parser.add_argument("--option", action="append", default=[], metavar="WORD",
                        help="a further word for the server's command line; repeatable")
    return parser.parse_args()  # fmt: skip


class Run:
    """One store, killed round after round."""

    def __init__(self, args, directory, seed):
        self._args = args
        self._random = random.Random(seed)
        options = ["--appendfsync", args.appendfsync, *args.option]
        if args.device_size:
            options += ["--devices", f"store.cellar {args.device_size}"]
        self.server = process.Server(args.server, directory, options)
        self._states = [{} for _ in range(args.connections)]
        self._seqs = [0] * args.connections
        self._token = 0
        self.lost_ms_max = 0.0
        self.acked_count = 0

    def start(self):
        self.server.start()
        return self.server.wait_ready()

    def round(self, index):
        """Load, kill, recover, judge. Returns the line to print and what is wrong."""
        every = self._args.sigterm_every
        gentle = every > 0 and (index + 1) % every == 0
        round_load = self._load()
        setex_now_ms = time.time() * 1000
        killed_at = self._run_until_killed(round_load, gentle)
        wrong = list(round_load.failures)
        code = self.server.wait()
        if gentle and code != 0:
            wrong.append(f"SIGTERM: exit code {code}")
        interrupts = self._interrupt_recovery()
        ready_s = self.start()
        cuts, more = self._judge(round_load, killed_at, setex_now_ms, gentle)
        wrong += more
        return self._line(index, gentle, round_load, cuts, interrupts, ready_s), wrong

    def _load(self):
        connections = [
            load.Connection(
                number, self._states[number], self._random.getrandbits(64), self._seqs[number],
                self._args.value_bytes_max,
            )
            for number in range(self._args.connections)
        ]  # fmt: skip
        return load.Load(
            connections, self.server.socket_path, self._token, not self._args.without_waitaof
        )

    def _run_until_killed(self, round_load, gentle):
        """Returns the moment (monotonic seconds) of the signal."""
        moment = {}

        def signal_server():
            moment["at"] = time.monotonic()
            round_load.is_ending = True
            if gentle:
                self.server.terminate()
            else:
                self.server.kill()

        timer = threading.Timer(self._random.uniform(0.02, self._args.seconds), signal_server)
        timer.start()
        try:
            round_load.run()
        finally:
            timer.join()
        return moment["at"]

    def _interrupt_recovery(self):
        """Sometimes kills a server that is recovering; returns how often."""
        count = 0
        while self._random.random() < INTERRUPT_SHARE and count < 3:
            self.server.start()
            pause = threading.Event()
            pause.wait(self._random.uniform(0, INTERRUPT_S_MAX))
            self.server.kill()
            self.server.wait()
            count += 1
        return count

    def _judge(self, round_load, killed_at, setex_now_ms, gentle):
        client = resp.Client(self.server.socket_path)
        wrong, cuts, key_count = [], [], 0
        may_lose = self._args.appendfsync != "always" and not gentle
        for connection in round_load.connections:
            found = verdict.recovered_state(client, connection.keys())
            key_count += len(found)
            seq, text = verdict.find_cut(connection, found, setex_now_ms)
            if seq is None:
                wrong.append(text)
                seq = connection.start_seq
            cut, more = verdict.judge_connection(connection, seq, killed_at, may_lose)
            cuts.append(cut)
            wrong += more
            self._states[connection.number] = found
            # Numbers of lost operations are not used again: what they wrote must never come back.
            self._seqs[connection.number] = connection.sent_seq
        wrong += verdict.judge_tokens(round_load.passes, cuts)
        self._token = round_load.token
        size = client.call("DBSIZE")
        client.close()
        if size != key_count:
            wrong.append(f"DBSIZE says {size}, {key_count} keys are there")
        lost_ms = max(cut.lost_ms for cut in cuts)
        if self._args.appendfsync == "everysec" and lost_ms > self._args.loss_ms_max:
            wrong.append(f"everysec lost a write acknowledged {lost_ms:.0f} ms before the kill")
        self.lost_ms_max = max(self.lost_ms_max, lost_ms)
        return cuts, wrong

    def _line(self, index, gentle, round_load, cuts, interrupts, ready_s):
        acked = sum(c.acked_seq - c.start_seq for c in round_load.connections)
        self.acked_count += acked
        lost = sum(cut.lost_count for cut in cuts)
        return (
            f"round {index + 1}: {'SIGTERM' if gentle else 'kill -9'} after {acked} acknowledged"
            f" writes, {len(round_load.passes)} tokens; lost {lost}"
            f" ({max(cut.lost_ms for cut in cuts):.0f} ms); kills while recovering {interrupts};"
            f" ready in {ready_s:.2f} s"
        )


def main():
    args = arguments()
    seed = int(os.environ.get("SEED", random.SystemRandom().getrandbits(32)))
    directory = args.directory or tempfile.mkdtemp(prefix="cellar-kill9-")
    print(f"SEED={seed} appendfsync {args.appendfsync}, {args.rounds} rounds in {directory}")
    run = Run(args, directory, seed)
    failed_count = 0
    try:
        run.start()
        for index in range(args.rounds):
            line, wrong = run.round(index)
            print(f"{line}: {'WRONG' if wrong else 'ok'}", flush=True)
            for text in wrong:
                print(f"  {text}", flush=True)
            if wrong:
                failed_count += 1
                break
    except (process.ServerFailed, resp.ReplyError, resp.ConnectionLost) as error:
        print(f"stopped: {error}")
        failed_count += 1
    finally:
        run.server.end()
    print(
        f"kill9 {args.appendfsync}: {'FAILED' if failed_count else 'ok'}, {run.acked_count} writes"
        f" acknowledged, oldest lost write {run.lost_ms_max:.0f} ms before its kill"
    )
    if failed_count:
        print(f"replay with SEED={seed}; the store is kept in {directory}")
        return 1
    if args.directory is None:
        shutil.rmtree(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
