"""A campaign as a Slurm job array: every task is a worker, all share the campaign's folder, a last job tidies up."""

import shlex
import subprocess
import sys
from pathlib import Path

from options import Options

HERE = Path(__file__).resolve().parent


def conductor(options: Options, *more: str) -> str:
    """The command of one task. What the array's own variables say is left to the shell of the task."""
    fixed = [
        *(sys.executable, "-B", str(HERE)),
        *("--binaries", str(options.binaries.resolve()), "--folder", str(options.folder.resolve())),
        *("--corpus", str(options.corpus.resolve()), "--for", str(options.seconds), "--jobs", str(options.jobs)),
        *("--files-max", str(options.files_max), "--bytes-max", str(options.bytes_max)),
        *(f"--planted={one.resolve()}" for one in options.planted),
    ]
    return f"exec {shlex.join(fixed)} {' '.join(more)} -- {shlex.join(options.names)}"


def submit(options: Options, name: str, script: str, *arguments: str) -> str:
    logs = options.folder.resolve() / "logs"
    command = [
        *("sbatch", "--parsable", f"--job-name={name}", f"--cpus-per-task={options.jobs}"),
        *(f"--chdir={options.folder.resolve()}", *arguments, "--wrap", script),
    ]
    done = subprocess.run(
        [*command[:-2], f"--output={logs}/slurm-%A_%a.log", *command[-2:]], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"fuzz: sbatch: {done.stderr.strip()}")
    return done.stdout.strip().split(";")[0]


def start(options: Options) -> int:
    (options.folder / "logs").mkdir(parents=True, exist_ok=True)
    # A bug that several workers find is one finding: who claims it first writes it.
    claims = shlex.quote(str(options.folder.resolve() / "claims")) + ".$SLURM_ARRAY_JOB_ID"
    worker = conductor(options, "--part worker --worker $SLURM_ARRAY_TASK_ID --claims", claims)
    array = submit(options, "attest-fuzz", worker, f"--array=0-{options.slurm - 1}")
    last = submit(options, "attest-fuzz-tidy", conductor(options, "--part last"), f"--dependency=afterany:{array}")
    print(f"array {array} of {options.slurm} tasks, then job {last}")
    print(f"the summary will be {options.folder.resolve() / 'summary.json'}")
    return 0
