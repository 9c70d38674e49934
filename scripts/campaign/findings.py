"""Findings: confirmed, deduplicated by law and place, minimised, and written to corpus/ under a name in words."""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import boxes
from driver import MEMORY_MB, ORACLE, SESSION, TIMEOUT_S, Driver
from files import Ballast, digest, write_whole
from job import die_with_parent, environment

SHRINK_SECONDS = 60
SHRINK_HANG_SECONDS = 20  # a hang is shrunk by waiting for others, so it gets fewer tries …
HANG_SECONDS = 3  # … and each is one that takes so long: none should take more than a second
AGAIN_SECONDS = 2 * TIMEOUT_S
HANG = "timeout"
SUMMARY = re.compile(r"SUMMARY: (\w+): ([\w-]+)[^\n]*? in ([^\n(]+)|SUMMARY: (\w+): ([^\n]+)")
SHOWN_LINES = 100
FRAME = re.compile(r"^ *#\d+ .* in (.*/(?:lib|reference|properties|fuzz)/\S+)$", re.MULTILINE)
EXIT_TIMEOUT = 124
LIBFUZZER_TIMEOUT = 70  # its -timeout_exitcode
ARTIFACTS = ("crash-*", "leak-*", "timeout-*", "oom-*")


@dataclass
class Finding:
    driver: str
    law: str  # the corpus folder it belongs to
    key: str  # law and place, without the numbers of the one case
    text: str  # for people
    file: str  # where it was written
    again: str  # one line that shows it again
    confirmed: bool
    seen: int = 1
    stack: str = ""  # of a death, in our own sources

    def shown(self) -> str:
        """The case and where it died, for whoever has only the log: a machine of CI is gone when it is read."""
        lines = self.stack.splitlines()
        if self.file.endswith(".case"):
            try:
                lines += Path(self.file).read_text("utf-8", "replace").splitlines()[:SHOWN_LINES]
            except OSError as error:
                lines.append(str(error))
        return "\n".join(f"    | {line}" for line in lines)


def run(driver: Driver, arguments: list[str], seconds: float) -> tuple[int, str, str]:
    """Exit code, output, errors; a driver that takes too long is ended, with exit code EXIT_TIMEOUT and what it had said."""
    try:
        done = subprocess.run(
            driver.command(*arguments),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=environment(driver),
            cwd=driver.temporary,
            preexec_fn=die_with_parent,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        return EXIT_TIMEOUT, (late.stdout or b"").decode("utf-8", "replace"), "SUMMARY: driver: timeout"
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def words(text: str, most: int) -> str:
    """A file name in words: letters and underscores."""
    found = re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1_\2", text).lower())
    kept: list[str] = []
    for word in found:
        if len(word) > 1 and (not kept or kept[-1] != word) and len("_".join([*kept, word])) <= most:
            kept.append(word)
    return "_".join(kept)


def without_numbers(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"0x[0-9a-f]+|[0-9]+", "", text)).strip()


def diagnose(driver: Driver, path: Path, extra: list[str]) -> tuple[bool, str, str, str, str]:
    """Whether the input fails again, the law it breaks, the place, a text, and the stack of a death."""
    law = "" if not driver.is_reader else driver.name
    code, _, errors = run(
        driver,
        [
            *extra,
            f"-timeout={TIMEOUT_S}",
            f"-rss_limit_mb={MEMORY_MB}",
            f"-artifact_prefix={driver.temporary}/",
            str(path),
        ],
        AGAIN_SECONDS,
    )
    if code == 0:
        return False, law, "", "did not fail when it was run again", ""
    stack = "\n".join(FRAME.findall(errors)[:30])
    if code in (EXIT_TIMEOUT, LIBFUZZER_TIMEOUT):
        # Nothing is learnt from letting it hang once more.
        return True, law, HANG, f"hangs: takes more than {TIMEOUT_S} s", stack
    _, told, _ = run(driver, [*extra, "--judge", str(path)], AGAIN_SECONDS)
    fields = told.rstrip("\n").split("\t")
    if len(fields) == 6 and fields[1] == "fails":
        return True, fields[2] or law, fields[4], fields[5], ""
    match = SUMMARY.search(errors)
    place = "death"
    if match is not None:
        place = f"{match[2]} in {match[3].split('<')[0]}" if match[1] else f"{match[4]} {match[5][:80]}"
    return True, law, place, f"dies: {match[0] if match is not None else f'exit {code}'}", stack


def law_of(driver: Driver, content: bytes) -> str:
    """The law of a case whose run died, so that nobody could say it."""
    match = re.search(rb"^law = ([a-z0-9_]+)$", content, re.MULTILINE)
    if driver.name == SESSION and match is not None:
        return match[1].decode()
    return "inside_the_bound" if driver.name == ORACLE else driver.name


class Findings:
    def __init__(self, tree: Path, ballast: Ballast, extra: list[str], claims: Path | None = None) -> None:
        self.tree = tree  # corpus/ of the tree
        self.claims = claims  # shared with other workers
        self.ballast = ballast
        self.extra = extra
        self.shrink_seconds = SHRINK_SECONDS  # for one finding
        self.known: dict[str, Finding] = {}

    def collect(self, driver: Driver) -> list[Finding]:
        """Looks through what a driver left; gives what is new."""
        for box, content in boxes.deaths(driver.boxes):
            # The box is emptied only once its input is a file.
            artifacts = [driver.found / f"{kind[:-1]}{digest(content)}" for kind in ARTIFACTS]
            if not any(one.exists() and one.read_bytes() == content for one in artifacts):
                self.ballast.write(driver.found / f"death-{digest(content)}", content)
            boxes.empty(box)
        for path in [one for kind in ARTIFACTS for one in driver.found.glob(kind)]:
            # On a full disk libFuzzer leaves a part of the input, or nothing of it, under its name.
            if digest(path.read_bytes()) != path.name.split("-")[1]:
                path.unlink()
        new = []
        for kind in ("death-*", *ARTIFACTS):
            for path in sorted(driver.found.glob(kind)):
                finding = self.take(driver, path)
                if finding is not None:
                    new.append(finding)
        return new

    def take(self, driver: Driver, path: Path) -> Finding | None:
        content = path.read_bytes()
        confirmed, law, place, text, stack = diagnose(driver, path, self.extra)
        died_alone = path.name.startswith("death-")
        if not confirmed and died_alone:
            # Somebody killed the driver: the input is none the worse for it.
            path.unlink()
            return None
        law = law or law_of(driver, content)
        key = f"{law}: {without_numbers(place) or path.name.split('-')[0]}"
        if key in self.known or not self.claim(driver, key):
            if key in self.known:
                self.known[key].seen += 1
            path.rename(self.seen_folder(driver) / path.name)
            return None
        kept, content = self.minimised(driver, path, content, place == HANG) if confirmed else (path, content)
        finding = self.written(driver, kept, content, law, place, text, confirmed)
        finding.key, finding.stack = key, stack
        self.known[key] = finding
        path.rename(self.seen_folder(driver) / path.name)
        return finding

    def claim(self, driver: Driver, key: str) -> bool:
        """Whether nobody else has this finding. A worker that was killed over one has it still when it goes on."""
        if self.claims is None:
            return True
        self.claims.mkdir(parents=True, exist_ok=True)
        claimed, mine = self.claims / digest(key.encode()), f"{driver.name} {driver.worker}".encode()
        scratch = self.claims / f".{driver.name}.{driver.worker}"
        write_whole(scratch, mine)
        try:
            os.link(scratch, claimed)
        except FileExistsError:
            return claimed.read_bytes() == mine
        return True

    def seen_folder(self, driver: Driver) -> Path:
        folder = driver.found / "seen"
        folder.mkdir(exist_ok=True)
        return folder

    def minimised(self, driver: Driver, path: Path, content: bytes, hangs: bool) -> tuple[Path, bytes]:
        limit = min(self.shrink_seconds, SHRINK_HANG_SECONDS) if hangs else self.shrink_seconds
        if driver.is_reader and hangs:
            return path, content
        if driver.is_reader:
            smallest = driver.temporary / "smallest"
            run(
                driver,
                [*self.extra, "-minimize_crash=1", f"-max_total_time={min(limit, 20)}", f"-exact_artifact_path={smallest}", str(path)],
                limit + AGAIN_SECONDS,
            )
            fails = smallest.exists() and diagnose(driver, smallest, self.extra)[0]
            return path, smallest.read_bytes() if fails else content
        each = HANG_SECONDS if hangs else TIMEOUT_S
        code, text, _ = run(driver, [*self.extra, "--shrink", str(path), str(limit), str(each)], limit + 2 * TIMEOUT_S)
        if code != 0 or not text:
            code, text, _ = run(driver, [*self.extra, "--case", str(path)], AGAIN_SECONDS)
        return path, text.encode() if code == 0 and text else content

    def written(
        self, driver: Driver, path: Path, content: bytes, law: str, place: str, text: str, confirmed: bool
    ) -> Finding:
        finding = Finding(driver.name, law, "", text, str(path), "", confirmed)
        if not confirmed:
            # Nobody could run it again, so it is no case for the tree; the file stays.
            kept = self.seen_folder(driver) / path.name
            finding.file = str(kept)
            finding.again = f"{driver.binary} {kept}"
            return finding
        suffix = ".case" if not driver.is_reader else path_suffix(driver.name)
        is_case = not driver.is_reader
        if is_case and not content.startswith(b"#"):
            content = f"# {without_numbers(text)[:100] or 'A driver died of it.'}\n".encode() + content
        target = self.free_name(law, name_of(place, content if is_case else b""), suffix, content)
        program = "build/release/bin/replay" if place and "in " not in place[:40] else str(driver.binary)
        finding.again = f"{program} {target}"
        if is_case:
            first, _, rest = content.partition(b"\n")
            content = first + b"\n# again: " + finding.again.encode() + b"\n" + rest
        self.ballast.write(target, content)
        finding.file = str(target)
        return finding

    def free_name(self, law: str, name: str, suffix: str, content: bytes) -> Path:
        folder = self.tree / law
        for more in ["", *(f"_{letter}" for letter in "bcdefghijklmnopqrstuvwxyz")]:
            path = folder / f"{name}{more}{suffix}"
            if not path.exists() or path.read_bytes() == content:
                return path
        return folder / f"{name}_{digest(content)}{suffix}"


def path_suffix(reader: str) -> str:
    return {"safetensors_bytes": ".safetensors", "npy_bytes": ".npy", "npz_bytes": ".npz"}.get(reader, ".bytes")


def name_of(place: str, case: bytes) -> str:
    """What is special: the calls of the case, and the place that was wrong."""
    verbs: list[str] = []
    for verb in re.findall(rb"^step = ([a-z_]+)", case, re.MULTILINE):
        if verb.decode() not in verbs:
            verbs.append(verb.decode())
    filled = [one.decode() for one in re.findall(rb"^fill = \w+ ([a-z]+)", case, re.MULTILINE)]
    where = words(re.sub(r"^step [0-9]+ \([^)]*\):?", "", place), 50) or "wrong"
    return "_".join(one for one in ("_".join([*filled[:1], *verbs[:4]]), where) if one) or "finding"


def findings_of(known: dict[str, Finding], driver: str) -> list[Finding]:
    return [one for one in known.values() if one.driver == driver]
