"""What the command line asks for."""

import argparse
import os
import re
from dataclasses import dataclass
from pathlib import Path

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds_of(text: str) -> int:
    """'90', '90s', '10m', '8h', '3d' in seconds."""
    match = re.fullmatch(r"([1-9][0-9]{0,7})([smhd]?)", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text} is no time such as 90, 10m, 8h or 3d")
    return int(match[1]) * UNITS[match[2] or "s"]


def path_of(text: str) -> Path:
    """Drivers run in folders of their own, so that a relative path would be another one there."""
    return Path(text).resolve()


def count_of(text: str) -> int:
    if re.fullmatch(r"[1-9][0-9]{0,3}", text) is None:
        raise argparse.ArgumentTypeError(f"{text} is no number of jobs")
    return int(text)


@dataclass
class Options:
    names: list[str]  # drivers; none: all
    seconds: int  # of the whole campaign, by the wall
    jobs: int
    once: bool  # one equal slice a driver, in one process each, and no minimising at the end
    json: bool
    check: bool  # the health gate, with the planted bugs, in place of a campaign
    binaries: Path  # the folder of the drivers
    folder: Path  # the campaign's own
    corpus: Path  # seeds, and where findings go
    planted: list[Path]  # modules with a planted bug each
    slurm: int  # tasks of a job array to submit; 0: the campaign runs here
    part: str  # "all", or of a job array: what a "worker" does, what the "last" job does
    worker: int  # number of the worker among those that share the folder
    claims: Path | None  # where workers say which findings they have taken
    files_max: int  # of one driver's grown corpus, and its bytes
    bytes_max: int


def parse(arguments: list[str]) -> Options:
    parser = argparse.ArgumentParser(prog="scripts/fuzz")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--for", dest="seconds", type=seconds_of, default=600)
    parser.add_argument("--jobs", type=count_of, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--binaries", type=path_of, required=True)
    parser.add_argument("--folder", type=path_of, required=True)
    parser.add_argument("--corpus", type=path_of, required=True)
    parser.add_argument("--planted", type=path_of, action="append", default=[])
    parser.add_argument("--slurm", type=count_of, default=0)
    parser.add_argument("--part", choices=["all", "worker", "last"], default="all")
    parser.add_argument("--worker", type=int, default=0)
    parser.add_argument("--claims", type=path_of)
    parser.add_argument("--files-max", type=int, default=4000)
    parser.add_argument("--bytes-max", type=int, default=8 << 20)
    return Options(**vars(parser.parse_args(arguments)))
