# SPDX-License-Identifier: Apache-2.0
"""Summary of JUnit reports of ctest and pytest: each failed test with its last lines, skips by reason, and N passed,
N failed, N skipped."""

import re
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

N_LINES = 20  # of a failed test's output; the reports have all of it


def outcome(case: ElementTree.Element) -> str:
    """passed, failed or skipped. ctest calls a program that was not built "skipped": here it has failed."""
    if (
        case.find("failure") is not None
        or case.find("error") is not None
        or case.get("name", "").endswith("_NOT_BUILT")
    ):
        return "failed"
    return "skipped" if case.find("skipped") is not None or case.get("status") == "disabled" else "passed"


def skip_reason(case: ElementTree.Element) -> str:
    """pytest gives it as an attribute; of a GoogleTest program it is the line after `Skipped` in what it printed."""
    printed = re.search(r": Skipped\n(.+)", case.findtext("system-out", ""))
    skipped = case.find("skipped")
    return printed.group(1) if printed else (skipped.get("message", "") if skipped is not None else "disabled")


def full_name(case: ElementTree.Element) -> str:
    """Name by which its runner runs it: ctest's names are whole, pytest's come after their module."""
    module, name = case.get("classname", ""), case.get("name", "")
    return name if not module or module == name else f"{module}::{name}"


def last_words(case: ElementTree.Element) -> list[str]:
    """Last lines of a failed test: pytest puts its traceback into `failure`, ctest the output into `system-out`."""
    said = [case.findtext(tag) or "" for tag in ("failure", "error")]
    text = next(filter(str.strip, said), case.findtext("system-out", ""))
    return [line[:200] for line in text.rstrip().splitlines()[-N_LINES:]]


def summary(reports: list[Path]) -> str:
    counts: Counter[str] = Counter()
    skips: Counter[str] = Counter()
    failed = []
    for report in reports:
        part = report.stem.removeprefix("junit-")
        for case in ElementTree.parse(report).iter("testcase"):
            result = outcome(case)
            counts[result] += 1
            if result == "failed":
                failed.append(f"    failed ({part}) {full_name(case)}")
                failed += [f"        {line}" for line in last_words(case)]
            if result == "skipped":
                skips[f"({part}) {skip_reason(case)}"] += 1
    skipped = [f"    {number} skipped {reason}" for reason, number in skips.items()]
    return "\n".join(
        [*skipped, *failed, ", ".join(f"{counts[result]} {result}" for result in ("passed", "failed", "skipped"))]
    )


if __name__ == "__main__":
    print(summary([Path(name) for name in sys.argv[1:]]))
