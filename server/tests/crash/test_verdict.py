"""The crash test's own test: a verdict that accepts everything would prove nothing.

    python3 -m unittest discover -s server/tests -t server/tests
"""

import unittest

from crash import load, verdict
from crash.workload import Writer

SENT_COUNT = 400
VALUE_BYTES_MAX = 2000


def connection_and_states(number=0, tokens=()):
    """A connection that sent SENT_COUNT operations, and the state after each of them."""
    connection = load.Connection(number, {}, 7, 0, VALUE_BYTES_MAX)
    connection.tokens = {seq: index for index, seq in enumerate(tokens)}
    states = [dict(connection.writer.state)]
    kinds = [None]
    for seq in range(1, SENT_COUNT + 1):
        operation = connection.writer.next(connection.tokens.get(seq))
        states.append(dict(connection.writer.state))
        kinds.append(operation)
    return connection, states, kinds


def as_found(state):
    """What a server would answer for `state`, its clock at 0."""
    return {
        key: (value, 40_000_000_000 if deadline == "setex" else deadline)
        for key, (value, deadline) in state.items()
    }


class FindCut(unittest.TestCase):
    def setUp(self):
        self.connection, self.states, self.operations = connection_and_states(tokens=(50, 90))

    def cut(self, found):
        return verdict.find_cut(self.connection, found, 0)

    def test_finds_every_prefix(self):
        for seq in range(0, SENT_COUNT + 1, 7):
            cut, text = self.cut(as_found(self.states[seq]))
            self.assertIsNone(text)
            self.assertEqual(self.states[cut], self.states[seq])

    def test_sees_a_key_that_came_back(self):
        removal = next(i for i, o in enumerate(self.operations) if o and o.command[0] == b"DEL")
        found = as_found(self.states[removal + 30])
        key = self.operations[removal].keys[0]
        found[key] = as_found(self.states[removal - 1])[key]
        cut, text = self.cut(found)
        self.assertIsNone(cut)
        self.assertIn(repr(key), text)

    def test_sees_half_a_batch(self):
        batch = next(
            i for i, o in enumerate(self.operations) if o and o.command[0] == b"MSET" and i > 9
        )
        found = as_found(self.states[batch])
        key = self.operations[batch].keys[0]
        before = as_found(self.states[batch - 1])
        found.pop(key)
        if key in before:
            found[key] = before[key]
        self.assertIsNone(self.cut(found)[0])

    def test_sees_a_hole(self):
        found = as_found(self.states[SENT_COUNT])
        key = next(key for key in found if key.startswith(b"0:k"))
        del found[key]
        self.assertIsNone(self.cut(found)[0])

    def test_sees_a_changed_byte_and_a_lost_deadline(self):
        state = as_found(self.states[SENT_COUNT])
        key = next(k for k, (v, d) in state.items() if v and d is not None)
        value, deadline = state[key]
        flipped = bytes([value[0] ^ 1]) + value[1:]
        self.assertIsNone(self.cut({**state, key: (flipped, deadline)})[0])
        self.assertIsNone(self.cut({**state, key: (value, None)})[0])


class Judge(unittest.TestCase):
    def setUp(self):
        self.connection, _, _ = connection_and_states()
        self.connection.acked_seq = 300
        self.connection._acks = [(100, 1.0), (300, 2.0)]

    def test_counts_what_was_lost(self):
        cut, wrong = verdict.judge_connection(self.connection, 150, 2.5, may_lose=True)
        self.assertEqual((cut.lost_count, cut.lost_ms, wrong), (150, 500.0, []))

    def test_refuses_an_acknowledged_loss(self):
        _, wrong = verdict.judge_connection(self.connection, 299, 2.5, may_lose=False)
        self.assertEqual(len(wrong), 1)
        _, wrong = verdict.judge_connection(self.connection, 300, 2.5, may_lose=False)
        self.assertEqual(wrong, [])

    def test_holds_waitaof_to_its_word(self):
        self.connection.durable_seq = 200
        _, wrong = verdict.judge_connection(self.connection, 199, 2.5, may_lose=True)
        self.assertEqual(len(wrong), 1)

    def test_sees_two_prefixes_that_do_not_fit(self):
        passes = [(0, 10), (1, 10), (0, 20)]
        cuts = [verdict.Cut(30, 0, 0), verdict.Cut(5, 0, 0)]
        self.assertEqual(len(verdict.judge_tokens(passes, cuts)), 1)
        cuts = [verdict.Cut(15, 0, 0), verdict.Cut(30, 0, 0)]
        self.assertEqual(verdict.judge_tokens(passes, cuts), [])


class Replies(unittest.TestCase):
    def test_takes_replies_in_pieces(self):
        connection = load.Connection(3, {}, 7, 0, VALUE_BYTES_MAX)
        connection.fill(None, with_waitaof=False)
        replies = b"".join(reply + b"\r\n" for _, reply in list(connection._pending)[:9])
        for index in range(len(replies)):
            self.assertTrue(connection.receive(replies[index : index + 1]))
        self.assertEqual(connection.acked_seq, 9)
        self.assertGreater(connection.acked_at(9), 0)

    def test_refuses_a_wrong_reply(self):
        connection = load.Connection(3, {}, 7, 0, VALUE_BYTES_MAX)
        connection.fill(None, with_waitaof=False)
        self.assertFalse(connection.receive(b"-OOM no\r\n"))
        self.assertEqual(len(connection.failures), 1)


if __name__ == "__main__":
    unittest.main()
