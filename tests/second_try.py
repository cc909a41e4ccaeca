# SPDX-License-Identifier: Apache-2.0
"""Runs ctest or pytest; a test that starts processes and fails is run again, alone, once.

    second_try.py ctest|pytest REPORT FLAKY -- COMMAND...

A machine that stands still can end a run of processes; it cannot make a unit test fail, so none is ever repeated. A
test that starts processes is one whose suite of GoogleTest is called ...Processes, or that has pytest's mark `process`.
A test that was skipped because the machine stood still ("machine: ...") is tried again in the same way, and has failed
if it is skipped again. REPORT is the JUnit report, with the second outcomes in place of the first. The names of those
that passed then go into the file FLAKY; when a whole run has more than three of them, it has failed.
"""

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from count_tests import outcome, skip_reason

MAX_FLAKY = 3
FOR_THE_MACHINE = "machine: "

Case = ElementTree.Element


def process_test_of_pytest(case: Case) -> str | None:
    """Its node id, which conftest.py gives with the mark `process`; None: it starts no processes."""
    for given in case.iter("property"):
        if given.get("name") == "process":
            return given.get("value")
    return None


def process_test_of_ctest(case: Case) -> str | None:
    """Its name when its suite says that it starts processes, Prefix/SuiteProcesses.Name/Parameter."""
    name = case.get("name", "")
    return name if re.match(r"(\w+/)?\w*Processes(/\w+)?\.", name) else None


@dataclass(frozen=True)
class Tool:
    """The options of a test runner for the path of its report, and for one test alone."""

    report: Callable[[Path], list[str]]
    process_test: Callable[[Case], str | None]
    alone: Callable[[str], list[str]]


TOOLS = {
    "pytest": Tool(lambda path: [f"--junitxml={path}"], process_test_of_pytest, lambda test: ["-n", "0", test]),
    "ctest": Tool(
        lambda path: ["--output-junit", str(path.resolve())],
        process_test_of_ctest,
        lambda test: ["-R", f"^{re.escape(test)}$"],
    ),
}


def is_to_be_tried_again(case: Case) -> bool:
    result = outcome(case)
    return result == "failed" or (result == "skipped" and skip_reason(case).startswith(FOR_THE_MACHINE))


def replace(case: Case, by: Case) -> None:
    case[:] = by[:]
    case.attrib.update(by.attrib)


def fail(case: Case, why: str) -> None:
    case[:] = [ElementTree.Element("failure", message=why)]


class Run:
    def __init__(self, tool: Tool, report: Path, flaky: Path, command: list[str]) -> None:
        self._tool, self._report, self._flaky, self._command = tool, report, flaky, command

    def status(self) -> int:
        """Returns 0 if all passed, at the latest when tried again."""
        status = subprocess.call([*self._command, *self._tool.report(self._report)])
        if not self._report.exists():
            return status or 1
        tree = ElementTree.parse(self._report)
        unlucky = [case for case in tree.iter("testcase") if is_to_be_tried_again(case)]
        if not unlucky:
            return status
        names = [self._tool.process_test(case) for case in unlucky]
        earlier = self._flaky.read_text().split() if self._flaky.exists() else []
        if None in names or len(earlier) + len(names) > MAX_FLAKY:
            print(f"not tried again: {self._why_not(names, earlier)}")
            return status or 1
        passed = [self._passes_alone(case, str(name)) for case, name in zip(unlucky, names, strict=True)]
        tree.write(self._report, encoding="utf-8", xml_declaration=True)
        with self._flaky.open("a") as file:
            file.writelines(f"{name}\n" for name, has_passed in zip(names, passed, strict=True) if has_passed)
        return 0 if all(passed) else 1

    def _why_not(self, names: list[str | None], earlier: list[str]) -> str:
        if None in names:
            return "a test failed that starts no processes"
        return f"{len(earlier)} + {len(names)} tests would be flaky in one run, and {MAX_FLAKY} are allowed"

    def _passes_alone(self, case: Case, name: str) -> bool:
        print(f"once more, alone: {name}", flush=True)
        report = self._report.with_suffix(".again")
        report.unlink(missing_ok=True)
        subprocess.call([*self._command, *self._tool.alone(name), *self._tool.report(report)])
        again = next(iter(ElementTree.parse(report).iter("testcase")), None) if report.exists() else None
        if again is None:
            fail(case, "it could not be run a second time")
        elif is_to_be_tried_again(again):
            replace(case, again)
            if outcome(again) == "skipped":
                fail(case, f"skipped twice: {skip_reason(again)}")
        else:
            replace(case, again)
            return True
        return False


def main(arguments: list[str]) -> int:
    tool, report, flaky, _, *command = arguments
    return Run(TOOLS[tool], Path(report), Path(flaky), command).status()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
