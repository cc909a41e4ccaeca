# SPDX-License-Identifier: Apache-2.0
"""Captures that others had trouble with, replayed into a node by its command: what a run says of each. They lie next to
the checkout, and where they are not these tests are skipped; the same kinds are made anew by the tests of the parts
(pcap_backend_test.cpp, stream_receiver_test.cpp, builder_test.cpp)."""

import json
import lzma
from pathlib import Path
from typing import Any

import pytest
from test_run import ROOT, start

from anello.system import exit_codes

CASES = ROOT.parent / "shared" / "cases"
BOARDS = ROOT / "detectors"
RICH = (str(BOARDS / "rich/na62-rich.toml"), "receive.ports=[6000,6001,6002,6003]", "store.prescale_log2=0",
        "emit.enabled=false", "trigger.deadline_us=0", "build.timeout_ms=2000")  # fmt: skip
CAMERA = (str(BOARDS / "camera/cta-camera.toml"), "receive.ports=[6000]", "camera.boards=20", "camera.samples=20",
          "camera_filter.enabled=false", "camera_build.timeout_ms=2000")  # fmt: skip

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not CASES.is_dir(), reason=f"no captures of cases in {CASES}"),
]


def replayed(
    case: str, of: tuple[str, ...], folder: Path, *, speed: float = 0.0, n_bytes: int | None = None
) -> tuple[int, str, dict[str, Any]]:
    """Exit code, output, summary. n_bytes: length of the capture's part that is replayed; None: all of it."""
    packed = next(CASES.glob(f"{case}.*.xz"))
    capture = folder / packed.stem
    capture.write_bytes(lzma.decompress(packed.read_bytes())[:n_bytes])
    config, *settings = (*of, "receive.backend=pcap", f"receive.pcap_file={capture}", f"receive.pcap_speed={speed}")
    given = [part for one in settings for part in ("--set", one)]
    node = start("node", config, *given, "--report-dir", str(folder / "run"))
    output = "".join(node.communicate(timeout=120))
    return node.returncode, output, json.loads((folder / "run" / "summary.json").read_text())


@pytest.mark.parametrize(
    ("case", "of", "verdict", "words"),
    [
        ("good", RICH, (0, 80), "all data was delivered"),
        ("c01_ipv6", RICH, (exit_codes.UNKNOWN, 0), "over IPv6, not used"),
        ("c04_two_link_types", RICH, (exit_codes.UNKNOWN, None), "could not be read to its end"),
        ("c06_ip_fragments_one_board", RICH, (exit_codes.LOST, None), "IP fragments of the capture, not used"),
        ("d01_stuck_clock", RICH, (exit_codes.LOST, None), "its clock stands still"),
        ("d03_crate_reboot_1970", RICH, (0, 160), "all data was delivered"),
        ("d08_camera_restart_same_run_id", CAMERA, (exit_codes.LOST, None), "it began anew in the same run"),
        ("e02_camera_event_number_16bit", CAMERA, (exit_codes.LOST, None), "camera_build.event_number_bits"),
        (
            "e02_camera_event_number_16bit",
            (*CAMERA, "camera_build.event_number_bits=16"),
            (0, None),
            "all data was delivered",
        ),
    ],
)
def test_what_a_run_says_of_it(
    case: str, of: tuple[str, ...], verdict: tuple[int, int | None], words: str, tmp_path: Path
) -> None:
    """verdict: exit code, and the number of events that are built, if it is known."""
    wanted, n_events = verdict
    code, output, summary = replayed(case, of, tmp_path)
    assert code == wanted, output
    assert words in output
    assert n_events is None or summary["counters"]["node"]["build"]["events_built"] == n_events


@pytest.mark.parametrize(("case", "of"), [("good", RICH), ("d08_camera_restart_same_run_id", CAMERA)])
def test_a_capture_that_breaks_off_says_why_whatever_the_chain(case: str, of: tuple[str, ...], tmp_path: Path) -> None:
    code, output, _ = replayed(case, of, tmp_path, n_bytes=5007)
    assert code == exit_codes.UNKNOWN, output
    assert "could not be read to its end: truncated dump file" in output


def test_a_first_stamp_of_0_is_not_waited_for(tmp_path: Path) -> None:
    code, output, _ = replayed("c07_first_stamp_0", RICH, tmp_path, speed=1.0)
    assert code == 0, output
