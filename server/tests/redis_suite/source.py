"""Redis's own test suite, from Debian's source package: fetched, checked by apt, unpacked.

Nothing of it belongs to this repository. apt's own lists of sources are used, with packages'
sources in the place of packages, in a directory of their own: nothing of the machine's apt is
changed.
"""

import glob
import os
import re
import shutil
import subprocess

SOURCE_LISTS = ("/etc/apt/sources.list", "/etc/apt/sources.list.d/*.list")
SOURCE_FILES = "/etc/apt/sources.list.d/*.sources"
FETCH_S_MAX = 300


def fetch(directory):
    """The suite's directory under `directory`, where it is fetched to unless it is there."""
    found = glob.glob(os.path.join(directory, "redis-*", "tests", "test_helper.tcl"))
    if not found:
        _fetch(directory)
        found = glob.glob(os.path.join(directory, "redis-*", "tests", "test_helper.tcl"))
    return os.path.dirname(os.path.dirname(found[0]))


def _fetch(directory):
    apt = os.path.join(os.path.abspath(directory), "apt")
    shutil.rmtree(apt, ignore_errors=True)
    parts = os.path.join(apt, "parts")
    os.makedirs(parts)
    os.makedirs(os.path.join(apt, "lists", "partial"))
    for path in glob.glob(SOURCE_FILES):
        text = re.sub(r"(?m)^Types:.*$", "Types: deb-src", _read(path))
        _write(os.path.join(parts, os.path.basename(path)), text)
    lines = []
    for pattern in SOURCE_LISTS:
        for path in glob.glob(pattern):
            lines += re.findall(r"(?m)^deb\s.*$", _read(path))
    _write(
        os.path.join(parts, "here.list"),
        "".join(re.sub("^deb", "deb-src", line) + "\n" for line in lines),
    )
    options = (
        "-o", "Dir::Etc::sourcelist=/dev/null",
        "-o", f"Dir::Etc::sourceparts={parts}",
        "-o", f"Dir::State::lists={os.path.join(apt, 'lists')}",
    )  # fmt: skip
    for words in (("update",), ("source", "--download-only", "redis")):
        subprocess.run(
            ["apt-get", "-qq", *options, *words],
            cwd=directory,
            check=True,
            timeout=FETCH_S_MAX,
            stdout=subprocess.DEVNULL,
        )
    archive = glob.glob(os.path.join(directory, "redis_*.orig.tar.*"))[0]
    subprocess.run(["tar", "-xf", archive, "-C", directory], check=True)


def _read(path):
    with open(path) as file:
        return file.read()


def _write(path, text):
    with open(path, "w") as file:
        file.write(text)
