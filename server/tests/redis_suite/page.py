#!/usr/bin/env python3
"""Writes the table of docs/testing.md from the counts that run.py left in target/redis-suite.

    run.py --form strict --counts target/redis-suite/cellar-strict.json
    run.py --form strict --counts target/redis-suite/stock-strict.json --redis redis-server
    the same with `normal`, then page.py
"""

import json
import os
import re

PAGE = "docs/testing.md"
BEGIN, END = "<!-- counts -->\n", "<!-- end of counts -->\n"
RUNS = ("cellar-strict", "stock-strict", "cellar-normal", "stock-normal")
HEAD = (
    "| file | strict: Cellar | stock 7.0.15 | normal: Cellar | stock 7.0.15 |\n"
    "|---|---|---|---|---|\n"
)


def cell(counts):
    """`executed / passed / failed / left out`"""
    return " / ".join(map(str, counts)) if counts else "-"


def main():
    runs = []
    for name in RUNS:
        path = os.path.join("target/redis-suite", f"{name}.json")
        if os.path.exists(path):
            with open(path) as file:
                runs.append(json.load(file))
        else:
            runs.append({})
    names = sorted(set().union(*runs))
    rows = [(name, [run.get(name) for run in runs]) for name in names]
    sums = [[sum(column) for column in zip(*run.values())] for run in runs]
    rows.append(("all", sums))
    text = HEAD + "".join(
        f"| {name} | {' | '.join(map(cell, counts))} |\n" for name, counts in rows
    )
    with open(PAGE) as file:
        page = file.read()
    page = re.sub(f"(?s)(?<={re.escape(BEGIN)}).*?(?={re.escape(END)})", lambda _: text, page)
    with open(PAGE, "w") as file:
        file.write(page)


if __name__ == "__main__":
    main()
