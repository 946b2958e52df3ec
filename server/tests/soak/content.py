"""Keys and values that anybody can derive again: from the key's number and the value's version.

Values do not compress and differ in length, so a misplaced, cut or outdated one is seen.
"""

import random

_MASK = (1 << 64) - 1
_FILLER_BYTES = 1 << 20
# Any value is one slice of this; drawing it once costs milliseconds, slicing it almost nothing.
_FILLER = random.Random(1).randbytes(_FILLER_BYTES + (1 << 16))

BYTES_MIN = 1000
BYTES_MAX = 4000


def key(number):
    return b"key:%012d" % number


def value(number, version):
    """BYTES_MIN..BYTES_MAX bytes: "number:version;" and a slice of the filler."""
    mixed = (number * 0x9E3779B97F4A7C15 + version * 0xBF58476D1CE4E5B9) & _MASK
    mixed ^= mixed >> 31
    length = BYTES_MIN + mixed % (BYTES_MAX - BYTES_MIN + 1)
    start = (mixed >> 24) % _FILLER_BYTES
    head = b"%d:%d;" % (number, version)
    return head + _FILLER[start : start + length - len(head)]


def set_request(number, version):
    data = value(number, version)
    name = key(number)
    return b"*3\r\n$3\r\nSET\r\n$%d\r\n%b\r\n$%d\r\n%b\r\n" % (len(name), name, len(data), data)


def get_request(number):
    name = key(number)
    return b"*2\r\n$3\r\nGET\r\n$%d\r\n%b\r\n" % (len(name), name)


def get_reply(number, version):
    data = value(number, version)
    return b"$%d\r\n%b\r\n" % (len(data), data)
