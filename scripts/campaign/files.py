"""Writing files so that nothing is lost: whole or not at all, and room for what must be written on a full disk."""

import hashlib
import os
import shutil
from pathlib import Path

BALLAST_BYTES = 1 << 20
ROOM_BYTES = 64 << 20  # with less than this free, no driver is started


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file that exists afterwards as a whole, or not at all, whatever happens meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(scratch, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        os.replace(scratch, path)
    except OSError:
        scratch.unlink(missing_ok=True)
        raise


def digest(content: bytes) -> str:
    """The name that libFuzzer would give an input."""
    return hashlib.sha1(content).hexdigest()


def has_room(folder: Path, wanted: int = ROOM_BYTES) -> bool:
    return shutil.disk_usage(folder).free >= wanted


class Ballast:
    """A file that only takes room, given up when something must be written and the disk is full."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "ballast"

    def take(self) -> None:
        if self.path.exists() and self.path.stat().st_size == BALLAST_BYTES:
            return
        try:
            with open(self.path, "wb") as out:
                os.posix_fallocate(out.fileno(), 0, BALLAST_BYTES)
        except OSError:
            self.path.unlink(missing_ok=True)

    def write(self, path: Path, content: bytes) -> None:
        try:
            write_whole(path, content)
        except OSError:
            self.path.unlink(missing_ok=True)
            write_whole(path, content)
