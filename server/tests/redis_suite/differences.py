"""The list of tests that are skipped or expected to differ. It may only shrink."""

import dataclasses
import os

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "differences.txt")
KINDS = ("skip", "differs", "option")
FORMS = ("*", "strict", "normal")


@dataclasses.dataclass(frozen=True)
class Difference:
    """One line: what is done, in which form and file (`*`: in any), of which test, and why.

    `option` gives the harness an option for a file, in the place of a test's name.
    """

    kind: str
    form: str
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
            is_whole = len(words) == 5 and all(words)
            if not is_whole or words[0] not in KINDS or words[1] not in FORMS:
                raise ValueError(f"{path}:{number}: not `kind | form | file | test | reason`")
            found.append(Difference(*words))
    return found
