# SPDX-License-Identifier: Apache-2.0
"""One mutant against the tests of its folder, shut off from the rest of the machine."""

import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, Protocol

MAX_DATA_BYTES = 6 << 30  # a fault may allocate for ever
MAX_FILE_BYTES = 1 << 30
# A fault may send, kill, delete: it has processes, networks and shared memory of its own and writes to one folder.
ALONE = """set -e
mount -t tmpfs tmpfs /dev/shm
mount --bind "$1" "$1"
mount -o remount,bind,ro /
ip link set lo up
shift
exec "$@"
"""


def alone(work: Path, timeout_s: float) -> list[str]:
    """The beginning of a command line that shuts the rest of it off; `work` is what it may write to. A fault that
    loops ends by itself, even if its parent has gone."""
    cpu_s = int(timeout_s * (os.cpu_count() or 1)) + 1
    limits = ["prlimit", f"--data={MAX_DATA_BYTES}", f"--fsize={MAX_FILE_BYTES}", f"--cpu={cpu_s}", "--core=0"]
    names = ["--mount", "--net", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"]
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    return [*limits, "unshare", *user, *names, "sh", "-c", ALONE, "sh", str(work)]


class Outcome(StrEnum):
    killed = "killed"  # a test failed, or the program crashed
    timed_out = "timed_out"  # as good as killed: it waits or loops for ever
    survived = "survived"
    equivalent = "equivalent"  # the compiler makes the same code of it
    uncompilable = "uncompilable"


class Judged(NamedTuple):
    """by: the first test that failed; empty if none did or the program crashed."""

    outcome: Outcome
    by: str = ""


class Subject(Protocol):
    """A folder whose files are mutated: how to make a mutant of it, and how to test that."""

    name: str
    files: list[Path]

    def make(self, path: Path, text: bytes, work: Path) -> Outcome | None:
        """Puts the text in the file's place, in a folder of its own. Returns None if there is something to test."""
        ...

    def command(self, work: Path) -> tuple[list[str], dict[str, str]]:
        """Command and environment of the tests on what make() left in `work`."""
        ...


def run_alone(subject: Subject, work: Path, cwd: Path, timeout_s: float) -> tuple[int | None, str]:
    """Runs a subject's tests. Returns the exit status, None after the time-out, and their output."""
    command, environment = subject.command(work)
    (work / "tmp").mkdir(exist_ok=True)
    process = subprocess.Popen(
        [*alone(work, timeout_s), *command], cwd=cwd, env=os.environ | environment | {"TMPDIR": str(work / "tmp")},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
    )  # fmt: skip
    try:
        said, _ = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()  # and with it all that it has started: --kill-child
        process.communicate()
        return None, ""
    return process.returncode, said


def first_failed(said: str) -> str:
    """The test that GoogleTest or pytest names first as failed."""
    found = re.search(r"^(?:\[  FAILED  \]|FAILED) ([^\s,]+)", said, re.MULTILINE)
    return found[1] if found else ""


@dataclass
class Bench:
    """The tests of one subject, with the time that they take on sound sources."""

    subject: Subject
    cwd: Path
    timeout_s: float

    @classmethod
    def of(cls, subject: Subject, cwd: Path, work: Path) -> "Bench":
        """Runs the tests on the sound sources. RuntimeError if they fail: they could not judge a mutant."""
        path = subject.files[0]
        made = subject.make(path, path.read_bytes(), work)
        if made is not None:
            raise RuntimeError(f"{subject.name}: the sound {path} is {made}; build first")
        begin = time.monotonic()
        status, said = run_alone(subject, work, cwd, timeout_s=900)
        if status != 0:
            words = said if len(said) < 4000 else "\n...\n".join([said[:2000], said[-2000:]])
            raise RuntimeError(f"{subject.name}: the tests fail on sound sources, exit {status}\n{words}")
        return cls(subject, cwd, timeout_s=10 + 5 * (time.monotonic() - begin))

    def judge(self, path: Path, text: bytes, work: Path) -> Judged:
        """The outcome of one mutant: its text replaces the file's."""
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        made = self.subject.make(path, text, work)
        if made is not None:
            return Judged(made)
        status, said = run_alone(self.subject, work, self.cwd, self.timeout_s)
        if status is None:
            return Judged(Outcome.timed_out)
        return Judged(Outcome.survived) if status == 0 else Judged(Outcome.killed, first_failed(said))
