"""A blocking RESP2 client of the smallest kind that pipelines. Standard library only.

Replies become: simple string -> str, integer -> int, bulk -> bytes, null -> None, array -> list,
error -> ReplyError (returned inside a pipeline, raised by `call`).
"""

import socket

# Commands written before their replies are read: the server's output then fits the socket buffers
# and its own output bound, whatever the replies' size.
PIPELINE_MAX = 128

# A server that says nothing for so long has lost the request.
SILENCE_S_MAX = 120


class ReplyError(Exception):
    """An error reply; `str()` is its text without the leading '-'."""


class ConnectionLost(Exception):
    """The server closed the connection or broke the protocol's framing."""


def encode(*parts):
    """One request as bytes. Parts may be bytes, str or int."""
    out = [b"*%d\r\n" % len(parts)]
    for part in parts:
        if not isinstance(part, (bytes, bytearray, memoryview)):
            part = str(part).encode()
        out.append(b"$%d\r\n" % len(part))
        out.append(part)
        out.append(b"\r\n")
    return b"".join(out)


def connect(address):
    """A connected socket. `address`: a unix socket's path, or HOST:PORT."""
    if "/" in address:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.connect(address)
        return sock
    host, port = address.rsplit(":", 1)
    sock = socket.create_connection((host, int(port)))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


class Client:
    """One connection."""

    def __init__(self, address):
        self._socket = connect(address)
        self._socket.settimeout(SILENCE_S_MAX)
        self._input = self._socket.makefile("rb", buffering=1 << 16)

    def close(self):
        self._input.close()
        self._socket.close()

    def call(self, *parts):
        """Sends one command, returns its reply, raises ReplyError on an error reply."""
        self._socket.sendall(encode(*parts))
        reply = self.read_reply()
        if isinstance(reply, ReplyError):
            raise reply
        return reply

    def pipeline(self, commands):
        """Sends many commands (each a tuple of parts); returns the replies in order."""
        replies = []
        for start in range(0, len(commands), PIPELINE_MAX):
            part = commands[start : start + PIPELINE_MAX]
            self._socket.sendall(b"".join(encode(*command) for command in part))
            replies.extend(self.read_reply() for _ in part)
        return replies

    def read_reply(self):
        line = self._input.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionLost(f"closed after {line!r}")
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            return ReplyError(rest.decode(errors="replace"))
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return self._read_bulk(int(rest))
        if kind == b"*":
            return None if rest == b"-1" else [self.read_reply() for _ in range(int(rest))]
        raise ConnectionLost(f"not a reply: {line[:64]!r}")

    def _read_bulk(self, length):
        if length == -1:
            return None
        data = self._input.read(length + 2)
        if len(data) != length + 2:
            raise ConnectionLost("closed inside a bulk string")
        return data[:-2]


def info(client, *sections):
    """INFO as a dictionary of str to str."""
    text = client.call("INFO", *sections).decode()
    pairs = (line.split(":", 1) for line in text.splitlines() if ":" in line)
    return dict(pairs)
