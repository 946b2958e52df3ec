"""What one file of the suite came to, from what its harness prints."""

import dataclasses
import re

# The harness colours its words.
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
LINE = re.compile(r"^\[(ok|err|skip|ignore|exception|timeout)\]: ?(.*)$")
# What follows a test's name: how long it took, or where it stands.
TIME = re.compile(r" \(\d+ ms\)$")
PLACE = re.compile(r" in tests/\S+\.tcl$")
# The harness ends a test that takes this long.
ENDED_EARLY = "(the file ended early)"


@dataclasses.dataclass
class Outcome:
    """The names of the tests of one file, by what became of them."""

    passed: list = dataclasses.field(default_factory=list)
    failed: dict = dataclasses.field(default_factory=dict)
    # Some names are given to two tests.
    failure_count: int = 0
    left_out: list = dataclasses.field(default_factory=list)

    @property
    def executed(self):
        return len(self.passed) + self.failure_count


def read(text):
    """Reads a harness's output. A file that ended early has a failed test of that name."""
    outcome = Outcome()
    last = None
    for line in COLOUR.sub("", text).splitlines():
        found = LINE.match(line)
        if not found:
            if last is not None and line and not line.startswith("==="):
                outcome.failed[last] += f"\n    {line}"
            continue
        kind, rest = found.groups()
        last = None
        if kind == "ok":
            outcome.passed.append(TIME.sub("", rest))
        elif kind == "err":
            last = PLACE.sub("", rest)
            outcome.failed[last] = ""
            outcome.failure_count += 1
        elif kind in ("skip", "ignore"):
            outcome.left_out.append(rest)
        else:
            last = ENDED_EARLY
            outcome.failed[last] = rest
            outcome.failure_count += 1
    if not outcome.executed and not outcome.left_out:
        outcome.failed[ENDED_EARLY] = "\n" + text
        outcome.failure_count += 1
    return outcome
