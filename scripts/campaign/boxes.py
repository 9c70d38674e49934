"""The black boxes: the input that a driver was running when it died (fuzz/src/box.hpp)."""

import fcntl
import os
import struct
from pathlib import Path

MAGIC = b"attestbx"
HEADER = struct.Struct("<8sQ")
BOX_BYTES = 64 << 10
BOXES = 4


def reserve(folder: Path) -> None:
    """Makes the boxes and their room on disk. One that is there stays as it is: it may hold a death."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(BOXES):
        path = folder / f"box.{number}"
        if path.exists() and path.stat().st_size == BOX_BYTES:
            continue
        scratch = folder / f".box.{number}"
        with open(scratch, "wb") as out:
            os.posix_fallocate(out.fileno(), 0, BOX_BYTES)
            # Zeros are written, not only reserved, so that no later write needs room of any kind.
            out.write(HEADER.pack(MAGIC, 0).ljust(BOX_BYTES, b"\0"))
            out.flush()
            os.fsync(out.fileno())
        os.replace(scratch, path)


def deaths(folder: Path) -> list[tuple[Path, bytes]]:
    """Inputs during which a driver died. A box that a driver still holds is not looked at."""
    found = []
    for path in sorted(folder.glob("box.*")):
        with open(path, "rb") as box:
            try:
                fcntl.flock(box, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            content = box.read()
        if len(content) < HEADER.size:
            continue
        magic, length = HEADER.unpack_from(content)
        if magic == MAGIC and 0 < length <= len(content) - HEADER.size:
            found.append((path, content[HEADER.size : HEADER.size + length]))
    return found


def empty(path: Path) -> None:
    """Makes a box clean again, once its input is kept elsewhere."""
    with open(path, "r+b") as box:
        box.write(HEADER.pack(MAGIC, 0))
        box.flush()
        os.fsync(box.fileno())
