"""One driver: its program, its folders, and the arguments that libFuzzer gets."""

from dataclasses import dataclass
from pathlib import Path

# What the readers take is no case, and what they leave is none.
ORACLE = "against_the_oracle"
SESSION = "any_session"
SESSION_LAWS = (
    "cached_equals_full_prefix",
    "snapshot_equals_projected_prefix",
    "reset_then_replay_is_identical",
    "refusal_changes_nothing",
    "retry_equals_never_failed",
    "update_or_rebuild_unbinds",
    "stale_ticket_is_refused",
    "commit_all_is_all_or_nothing",
    "copies_are_independent",
)
TIMEOUT_S = 10  # a case takes milliseconds, and a second at most; a loaded machine takes longer
MEMORY_MB = 2560
LENGTH_MAX = 8192


@dataclass(frozen=True)
class Driver:
    name: str
    binary: Path
    folder: Path  # the campaign's
    tree: Path  # corpus/ of the tree
    worker: int = 0

    @property
    def takes_cases(self) -> bool:
        """Whether an input is the text of a case."""
        return not self.name.endswith("_bytes") and self.name != ORACLE

    @property
    def is_reader(self) -> bool:
        return self.name.endswith("_bytes")

    @property
    def grown(self) -> Path:
        """The inputs that the campaign keeps, shared by all workers."""
        return self.folder / "corpus" / self.name

    @property
    def found(self) -> Path:
        """Where libFuzzer leaves what it finds. Each worker has a folder of its own, as its boxes lie there."""
        return self.folder / "findings" / self.name / f"worker{self.worker}"

    @property
    def boxes(self) -> Path:
        return self.found / "boxes"

    @property
    def temporary(self) -> Path:
        return self.folder / "tmp" / f"{self.name}.{self.worker}"

    @property
    def log(self) -> Path:
        suffix = f".{self.worker}" if self.worker else ""
        return self.folder / "logs" / f"{self.name}{suffix}.log"

    def seeds(self) -> list[Path]:
        """The folders of corpus/ that this driver starts from."""
        if self.name == "case_bytes":
            folders = [one for one in sorted(self.tree.iterdir()) if not one.name.endswith("_bytes")]
            return [one for one in folders if one.is_dir() and one.name != ORACLE]
        names = SESSION_LAWS if self.name == SESSION else (self.name,)
        return [self.tree / name for name in names if (self.tree / name).is_dir()]

    def make_folders(self) -> None:
        for one in (self.grown, self.found, self.boxes, self.temporary, self.log.parent):
            one.mkdir(parents=True, exist_ok=True)

    def command(self, *arguments: str) -> list[str]:
        return [str(self.binary), *arguments]

    def counting(self) -> list[str]:
        """How often an edge was passed says little of a case beside its states and numbers, which are counted."""
        return [] if self.is_reader else ["-use_counters=0"]

    def fuzz_command(self, seconds: int, fork: bool, extra: list[str]) -> list[str]:
        flags = [
            f"-max_total_time={seconds}",
            f"-timeout={TIMEOUT_S}",
            f"-rss_limit_mb={MEMORY_MB}",
            f"-max_len={LENGTH_MAX}",
            "-print_final_stats=1",
            "-print_funcs=0",
            # What others find is read only where others share the folder.
            f"-reload={1 if self.worker else 0}",
            # Inputs that take long are tried less often.
            "-entropic_scale_per_exec_time=1",
            f"-artifact_prefix={self.found}/",
        ]
        flags += self.counting()
        if fork:
            flags += ["-fork=1", "-ignore_crashes=1", "-ignore_timeouts=1", "-ignore_ooms=1"]
        dictionary = self.binary.with_name(self.binary.name + ".dict")
        if dictionary.exists():
            flags.append(f"-dict={dictionary}")
        return self.command(*extra, *flags, str(self.grown), *map(str, self.seeds()))


def drivers_in(binaries: Path, folder: Path, tree: Path, worker: int = 0) -> list[Driver]:
    """Every driver there is: programs called fuzz_*."""
    found = []
    for one in sorted(binaries.glob("fuzz_*")):
        if one.suffix == "" and one.is_file():
            found.append(Driver(one.name.removeprefix("fuzz_"), one, folder, tree, worker))
    return found
