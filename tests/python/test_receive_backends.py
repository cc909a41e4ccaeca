# SPDX-License-Identifier: Apache-2.0
"""The whole chain with each way to receive: over the loopback, and between two network namespaces."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from stalls import PATIENCE_MS

from anello.rich.configuration.config import N_RICH_BOARDS

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "bench/system"))
from veth import VethUnavailableError, veth_pair  # noqa: E402

engine = pytest.importorskip("anello._engine", reason="the compiled engine is not built")

SHORT = ["--set", "source.burst_ms=200", "--set", "source.gap_ms=20", "--set", "source.n_bursts=3",
         "--set", "source.rate_hz=20000", "--set", "run.refresh_ms=100", "--set", "receive.events_per_buffer=32",
         "--set", f"build.timeout_ms={PATIENCE_MS}", "--set", "trigger.deadline_us=0"]  # fmt: skip
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "160"}


def anello(*arguments: str, before: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    command = [*before, sys.executable, "-m", "anello", *arguments]
    return subprocess.Popen(
        command, cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def need(backend: str) -> None:
    found = {str(one["name"]): one for one in engine.receive_backends("lo")}
    if not found[backend]["available"]:
        pytest.skip(f"{backend}: {found[backend]['reason']}")


def summary_in(directory: Path) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads((directory / "summary.json").read_text())
    return summary


def test_probe_tells_of_every_backend() -> None:
    found = engine.receive_backends()
    assert [one["name"] for one in found] == ["socket", "socket+gro", "io_uring", "af_xdp", "pcap", "nanet"]
    assert all(bool(one["reason"]) != one["available"] for one in found)


@pytest.mark.parametrize("backend", ["io_uring"])
@pytest.mark.process
def test_chain_over_loopback(backend: str, tmp_path: Path) -> None:
    need(backend)
    process = anello("run", "detectors/rich/na62-rich.toml", *SHORT, "--set", f"receive.backend={backend}",
                     "--report-dir", str(tmp_path))  # fmt: skip
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    summary = summary_in(tmp_path)
    assert summary["balanced"] is True
    assert summary["losses"] == {}
    assert summary["rates"]["events"] == pytest.approx(12_000, rel=0.1)


@pytest.mark.parametrize("backend", ["af_xdp", pytest.param("io_uring", marks=pytest.mark.long)])
@pytest.mark.process
def test_chain_between_namespaces(backend: str, tmp_path: Path) -> None:
    if backend != "af_xdp":
        need(backend)
    ports = str([7001 + board for board in range(N_RICH_BOARDS)])
    try:
        with veth_pair() as path:
            node = anello("node", "detectors/rich/na62-rich.toml", *SHORT, "--set", f"receive.backend={backend}",
                          "--set", f"receive.host={path.address}", "--set", f"receive.interface={path.interface}",
                          "--set", f"receive.ports={ports}", "--report-dir", str(tmp_path),
                          before=path.before_receiver)  # fmt: skip
            said = until_it_listens(node)
            source = anello("source", "detectors/rich/na62-rich.toml", *SHORT, "--set", f"source.host={path.address}",
                            "--set", f"source.ports={ports}", before=path.before_sender)  # fmt: skip
            sent, _ = source.communicate(timeout=120)
            output, _ = node.communicate(timeout=120)
    except VethUnavailableError as problem:
        pytest.skip(f"two namespaces: {problem}")
    assert source.returncode == 0, sent
    assert node.returncode == 0, said + output
    summary = summary_in(tmp_path)
    assert summary["rates"]["events"] == pytest.approx(12_000, rel=0.1)
    boards = [summary["counters"]["node"][f"receive.board{board}"] for board in range(N_RICH_BOARDS)]
    assert all(board["kernel_dropped"] == 0 for board in boards)
    assert all(board["packets"] > 0 for board in boards)


def until_it_listens(node: subprocess.Popen[str]) -> str:
    """The node's output until then; all of it if it ended without listening."""
    assert node.stdout is not None
    said = ""
    for line in node.stdout:
        said += line
        if "listening at" in line:
            break
    return said
