# SPDX-License-Identifier: Apache-2.0
"""Account of the searches over all time, and of the last one: tests/cases/searched.json."""

import json
import subprocess
import time
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from new_seeds import cases
from new_seeds.program import ROOT

FILE = cases.FOLDER / "searched.json"
SOURCES = (".", ":!tests/cases", ":!tests/fuzz")  # but what a search writes


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


class Account:
    """Writes the account after each turn, so that the work done is counted however the search ends."""

    def __init__(self, path: Path = FILE, n_fuzzed: int = 0) -> None:
        """n_fuzzed: executions over all time, which are counted by target elsewhere (fuzzers.py)."""
        self._path = path
        before = json.loads(path.read_text()) if path.exists() else {}
        self._before = Counter[str](before.get("ever", {})) | Counter(fuzz_executions=n_fuzzed)
        self._begun_s = time.monotonic()
        self._tree: dict[str, Any] = {
            "commit": _git("rev-parse", "--short", "HEAD") or "unknown",
            "changed": bool(_git("status", "--porcelain", "--untracked-files=no", "--", *SOURCES)),
            "utc": datetime.now(UTC).isoformat(timespec="seconds"),
        }  # fmt: skip
        self.here: Counter[str] = Counter()

    def ever(self) -> dict[str, int]:
        sums = Counter(self._before)
        sums.update(self.here)  # which keeps those of 0
        return dict(sorted(sums.items()))

    def add(self, counts: Mapping[str, int], n_findings: int) -> None:
        self.here.update({**counts, "findings": n_findings})
        self.here["seconds"] = round(time.monotonic() - self._begun_s)
        last = {**self._tree, **dict(sorted(self.here.items()))}
        new = self._path.with_suffix(".new")
        self._path.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(json.dumps({"ever": self.ever(), "last": last}, indent=1) + "\n")
        new.replace(self._path)
