"""The health gate: seeds are clean, every driver gets somewhere, and planted bugs are found in time."""

import shutil
import time
from pathlib import Path

from driver import Driver
from findings import ARTIFACTS
from job import Job
from options import Options

EDGES_MIN = 100
SECONDS = 10
BUG_SECONDS = 60
POLL_SECONDS = 0.05


def run_all(jobs: list[Job], at_once: int) -> None:
    waiting, running = list(jobs), []
    while waiting or running:
        while waiting and len(running) < at_once:
            job = waiting.pop(0)
            job.driver.make_folders()
            job.start()
            running.append(job)
        time.sleep(POLL_SECONDS)
        running = [job for job in running if not job.ended()]


def fault_of(job: Job) -> str:
    if job.exit_code != 0:
        return f"exit {job.exit_code}"
    if job.progress.edges < EDGES_MIN:
        return f"only {job.progress.edges} edges"
    return ""


def fresh(driver: Driver, folder: Path) -> Driver:
    """The same driver in a folder without a past: what it reaches, it reaches from its seeds."""
    return Driver(driver.name, driver.binary, folder, driver.tree)


def planted(options: Options, drivers: dict[str, Driver], folder: Path) -> list[tuple[str, Job]]:
    """One job for each planted bug: MODULE.so, and the law that its patch names."""
    jobs = []
    for module in options.planted:
        patch = options.corpus.parent / "properties" / "bugs" / f"{module.stem}.patch"
        laws = [line.split()[2] for line in patch.read_text().splitlines() if line.startswith("# law: ")]
        driver = drivers.get(laws[0].strip()) if laws else None
        if driver is not None:
            own = fresh(driver, folder / module.stem)
            jobs.append((module.stem, Job(own, BUG_SECONDS, fork=False, extra=[f"--planted={module}"])))
    return jobs


def check(options: Options, chosen: list[Driver]) -> int:
    folder = options.folder / "health"
    shutil.rmtree(folder, ignore_errors=True)
    faults = 0
    jobs = [Job(fresh(one, folder), SECONDS, fork=False) for one in chosen]
    run_all(jobs, options.jobs)
    for job in jobs:
        fault = fault_of(job)
        faults += 1 if fault else 0
        rate = job.progress.executions / max(job.took, 1e-9)
        print(f"{job.driver.name:<40}{job.progress.edges:>7} edges{rate:>9.0f} a second  {fault or 'well'}")
        if fault:
            print("\n".join(list(job.lines)[-20:]))
    bugs = planted(options, {one.name: one for one in chosen}, folder / "bugs")
    if not bugs:
        print("no planted bug was tried")
        faults += 1
    run_all([job for _, job in bugs], options.jobs)
    for name, job in bugs:
        # A wrong answer, a death, a leak or a hang: whatever libFuzzer leaves an input for.
        found = job.exit_code != 0 and any(one for kind in ARTIFACTS for one in job.driver.found.glob(kind))
        faults += 0 if found else 1
        how = f"found after {job.took:.1f} s" if found else f"NOT FOUND in {job.took:.0f} s"
        print(f"{name:<50}{job.driver.name:<36}{how}, {job.progress.executions} executions")
        if not found and job.exit_code != 0:
            print("\n".join(list(job.lines)[-20:]))
    print(f"{len(jobs)} drivers, {len(bugs)} planted bugs, {faults} faults")
    return 1 if faults else 0
