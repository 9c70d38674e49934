"""Planting bugs: a scratch copy of lib for each patch, and the objects that the patch changes.

The build that is there says how each source is compiled (compile_commands.json) and which headers each object
read (ninja -t deps). A bug compiles the objects that read a patched file and takes all others as they are.
"""

import json
import os
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CANARY = "revision_not_checked"


class Unusable(Exception):
    """What was asked for can't be done."""


@dataclass
class Bug:
    name: str
    patch: Path
    bug_class: str
    slip: str
    law: str
    folder: Path = None
    module: Path = None


def check_environment():
    """A misspelt name would be ignored otherwise."""
    text = (ROOT / "reference/include/attest/case/environment.hpp").read_text()
    known = set(re.findall(r'"(ATTEST_[A-Z0-9_]+)"', text))
    for name in os.environ:
        if name.startswith("ATTEST_") and name not in known:
            raise Unusable(f"unknown environment variable {name}; known: {' '.join(sorted(known))}")


def law_names():
    text = (ROOT / "properties/include/attest/properties/laws.list").read_text()
    return re.findall(r"^ATTEST_LAW\((\w+),", text, re.MULTILINE)


def read_bugs(folder, needs_header):
    bugs = []
    for patch in sorted(p for p in folder.glob("*") if p.suffix in (".patch", ".diff")):
        header = dict(re.findall(r"^# (class|slip|law): (.+)$", patch.read_text(), re.MULTILINE))
        missing = [key for key in ("class", "slip", "law") if key not in header]
        if missing and needs_header:
            raise Unusable(f"{patch}: its header has no '# {missing[0]}:'")
        bugs.append(Bug(patch.stem, patch.resolve(), header.get("class", "-"), header.get("slip", ""), header.get("law", "")))
    if not bugs:
        raise Unusable(f"no patch in {folder}")
    return bugs


def run(command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)


def lib_files():
    return {str(path.relative_to(ROOT)): path.read_text()
            for part in ("lib/include", "lib/src") for path in sorted((ROOT / part).rglob("*")) if path.is_file()}


def plant(bug, originals):
    """Writes the patched copy of lib, leaving alone files that have the right text; returns which files differ."""
    touched = re.findall(r"^(?:---|\+\+\+) (?:[ab]/)?(\S+)", bug.patch.read_text(), re.MULTILINE)
    touched = sorted({name for name in touched if name != "/dev/null"})
    for name in touched:
        if name not in originals:
            raise Unusable(f"{bug.patch} touches {name}, which is no source of lib")
    trial = bug.folder / "trial"
    for name in touched:
        (trial / name).parent.mkdir(parents=True, exist_ok=True)
        (trial / name).write_text(originals[name])
    # Context must fit exactly (no fuzz), so that no bug is planted by halves.
    done = run(["patch", "-p1", "--fuzz=0", "--batch", "--forward", "--no-backup-if-mismatch",
                "--directory", trial, "--input", bug.patch])
    if done.returncode != 0:
        raise Unusable(f"{bug.patch} does not apply to the library as it is:\n{done.stdout}{done.stderr}")
    changed = set()
    for name, text in originals.items():
        if name in touched:
            patched = (trial / name).read_text()
            changed.update({name} if patched != text else ())
            text = patched
        target = bug.folder / name
        if not target.exists() or target.read_text() != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
    if not changed:
        raise Unusable(f"{bug.patch} changes nothing")
    return changed


def sound_objects(build):
    """object -> its entry in compile_commands.json, for the library and the subject over it."""
    objects = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        output = re.search(r" -o (\S+)", entry["command"]).group(1)
        if any(f"/{name}.dir/" in output for name in ("attest", "attest_subject")):
            objects[output] = entry
    if not objects:
        raise Unusable(f"{build} compiles no library")
    return objects


def link_command(build):
    """The command that links the canary's module, cut where the canary's own objects stand."""
    module = f"bin/bugs/{CANARY}.so"
    done = run(["ninja", "-C", build, "-t", "commands", "-s", module])
    words = [word for word in shlex.split(done.stdout) if word not in (":", "&&")]
    own = [word for word in words if f"/planted_{CANARY}_objects.dir/" in word]
    if done.returncode != 0 or not own or module not in words:
        raise Unusable(f"{build} does not say how {module} is linked:\n{done.stdout}{done.stderr}")
    at = words.index(own[0])
    return [word for word in words[:at] if word not in ("-o", module)], [word for word in words[at:] if word not in own]


def read_files(build, objects):
    """object -> the files of lib that it was compiled from, relative to the root."""
    done = run(["ninja", "-C", build, "-t", "deps", *objects])
    files, current = {}, None
    for line in done.stdout.splitlines():
        if line.startswith("    ") and current:
            path = Path(os.path.normpath(build / line.strip()))
            if path.is_relative_to(ROOT / "lib"):
                files[current].add(str(path.relative_to(ROOT)))
        elif ": #deps" in line:
            current = line.split(": #deps")[0]
            files[current] = set()
    missing = [name for name in objects if name not in files]
    if missing:
        raise Unusable(f"ninja knows no headers of {missing[0]}")
    return files


def compile_command(entry, bug, output):
    """The object's own command, over the patched copy. A warning is no reason to let a bug go."""
    words = [word for word in shlex.split(entry["command"]) if word != "-Werror"]
    lib = str(ROOT / "lib")
    words = [re.sub(rf"(^|[^\w/]|-I){re.escape(lib)}(?=/|$)", rf"\g<1>{bug.folder}/lib", word) for word in words]
    words[words.index("-o") + 1] = str(output)
    return words + ["-MD", "-MF", f"{output}.d"]


def escape(text):
    return str(text).replace("$", "$$").replace(" ", "$ ").replace(":", "$:")


def shell(words):
    return shlex.join(str(word) for word in words).replace("$", "$$")


def ninja_of(build, bug, changed, objects, files, link, after_it):
    """The edges that make a bug's module: the objects that its patch changes, before the library itself. They are made
    again when `after_it` is, which was linked from that library."""
    lines, compiled = [], []
    for name, entry in objects.items():
        if not files[name] & changed:
            continue
        # Whole names: two sources may have one file name.
        output = bug.folder / "objects" / name
        output.parent.mkdir(parents=True, exist_ok=True)
        command = compile_command(entry, bug, output)
        source = command[command.index("-c") + 1]
        lines += [f"build {escape(output)}: object {escape(source)}", f"  command = cd {shell([build])} && {shell(command)}",
                  f"  what = {bug.name}: {Path(source).name}", f"  depfile = {output}.d", "  deps = gcc"]
        compiled.append(output)
    before, after = link
    command = [*before, "-o", bug.module, *compiled, *after]
    lines += [f"build {escape(bug.module)}: object {' '.join(escape(one) for one in [*compiled, after_it])}",
              f"  command = cd {shell([build])} && {shell(command)}", f"  what = {bug.name}"]
    return lines


def build(build, out, bugs, jobs, progress, target="attest-properties"):
    """Builds the program, the library and every bug's module; jobs compilers at a time. Every module is linked like the
    canary's, which not every program has built along."""
    build = build.resolve()
    progress(f"building the library and {target}")
    if not (build / "build.ninja").exists():
        done = run(["cmake", "--preset", build.name], cwd=ROOT)
        if done.returncode != 0:
            raise Unusable(f"can't configure {build}:\n{done.stdout}{done.stderr}")
    done = run(["cmake", "--build", build, "-j", jobs, "--target", target, f"planted_{CANARY}"])
    if done.returncode != 0:
        raise Unusable(f"the library itself does not build:\n{done.stdout[-4000:]}{done.stderr}")
    objects = sound_objects(build)
    files = read_files(build, objects)
    link = link_command(build)
    originals = lib_files()
    lines = ["rule object", "  command = $command", "  description = $what"]
    out.mkdir(parents=True, exist_ok=True)
    for number, bug in enumerate(bugs):
        progress(f"planting: {number} of {len(bugs)}, {bug.name}")
        bug.folder = out.resolve() / "bugs" / bug.name
        bug.module = bug.folder / f"{bug.name}.so"
        lines += ninja_of(build, bug, plant(bug, originals), objects, files, link, build / "bin" / target)
    (out / "build.ninja").write_text("\n".join(lines) + "\n")
    command = ["ninja", "-C", out, "-j", jobs, "-k", "0", *(bug.module for bug in bugs)]
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as ninja:
        tail = []
        for line in ninja.stdout:
            progress(f"compiling {line.strip()[:100]}")
            tail = [*tail[-60:], line]
    if ninja.returncode != 0:
        raise Unusable(f"a bug does not compile:\n{''.join(tail)}")
