"""One slice of fuzzing: a driver at work for some seconds, and what it says meanwhile."""

import ctypes
import os
import re
import signal
import subprocess
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import IO

from driver import TIMEOUT_S, Driver

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)
TAIL_LINES = 400
LATE_S = 3 * TIMEOUT_S  # after its time, before a driver counts as hung

# "#4096 pulse cov: 812 ft: 3021 corp: 44/9Kb exec/s: 2048 ..." of one process,
# "#4096: cov: 812 ft: 3021 corp: 44 exec/s: 2048 oom/timeout/crash: 0/0/0 time: 5s job: 2" of fork mode.
PROGRESS = re.compile(r"^#(\d+):?\s.*?cov: (\d+) ft: (\d+) corp: (\d+)")
EXECUTED = re.compile(r"^stat::number_of_executed_units: *(\d+)")
ENVIRONMENT = {"UBSAN_OPTIONS": "print_stacktrace=1"}  # the driver has its own defaults for AddressSanitizer


def die_with_parent() -> None:
    """Runs in the child before its program: a conductor that is killed takes its drivers along."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def environment(driver: Driver) -> dict[str, str]:
    """The caller's own options of the sanitizers win; what is temporary lies inside the campaign's folder."""
    return {**ENVIRONMENT, **os.environ, "TMPDIR": str(driver.temporary)}


@dataclass
class Progress:
    executions: int = 0
    edges: int = 0
    features: int = 0
    kept: int = 0

    def read(self, line: str) -> None:
        if match := PROGRESS.match(line):
            counts = [int(one) for one in match.groups()]
            # Libfuzzer's first lines of a run count from 0 again.
            self.executions = max(self.executions, counts[0])
            self.edges = max(self.edges, counts[1])
            self.features = max(self.features, counts[2])
            self.kept = counts[3]
        elif match := EXECUTED.match(line):
            self.executions = max(self.executions, int(match[1]))


@dataclass
class Job:
    driver: Driver
    seconds: int
    fork: bool
    extra: list[str] = field(default_factory=list)
    progress: Progress = field(default_factory=Progress)
    started: float = 0.0
    took: float = 0.0
    cpu: float = 0.0  # seconds of it and of its children
    exit_code: int | None = None
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=TAIL_LINES))
    _process: subprocess.Popen[bytes] | None = None
    _watchers: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        self.started = time.monotonic()
        variables = environment(self.driver)
        if self.fork:
            # The parent of fork mode would name every new function, at seconds a name; findings are run again anyway.
            variables.setdefault("ASAN_OPTIONS", "symbolize=0")
        self._process = subprocess.Popen(
            self.driver.fuzz_command(self.seconds, self.fork, self.extra),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=variables,
            cwd=self.driver.temporary,
            preexec_fn=die_with_parent,
            start_new_session=True,
        )
        # Threads of its own read it and see it end: whatever the conductor does meanwhile, the driver never waits for a
        # reader, and its time ends when it ends.
        self._watchers = [threading.Thread(target=one, daemon=True) for one in (self.read, self.see_end)]
        for one in self._watchers:
            one.start()

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    @property
    def output(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout

    def read(self) -> None:
        """Takes in what the driver says, to its end."""
        for raw in self.output:
            line = raw.decode("utf-8", "replace").rstrip("\n")
            self.lines.append(line)
            self.progress.read(line)

    def see_end(self) -> None:
        _, status, used = os.wait4(self.process.pid, 0)
        self.took = time.monotonic() - self.started
        self.cpu = used.ru_utime + used.ru_stime
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.exit_code = self.process.returncode

    def ended(self) -> bool:
        if self.exit_code is None:
            # libFuzzer ends by itself; one that does not is hung beyond its own timeout.
            if time.monotonic() - self.started > self.seconds + LATE_S:
                self.stop()
            return False
        # What it said last is there at once, unless a grandchild lives on and keeps the pipe open.
        self._watchers[0].join(timeout=5)
        return True

    def stop(self) -> None:
        """Ends the driver and its children at once; what they had is picked up from their folders."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def keep_log(self) -> None:
        """For people; a full disk may do without."""
        try:
            self.driver.log.write_text("\n".join(self.lines) + "\n")
        except OSError:
            pass
