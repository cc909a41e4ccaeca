# SPDX-License-Identifier: Apache-2.0
"""Random mutants of engine and ledger against the tests of their folder: ./dev mutants.

Draws a file by its length and one of its mutants until NUMBER of them could be tested, writes one JSON line for each
and a table by folder. Exits 1 when less than 90 % were killed.
"""

import argparse
import json
import random
import secrets
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Collection, Iterator
from concurrent import futures
from pathlib import Path

from mutation.cpp_mutants import cpp_mutants
from mutation.mutant import Mutant
from mutation.python_mutants import python_mutants
from mutation.subjects import CppSubject, PythonSubject, cpp_folder, cpp_folders, ledgers
from mutation.trial import Bench, Outcome

ROOT = Path(__file__).parents[2]
WANTED_SHARE = 0.9
TESTED = (Outcome.killed, Outcome.timed_out, Outcome.survived)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev mutants", description=__doc__)
    parser.add_argument("--number", type=int, default=500, help="mutants that compile and differ (default: 500)")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 32), help="of the draw; printed")
    parser.add_argument(
        "--folder", action="append", help="of the engine or a detector, or 'ledger'; repeatable (default: all)"
    )
    parser.add_argument("--again", type=Path, help="a file of results: its survivors are tested once more")
    parser.add_argument("--resume", action="store_true", help="continue a run of this seed that was ended")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time (default: 1)")
    parser.add_argument("--build", type=Path, default=ROOT / "build/mutants", help="where the tests were built")
    return parser.parse_args()


def subjects(build: Path, names: list[str] | None) -> list[CppSubject | PythonSubject]:
    wanted = names or [*cpp_folders(ROOT), "ledger"]
    return [ledgers(ROOT) if name == "ledger" else cpp_folder(ROOT, build, name) for name in wanted]


def resource_folder() -> list[str]:
    """clang's own headers (stddef.h and the like), which its Python package leaves out."""
    folders = sorted(Path("/usr/lib").glob("llvm-16/lib/clang/16*/include"))
    if not folders:
        raise RuntimeError("clang's headers are missing; apt-get install libclang-common-16-dev")
    return ["-resource-dir", str(folders[-1].parent)]


class Drawer:
    """Mutants by chance: a file by its number of lines, then one of its mutants; none twice."""

    def __init__(self, of: list[CppSubject | PythonSubject], seed: int) -> None:
        self.random = random.Random(seed)
        self.subject_of = {path: subject for subject in of for path in subject.files}
        self.files = list(self.subject_of)
        self.lines = [path.read_bytes().count(b"\n") for path in self.files]
        self.left: dict[Path, list[Mutant]] = {}

    def mutants_of(self, path: Path) -> list[Mutant]:
        if path not in self.left:
            subject = self.subject_of[path]
            if isinstance(subject, CppSubject):
                options = subject.clang_options(path) + resource_folder()
                self.left[path] = cpp_mutants(path, options)
            else:
                self.left[path] = python_mutants(path)
        return self.left[path]

    def __iter__(self) -> Iterator[Mutant]:
        barren = 0
        while barren < 100 * len(self.files):
            path = self.random.choices(self.files, self.lines)[0]
            left = self.mutants_of(path)
            barren = 0 if left else barren + 1
            if left:
                yield left.pop(self.random.randrange(len(left)))


def survivors(results: Path, files: Collection[Path]) -> Iterator[Mutant]:
    """Mutants that survived an earlier run, in these files. ValueError where the source has changed since."""
    for line in results.read_text().splitlines():
        row = json.loads(line)
        if row["outcome"] == Outcome.survived:
            mutant = Mutant(ROOT / row["path"], row["offset"], row["length"], row["text"], row["kind"])
            if mutant.path not in files:
                continue
            if mutant.words(mutant.path.read_bytes()) != row["words"]:
                raise ValueError(f"{row['path']}:{row['line']}: the source has changed since; draw anew")
            yield mutant


def outcomes_of(results: Path) -> dict[tuple[str, int, str], Outcome]:
    """Earlier judgements by file, place and words; empty where there are no results."""
    rows = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    return {(row["path"], row["offset"], row["words"]): Outcome(row["outcome"]) for row in rows}


class Run:
    """Judges mutants, some at a time, and keeps the account."""

    def __init__(self, drawer: Drawer, results: Path, work: Path, root: Path = ROOT, *, resume: bool = False) -> None:
        self.drawer, self.results, self.work, self.root = drawer, results, work, root
        self.known = outcomes_of(results) if resume else {}
        self.benches: dict[str, Bench] = {}
        self.outcomes: Counter[tuple[str, Outcome]] = Counter()
        self.lock = threading.Lock()
        self.results.parent.mkdir(parents=True, exist_ok=True)
        if not resume:
            self.results.unlink(missing_ok=True)

    def bench_of(self, path: Path) -> Bench:
        subject = self.drawer.subject_of[path]
        with self.lock:
            if subject.name not in self.benches:
                work = self.work / f"sound-{subject.name}"
                work.mkdir(parents=True, exist_ok=True)
                self.benches[subject.name] = Bench.of(subject, self.root, work)
                print(f"  {subject.name}: time-out {self.benches[subject.name].timeout_s:.0f} s", flush=True)
            return self.benches[subject.name]

    def judge(self, mutant: Mutant) -> Outcome:
        source = mutant.path.read_bytes()
        row_before = (str(mutant.path.relative_to(self.root)), mutant.offset, mutant.words(source))
        if (outcome := self.known.get(row_before)) is not None:
            with self.lock:
                self.outcomes[self.drawer.subject_of[mutant.path].name, outcome] += 1
            return outcome
        bench = self.bench_of(mutant.path)
        outcome, by = bench.judge(mutant.path, mutant.applied(source), self.work / threading.current_thread().name)
        row = {
            "outcome": outcome, "path": str(mutant.path.relative_to(self.root)), "line": mutant.line(source),
            "kind": mutant.kind, "words": mutant.words(source), "folder": bench.subject.name,
            "offset": mutant.offset, "length": mutant.length, "text": mutant.text, "by": by,
        }  # fmt: skip
        with self.lock:
            self.outcomes[bench.subject.name, outcome] += 1
            with self.results.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(f"  {outcome:12} {row['path']}:{row['line']} {row['words']} {by}".rstrip(), flush=True)
        return outcome

    def all(self, mutants: Iterator[Mutant], number: int, jobs: int) -> None:
        """Judges mutants until `number` could be tested or there are no more."""
        n_tested = 0
        with futures.ThreadPoolExecutor(jobs, thread_name_prefix="mutant") as pool:
            at_work: set[futures.Future[Outcome]] = set()
            while True:
                while len(at_work) < min(jobs, number - n_tested) and (mutant := next(mutants, None)) is not None:
                    at_work.add(pool.submit(self.judge, mutant))
                if not at_work:
                    return
                done, at_work = futures.wait(at_work, return_when=futures.FIRST_COMPLETED)
                n_tested += sum(future.result() in TESTED for future in done)

    def share_killed(self) -> float:
        n_tested = sum(n for (_, outcome), n in self.outcomes.items() if outcome in TESTED)
        n_survived = sum(n for (_, outcome), n in self.outcomes.items() if outcome == Outcome.survived)
        return 1 - n_survived / n_tested if n_tested else 0.0

    def table(self) -> str:
        names = sorted({name for name, _ in self.outcomes})
        head = f"{'folder':12}" + "".join(f"{outcome:>14}" for outcome in Outcome)
        rows = [f"{name:12}" + "".join(f"{self.outcomes[name, outcome]:14}" for outcome in Outcome) for name in names]
        total = [sum(self.outcomes[name, outcome] for name in names) for outcome in Outcome]
        return "\n".join([head, *rows, f"{'all':12}" + "".join(f"{n:14}" for n in total)])


def main() -> int:
    asked = arguments()
    results = ROOT / "build/mutants" / f"{asked.seed}.jsonl"
    print(f"seed {asked.seed}; results in {results.relative_to(ROOT)}", flush=True)
    drawer = Drawer(subjects(asked.build.resolve(), asked.folder), asked.seed)
    run = Run(drawer, results, ROOT / "build/mutants/work", resume=asked.resume)
    try:
        run.all(survivors(asked.again, drawer.files) if asked.again else iter(drawer), asked.number, asked.jobs)
    except (RuntimeError, ValueError, subprocess.SubprocessError) as error:
        print(f"mutants: {error}", file=sys.stderr)
        return 2
    share = run.share_killed()
    print(f"{run.table()}\n{share:.1%} of those that could be tested were killed; wanted: {WANTED_SHARE:.0%}")
    return 0 if share >= WANTED_SHARE else 1


if __name__ == "__main__":
    sys.exit(main())
