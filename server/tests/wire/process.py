"""Starts, waits for, kills and stops one server process. Standard library only.

The server listens on a unix socket in its own directory and, unless asked, on no port, so that any
number of runs share a machine. Must never signal a process that it did not start.
"""

import os
import signal
import socket
import subprocess
import time

from wire import resp

# A recovery of the sizes used here takes a second or two; far more is a hang.
READY_S_MAX = 120
# A graceful stop flushes at most a few write buffers.
STOP_S_MAX = 60
# Between two attempts to connect.
POLL_S = 0.005
LOG_LINES_SHOWN = 30


def free_port():
    """A TCP port of 127.0.0.1 that nobody listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class ServerFailed(Exception):
    """The server ended, or never answered; the text carries the end of its log."""


class Server:
    """A server on `directory`, which it may find filled by an earlier one."""

    def __init__(self, binary, directory, options, port=0):
        """`options`: further command-line words, after those that this class needs itself."""
        self.socket_path = os.path.join(directory, "s")
        self._log_path = os.path.join(directory, "server.log")
        self._command = [
            os.path.abspath(binary),
            "--dir", directory,
            "--port", str(port),
            "--unixsocket", self.socket_path,
            *options,
        ]  # fmt: skip
        self._process = None

    @property
    def pid(self):
        return self._process.pid

    def start(self):
        """Starts the process; `wait_ready` tells when it serves."""
        with open(self._log_path, "ab") as log:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )

    def wait_ready(self):
        """Waits until PING is answered with PONG; returns the seconds it took."""
        started = time.monotonic()
        while time.monotonic() - started < READY_S_MAX:
            if self._process.poll() is not None:
                raise ServerFailed(self._describe(f"ended with code {self._process.returncode}"))
            if self._answers():
                return time.monotonic() - started
            time.sleep(POLL_S)
        raise ServerFailed(self._describe(f"no PONG within {READY_S_MAX} s"))

    def _answers(self):
        try:
            client = resp.Client(self.socket_path)
        except OSError:
            return False
        try:
            return client.call("PING") == "PONG"
        except resp.ReplyError as error:
            if str(error).startswith("LOADING"):
                return False
            raise ServerFailed(self._describe(f"PING: {error}")) from error
        except (resp.ConnectionLost, OSError):
            return False
        finally:
            client.close()

    def kill(self):
        """kill -9; returns without waiting."""
        self._process.send_signal(signal.SIGKILL)

    def terminate(self):
        """Asks for a graceful stop; returns without waiting."""
        self._process.send_signal(signal.SIGTERM)

    def wait(self):
        """Waits for the end; returns the exit code (negative: the signal)."""
        try:
            return self._process.wait(timeout=STOP_S_MAX)
        except subprocess.TimeoutExpired as error:
            raise ServerFailed(self._describe(f"did not end within {STOP_S_MAX} s")) from error

    def end(self):
        """Makes sure that the process is gone, whatever state it is in."""
        if self._process is not None and self._process.poll() is None:
            self.kill()
            self._process.wait()

    def _describe(self, what):
        with open(self._log_path, "rb") as log:
            lines = log.read().decode(errors="replace").splitlines()
        tail = "\n".join(f"    {line}" for line in lines[-LOG_LINES_SHOWN:])
        return f"server {what}; the end of its log:\n{tail}"


class Stock(Server):
    """A stock redis-server, named by a path or found on PATH, in Cellar's place."""

    def __init__(self, binary, directory, port):
        super().__init__(binary, directory, (), port)
        self._command = [
            binary, "--dir", directory, "--port", str(port), "--unixsocket", self.socket_path,
            "--save", "", "--enable-debug-command", "yes",
        ]  # fmt: skip
