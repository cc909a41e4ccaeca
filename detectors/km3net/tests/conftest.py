# SPDX-License-Identifier: Apache-2.0
"""Fixtures that several of these tests use."""

import json
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from stalls import PATIENCE_MS

ROOT = Path(__file__).parents[3]
Run = Callable[..., tuple[int, str, dict[str, Any]]]


@pytest.fixture
def anello_run(tmp_path: Path) -> Run:
    """Runs `anello COMMAND` with its report in tmp_path, and returns exit code, output and summary."""

    def run(*settings: str, command: str = "run") -> tuple[int, str, dict[str, Any]]:
        values = [part for setting in settings for part in ("--set", setting)]
        arguments = [command, "detectors/km3net/km3net.toml", *values, "--report-dir", str(tmp_path)]
        ended = subprocess.run(
            [sys.executable, "-m", "anello", *arguments],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        summary = tmp_path / "summary.json"
        found = json.loads(summary.read_text()) if summary.exists() else {}
        return ended.returncode, ended.stdout + ended.stderr, found

    return run


@pytest.fixture
def replay(tmp_path: Path, anello_run: Run) -> Run:
    """Runs a node on these datagrams, which it reads from a capture file; passes further settings on unchanged."""

    def run(datagrams: Sequence[bytes], *settings: str) -> tuple[int, str, dict[str, Any]]:
        capture = tmp_path / "clb.pcap"
        capture.write_bytes(pcap_of(datagrams, 56015))
        return anello_run(
            "receive.backend=pcap",
            f"receive.pcap_file={capture}",
            "receive.ports=[56015]",
            "receive.pcap_speed=0",
            f"slices.timeout_ms={PATIENCE_MS}",
            *settings,
            command="node",
        )

    return run


def pcap_of(datagrams: Sequence[bytes], port: int) -> bytes:
    """Returns a capture of Ethernet frames from 10.0.0.1 to 10.0.0.2."""
    content = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    for at_us, payload in enumerate(datagrams):
        udp = struct.pack(">HHHH", 4000, port, 8 + len(payload), 0) + payload
        ip = struct.pack(">BBHHHBBHII", 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0, 0x0A000001, 0x0A000002)
        frame = bytes(12) + b"\x08\x00" + ip + udp
        content += struct.pack("<IIII", 1, at_us, len(frame), len(frame)) + frame
    return content
