# SPDX-License-Identifier: Apache-2.0
"""Adds what fuzzers did to what they ever did: python3 tests/fuzz/count_executions.py LOG...

executions.json holds the executions of each target over all time, as far as they were counted and committed.
"""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

COUNTS = Path(__file__).parent / "executions.json"
EXECUTED = re.compile(r"^stat::number_of_executed_units: *(\d+)$", re.MULTILINE)


def executed(log: Path) -> int:
    """Of one run's log; 0 where it does not say, since the fuzzer was ended."""
    return sum(map(int, EXECUTED.findall(log.read_text(errors="replace"))))


def added(before: Mapping[str, int], logs: Sequence[Path]) -> dict[str, int]:
    """The sums, by target: a log is named fuzz-TARGET.log."""
    sums = dict(before)
    for log in logs:
        target = log.stem.removeprefix("fuzz-")
        sums[target] = sums.get(target, 0) + executed(log)
    return dict(sorted(sums.items()))


def main(arguments: Sequence[str]) -> None:
    before = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    sums = added(before, [Path(argument) for argument in arguments])
    COUNTS.write_text(json.dumps(sums, indent=1) + "\n")
    print(f"{sum(sums.values()) - sum(before.values()):,} executions, {sum(sums.values()):,} over all time")


if __name__ == "__main__":
    main(sys.argv[1:])
