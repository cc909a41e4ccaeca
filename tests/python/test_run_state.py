# SPDX-License-Identifier: Apache-2.0
"""The words for a run's state are the same in C++, in Python and in the control room."""

import re
from pathlib import Path

import pytest

from anello.account.run_state import RunState
from anello.control.states import State

HEADER = Path(__file__).parents[2] / "engine/core/counters/page_identity.hpp"


def test_the_engine_has_the_words_that_a_process_says_of_itself() -> None:
    listed = re.search(r"words_of<RunState>\{([^}]*)\}", HEADER.read_text())
    assert listed
    words = re.findall(r'"(\w+)"', listed[1])
    assert words == [state.value for state in RunState if state not in (RunState.ABORTED, RunState.CRASHED)]


@pytest.mark.parametrize("state", RunState)
def test_a_control_room_knows_what_to_do_with_a_run_in_any_state(state: RunState) -> None:
    expected = {RunState.CONFIGURED: State.READY, RunState.READY: State.READY, RunState.RUNNING: State.RUNNING}
    assert State.with_run(state) is expected.get(state, State.DRAINING)
