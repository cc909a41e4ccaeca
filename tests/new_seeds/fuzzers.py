# SPDX-License-Identifier: Apache-2.0
"""libFuzzer's targets, two at a time: what they find is reduced and joins their corpus, which tests replay.

executions.json holds the executions of each target over all time, as far as they were counted and committed.
"""

import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from new_seeds import cases
from new_seeds.cases import Finding
from new_seeds.kind import Outcome
from new_seeds.program import AT_A_TIME, ROOT, Said, Turn, in_turn, run

PROGRAMS = ROOT / "build/fuzz/tests/fuzz"
CORPUS = ROOT / "tests/fuzz/corpus"
EXECUTIONS = ROOT / "tests/fuzz/executions.json"
LEAST_S = 5.0  # of a target: in less time most of it goes into its start
REDUCE_S = 30
EXECUTED = re.compile(r"^stat::number_of_executed_units: *(\d+)$", re.MULTILINE)
SAYS_WHAT = [re.compile(pattern, re.MULTILINE) for pattern in (r"^SUMMARY: (.*)$", r"^==\d+== ?ERROR: (.*)$")]
FOUND = "found_"


def executed(said: str) -> int:
    """Number of executions; 0 if the fuzzer was killed and does not say."""
    return sum(map(int, EXECUTED.findall(said)))


def read_executions(path: Path) -> Counter[str]:
    return Counter(json.loads(path.read_text()) if path.exists() else {})


def add_executions(path: Path, more: Mapping[str, int]) -> None:
    sums = read_executions(path)
    sums.update(more)
    path.write_text(json.dumps(dict(sorted(sums.items())), indent=1) + "\n")


class Fuzzers:
    """programs: where the targets were built; the inputs that they learn are kept next to them."""

    name, share = "fuzz", 0.25

    def __init__(self, programs: Path = PROGRAMS, corpus: Path = CORPUS, executions: Path = EXECUTIONS) -> None:
        self._programs, self._corpus, self._executions = programs, corpus, executions
        self._targets = sorted(one.name for one in programs.glob("*_fuzz") if one.is_file())
        random.shuffle(self._targets)

    def missing(self) -> str:
        if self._targets:
            return ""
        return f"there are no fuzzers in {PROGRAMS.relative_to(ROOT)}, which need clang"

    def search(self, turn: Turn) -> Outcome:
        """Runs as many targets as have LEAST_S seconds each; the next turn continues after them."""
        seed = cases.new_seed()
        seconds = turn.seconds_left()
        n_each = max(1, min(-(-len(self._targets) // AT_A_TIME), round(seconds / LEAST_S)))
        chosen = self._targets[: AT_A_TIME * n_each]
        self._targets = self._targets[len(chosen) :] + chosen
        lasts_s = max(1, round(seconds / n_each))
        outcome, by_target = Outcome(), Counter[str]()
        whole = Turn(1e9, turn.stop)  # each that was chosen is tried
        for target, n, finding in in_turn(chosen, lambda one: self._tried(one, seed, lasts_s, whole), whole):
            by_target[target] += n
            outcome.findings += [finding] if finding else []
        add_executions(self._executions, by_target)
        outcome.counts["fuzz_executions"] = by_target.total()
        outcome.words = f"seed {seed}: {by_target.total():,} executions, {len(by_target)} targets of {lasts_s} s"
        return outcome

    def _tried(self, target: str, seed: int, seconds: int, turn: Turn) -> tuple[str, int, Finding | None]:
        learnt = self._programs.parents[1] / "corpus" / target
        found = self._programs.parents[1] / "found" / target
        learnt.mkdir(parents=True, exist_ok=True)
        found.mkdir(parents=True, exist_ok=True)
        for old in found.iterdir():
            old.unlink()
        corpus = self._corpus / target.removesuffix("_fuzz")
        said = run(
            [self._programs / target, f"-max_total_time={seconds}", f"-seed={seed}", "-print_final_stats=1",
             f"-artifact_prefix={found}/", learnt, *([corpus] if corpus.is_dir() else [])],
            turn, limit_s=seconds + 600,
        )  # fmt: skip
        files = sorted(one for one in found.iterdir() if not one.name.startswith("slow-unit"))
        finding = self._kept(target, files[0], said, turn) if files else None
        if not files and said.code not in (0, None):
            what = f"{target}: ended with {said.code}, and left no input: {_what(said)}"
            finding = Finding(what, "nowhere", f"build/fuzz/tests/fuzz/{target} -seed={seed} {learnt}")
        return target, executed(said.words), finding

    def _kept(self, target: str, file: Path, said: Said, turn: Turn) -> Finding:
        """Adds failing inputs to the corpus; of a crash, the shortest input that libFuzzer finds."""
        self._targets = [one for one in self._targets if one != target]  # it would find that first, each time
        corpus = self._corpus / target.removesuffix("_fuzz")
        before = {one.read_bytes(): one for one in corpus.glob("*")}
        content = file.read_bytes()
        if content not in before and file.name.startswith(("crash-", "leak-")):
            reduced = file.with_name("reduced")
            run([self._programs / target, "-minimize_crash=1", f"-max_total_time={REDUCE_S}",
                 f"-exact_artifact_path={reduced}", file], turn)  # fmt: skip
            content = reduced.read_bytes() if reduced.exists() else content
        kept = before.get(content, corpus / f"{FOUND}{hashlib.sha1(content).hexdigest()[:12]}")
        if content not in before:
            corpus.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(content)
        name = str(kept.relative_to(ROOT)) if kept.is_relative_to(ROOT) else str(kept)
        where = f"its corpus had it: {name}" if content in before else f"written to {name}"
        return Finding(f"{target}: {_what(said)}", where, f"build/fuzz/tests/fuzz/{target} {name}")


def _what(said: Said) -> str:
    found = [match for pattern in SAYS_WHAT if (match := pattern.search(said.words))]
    return cases.one_line(found[0][1] if found else said.words[-300:], 300)
