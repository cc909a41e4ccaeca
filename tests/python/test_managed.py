# SPDX-License-Identifier: Apache-2.0
"""Orders to a run at its socket."""

import json
import socket
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from opened import opened

from anello.control.managed import MOST_BYTES, Managed, ManagedRun, NoAnswerError, address_in


@pytest.fixture
def deep(tmp_path: Path) -> Path:
    """Longer than a socket's address may be."""
    directory = tmp_path / ("long" * 30)
    directory.mkdir()
    return directory


def lead_a_run(managed: Managed, seen: list[bool]) -> None:
    with managed.interruptible() as interruption:
        seen.append(managed.may_start())
        if seen[-1]:
            managed.announce("running")
            interruption.wait(60)
        managed.announce("ended")


def run_in_thread(managed: Managed, monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Thread, list[bool]]:
    monkeypatch.setattr(
        "anello.system.interruption.signal.signal", lambda *_: None
    )  # only a main thread may set handlers
    seen: list[bool] = []
    thread = threading.Thread(target=lead_a_run, args=(managed, seen))
    thread.start()
    return thread, seen


def until(run: ManagedRun, state: str) -> None:
    while run.order("state")["state"] != state:
        pass


def test_a_run_starts_and_stops_when_it_is_told(deep: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Managed(deep) as managed:
        thread, seen = run_in_thread(managed, monkeypatch)
        run = ManagedRun(deep)
        until(run, "ready")
        run.order("start")
        until(run, "running")
        with pytest.raises(ValueError, match="start is not possible while running"):
            run.order("start")
        run.close()
        again = ManagedRun(deep)  # its control room may end; the run continues and takes orders from the next
        assert again.order("state")["state"] == "running"
        again.order("stop")
        thread.join()
        again.close()
    assert seen == [True]
    assert not managed.is_aborted
    with pytest.raises(NoAnswerError):
        ManagedRun(deep)


def test_a_run_that_is_aborted_while_ready_does_not_begin(deep: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Managed(deep) as managed:
        thread, seen = run_in_thread(managed, monkeypatch)
        run = ManagedRun(deep)
        until(run, "ready")
        run.order("abort")
        thread.join()
        run.close()
    assert seen == [False]
    assert managed.is_aborted


@pytest.mark.parametrize(
    "sent",
    [
        b"\n",
        b"{}\n",
        b"[1]\n",
        b'{"order": 7}\n',
        b'{"order": "x"}\n',
        b"\xff\xfe\n",
        b"9" * 3 * MOST_BYTES + b"\n",
        b'{"order": "state", "deep": ' + b"[" * 2000 + b"]" * 2000 + b"}\n",
    ],
)
def test_orders_that_cannot_be_are_refused(deep: Path, sent: bytes) -> None:
    with Managed(deep), socket.socket(socket.AF_UNIX) as client:
        with address_in(deep) as address:
            client.connect(address)
        lines = client.makefile("rwb")
        lines.write(sent)
        lines.flush()
        answer = json.loads(lines.readline())
        assert not answer["ok"]
        assert answer["error"]
        run = ManagedRun(deep)
        assert run.order("state")["state"] == "configured"
        run.close()


def test_the_end_of_a_line_that_is_too_long_is_no_order(deep: Path) -> None:
    with Managed(deep) as managed, socket.socket(socket.AF_UNIX) as client:
        with address_in(deep) as address:
            client.connect(address)
        lines = client.makefile("rwb")
        lines.write(b" " * (MOST_BYTES + 1) + b'{"order": "abort"}\n')
        lines.flush()
        assert json.loads(lines.readline()) == {
            "ok": False, "error": f"MalformedError: it has more than {MOST_BYTES} bytes",
        }  # fmt: skip
        with suppress(ConnectionResetError):
            assert not lines.readline()
        assert not managed.is_aborted


def test_more_clients_than_there_is_room_for_are_turned_away(deep: Path) -> None:
    with Managed(deep):
        runs = [ManagedRun(deep) for _ in range(8)]
        for run in runs:
            run.order("state")
        late = ManagedRun(deep)
        with pytest.raises(NoAnswerError):
            late.order("state")
        for run in (*runs, late):
            run.close()


def test_nothing_of_it_is_left_when_it_is_over(deep: Path) -> None:
    before = opened()
    with Managed(deep):
        runs = [ManagedRun(deep) for _ in range(3)]
        for run in runs:
            run.order("state")
    assert not [one for one in opened() - before if isinstance(one, threading.Thread)]
    for run in runs:
        with pytest.raises(NoAnswerError):
            run.order("state")
        run.close()
