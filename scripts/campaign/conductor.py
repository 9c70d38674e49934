"""Runs a campaign from its beginning, or from where it was killed, to its summary."""

import fcntl
import json
import signal
import sys
import time
from dataclasses import asdict, replace
from typing import IO, Any

import boxes
import grown
import health
import options as command_line
import report
import slurm
from driver import Driver, drivers_in
from files import Ballast, has_room, write_whole
from findings import Finding, Findings, run
from job import Job
from schedule import FORK_MIN, Share, choose, slice_seconds

POLL_SECONDS = 0.1
JUDGED_AT_ONCE = 200
JUDGE_SHARE = 0.1  # of a campaign's time goes to its worst numbers at the end, all drivers together …
JUDGE_SECONDS_MAX = 1200  # … and never more than this
ONCE_SHRINK_SECONDS = 15


class Campaign:
    def __init__(self, options: command_line.Options, drivers: list[Driver]) -> None:
        self.options = options
        self.drivers = {one.name: one for one in drivers}
        self.shares = {one.name: Share() for one in drivers}
        self.troubles: dict[str, str] = {}
        self.progress = report.Progress()
        self.ballast = Ballast(options.folder)
        self.extra = [f"--planted={one}" for one in options.planted[:1]]
        self.findings = Findings(options.corpus, self.ballast, self.extra, options.claims)
        if options.once:
            # A short run stays near its time, whatever it finds.
            self.findings.shrink_seconds = min(self.findings.shrink_seconds, ONCE_SHRINK_SECONDS)
        self.running: list[Job] = []
        self.spent = 0.0  # seconds of earlier runs of the same campaign
        self.started = time.monotonic()
        self.stopped = False
        self.state = options.folder / (f"state.{options.worker}.json" if options.worker else "state.json")
        self.lock: IO[str] | None = None

    # Beginning and resuming.

    def prepare(self) -> None:
        self.options.folder.mkdir(parents=True, exist_ok=True)
        self.lock = open(self.options.folder / f".lock.{self.options.worker}", "w")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            sys.exit(f"fuzz: another campaign runs in {self.options.folder}")
        self.load()
        if self.options.part == "last":
            self.take_over()
        for driver in self.drivers.values():
            if self.options.part != "worker":
                grown.settle(driver.grown)
            for one in self.left_behind(driver):
                self.take_in(one)
            boxes.reserve(driver.boxes)
        self.ballast.take()

    def left_behind(self, driver: Driver) -> list[Driver]:
        """The driver as whoever may have been killed had it: at the end of a job array, all its workers."""
        if self.options.part != "last":
            return [driver]
        numbers = {int(one.name.removeprefix("worker")) for one in driver.found.parent.glob("worker*")}
        return [replace(driver, worker=number) for number in sorted(numbers | {driver.worker})]

    def take_in(self, driver: Driver) -> None:
        driver.make_folders()
        if rescued := grown.rescue(driver):
            self.progress.note(f"{driver.name}: {rescued} inputs of a killed run taken in")
        self.report_new(driver)

    def asked(self) -> dict[str, Any]:
        return {"names": sorted(self.drivers), "seconds": self.options.seconds}

    def load(self) -> None:
        """Goes on with an unfinished campaign that asked for the same."""
        if self.options.once:
            return
        try:
            state = json.loads(self.state.read_text())
        except (OSError, ValueError):
            return
        if state["finished"] or state["asked"] != self.asked():
            return
        self.findings.known = {key: Finding(**one) for key, one in state["known"].items()}
        self.spent = state["spent"]
        self.shares |= {name: Share(**one) for name, one in state["shares"].items() if name in self.shares}
        self.progress.note(f"going on after {report.clock(self.spent)} of {report.clock(self.options.seconds)}")

    def save(self, finished: bool = False) -> None:
        if self.options.once:
            return
        state = {
            "asked": self.asked(),
            "finished": finished,
            "spent": self.elapsed(),
            "shares": {name: asdict(one) for name, one in self.shares.items()},
            "known": {key: asdict(one) for key, one in self.findings.known.items()},
        }
        try:
            write_whole(self.state, json.dumps(state, indent=1).encode())
        except OSError as error:
            self.progress.note(f"the state was not written: {error.strerror}")

    def elapsed(self) -> float:
        return self.spent + time.monotonic() - self.started

    # Running.

    def run(self) -> int:
        self.prepare()
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, self.stop)
        turn = 0
        while not self.stopped and (self.running or self.wants_more()):
            while len(self.running) < self.options.jobs and self.wants_more() and self.start(turn):
                turn += 1
            time.sleep(POLL_SECONDS)
            self.poll()
        for job in self.running:
            job.stop()
        while self.running:
            self.poll()
        if not self.stopped and not self.options.once and self.options.part != "worker":
            self.tidy()
        self.save(finished=not self.stopped)
        return self.conclude()

    def stop(self, *_: object) -> None:
        self.stopped = True

    def take_over(self) -> None:
        """Adds up what all workers had."""
        self.shares = {name: Share() for name in self.drivers}
        for path in sorted(self.options.folder.glob("state*.json")):
            state = json.loads(path.read_text())
            self.findings.known |= {key: Finding(**one) for key, one in state["known"].items()}
            for name, one in state["shares"].items():
                self.shares.setdefault(name, Share()).add(
                    one["seconds"], one.get("cpu", 0.0), one["executions"], one["edges"], one["features"]
                )

    def wants_more(self) -> bool:
        if self.options.part == "last":
            return False
        if self.options.once:
            return any(one.slices == 0 for name, one in self.shares.items() if name not in self.busy())
        return self.options.seconds - self.elapsed() >= 2

    def busy(self) -> set[str]:
        return {job.driver.name for job in self.running}

    def start(self, turn: int) -> bool:
        if not has_room(self.options.folder):
            self.progress.show("the disk is full: waiting for room", self.elapsed())
            if self.options.once:
                self.stopped = True
            return False
        fresh = {name: one for name, one in self.shares.items() if one.slices == 0}
        name = choose(fresh if self.options.once else self.shares, self.busy(), turn)
        if name is None:
            return False
        jobs, drivers = min(self.options.jobs, len(self.drivers)), len(self.drivers)
        if self.options.once:
            seconds = max(2, int(self.options.seconds * jobs / drivers))
        else:
            seconds = slice_seconds(self.options.seconds, jobs, drivers)
            seconds = max(2, min(seconds, int(self.options.seconds - self.elapsed())))
        job = Job(self.drivers[name], seconds, fork=not self.options.once and seconds >= FORK_MIN, extra=self.extra)
        job.start()
        self.running.append(job)
        return True

    def poll(self) -> None:
        for job in list(self.running):
            if job.ended():
                self.running.remove(job)
                self.account(job)
        if self.running and not self.stopped and not has_room(self.options.folder, 16 << 20):
            # Drivers that can't write what they find only lose it; what they run now is in their boxes.
            self.progress.note("the disk is full: the drivers are stopped")
            for job in self.running:
                job.stop()
        self.progress.show(self.line(), self.elapsed())

    def line(self) -> str:
        executions = sum(one.executions for one in self.shares.values())
        executions += sum(job.progress.executions for job in self.running)
        names = ", ".join(sorted(self.busy()))
        known = len(self.findings.known)
        clocks = f"{report.clock(self.elapsed())} of {report.clock(self.options.seconds)}"
        return f"{clocks}: {executions} executions, {known} findings; {names}"[:150]

    def account(self, job: Job) -> None:
        driver, said = job.driver, job.progress
        self.shares[driver.name].add(job.took, job.cpu, said.executions, said.edges, said.features)
        job.keep_log()
        grown.rescue(driver)
        found = self.report_new(driver)
        boxes.reserve(driver.boxes)
        if not self.stopped:
            self.judge_ending(job, found)
        self.save()

    def judge_ending(self, job: Job, found: int) -> None:
        name = job.driver.name
        if self.options.once and job.exit_code != 0 and not found:
            self.troubles[name] = f"FAILED, exit {job.exit_code}"
        elif job.progress.executions == 0 and has_room(self.options.folder):
            self.troubles[name] = "FAILED, nothing executed"
        elif job.progress.edges == 0 and has_room(self.options.folder):
            # A driver hands back what it can't judge, and libFuzzer counts no coverage for that.
            self.troubles[name] = "FAILED, every input was turned away"
        else:
            # What went wrong before, somebody's kill for one, did not stay wrong.
            self.troubles.pop(name, None)
            return
        for line in list(job.lines)[-30:]:
            self.progress.note(f"    {line}")

    def report_new(self, driver: Driver) -> int:
        before = dict(self.findings.known)
        for finding in self.findings.collect(driver):
            self.progress.note(f"FINDING {finding.driver}: {finding.text}")
            self.progress.note(f"    {finding.file}\n    again: {finding.again}")
        return len(self.findings.known) - len(before)

    # The end.

    def tidy(self) -> None:
        seconds = min(JUDGE_SHARE * self.options.seconds, JUDGE_SECONDS_MAX) / max(1, len(self.drivers))
        for number, driver in enumerate(self.drivers.values(), 1):
            if self.stopped:
                return
            self.progress.show(f"minimising {number} of {len(self.drivers)}: {driver.name}", self.elapsed())
            if why := grown.minimise(driver, self.extra):
                self.progress.note(f"{driver.name}: {why}")
            grown.cap(driver.grown, self.options.files_max, self.options.bytes_max)
            self.shares[driver.name].worst = self.worst(driver, max(1.0, seconds))
        grown.share(list(self.drivers.values()))

    def worst(self, driver: Driver, seconds: float) -> float:
        """The largest error / bound over the inputs that are kept: the gauge keeps whatever reached a new one. Whatever
        they hold, the time for it is bounded; what was not judged by then is left out, and said."""
        if driver.is_reader:
            return 0.0
        files = [str(one) for folder in (driver.grown, *driver.seeds()) for one in sorted(folder.iterdir())]
        worst, judged, end = 0.0, 0, time.monotonic() + seconds
        for first in range(0, len(files), JUDGED_AT_ONCE):
            left = end - time.monotonic()
            if left <= 0 or self.stopped:
                break
            _, told, _ = run(driver, [*self.extra, "--judge", *files[first : first + JUDGED_AT_ONCE]], left)
            for line in told.splitlines():
                fields = line.split("\t")
                if len(fields) == 6:
                    judged += 1
                    worst = max(worst, float(fields[3]))
        if judged < len(files):
            self.progress.note(f"{driver.name}: its worst number is over {judged} of {len(files)} inputs")
        return worst

    def conclude(self) -> int:
        took, known = self.elapsed(), self.findings.known
        text = report.table(self.shares, known, self.troubles)
        summary = report.as_json(self.shares, known, self.troubles, took)
        name = f"summary.{self.options.worker}.json" if self.options.part == "worker" else "summary.json"
        try:
            write_whole(self.options.folder / name, summary.encode())
        except OSError:
            pass
        self.progress.note("")
        print(summary if self.options.json else f"{text}\nin {took:.0f} s")
        for finding in known.values():
            print(f"finding: {finding.file}\n    {finding.text}\n    again: {finding.again}", file=sys.stderr)
            print(finding.shown(), file=sys.stderr)
        if known or self.troubles:
            return 1
        return 130 if self.stopped else 0


def main(arguments: list[str]) -> int:
    options = command_line.parse(arguments)
    drivers = drivers_in(options.binaries, options.folder, options.corpus, options.worker)
    names = {one.name for one in drivers}
    unknown = [one for one in options.names if one not in names]
    if unknown or not drivers:
        print(f"fuzz: no driver for {', '.join(unknown) or 'anything'}", file=sys.stderr)
        return 2
    chosen = [one for one in drivers if not options.names or one.name in options.names]
    if options.slurm:
        return slurm.start(options)
    if options.check:
        return health.check(options, chosen)
    return Campaign(options, chosen).run()
