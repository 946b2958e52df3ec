#!/usr/bin/env python3
"""Shows that the simulation finds what it is there to find.

Each patch beside this script breaks one of the engine's rules. The script copies the workspace's
tracked files to target/plants, applies one patch at a time, builds the simulation, and makes its
runs from seed 1 on until one fails, while the next plant is built. It prints a table of the plants,
the first seed that found each, and the first line of the violation; it fails if a plant was not
found.

With --check it only makes sure that every patch still applies, which takes a second.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import queue
import re
import shutil
import subprocess
import sys
import threading

PLANTS = pathlib.Path(__file__).resolve().parent
ROOT = PLANTS.parents[3]
COPY = ROOT / "target" / "plants" / "tree"
BUILD = ROOT / "target" / "plants" / "build"
BUILT = ROOT / "target" / "plants" / "built"
# Seconds that a run may take, many times what one does: a plant that makes a task loop for ever is
# found too.
PATIENCE_S = 300
# Characters of a violation that the table shows.
SHOWN = 110


class Plant:
    """A patch, with the rule that it breaks and a sentence that says how."""

    def __init__(self, path):
        text = path.read_text(encoding="utf-8")
        self.path = path
        self.name = path.stem
        self.rule = re.search(r"^Rule: (.+)$", text, re.MULTILINE).group(1)
        self.what = re.search(r"^Plant: (.+)$", text, re.MULTILINE).group(1)
        self.files = re.findall(r"^\+\+\+ b/(.+)$", text, re.MULTILINE)


def apply(plant, folder, *options):
    """Applies a patch to a folder: what went wrong, or nothing."""
    environment = dict(os.environ, GIT_CEILING_DIRECTORIES=str(folder.parent))
    command = ["git", "apply", *options, str(plant.path)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    return done.stderr.strip()


def check(plants):
    """Says which patches do not apply: how many."""
    stale = 0
    for plant in plants:
        error = apply(plant, ROOT, "--check")
        if error:
            print(f"{plant.name} does not apply:\n{error}")
            stale += 1
    print(f"{len(plants) - stale} of {len(plants)} plants apply")
    return stale


def restore(files):
    """Brings files of the copy to the state of the workspace, if they are not in it."""
    for name in files:
        source, target = ROOT / name, COPY / name
        if not target.exists() or source.read_bytes() != target.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)


def copy_workspace():
    """Makes the copy what the workspace is; what is unchanged is not built again."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    names = [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    restore(names)
    kept = set(names)
    for path in COPY.rglob("*"):
        if path.is_file() and str(path.relative_to(COPY)) not in kept:
            path.unlink()


def build():
    """Builds the simulation: its path, or nothing where it does not build."""
    environment = dict(
        os.environ,
        CARGO_TARGET_DIR=str(BUILD),
        # Most of the time goes into building, so the build is made short: the profile of tests has
        # small units, of which a plant changes few.
        CARGO_PROFILE_TEST_DEBUG="false",
        CARGO_PROFILE_DEV_DEBUG="false",
        CARGO_INCREMENTAL="1",
    )
    command = ["cargo", "test", "--locked", "-p", "cellar-storage"]
    command += ["--test", "simulation", "--no-run", "--message-format=json"]
    done = subprocess.run(command, cwd=COPY, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stderr[-4000:], file=sys.stderr)
        return None
    messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    paths = [message["executable"] for message in messages if message.get("executable")]
    return paths[-1]


def search(executable, seeds):
    """Makes runs until one fails: the seed and the violation's first line."""
    environment = dict(
        os.environ, SEED="1", RUNS=str(seeds), THREADS="1", RUST_BACKTRACE="0"
    )
    command = [executable, "lives", "--nocapture"]
    process = subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        errors="replace",
    )
    lines = queue.SimpleQueue()
    reader = threading.Thread(target=lambda: [lines.put(line) for line in process.stdout])
    reader.start()
    # The reader ends when the process has.
    threading.Thread(target=lambda: (reader.join(), lines.put(None))).start()
    runs = 0
    try:
        while (line := lines.get(timeout=PATIENCE_S)) is not None:
            found = re.search(r"VIOLATION SEED=(\d+): (.*)$", line)
            if found:
                return found.groups()
            runs += line.startswith("SEED=")
        code = process.wait()
        return (str(runs + 1), f"the run breaks off with {code}") if code else None
    except queue.Empty:
        return str(runs + 1), f"the run does not end within {PATIENCE_S} s"
    finally:
        process.kill()
        process.wait()


def report(plant, error, executable, seeds):
    """Searches for a plant that was built and prints its line: whether it was found."""
    found = search(executable, seeds) if executable else None
    seed, violation = found or ("none", error or "not found" if executable else "no build")
    shown = violation.split("; before that")[0].replace("|", "/")[:SHOWN]
    print(f"| {plant.rule} | {plant.name} | {seed} | {shown} |", flush=True)
    if executable:
        os.unlink(executable)
    return found is not None


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="only try whether the patches apply")
    parser.add_argument("--seeds", type=int, default=60, help="runs of a plant at most (60)")
    parser.add_argument("--only", default="", help="numbers of plants, with commas between them")
    options = parser.parse_args()
    plants = [Plant(path) for path in sorted(PLANTS.glob("*.patch"))]
    wanted = [number.zfill(2) for number in options.only.split(",") if number]
    if wanted:
        plants = [plant for plant in plants if plant.name[:2] in wanted]
    if options.check:
        return 1 if check(plants) else 0
    copy_workspace()
    BUILT.mkdir(parents=True, exist_ok=True)
    print("| rule | plant | seed | violation |\n|---|---|---|---|", flush=True)
    with concurrent.futures.ThreadPoolExecutor(max_workers=1) as searches:
        outcomes = []
        for plant in plants:
            error = apply(plant, COPY)
            executable = None if error else build()
            if executable:
                executable = shutil.copy(executable, BUILT / plant.name)
            outcomes.append(searches.submit(report, plant, error, executable, options.seeds))
            restore(plant.files)
        found = sum(outcome.result() for outcome in outcomes)
    print(f"{found} of {len(plants)} plants were found")
    return 0 if found == len(plants) else 1


if __name__ == "__main__":
    sys.exit(main())
