# SPDX-License-Identifier: Apache-2.0
"""Whole runs of the exchange, as a user types them. All need the engine."""

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from exchange_synthetic import LIMIT_S, eventually
from stalls import FARM_PATIENCE
from test_exchange_mpi import AS_ROOT
from test_run import ROOT, start

engine = pytest.importorskip("anello._engine", reason="the compiled engine is not built")
if not hasattr(engine, "ExchangeNode"):
    pytest.skip("this engine has no ExchangeNode", allow_module_level=True)
pytestmark = pytest.mark.process

CONFIG = "configs/lhcb-exchange.toml"
SHORT = [part for setting in (
    "fabric.transport=tcp", "run.refresh_ms=100", "exchange.packing=100", "exchange.verify_share=1.0",
    "generator.n_buffers=16", *FARM_PATIENCE,
) for part in ("--set", setting)]  # fmt: skip
FEW = ["--set", "exchange.n_meps=200"]
TIMEOUT_S = 120


def finish(process: "subprocess.Popen[str]", directory: Path) -> tuple[int, str, dict[str, Any]]:
    """Waits until the process has ended; returns exit code, output and summary."""
    output, errors = process.communicate(timeout=TIMEOUT_S)
    summary = directory / "summary.json"
    return process.returncode, output + errors, json.loads(summary.read_text()) if summary.exists() else {}


def local(directory: Path, n: int | str, *arguments: str) -> tuple[int, str, dict[str, Any]]:
    command = ["exchange", CONFIG, "--local", str(n), "--no-reference", *SHORT, "--report-dir", str(directory)]
    command += arguments
    return finish(start(*command), directory)


@pytest.mark.parametrize(
    "protocol", ["push", *(pytest.param(one, marks=pytest.mark.long) for one in ("pull", "shift"))]
)
def test_nodes_of_one_machine_build_every_event(tmp_path: Path, protocol: str) -> None:
    code, output, summary = local(tmp_path, 3, *FEW, "--set", f"exchange.protocol={protocol}")
    assert code == 0, output
    assert summary["balanced"] is True
    assert summary["rates"]["meps"] == 200
    assert summary["rates"]["events"] == 20_000
    assert summary["complete"] == 1
    assert summary["verified"] == 1
    assert summary["losses"] == summary["node_losses"] == summary["absent"] == {}
    assert [node["rank"] for node in summary["nodes"]] == [0, 1, 2]
    assert summary["latency"]["ready_to_built"]["count"] > 0
    assert "the ledger balances" in output
    page = (tmp_path / "report.html").read_text()
    assert all(f"<h2>{title}</h2>" in page for title in ("Bandwidth", "Latency", "Nodes", "Ledger"))


def test_a_run_ends_by_its_duration_and_is_compared_with_point_to_point(tmp_path: Path) -> None:
    code, output, summary = local(tmp_path, 2, "--duration", "0.5", "--reference")
    assert code == 0, output
    assert summary["rates"]["meps"] > 0
    assert summary["balanced"] is True
    assert summary["point_to_point"]["gbit_per_s"] > 0
    assert "between two idle nodes" in output.replace("\n", " ")


@pytest.mark.long
def test_readout_and_builders_apart(tmp_path: Path) -> None:
    code, output, summary = local(tmp_path, 3, *FEW, "--set", 'exchange.roles=["em+bu", "ru", "ru"]')
    assert code == 0, output
    assert summary["rates"]["meps"] == summary["nodes"][0]["meps_complete"] == 200


def test_several_numbers_of_nodes_make_a_curve(tmp_path: Path) -> None:
    code, output, _ = local(tmp_path, "1,2", *FEW)
    assert code == 0, output
    assert [row["n_nodes"] for row in json.loads((tmp_path / "curve.json").read_text())] == [1, 2]
    assert "Against the number of nodes" in output
    assert (tmp_path / "nodes-2" / "report.html").exists()


@pytest.mark.long
def test_several_sizes_of_messages_make_a_curve(tmp_path: Path) -> None:
    code, output, _ = local(tmp_path, 2, *FEW, "--message-sizes", "2e3,2.2e6")  # the second above the default limit
    assert code == 0, output
    rows = json.loads((tmp_path / "curve.json").read_text())
    assert [row["message_bytes"] for row in rows] == pytest.approx([2e3, 2.2e6], rel=0.1)
    assert "Against the size of messages" in output


def test_ctrl_c_ends_the_run_in_order(tmp_path: Path) -> None:
    process = start(
        "exchange",
        CONFIG,
        "--local",
        "2",
        "--no-reference",
        *SHORT,
        "--duration",
        "1000",
        "--report-dir",
        str(tmp_path),
    )
    assert process.stdout is not None
    while "built:" not in (line := process.stdout.readline()):
        assert line, process.communicate()
    process.send_signal(signal.SIGINT)
    code, output, summary = finish(process, tmp_path)
    assert code == 0, output
    assert summary["interrupted"] is True
    assert summary["balanced"] is True


def test_a_wrong_value_of_the_engine_is_one_line(tmp_path: Path) -> None:
    code, output, _ = local(tmp_path, 2, "--set", "fabric.host=256.0.0.1")
    assert code != 0
    assert "Traceback" not in output


# --- By a rendezvous ----------------------------------------------------------------------------------------------
class Meeting:
    """Nodes that a user starts one by one, over a socket of this test's folder."""

    def __init__(self, folder: Path, n: int, *settings: str) -> None:
        self._n, self.folder, self._settings = n, folder, settings

    def node(self, rank: int, *settings: str) -> "subprocess.Popen[str]":
        return start(
            "exchange", CONFIG, *SHORT, *self._settings, *settings, "--rendezvous", f"ipc://{self.folder}/meet",
            "--rank", str(rank), "--nodes", str(self._n), "--report-dir", str(self.folder), "--no-reference",
        )  # fmt: skip


def test_nodes_meet_at_a_rendezvous(tmp_path: Path) -> None:
    meeting = Meeting(tmp_path, 2, *FEW)
    second, first = meeting.node(1), meeting.node(0)
    code, output, summary = finish(first, tmp_path)
    assert code == 0, output
    assert second.wait(TIMEOUT_S) == 0
    assert summary["balanced"] is True


@pytest.mark.long
def test_a_node_with_another_configuration_is_refused_and_named(tmp_path: Path) -> None:
    meeting = Meeting(tmp_path, 2, *FEW, "--timeout", "4")
    first, second = meeting.node(0), meeting.node(1, "--set", "exchange.credits=3")
    _, second_says = second.communicate(timeout=TIMEOUT_S)
    _, first_says = first.communicate(timeout=TIMEOUT_S)
    assert (first.returncode, second.returncode) == (1, 1)
    assert "exchange.credits is 3, and 4 there" in second_says
    assert first_says.startswith("anello: node 1 did not come within 4 s; node 1 (host ")


def test_a_killed_node_is_survived_and_may_come_again(tmp_path: Path) -> None:
    meeting = Meeting(tmp_path, 3, "--duration", "8", "--set", "run.display=plain", "--set", "generator.rate_hz=20000")
    first, second, third = (meeting.node(rank) for rank in range(3))
    assert first.stdout is not None
    while "built:" not in (line := first.stdout.readline()):
        assert line, first.communicate()
    third.kill()
    third.wait(LIMIT_S)
    again = meeting.node(2)
    code, output, summary = finish(first, tmp_path)
    assert code == 5, output  # packets were lost with it
    assert summary["balanced"] is True
    assert list(summary["absent"]) == ["2"]
    assert any("came again" in notice["text"] for notice in summary["notices"])
    assert (second.wait(TIMEOUT_S), again.wait(TIMEOUT_S)) == (0, 0)
    assert [node["rank"] for node in summary["nodes"]] == [0, 1, 2]


@pytest.mark.long
def test_a_killed_local_node_is_named(tmp_path: Path) -> None:
    process = start(
        "exchange", CONFIG, "--local", "3", "--no-reference", *SHORT, "--duration", "4", "--report-dir", str(tmp_path)
    )
    assert process.stdout is not None
    while not re.search(r"built: [0-9.]*[1-9]", line := process.stdout.readline()):  # packets are under way
        assert line, process.communicate()
    os.kill(int(str(eventually(lambda: child_with_rank(process.pid, 2)))), signal.SIGKILL)
    code, output, summary = finish(process, tmp_path)
    assert code == 5, output  # packets were lost with it
    assert summary["balanced"] is True
    assert summary["absent"] == {"2": "killed by signal 9"}
    assert summary["losses"].get("packets lost with their builder", 0) > 0
    assert "node 2 is gone: killed by signal 9" in output


@pytest.mark.long
def test_of_a_killed_local_leader_the_others_leave_the_whole_account(tmp_path: Path) -> None:
    process = start(
        "exchange",
        CONFIG,
        "--local",
        "3",
        "--no-reference",
        *SHORT,
        "--duration",
        "1000",
        "--report-dir",
        str(tmp_path),
    )
    assert process.stdout is not None
    while not re.search(r"built: [0-9.]*[1-9]", line := process.stdout.readline()):  # packets are under way
        assert line, process.communicate()
    os.kill(int(str(eventually(lambda: child_with_rank(process.pid, 0)))), signal.SIGKILL)
    code, output, summary = finish(process, tmp_path)
    assert code == 1, output
    assert summary["balanced"] is True, output
    assert summary["absent"] == {"0": "killed by signal 9"}
    assert [node["rank"] for node in summary["nodes"]] == [1, 2]
    assert summary["rates"]["meps"] > 0
    for rank in (1, 2):
        assert json.loads((tmp_path / f"node{rank}/summary.json").read_text())["balanced"] is True
        assert (tmp_path / f"node{rank}/report.html").exists()


def child_with_rank(parent: int, rank: int) -> int | None:
    """The process of a local node."""
    for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
        arguments = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
        if b"--rank" in arguments and arguments[arguments.index(b"--rank") + 1] == b"%d" % rank:
            return int(child)
    return None


# --- By MPI -------------------------------------------------------------------------------------------------------
@pytest.mark.long
def test_nodes_that_mpi_starts(tmp_path: Path) -> None:
    if shutil.which("mpirun") is None or importlib.util.find_spec("mpi4py") is None:
        pytest.skip("mpirun or mpi4py is not installed")
    done = subprocess.run(
        ["mpirun", "--oversubscribe", "-n", "2", sys.executable, "-m", "anello", "exchange", CONFIG, "--no-reference",
         *SHORT, *FEW, "--report-dir", str(tmp_path)],
        cwd=ROOT, env=os.environ | AS_ROOT | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["balanced"] is True
    assert summary["start"] == "started by mpirun"
    assert summary["rates"]["meps"] == 200
