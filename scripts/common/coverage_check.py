"""coverage_check.py EXPORT.json TREE EXCEPTIONS: what of lib/ no test reached, against the list of exceptions.

A template counts once: what one instance of it reaches is reached. An exception is a file, the text of a line in it
and a reason; it stands for whatever on that line is not reached, and is an error once nothing is.
"""

import json
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

EXCEPTIONS_MAX = 20
CONDITIONS_MIN = 0.95
# llvm-cov export: [line, column, line end, column end, true count, false count, file, expanded file, kind].
Region = tuple[int, int, int, int]


@dataclass
class Totals:
    lines: int = 0
    lines_reached: int = 0
    branches: int = 0
    branches_reached: int = 0
    conditions: int = 0
    conditions_reached: int = 0


def lines_of(segments: list[list]) -> dict[int, int]:
    """Line by line the largest count, as llvm-cov's own tables have it: of the region that wraps the line's start, and
    of those that start on the line."""
    by_line = defaultdict(list)
    for line, _, count, has_count, is_entry, is_gap in segments:
        by_line[line].append((count, has_count, is_entry, is_gap))
    counts: dict[int, int] = {}
    wrapped: tuple[int, bool] = (0, False)
    for line in range(segments[0][0], segments[-1][0] + 1):
        here = by_line.get(line, [])
        starts = [one for one in here if one[1] and one[2] and not one[3]]
        if wrapped[1] or starts:
            counts[line] = max([one[0] for one in starts] + ([wrapped[0]] if wrapped[1] else []))
        if here:
            last = here[-1]
            wrapped = (last[0], bool(last[1]) and not last[3])
    return counts


def gather(files: list[dict], tree: Path) -> tuple[Totals, dict[tuple[str, int], list[str]]]:
    totals = Totals()
    missed: dict[tuple[str, int], list[str]] = defaultdict(list)
    for file in files:
        path = Path(file["filename"]).resolve()
        if not path.is_relative_to(tree / "lib"):
            continue
        name = str(path.relative_to(tree))
        if file["segments"]:
            for line, count in lines_of(file["segments"]).items():
                totals.lines += 1
                totals.lines_reached += 1 if count else 0
                if not count:
                    missed[name, line].append("line")
        branches: dict[Region, list[int]] = {}
        for *place, yes, no, _, _, _ in file["branches"]:
            both = branches.setdefault(tuple(place), [0, 0])
            both[0] += yes
            both[1] += no
        for place, both in branches.items():
            for way, count in zip(("true", "false"), both):
                totals.branches += 1
                totals.branches_reached += 1 if count else 0
                if not count:
                    missed[name, place[0]].append(f"column {place[1]} is never {way}")
        decisions: dict[Region, list[bool]] = {}
        for *place, _, _, _, conditions in file.get("mcdc_records", []):
            known = decisions.setdefault(tuple(place), [False] * len(conditions))
            decisions[tuple(place)] = [a or b for a, b in zip(known, conditions)]
        for place, conditions in decisions.items():
            totals.conditions += len(conditions)
            totals.conditions_reached += sum(conditions)
            for number, reached in enumerate(conditions, 1):
                if not reached:
                    missed[name, place[0]].append(f"condition {number} of column {place[1]} never decides alone")
    return totals, missed


def read_exceptions(path: Path) -> dict[tuple[str, str], str]:
    """Lines of FILE | TEXT OF THE LINE | REASON."""
    exceptions = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        if line.strip() and not line.startswith("#"):
            file, text, reason = (one.strip() for one in line.split(" | "))
            if len(reason) < 10:
                sys.exit(f"{path}: an exception without a reason: {line}")
            exceptions[file, text] = reason
    return exceptions


def main() -> int:
    export, tree = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]).resolve()
    exceptions = read_exceptions(Path(sys.argv[3]))
    totals, missed = gather(export["data"][0]["files"], tree)
    if totals.lines == 0 or totals.branches == 0:
        print("nothing of lib/ was measured")
        return 2
    used, faults = set(), 0
    for (name, line), what in sorted(missed.items()):
        text = (tree / name).read_text().splitlines()[line - 1].strip()
        if (name, text) in exceptions:
            used.add((name, text))
            continue
        hard = any(not one.startswith("condition") for one in what)
        faults += 1 if hard else 0
        print(f"{name}:{line}: {'' if hard else 'note: '}{'; '.join(what)}: {text}")
    for name, text in sorted(set(exceptions) - used):
        print(f"an exception that is not needed: {name} | {text}")
        faults += 1
    if len(exceptions) > EXCEPTIONS_MAX:
        print(f"{len(exceptions)} exceptions, {EXCEPTIONS_MAX} are allowed")
        faults += 1
    rate = totals.conditions_reached / max(1, totals.conditions)
    if rate < CONDITIONS_MIN or totals.conditions == 0:
        print(f"MC/DC below {CONDITIONS_MIN:.0%}")
        faults += 1
    print(f"lines {totals.lines_reached} of {totals.lines}, branches {totals.branches_reached} of {totals.branches}, ")
    print(f"MC/DC {totals.conditions_reached} of {totals.conditions} ({rate:.1%}), {len(used)} exceptions")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
