"""Judges a recovered store: is it the state after some prefix of what was sent, and of which?"""

from crash.workload import Writer, is_same

# Differences printed of a connection whose state is no prefix.
DIFFERENCES_SHOWN = 5


class Cut:
    """Where the prefix of one connection ends, and what that lost."""

    def __init__(self, seq, lost_count, lost_ms):
        self.seq = seq
        self.lost_count = lost_count
        self.lost_ms = lost_ms


def recovered_state(client, keys):
    """key -> (value, deadline in ms or None) for the keys that are there."""
    replies = client.pipeline(
        [command for key in keys for command in (("GET", key), ("PEXPIRETIME", key))]
    )
    state = {}
    for key, value, deadline in zip(keys, replies[::2], replies[1::2]):
        for reply in (value, deadline):
            if isinstance(reply, Exception):
                raise reply
        if value is not None:
            state[key] = (value, None if deadline == -1 else deadline)
    return state


def find_cut(log, found, setex_now_ms):
    """The last operation after which the state equals `found`; None and a text if there is none.

    `log`: the connection's round (kill9.Connection): start state, seed, tokens, what was sent.
    """
    writer = Writer(log.number, log.start_state, log.seed, log.start_seq, log.value_bytes_max)
    keys = writer.keys()
    differing = {
        key for key in keys if not is_same(writer.state.get(key), found.get(key), setex_now_ms)
    }
    cut = None if differing else writer.seq
    nearest = (len(differing), writer.seq, set(differing))
    while writer.seq < log.sent_seq:
        operation = writer.next(log.tokens.get(writer.seq + 1))
        for key in operation.keys:
            if is_same(writer.state.get(key), found.get(key), setex_now_ms):
                differing.discard(key)
            else:
                differing.add(key)
        if not differing:
            cut = writer.seq
        elif len(differing) < nearest[0]:
            nearest = (len(differing), writer.seq, set(differing))
    if cut is not None:
        return cut, None
    return None, _describe(log, found, nearest, setex_now_ms)


def _describe(log, found, nearest, setex_now_ms):
    """Says which keys differ at the prefix that comes nearest."""
    count, seq, keys = nearest
    writer = Writer(log.number, log.start_state, log.seed, log.start_seq, log.value_bytes_max)
    while writer.seq < seq:
        writer.next(log.tokens.get(writer.seq + 1))
    lines = [
        f"connection {log.number}: no prefix of {log.start_seq}..{log.sent_seq} (acknowledged"
        f" {log.acked_seq}) gives this state; nearest is {seq} with {count} key(s) wrong:"
    ]
    for key in sorted(keys)[:DIFFERENCES_SHOWN]:
        lines.append(f"    {key!r}: expected {_short(writer.state.get(key))}")
        lines.append(f"    {' ' * len(repr(key))}  found    {_short(found.get(key))}")
    return "\n".join(lines)


def _short(entry):
    if entry is None:
        return "nothing"
    value, deadline = entry
    return f"{len(value)} bytes {value[:24]!r}..., deadline {deadline}"


def judge_connection(log, cut_seq, killed_at, may_lose):
    """The Cut of one connection and the list of what is wrong with it."""
    wrong = []
    lost_count = max(0, log.acked_seq - cut_seq)
    lost_ms = 0.0
    if lost_count > 0:
        lost_ms = max(0.0, (killed_at - log.acked_at(cut_seq + 1)) * 1000)
        if not may_lose:
            wrong.append(
                f"connection {log.number}: {lost_count} acknowledged write(s) lost, from"
                f" {cut_seq + 1} on, the oldest acknowledged {lost_ms:.0f} ms before the kill"
            )
    if log.durable_seq > cut_seq:
        wrong.append(
            f"connection {log.number}: WAITAOF confirmed {log.durable_seq}, but the state ends"
            f" at {cut_seq}"
        )
    return Cut(cut_seq, lost_count, lost_ms), wrong


def judge_tokens(passes, cuts):
    """One global prefix: a token that survived was sent after its forerunner's acknowledgement.

    `passes`: (connection number, operation number) of each token of the round, in order.
    """
    wrong = []
    gone = None
    for index, (number, seq) in enumerate(passes):
        survived = seq <= cuts[number].seq
        if survived and gone is not None:
            wrong.append(
                f"token {index} of connection {number} survived, token {gone} before it did not"
            )
            break
        if not survived and gone is None:
            gone = index
    return wrong
