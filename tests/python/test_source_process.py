# SPDX-License-Identifier: Apache-2.0
"""Messages from the front ends' process to the leader of a run."""

import os
from pathlib import Path
from typing import Any

import pytest

from anello.run.source_process import _lines_of, save_truth


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


def test_truth_that_cannot_be_written_says_what_and_where(tmp_path: Path) -> None:
    path = tmp_path / "missing/truth.npz"
    with pytest.raises(OSError, match=f"the simulated events could not be written to {path}: No such file"):
        save_truth(path, {})
