# SPDX-License-Identifier: Apache-2.0
"""The count over all test programs calls nothing passed that did not run."""

from pathlib import Path

import count_tests

CTEST = """<testsuite>
<testcase name="wire.ok" status="run"><system-out>fine</system-out></testcase>
<testcase name="wire.wrong" status="fail"><failure message=""/><system-out>[ RUN      ] wire.wrong
x.cpp:7: Failure
</system-out></testcase>
<testcase name="test_core_NOT_BUILT" status="notrun"><skipped message="Unable to find executable"/></testcase>
<testcase name="wire.clb" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
<system-out>x.cpp:3: Skipped
no clb.dqd
[  SKIPPED ] wire.clb</system-out></testcase>
<testcase name="wire.off" status="disabled"/>
</testsuite>"""

PYTEST = """<testsuites><testsuite>
<testcase name="test_a"/><testcase classname="tests.b" name="test_b"><error message="boom">def test_b():
E   boom</error></testcase>
<testcase name="test_c"><skipped message="no real data"/></testcase>
<testcase name="test_d"><skipped message="no real data"/></testcase>
</testsuite></testsuites>"""


def test_of_what_a_failed_test_said_the_end_is_reported(tmp_path: Path) -> None:
    report = tmp_path / "junit-release.xml"
    said = "".join(f"line {i}\n" for i in range(100))
    report.write_text(
        f'<testsuite><testcase name="a.b"><failure/><system-out>{said}</system-out></testcase></testsuite>'
    )
    lines = count_tests.summary([report]).splitlines()
    assert lines[0] == "    failed (release) a.b"
    assert lines[1:-1] == [f"        line {i}" for i in range(100 - count_tests.N_LINES, 100)]


def test_every_case_is_counted_once(tmp_path: Path) -> None:
    reports = [tmp_path / "junit-release.xml", tmp_path / "junit-python.xml"]
    for report, text in zip(reports, (CTEST, PYTEST), strict=True):
        report.write_text(text)
    assert count_tests.summary(reports).splitlines() == [
        "    1 skipped (release) no clb.dqd",
        "    1 skipped (release) disabled",
        "    2 skipped (python) no real data",
        "    failed (release) wire.wrong",
        "        [ RUN      ] wire.wrong",
        "        x.cpp:7: Failure",
        "    failed (release) test_core_NOT_BUILT",
        "    failed (python) tests.b::test_b",
        "        def test_b():",
        "        E   boom",
        "2 passed, 3 failed, 4 skipped",
    ]
