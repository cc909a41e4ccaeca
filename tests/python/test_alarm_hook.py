# SPDX-License-Identifier: Apache-2.0
"""The command for alarms."""

from pathlib import Path

import pytest

from anello.control.hook import MOST_AT_ONCE, Hook


@pytest.mark.process
def test_it_finds_the_alarm_in_its_environment(tmp_path: Path) -> None:
    notices: list[str] = []
    hook = Hook(f'echo "$ANELLO_ALARM" > {tmp_path}/mail', 60, notices.append)
    hook.run({"ANELLO_ALARM": "p999_us > 1000; $(false)"})
    hook.wait()
    assert (tmp_path / "mail").read_text() == "p999_us > 1000; $(false)\n"
    assert notices == []


@pytest.mark.process
def test_a_command_that_fails_or_hangs_is_reported() -> None:
    notices: list[str] = []
    for command, timeout_s in (("echo no such chat; exit 3", 60), ("sleep 1000 & sleep 1000", 0.05)):
        hook = Hook(command, timeout_s, notices.append)
        hook.run({})
        hook.wait()
    assert notices == [
        "alarms.hook failed with exit code 3: no such chat", "alarms.hook was killed: it took longer than 0.05 s",
    ]  # fmt: skip


@pytest.mark.process
def test_commands_that_pile_up_are_not_run(tmp_path: Path) -> None:
    notices: list[str] = []
    gate = tmp_path / "gate"
    hook = Hook(f"while [ ! -e {gate} ]; do sleep 0.01; done", 60, notices.append)
    for _ in range(MOST_AT_ONCE + 2):
        hook.run({})
    assert notices == ["alarms.hook was not run: 4 of its commands have not ended yet"] * 2
    gate.touch()
    hook.wait()


def test_without_a_command_nothing_is_run() -> None:
    Hook("", 1, [].append).run({})
