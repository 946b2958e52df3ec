"""Drives the connections of one round from a single thread until the server is gone."""

import bisect
import collections
import selectors
import time

from crash.workload import Writer
from wire import resp

# Requests outstanding on a connection, by its number: single requests and pipelines side by side.
DEPTHS = (1, 4, 16, 64, 2, 32)
# Every so many operations a connection asks for durability.
WAITAOF_EVERY = 200
WAITAOF = resp.encode("WAITAOF", 1, 0, 10_000)
RECEIVE_BYTES = 1 << 16
# A server that neither answers nor closes for so long hangs.
SILENCE_S_MAX = 60


class Connection:
    """One connection's round: what it starts from, what it sent, what was acknowledged."""

    def __init__(self, number, start_state, seed, start_seq, value_bytes_max):
        self.number = number
        self.start_state = start_state
        self.seed = seed
        self.start_seq = start_seq
        self.value_bytes_max = value_bytes_max
        self.tokens = {}
        self.acked_seq = start_seq
        self.durable_seq = start_seq
        self.failures = []
        self.writer = Writer(number, start_state, seed, start_seq, value_bytes_max)
        self._acks = []
        self._depth = DEPTHS[number % len(DEPTHS)]
        self._pending = collections.deque()
        self._output = bytearray()
        self._input = bytearray()
        self._lines_to_skip = 0

    @property
    def sent_seq(self):
        return self.writer.seq

    def keys(self):
        return self.writer.keys()

    def acked_at(self, seq):
        """When the reply to operation `seq` arrived (monotonic seconds)."""
        index = bisect.bisect_left(self._acks, (seq, 0.0))
        return self._acks[index][1]

    def fill(self, token, with_waitaof):
        """Generates requests up to the depth; returns the operation that took the token."""
        took = None
        while len(self._pending) < self._depth:
            seq = self.writer.seq + 1
            if token is not None:
                self.tokens[seq] = token
                took = seq
            operation = self.writer.next(token)
            token = None
            self._pending.append((seq, operation.reply))
            self._output += resp.encode(*operation.command)
            if with_waitaof and seq % WAITAOF_EVERY == 0:
                self._pending.append((seq, None))
                self._output += WAITAOF
        return took

    def send(self, sock):
        """Hands the kernel what it takes; returns whether something is left."""
        if self._output:
            sent = sock.send(self._output)
            del self._output[:sent]
        return bool(self._output)

    def receive(self, data):
        """Takes replies in. Returns False after an error reply: the connection is done."""
        self._input += data
        *lines, rest = bytes(self._input).split(b"\r\n")
        self._input = bytearray(rest)
        before = self.acked_seq
        alive = all(self._take(line) for line in lines)
        if self.acked_seq > before:
            self._acks.append((self.acked_seq, time.monotonic()))
        return alive

    def _take(self, line):
        if self._lines_to_skip:
            self._lines_to_skip -= 1
            return True
        seq, expected = self._pending.popleft()
        if expected is None:
            return self._take_waitaof(seq, line)
        if line == expected:
            self.acked_seq = seq
            return True
        self.failures.append(
            f"connection {self.number}, operation {seq}: expected {expected!r}, got {line[:200]!r}"
        )
        return False

    def _take_waitaof(self, seq, line):
        """*2, :1 when durable or :0 after its timeout, :0 (no replicas)."""
        if line == b"*2":
            self._pending.appendleft((seq, None))
            return True
        if line == b":1":
            self.durable_seq = seq
            self._lines_to_skip = 1
            return True
        if line == b":0":
            self._lines_to_skip = 1
            return True
        self.failures.append(f"connection {self.number}: WAITAOF: {line[:200]!r}")
        return False


class Load:
    """All connections of a round and the token that goes round among them."""

    def __init__(self, connections, address, token, with_waitaof):
        self.connections = connections
        self.token = token
        self.passes = []
        # Set when the signal goes out: from then on refusals and closed sockets are expected.
        self.is_ending = False
        self._address = address
        self._with_waitaof = with_waitaof
        self._holder = token % len(connections)
        self._is_token_sent = False
        self._selector = selectors.DefaultSelector()

    @property
    def failures(self):
        return [text for connection in self.connections for text in connection.failures]

    def run(self):
        """Writes until the server closes every connection."""
        for connection in self.connections:
            sock = resp.connect(self._address)
            sock.setblocking(False)
            self._selector.register(sock, selectors.EVENT_READ, connection)
            self._advance(sock, connection)
        heard_at = time.monotonic()
        while self._selector.get_map():
            events = self._selector.select(timeout=1)
            if events:
                heard_at = time.monotonic()
            elif time.monotonic() - heard_at > SILENCE_S_MAX:
                self.connections[0].failures.append(f"no sign of life for {SILENCE_S_MAX} s")
                break
            for key, _ in events:
                self._serve(key.fileobj, key.data)
        for key in list(self._selector.get_map().values()):
            self._drop(key.fileobj)
        self._selector.close()

    def _serve(self, sock, connection):
        try:
            data = sock.recv(RECEIVE_BYTES)
        except BlockingIOError:
            data = None
        except ConnectionError:
            data = b""
        if data == b"":
            if not self.is_ending:
                connection.failures.append(f"connection {connection.number}: closed by the server")
            self._drop(sock)
            return
        if data is not None and not connection.receive(data):
            if self.is_ending:
                # A server that is shutting down may refuse; what it refused was not acknowledged.
                connection.failures.pop()
            self._drop(sock)
            return
        self._pass_token(connection)
        self._advance(sock, connection)

    def _pass_token(self, connection):
        """Frees the token for the next connection once its write is acknowledged."""
        if self._is_token_sent and self.passes[-1][0] == connection.number:
            if connection.acked_seq >= self.passes[-1][1]:
                self._is_token_sent = False
                self._holder = (connection.number + 1) % len(self.connections)

    def _advance(self, sock, connection):
        token = None
        if self._holder == connection.number and not self._is_token_sent:
            token = self.token + 1
        took = connection.fill(token, self._with_waitaof)
        if took is not None:
            self.token += 1
            self.passes.append((connection.number, took))
            self._is_token_sent = True
        try:
            has_more = connection.send(sock)
        except BlockingIOError:
            has_more = True
        except ConnectionError:
            has_more = False
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if has_more else 0)
        self._selector.modify(sock, events, connection)

    def _drop(self, sock):
        self._selector.unregister(sock)
        sock.close()
