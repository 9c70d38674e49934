"""The inputs a campaign keeps: what killed drivers left, merging, caps, and inputs that several drivers share."""

import os
import shutil
import subprocess
from pathlib import Path

from driver import LENGTH_MAX, TIMEOUT_S, Driver
from files import digest, write_whole
from job import die_with_parent, environment

MERGE_SECONDS = 1800


def rescue(driver: Driver) -> int:
    """Takes the inputs that a killed driver's fork mode had found into the corpus, and clears its folders."""
    rescued = 0
    for job_folder in sorted(driver.temporary.glob("libFuzzerTemp.*/C*")):
        if not job_folder.is_dir():
            continue
        for path in job_folder.iterdir():
            if path.is_file() and keep(driver, path.read_bytes()):
                rescued += 1
    # Only now: a kill in between leaves everything for the next time.
    for left in driver.temporary.iterdir():
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)
    return rescued


def keep(driver: Driver, content: bytes) -> bool:
    path = driver.grown / digest(content)
    if path.exists() or not content:
        return False
    write_whole(path, content)
    return True


def settle(folder: Path) -> None:
    """Ends an exchange of folders that was interrupted: `new` is only ever whole once `old` is away."""
    new, old = folder.with_name(f".{folder.name}.new"), folder.with_name(f".{folder.name}.old")
    if old.exists() and not folder.exists():
        os.rename(new if (new / ".whole").exists() else old, folder)
    (folder / ".whole").unlink(missing_ok=True)
    for left in (new, old):
        shutil.rmtree(left, ignore_errors=True)


def exchange(folder: Path, content: Path) -> None:
    """Puts `content` in the place of `folder`; killed at any point, settle finds one of the two whole."""
    old = folder.with_name(f".{folder.name}.old")
    (content / ".whole").touch()
    os.sync()
    os.rename(folder, old)
    os.rename(content, folder)
    settle(folder)


def minimise(driver: Driver, extra: list[str]) -> str:
    """Merges the corpus into the fewest inputs with all its features. Says why it could not; empty: done."""
    settle(driver.grown)
    new = driver.grown.with_name(f".{driver.grown.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    command = driver.command(
        *extra,
        "-merge=1",
        f"-max_len={LENGTH_MAX}",
        *driver.counting(),
        f"-timeout={TIMEOUT_S}",
        f"-artifact_prefix={driver.found}/",
        str(new),
        str(driver.grown),
        *map(str, driver.seeds()),
    )
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=environment(driver),
            cwd=driver.temporary,
            preexec_fn=die_with_parent,
            timeout=MERGE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "merging took too long"
    if done.returncode != 0:
        return f"merging ended with {done.returncode}: {done.stderr[-300:].decode('utf-8', 'replace')}"
    forget(new, [one for seed in driver.seeds() for one in seed.iterdir()])
    exchange(driver.grown, new)
    return ""


def forget(folder: Path, known: list[Path]) -> None:
    """Removes from a corpus what the tree's own corpus holds already."""
    for path in known:
        if path.is_file():
            (folder / digest(path.read_bytes())).unlink(missing_ok=True)


def cap(folder: Path, files_max: int, bytes_max: int) -> int:
    """Removes the largest inputs until the corpus is within its cap; gives how many went."""
    sized = sorted((one.stat().st_size, one) for one in folder.iterdir() if one.is_file())
    total, gone = sum(size for size, _ in sized), 0
    while sized and (len(sized) > files_max or total > bytes_max):
        size, path = sized.pop()
        path.unlink(missing_ok=True)
        total -= size
        gone += 1
    return gone


def share(drivers: list[Driver]) -> int:
    """Lets equal inputs of several drivers share one file on disk; gives how many copies went."""
    first: dict[str, Path] = {}
    shared = 0
    for driver in drivers:
        for path in sorted(driver.grown.iterdir()):
            kept = first.setdefault(path.name, path)
            if kept is path or kept.stat().st_ino == path.stat().st_ino or not path.is_file():
                continue
            scratch = path.with_name(f".{path.name}.link")
            scratch.unlink(missing_ok=True)
            os.link(kept, scratch)
            os.replace(scratch, path)
            shared += 1
    return shared


def size(folder: Path) -> tuple[int, int]:
    sizes = [one.stat().st_size for one in folder.iterdir() if one.is_file()]
    return len(sizes), sum(sizes)
