"""What one connection sends, and the state that every prefix of it leaves.

A `Writer` is a deterministic generator: from the same start state, seed and tokens it yields the
same operations, so the verifier replays it instead of remembering what was sent. Every value
carries the number of the operation that wrote it, so that a value that comes back from an undone
past is recognised.
"""

import random

KEY_COUNT = 160
COUNTER_COUNT = 8
# Beyond this APPEND starts over with SET, so that no key grows without a bound.
APPEND_BYTES_MAX = 128 * 1024
MSET_KEYS_MAX = 8

# 2100-01-01: PEXPIREAT sets this plus the operation's number, so a deadline is checked exactly.
FAR_DEADLINE_MS = 4_102_444_800_000
# SETEX counts from the server's clock; its deadline is checked to within this.
SETEX_S = 40_000_000
SETEX_TOLERANCE_MS = 3_600_000

# Values are slices of this, at a place that differs from operation to operation.
FILLER = random.Random(0).randbytes(1 << 20)


def content(key, seq, length):
    """The value that operation `seq` writes to `key`; any length, the head names its writer."""
    head = b"%b=%d;" % (key, seq)
    start = (seq * 7919 + len(key) * 131) % (len(FILLER) // 2)
    if length <= len(head):
        return head[-length:] if length else b""
    return head + FILLER[start : start + length - len(head)]


class Operation:
    """One command, the reply it must get, and the keys it touches."""

    __slots__ = ("command", "reply", "keys")

    def __init__(self, command, reply, keys):
        self.command = command
        self.reply = reply
        self.keys = keys


class Writer:
    """Generates the operations of one connection and holds the state after the last one.

    `state`: key -> (value, deadline), the deadline None, in exact milliseconds, or "setex".
    """

    def __init__(self, connection, state, seed, seq, value_bytes_max):
        self._random = random.Random(seed)
        self._value_bytes_max = value_bytes_max
        self.state = dict(state)
        self.seq = seq
        prefix = b"%d:" % connection
        self._keys = [prefix + b"k%d" % i for i in range(KEY_COUNT)]
        self._counters = [prefix + b"n%d" % i for i in range(COUNTER_COUNT)]
        self.token_key = prefix + b"token"
        self._kinds = [
            (30, self._set), (15, self._incr), (15, self._append), (12, self._mset),
            (8, self._del), (8, self._setex), (6, self._setrange), (6, self._pexpireat),
        ]  # fmt: skip
        self._weights = [weight for weight, _ in self._kinds]

    def keys(self):
        """Every key this connection may ever write."""
        return [*self._keys, *self._counters, self.token_key]

    def next(self, token=None):
        """The next operation; with a token, the write that passes it on."""
        self.seq += 1
        if token is not None:
            value = b"%d" % token
            self.state[self.token_key] = (value, None)
            return Operation((b"SET", self.token_key, value), b"+OK", (self.token_key,))
        kind = self._random.choices(self._kinds, self._weights)[0][1]
        return kind()

    def _length(self):
        """Mostly small, some of the product's typical size, a few as large as allowed."""
        dice = self._random.random()
        bound = 0 if dice < 0.02 else 256 if dice < 0.6 else 4096 if dice < 0.96 else 1 << 30
        return self._random.randint(0, min(bound, self._value_bytes_max))

    def _any_key(self):
        return self._random.choice(self._keys)

    def _present_key(self):
        """A key that holds a value of at least a byte; None if ten tries find none."""
        for _ in range(10):
            key = self._any_key()
            if key in self.state and self.state[key][0]:
                return key
        return None

    def _put(self, key, deadline=None):
        value = content(key, self.seq, self._length())
        self.state[key] = (value, deadline)
        return value

    def _set(self):
        key = self._any_key()
        return Operation((b"SET", key, self._put(key)), b"+OK", (key,))

    def _setex(self):
        key = self._any_key()
        value = self._put(key, "setex")
        return Operation((b"SETEX", key, b"%d" % SETEX_S, value), b"+OK", (key,))

    def _incr(self):
        key = self._random.choice(self._counters)
        number = int(self.state.get(key, (b"0", None))[0]) + 1
        self.state[key] = (b"%d" % number, None)
        return Operation((b"INCR", key), b":%d" % number, (key,))

    def _append(self):
        key = self._any_key()
        value, deadline = self.state.get(key, (b"", None))
        if len(value) > APPEND_BYTES_MAX:
            return self._set()
        more = content(key, self.seq, 1 + self._length() // 4)
        self.state[key] = (value + more, deadline)
        return Operation((b"APPEND", key, more), b":%d" % (len(value) + len(more)), (key,))

    def _setrange(self):
        key = self._present_key()
        if key is None:
            return self._set()
        value, deadline = self.state[key]
        offset = self._random.randrange(len(value))
        part = content(key, self.seq, 1 + self._random.randrange(64))
        changed = value[:offset] + part + value[offset + len(part) :]
        self.state[key] = (changed, deadline)
        command = (b"SETRANGE", key, b"%d" % offset, part)
        return Operation(command, b":%d" % len(changed), (key,))

    def _mset(self):
        keys = self._random.sample(self._keys, self._random.randint(2, MSET_KEYS_MAX))
        command = [b"MSET"]
        for key in keys:
            command += (key, self._put(key))
        return Operation(command, b"+OK", keys)

    def _del(self):
        key = self._present_key()
        if key is None:
            return self._set()
        del self.state[key]
        return Operation((b"DEL", key), b":1", (key,))

    def _pexpireat(self):
        key = self._present_key()
        if key is None:
            return self._set()
        deadline = FAR_DEADLINE_MS + self.seq
        self.state[key] = (self.state[key][0], deadline)
        return Operation((b"PEXPIREAT", key, b"%d" % deadline), b":1", (key,))


def is_same(expected, found, setex_now_ms):
    """Whether the store holds what a prefix says. Either may be None: no such key."""
    if expected is None or found is None:
        return expected is found
    if expected[0] != found[0]:
        return False
    if expected[1] == "setex" and isinstance(found[1], int):
        return abs(found[1] - setex_now_ms - SETEX_S * 1000) < SETEX_TOLERANCE_MS
    return expected[1] == found[1]
