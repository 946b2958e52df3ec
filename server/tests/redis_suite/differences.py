"""The list of tests that are skipped or expected to differ. It may only shrink."""

import dataclasses
import os

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "differences.txt")
KINDS = ("skip", "differs")


@dataclasses.dataclass(frozen=True)
class Difference:
    """One line: what is done, in which file (`*`: in any), of which test, and why."""

    kind: str
    file: str
    test: str
    reason: str


def read(path=PATH):
    """All lines; a line that is none is an error that names it."""
    found = []
    with open(path) as file:
        for number, line in enumerate(file, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            words = [word.strip() for word in line.split("|")]
            if len(words) != 4 or words[0] not in KINDS or not all(words):
                raise ValueError(f"{path}:{number}: not `kind | file | test | reason`")
            found.append(Difference(*words))
    return found
