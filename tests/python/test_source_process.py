# SPDX-License-Identifier: Apache-2.0
"""What the leader of a run hears of its front ends' process."""

import os
from typing import Any

import pytest

from anello.source_process import _lines_of


@pytest.mark.parametrize(("said", "heard"), [
    (b'{"state": "ready"}\n{"state": "done"}\n', ['{"state": "ready"}', '{"state": "done"}', ""]),
    (b'{"state": "ready"}\n{"state": "sending", "counters": {"sou', ['{"state": "ready"}', ""]),
    (b"", [""]),
])  # fmt: skip
def test_a_message_that_its_writer_could_not_finish_is_none(said: bytes, heard: list[str]) -> None:
    """A process that is killed while it writes more than a pipe holds leaves a part of it."""
    reading, writing = os.pipe()
    os.write(writing, said)
    os.close(writing)
    with os.fdopen(reading) as stream:
        lines: Any = _lines_of(stream)
        assert [lines.get(timeout=60) for _ in heard] == heard
        assert lines.empty()
