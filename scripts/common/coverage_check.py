"""coverage_check.py EXPORT.json TREE EXCEPTIONS: what of lib/ no test reached, against the list of exceptions.

A template counts once: what one instance of it reaches is reached. An exception is a file, the text of a line in it
and a reason; it stands for whatever on that line is not reached, and is an error once nothing is. The text * stands for
whole files, whose names may be a pattern. A source file that was not measured at all is not reached either.
"""

import json
import sys
from collections import defaultdict
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

EXCEPTIONS_MAX = 20
CONDITIONS_MIN = 0.95
REASONS = ("other instruction set", "constant-folded")
# The place of what llvm-cov exports: [line, column, line end, column end, ..].
Region = tuple[int, ...]


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
        for branch in file["branches"]:
            both = branches.setdefault(tuple(branch[:4]), [0, 0])
            both[0] += branch[4]
            both[1] += branch[5]
        for place, both in branches.items():
            for way, count in zip(("true", "false"), both):
                totals.branches += 1
                totals.branches_reached += 1 if count else 0
                if not count:
                    missed[name, place[0]].append(f"column {place[1]} is never {way}")
        decisions: dict[Region, list[bool]] = {}
        for record in file.get("mcdc_records", []):
            place, conditions = tuple(record[:4]), record[-1]
            known = decisions.setdefault(place, [False] * len(conditions))
            decisions[place] = [a or b for a, b in zip(known, conditions, strict=True)]
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
            if not reason.startswith(REASONS):
                raise ValueError(f"a reason is one of {', '.join(REASONS)}: {line}")
            exceptions[file, text] = reason
    return exceptions


def unmeasured(files: list[dict], tree: Path) -> list[str]:
    measured = {Path(file["filename"]).resolve() for file in files}
    return [str(path.relative_to(tree)) for path in sorted((tree / "lib/src").rglob("*.cpp")) if path not in measured]


def main() -> int:
    export, tree = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]).resolve()
    try:
        exceptions = read_exceptions(Path(sys.argv[3]))
    except ValueError as error:
        print(f"{sys.argv[3]}: {error}")
        return 2
    totals, missed = gather(export["data"][0]["files"], tree)
    if totals.lines == 0 or totals.branches == 0:
        print("nothing of lib/ was measured")
        return 2
    used, faults = set(), 0
    spared = Totals()

    def excepted(name: str, text: str) -> bool:
        found = {(file, line) for file, line in exceptions if line in (text, "*") and fnmatch(name, file)}
        used.update(found)
        return bool(found)

    for (name, line), what in sorted(missed.items()):
        text = (tree / name).read_text().splitlines()[line - 1].strip()
        if excepted(name, text):
            spared.lines += what.count("line")
            spared.branches += sum(one.startswith("column") for one in what)
            spared.conditions += sum(one.startswith("condition") for one in what)
            continue
        hard = any(not one.startswith("condition") for one in what)
        faults += 1 if hard else 0
        print(f"{name}:{line}: {'' if hard else 'note: '}{'; '.join(what)}: {text}")
    for name in unmeasured(export["data"][0]["files"], tree):
        if not excepted(name, "*"):
            print(f"{name}: not measured")
            faults += 1
    for name, text in sorted(set(exceptions) - used):
        print(f"an exception that is not needed: {name} | {text}")
        faults += 1
    if len(exceptions) > EXCEPTIONS_MAX:
        print(f"{len(exceptions)} exceptions, {EXCEPTIONS_MAX} are allowed")
        faults += 1
    reachable = totals.conditions - spared.conditions
    rate = totals.conditions_reached / max(1, reachable)
    if rate < CONDITIONS_MIN or totals.conditions == 0:
        print(f"MC/DC below {CONDITIONS_MIN:.0%}")
        faults += 1
    print(f"lines: {totals.lines_reached} of {totals.lines}, {spared.lines} excepted")
    print(f"branches: {totals.branches_reached} of {totals.branches}, {spared.branches} excepted")
    print(f"MC/DC: {totals.conditions_reached} of {totals.conditions}, {spared.conditions} excepted: {rate:.1%}")
    print(f"{len(used)} exceptions of at most {EXCEPTIONS_MAX}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
