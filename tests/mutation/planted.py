# SPDX-License-Identifier: Apache-2.0
"""Whether ./dev test gives the same answer each time: green as the sources are, red for a fault in any folder.

    .venv/bin/python tests/mutation/planted.py --times 10     so many times, while a program takes a core
    ... --times 10 --hogs 0                                   the same without that program
    .venv/bin/python tests/mutation/planted.py --faults       once for each fault of planted.toml
    ... cpp python                                            only these parts of ./dev test, as of each fault the
                                                              one that planted.toml names; ./dev test runs them all

A fault is planted in the sources as they lie here and taken back after its run. One line for each run: verdict,
seconds, and the tests that the summary names; what a red run said lies in build/planted. Exits 1 when a run of the
sources as they are is red, or when one with a fault is green or names no test.
"""

import argparse
import multiprocessing
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Fault:
    file: str
    sound: str
    faulty: str
    part: str = "cpp"

    @contextmanager
    def planted(self) -> Iterator[None]:
        path = ROOT / self.file
        before = path.read_text()
        if before.count(self.sound) != 1:
            raise ValueError(f"{self.file}: `{self.sound}` must stand there once; mend planted.toml")
        path.write_text(before.replace(self.sound, self.faulty))
        try:
            yield
        finally:
            path.write_text(before)


def faults() -> list[Fault]:
    listed = tomllib.loads((ROOT / "tests/mutation/planted.toml").read_text())["fault"]
    return [Fault(**fault) for fault in listed]


@contextmanager
def hogs(number: int) -> Iterator[None]:
    """Each takes a core, as a neighbour on the same machine does."""
    neighbours = [multiprocessing.Process(target=_turn, daemon=True) for _ in range(number)]
    for neighbour in neighbours:
        neighbour.start()
    try:
        yield
    finally:
        for neighbour in neighbours:
            neighbour.kill()
            neighbour.join()


def _turn() -> None:
    while True:
        pass


@dataclass(frozen=True)
class Run:
    is_green: bool
    seconds: float
    failed: list[str]
    flaky: str

    @property
    def in_words(self) -> str:
        named = ", ".join(self.failed[:4]) + (f" and {len(self.failed) - 4} more" if len(self.failed) > 4 else "")
        return f"{'green' if self.is_green else 'red'} in {self.seconds:.0f} s {named}{self.flaky}"


def run(name: str, parts: list[str]) -> Run:
    begin = time.monotonic()
    done = subprocess.run(["./dev", "test", *parts], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        said = ROOT / "build/planted" / f"{name}.txt"
        said.parent.mkdir(exist_ok=True)
        said.write_text(done.stdout + done.stderr)
    flaky = re.search(r"^flaky, .*$", done.stdout, re.MULTILINE)
    return Run(
        done.returncode == 0,
        time.monotonic() - begin,
        re.findall(r"^ +failed \(\S+\) (\S+)", done.stdout, re.MULTILINE),
        f" ({flaky[0]})" if flaky else "",
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=0, help="runs of the sources as they are")
    parser.add_argument("--hogs", type=int, default=1, help="programs that take a core each meanwhile; default: 1")
    parser.add_argument("--faults", action="store_true", help="one run for each fault")
    parser.add_argument("parts", nargs="*", help="of ./dev test; default: what a change must pass")
    wanted = parser.parse_args()
    wrong = 0
    for number in range(1, wanted.times + 1):
        with hogs(wanted.hogs):
            result = run(f"run-{number}", wanted.parts)
        wrong += not result.is_green
        print(f"run {number}: {result.in_words}", flush=True)
    for fault in faults() if wanted.faults else []:
        with fault.planted():
            result = run(fault.file.replace("/", "-"), wanted.parts or [fault.part])
        wrong += result.is_green or not result.failed
        print(f"{fault.file}: {result.in_words}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
