# SPDX-License-Identifier: Apache-2.0
"""A test that starts processes and fails is run again, alone, once; no other is, and at most three in one run."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import second_try

pytestmark = pytest.mark.process

# A test runner that says of each test what its file says, one letter for each time that it is run: . F or S.
RUNNER = """
import sys
from pathlib import Path
folder, report, only = Path(sys.argv[1]), None, None
for i, word in enumerate(sys.argv):
    if word.startswith("--junitxml="): report = Path(word.partition("=")[2])
    if word == "-n": only = sys.argv[i + 2]
cases = []
for file in sorted(folder.glob("*.test")):
    if only and file.stem != only: continue
    outcomes = file.read_text()
    file.write_text(outcomes[1:])
    mark = f'<properties><property name="process" value="{file.stem}"/></properties>' if "process" in file.stem else ""
    said = {".": "", "F": '<failure message="no"/>', "S": '<skipped message="machine: it stood still"/>'}[outcomes[0]]
    cases.append(f'<testcase classname="a" name="{file.stem}">{mark}{said}</testcase>')
report.write_text("<testsuites><testsuite>" + "".join(cases) + "</testsuite></testsuites>")
sys.exit("<failure" in report.read_text())
"""


def status(folder: Path, **tests: str) -> int:
    (folder / "runner.py").write_text(RUNNER)
    for name, outcomes in tests.items():
        (folder / f"{name}.test").write_text(outcomes)
    command = [sys.executable, str(folder / "runner.py"), str(folder)]
    return second_try.main(["pytest", str(folder / "report.xml"), str(folder / "flaky.txt"), "--", *command])


def flaky(folder: Path) -> list[str]:
    file = folder / "flaky.txt"
    return file.read_text().split() if file.exists() else []


def outcomes(folder: Path) -> dict[str | None, str]:
    return {
        case.get("name"): second_try.outcome(case) for case in ElementTree.parse(folder / "report.xml").iter("testcase")
    }


def test_all_passed_is_run_once(tmp_path: Path) -> None:
    assert status(tmp_path, unit=".", process=".") == 0
    assert flaky(tmp_path) == []


def test_a_test_of_processes_that_passes_alone_is_reported(tmp_path: Path) -> None:
    assert status(tmp_path, unit=".", process_a="F.") == 0
    assert flaky(tmp_path) == ["process_a"]
    assert outcomes(tmp_path) == {"unit": "passed", "process_a": "passed"}


def test_a_test_of_processes_that_fails_twice_has_failed(tmp_path: Path) -> None:
    assert status(tmp_path, process_a="FF", process_b="F.") == 1
    assert outcomes(tmp_path) == {"process_a": "failed", "process_b": "passed"}


def test_a_unit_test_is_never_repeated(tmp_path: Path) -> None:
    assert status(tmp_path, unit="F.", process_a="F.") == 1
    assert outcomes(tmp_path) == {"unit": "failed", "process_a": "failed"}
    assert (tmp_path / "process_a.test").read_text() == "."  # nor is any other test: the run has failed


@pytest.mark.parametrize(("second", "wanted"), [(".", 0), ("S", 1)])
def test_a_skip_because_of_the_machine_is_tried_again_and_then_fails(tmp_path: Path, second: str, wanted: int) -> None:
    assert status(tmp_path, process_a="S" + second) == wanted
    assert outcomes(tmp_path) == {"process_a": "passed" if wanted == 0 else "failed"}


def test_more_than_three_fail_the_run(tmp_path: Path) -> None:
    (tmp_path / "flaky.txt").write_text("earlier_a\nearlier_b\n")
    assert status(tmp_path, process_a="F.", process_b="F.") == 1
    (tmp_path / "flaky.txt").write_text("earlier_a\nearlier_b\n")
    assert status(tmp_path, process_a="F.", process_b=".") == 0


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("UcxProcesses.End", True),
        ("Tcp/UcxProcesses.End/4", True),
        ("Sizes/PageProcesses/2.End", True),
        ("Processes.End", True),
        ("Ring.TwoProcesses", False),
        ("ProcessesOfOthers.End", False),
    ],
)
def test_a_suite_of_googletest_says_by_its_name_that_it_starts_processes(name: str, is_one: bool) -> None:
    case = ElementTree.Element("testcase", name=name)
    assert (second_try.process_test_of_ctest(case) is not None) == is_one
