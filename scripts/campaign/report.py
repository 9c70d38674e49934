"""What people and programs are told."""

import json
import sys
from dataclasses import asdict

from findings import Finding, findings_of
from schedule import Share


def clock(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


class Progress:
    """One line that changes on a terminal; plain lines, now and then, elsewhere."""

    def __init__(self) -> None:
        self.terminal = sys.stderr.isatty()
        self.width = 0
        self.last = float("-inf")

    def show(self, line: str, now: float) -> None:
        if self.terminal:
            sys.stderr.write("\r" + line.ljust(self.width))
            sys.stderr.flush()
            self.width = len(line)
        elif now - self.last >= 60:
            self.last = now
            print(line, file=sys.stderr, flush=True)

    def note(self, line: str) -> None:
        """A line that stays."""
        if self.terminal and self.width:
            sys.stderr.write("\r" + " " * self.width + "\r")
            self.width = 0
        print(line, file=sys.stderr, flush=True)


def per(executions: int, seconds: float) -> float:
    return executions / seconds if seconds else 0.0


def table(shares: dict[str, Share], known: dict[str, Finding], jobs: dict[str, str]) -> str:
    """One row a driver, and all together."""
    rows = [f"{'driver':<38}{'executions':>12}{'a second':>10}{'a CPU s':>9}{'edges':>8}{'features':>10}{'worst':>9}  verdict"]
    for name, share in shares.items():
        rate, of_core = per(share.executions, share.seconds), per(share.executions, share.cpu)
        worst = f"{share.worst:.4f}" if share.worst > 0 else "-"
        found = len(findings_of(known, name))
        verdict = jobs.get(name) or (f"{found} findings" if found else "nothing found")
        rows.append(
            f"{name:<38}{share.executions:>12}{rate:>10.0f}{of_core:>9.0f}{share.edges:>8}{share.features:>10}{worst:>9}  {verdict}"
        )
    executions = sum(one.executions for one in shares.values())
    seconds = sum(one.seconds for one in shares.values())
    rate, of_core = per(executions, seconds), per(executions, sum(one.cpu for one in shares.values()))
    rows.append(f"{'total':<38}{executions:>12}{rate:>10.0f}{of_core:>9.0f}{'':>8}{'':>10}{'':>9}  {len(known)} findings")
    return "\n".join(rows)


def as_json(shares: dict[str, Share], known: dict[str, Finding], troubles: dict[str, str], took: float) -> str:
    return json.dumps(
        {
            "seconds": round(took, 1),
            "drivers": {name: asdict(share) for name, share in shares.items()},
            "findings": [asdict(one) for one in known.values()],
            "troubles": troubles,
        },
        indent=2,
    )
