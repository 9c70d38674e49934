"""The kill table: what each law made of each bug, as text, JSON and HTML, and what is wrong about it."""

import html
import json
import re
import statistics
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# Classes of the bank that need an input which the library does not have, and which.
NOT_APPLICABLE = dict(entry.split(" ", 1) for entry in (ROOT / "properties/bugs/not_applicable.txt").read_text().splitlines())
LAST_CLASS = 32
MIN_BUGS = 60


@dataclass
class Cell:
    bug: str
    bug_class: str
    law: str
    refused: bool
    verdict: str
    cases: int
    seconds: float
    steps: int | None
    case: str | None
    why: str | None


def heading(width):
    return f"{'bug':<{width}}  class  {'refused by':<36}  {'cases':>7}  {'seconds':>8}  {'steps':>5}"


def line(cell, width):
    law = cell.law if cell.refused else f"NOT REFUSED ({cell.law})"
    steps = "-" if cell.steps is None else cell.steps
    return f"{cell.bug:<{width}}  {cell.bug_class:<5}  {law:<36}  {cell.cases:>7}  {cell.seconds:>8.2f}  {steps:>5}"


def check_bank(bugs):
    """Every class is planted, or is on the list of those that can't be, and not both."""
    from kill_build import Unusable
    planted = {bug.bug_class for bug in bugs}
    for number in range(1, LAST_CLASS + 1):
        name = f"B{number:02}"
        if (name in planted) == (name in NOT_APPLICABLE):
            raise Unusable(f"class {name} is planted and listed as not applicable, or neither")
    unknown = planted - {f"B{number:02}" for number in range(1, LAST_CLASS + 1)}
    if unknown:
        raise Unusable(f"no such class in the bank: {sorted(unknown)[0]}")
    if len(bugs) < MIN_BUGS:
        raise Unusable(f"the bank holds {len(bugs)} bugs, fewer than {MIN_BUGS}")


def faults(cells, max_seconds, max_steps, max_median):
    found = []
    for cell in cells:
        if not cell.refused:
            found.append(f"{cell.bug} lives: {cell.law} says {cell.verdict} of {cell.cases} cases in {cell.seconds:.1f} s")
        elif cell.seconds > max_seconds:
            found.append(f"{cell.bug} lives for {cell.seconds:.1f} s, longer than {max_seconds}")
        elif cell.steps is None or cell.steps > max_steps:
            found.append(f"{cell.bug} is refused by a case of {cell.steps} steps, more than {max_steps}")
    refused = [cell.seconds for cell in cells if cell.refused]
    if max_median is not None and refused and statistics.median(refused) > max_median:
        found.append(f"half of the bugs live for more than {max_median} s")
    return found


def alone(cells, laws):
    """law -> the bugs that no other law refuses."""
    killers = {}
    for cell in cells:
        if cell.refused:
            killers.setdefault(cell.bug, []).append(cell.law)
    return {law: [bug for bug, by in killers.items() if by == [law]] for law in laws}


def lonely_laws(cells, laws):
    """Laws without which no bug would live, and whose header does not say why they stay."""
    found = []
    for law, bugs in alone(cells, laws).items():
        header = (ROOT / f"properties/laws/{law}.cpp").read_text().split("#include")[0]
        stays = re.search(r"^// Stays", header, re.MULTILINE)
        if not bugs and not stays:
            found.append(f"{law} refuses no bug alone, and its header does not say why it stays")
    lived = {cell.bug for cell in cells} - {cell.bug for cell in cells if cell.refused}
    return found + [f"{bug} is refused by no law within a second" for bug in sorted(lived)]


def summary(cells, seconds, matrix):
    bugs = {cell.bug for cell in cells}
    refused = {cell.bug for cell in cells if cell.refused}
    text = f"{len(refused)} of {len(bugs)} bugs refused, in {seconds:.0f} s"
    times = [cell.seconds for cell in cells if cell.refused]
    if times and not matrix:
        steps = [cell.steps for cell in cells if cell.refused and cell.steps is not None]
        text += f"; seconds to the first refusal: median {statistics.median(times):.2f}, most {max(times):.2f}"
        text += f"; steps: at most {max(steps, default=0)}"
    return text


def as_text(cells):
    width = max(len(cell.bug) for cell in cells)
    lines = [heading(width), *(line(cell, width) for cell in cells), ""]
    laws = sorted({cell.law for cell in cells})
    for law, bugs in alone(cells, laws).items():
        lines.append(f"{law}: alone refuses {', '.join(bugs) or 'none'}")
    lines += ["", *(f"{name}: n/a, {why}" for name, why in NOT_APPLICABLE.items())]
    return "\n".join(lines) + "\n"


def as_html(title, cells):
    style = ("body{font:14px sans-serif}table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:2px 6px;"
             "text-align:left}.no{background:#f6b0b0}.yes{background:#c8e8c8}pre{margin:0}")
    rows = []
    for cell in cells:
        shown = f"<details><summary>{cell.steps} steps</summary><pre>{html.escape(cell.case)}</pre></details>" if cell.case else ""
        rows.append(f"<tr class={'yes' if cell.refused else 'no'}><td>{html.escape(cell.bug)}<td>{cell.bug_class}"
                    f"<td>{cell.law}<td>{cell.verdict}<td>{cell.cases}<td>{cell.seconds:.2f}<td>{shown}"
                    f"<td>{html.escape(cell.why or '')}</tr>")
    head = "".join(f"<th>{name}" for name in ("bug", "class", "law", "verdict", "cases", "seconds", "shrunk case", "why"))
    absent = "".join(f"<li>{name}: {html.escape(why)}" for name, why in NOT_APPLICABLE.items())
    return (f"<!doctype html><meta charset=utf-8><title>{title}</title><style>{style}</style><h1>{title}</h1>"
            f"<table><tr>{head}</tr>{''.join(rows)}</table><h2>Not applicable</h2><ul>{absent}</ul>\n")


def write(out, name, cells, found, also_json):
    data = {"cells": [asdict(cell) for cell in cells], "wrong": found, "not_applicable": NOT_APPLICABLE}
    text = json.dumps(data, indent=1) + "\n"
    (out / f"{name}.txt").write_text(as_text(cells))
    (out / f"{name}.json").write_text(text)
    (out / f"{name}.html").write_text(as_html(name, cells))
    if also_json:
        also_json.write_text(text)
