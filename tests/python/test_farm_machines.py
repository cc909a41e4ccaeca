# SPDX-License-Identifier: Apache-2.0
"""A farm under a control room on three machines (namespaces of a star), by the commands that people type."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from exchange_synthetic import eventually
from veth import VethUnavailableError, star

from anello.catalogue.catalogue import Catalogue, of_runs_in
from anello.system import secret_keys

pytest.importorskip("anello._engine", reason="the compiled engine is not built")
pytestmark = [pytest.mark.process, pytest.mark.long]  # half a minute of three machines on one

ROOT = Path(__file__).resolve().parents[2]
ANELLO = [sys.executable, "-m", "anello"]
SETTINGS = ("run.duration_s=0", "generator.rate_hz=20000", 'farm.nodes=["here", "rack1", "rack2"]')


class Machines:
    """The control room on the first, an agent on each other one."""

    def __init__(self, stack: ExitStack, folder: Path, transport: str) -> None:
        self._stack, self._folder = stack, folder
        try:
            self._star = stack.enter_context(star(3))
        except VethUnavailableError as error:
            pytest.skip(str(error))
        secret_keys.make(folder / "keys")
        settings = (*SETTINGS, f"fabric.transport={transport}", f"fabric.host={self._star.address(0)}",
                    f"farm.address={self._star.address(0)}")  # fmt: skip
        meeting = ("--agents", "tcp://*:8642", "--keys", str(folder / "keys"))
        self._start(0, "control", "configs/lhcb-exchange.toml", "--in", str(self.runs), "--bind", "127.0.0.1:0",
                    "--no-doctor", *meeting, *_set(settings))  # fmt: skip
        for rank in (1, 2):
            self._start(rank, "agent", f"tcp://{self._star.address(0)}:8642", "--keys", str(folder / "keys"), "--name",
                        f"rack{rank}", "--in", str(folder / f"rack{rank}"),
                        *_set([f"fabric.host={self._star.address(rank)}"]))  # fmt: skip

    @property
    def runs(self) -> Path:
        return self._folder / "runs"

    def _start(self, rank: int, *arguments: str) -> None:
        with (self._folder / f"said-{rank}.txt").open("w") as said:
            process = subprocess.Popen([*self._star.before(rank), *ANELLO, *arguments], cwd=ROOT, stdout=said,
                                       stderr=said)  # fmt: skip
        self._stack.callback(process.wait, 60)
        self._stack.callback(process.terminate)

    def ctl(self, *arguments: str) -> dict[str, Any]:
        typed = [*self._star.before(0), *ANELLO, "ctl", *arguments, "--in", str(self.runs), "--json"]
        done = subprocess.run(typed, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer


def _set(settings: Any) -> list[str]:
    return [part for setting in settings for part in ("--set", setting)]


@pytest.fixture(params=["tcp", "ucx"])
def machines(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Machines]:
    with ExitStack() as stack:
        yield Machines(stack, tmp_path, request.param)


def test_a_run_on_three_machines_is_led_to_its_end(machines: Machines) -> None:
    machines.ctl("status", "--wait", "60")
    assert machines.ctl("arm")["state"] == "ready"
    assert machines.ctl("start")["state"] == "running"
    with Catalogue(of_runs_in(machines.runs)) as catalogue:
        eventually(lambda: (catalogue.runs.get(1)["state"]) == "running")
        assert machines.ctl("stop")["state"] == "configured"
        row = catalogue.runs.get(1)
    assert (row["state"], row["balanced"]) == ("ended", True)
    summary = json.loads((Path(row["directory"]) / "summary.json").read_text())
    assert [node["rank"] for node in summary["nodes"]] == [0, 1, 2]
    assert summary["absent"] == {}
    assert all(node["meps_complete"] > 0 for node in summary["nodes"])
