# SPDX-License-Identifier: Apache-2.0
"""Whatever happens in a run: its last line, its exit code, summary.json, the report and the catalogue say the same word
with the same numbers, and the live page that word of the same counters."""

import html
import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from test_catalogue_runs import LIMIT_S, ROOT, SHORT

from anello.account.verdict import EXIT_CODES, GRAVITY, Word, as_it_stands
from anello.configuration.load import load
from anello.control.run_sampler import silent_boards
from anello.counters.live import view_of

pytest.importorskip("anello._engine", reason="the compiled engine is not built")
N_RUNS = int(os.environ.get("ANELLO_VERDICT_RUNS", "14"))
pytestmark = [pytest.mark.process, pytest.mark.long, pytest.mark.timeout(60 + 20 * N_RUNS)]

# What may go wrong, by the key that causes it: lost on purpose, too late, not looked at.
TROUBLES = {
    "source.faults.loss": (0.01, 0.1),
    "source.faults.duplicate": (0.01, 0.2),
    "source.faults.reorder": (0.01, 0.2),
    "source.faults.corrupt": (0.01, 0.05),
    "source.faults.truncate": (0.01, 0.05),
    "source.faults.dead_board": (0, 1, 2, 3),
    "trigger.deadline_us": (1, 50),
    "build.timeout_ms": (0.1, 1),
    "build.keep_incomplete": ("false",),
    "receive.socket_buffer_bytes": (4096, 20_000),
    "receive.sources": ('["10.9.9.9"]',),  # nobody is heard
}


def drawn(seed: int) -> list[str]:
    """Troubles of a run: none in the first, each one once in the next ones, with others by chance."""
    dice = random.Random(seed)
    known = sorted(TROUBLES)
    keys = {known[seed % len(known)], *dice.sample(known, dice.randrange(3))} if seed else ()
    chosen = (f"{key}={dice.choice(TROUBLES[key])}" for key in sorted(keys))
    return [f"run.seed={1 + seed}", "build.timeout_ms=200", *chosen]


def anello(directory: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "anello", *words], cwd=ROOT, text=True, capture_output=True, timeout=LIMIT_S,
        check=False, env=os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "4000"},
    )  # fmt: skip


def run(directory: Path, settings: list[str]) -> "subprocess.CompletedProcess[str]":
    given = [word for one in (*SHORT, *settings, f"run.directory={directory}") for word in ("--set", one)]
    return anello(directory, "run", "detectors/rich/na62-rich.toml", *given)


def listed(directory: Path) -> list[dict[str, Any]]:
    done = anello(directory, "runs", "list", "--in", str(directory), "--json", "--limit", "1000")
    assert done.returncode == 0, done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


def live_word(settings: list[str], summary: dict[str, Any]) -> Word:
    """What page and metrics say of these counters during a run."""
    view = view_of(load(ROOT / "detectors/rich/na62-rich.toml", [*SHORT, *settings]))
    node, source = summary["counters"]["node"], summary["counters"]["source"]
    flaws = [*view.flaws(node, source), *silent_boards(view.boards(node), source)]
    return as_it_stands(flaws, balanced=True).word


def by_now(verdict: dict[str, Any]) -> Word:
    """The word of the verdict, without the flaws that are known only at the end."""
    flaws = [flaw for flaw in verdict["flaws"] if flaw["words"] != "boards whose end never came"]
    words = [Word(flaw["word"]) for flaw in flaws if not flaw["ordered"] or flaw["word"] == Word.GOOD]
    words += [Word.AS_ORDERED for flaw in flaws if flaw["ordered"] and flaw["word"] != Word.GOOD]
    return max(words, key=GRAVITY.__getitem__, default=Word.GOOD)


def said_otherwise(settings: list[str], done: "subprocess.CompletedProcess[str]", row: dict[str, Any]) -> list[str]:
    """Names of the places that contradict the summary. row: the run's entry in the catalogue."""
    directory = Path(row["directory"])
    summary = json.loads((directory / "summary.json").read_text())
    verdict = summary["verdict"]
    lost = sum(flaw["n"] or 1 for flaw in verdict["flaws"] if counts_as_lost(flaw))
    report = (directory / "report.html").read_text()
    says = {
        "exit code": done.returncode == EXIT_CODES[Word(verdict["word"])] == row["exit_code"],
        "last line": verdict["line"] in done.stdout + done.stderr,
        "report": html.escape(verdict["line"]) in report,
        "catalogue's word": row["word"] == verdict["word"],
        "catalogue's line": row["verdict"] == verdict["line"],
        "catalogue's losses": row["lost"] == lost,
        "live page's word": live_word(settings, summary) == by_now(verdict),
        "whole": ("all data was delivered" in verdict["line"]) == (verdict["word"] == Word.GOOD),
    }
    return [name for name, is_so in says.items() if not is_so]


def counts_as_lost(flaw: dict[str, Any]) -> bool:
    return not flaw["ordered"] and GRAVITY[Word(flaw["word"])] > GRAVITY[Word.AS_ORDERED]


def test_all_say_the_same_of_every_run(tmp_path: Path) -> None:
    runs = [(seed, run(tmp_path, drawn(seed))) for seed in range(N_RUNS)]
    rows = listed(tmp_path)[::-1]
    assert len(rows) == N_RUNS
    otherwise = {
        f"{seed}: {drawn(seed)}": wrong
        for (seed, done), row in zip(runs, rows, strict=True)
        if (wrong := said_otherwise(drawn(seed), done, row))
    }
    words = Counter(row["word"] for row in rows)
    print(words)
    assert not otherwise
    assert len(words) >= 3, "there was hardly anything to tell"
