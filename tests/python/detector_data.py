# SPDX-License-Identifier: Apache-2.0
"""Real data of detectors, if present, and look-alikes (tests/lookalikes); and the content of each file."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

CLB, L1 = "clb.dqd", "IO_TSL1_1003.dat"
RUN_8548, ONE_EVENT, PMT_MAP = "na62_run8548_events_hits.csv", "na62_2018E_one_event_hits.csv", "na62_rich_pmt_map.csv"
NECTARCAM, LST = "example_9evts_NectarCAM.fits.fz", "example_LST_R1_10_evts.fits.fz"
DIGICAM = "example_10evts.fits.fz"


@dataclass(frozen=True)
class DetectorData:
    """Files of one folder, and their contents by name."""

    folder: Path
    truth: dict[str, dict[str, Any]] = field(repr=False)

    def file(self, name: str) -> tuple[Path, dict[str, Any]]:
        """The test is skipped where it is absent."""
        path = self.folder / name
        if not path.exists():
            pytest.skip(f"there is no {path}; ANELLO_DATA names another folder")
        return path, self.truth[name]


def real() -> DetectorData:
    return DetectorData(Path(os.environ.get("ANELLO_DATA", ROOT / "../shared/data")), REAL)


def lookalike(folder: Path) -> DetectorData:
    """Makes the look-alikes in this folder without installed packages, by code that shares nothing with ours."""
    subprocess.run([sys.executable, "-I", "-S", ROOT / "tests/lookalikes/make.py", folder], check=True)
    return DetectorData(folder, json.loads((folder / "truth.json").read_text()))


IN_THE_DARK = (806451239, 806451575, 808447031, 808952022, 808971330, 808985194)
BEFORE_THE_LAMP = (808489098, 808967370, 808976266, 808976292, 808980464, 808982228, 808984748, 808996919, 809544159)
# n_found: so many of the rings at least are found by na62-rich.toml, n_found_as_usual without a configuration.
REAL: dict[str, dict[str, Any]] = {
    CLB: {"n_hits": [229, 141, 229], "udp_sequence": [3, 4, 0], "dom_id": 817803008, "n_never_sent": 3,
          "first_hits": [[0, 66254747, 12], [26, 87467100, 7], [27, 149869, 14]]},
    L1: {"n_messages": 10, "n_hits": 18_000, "first_origin": [48, 4380, 13535, 1_605_025_366_500_000_000],
         "first_hits": [[12, 607618, 25], [0, 607611, 25], [12, 1607653, 25]],
         "first_frames": [[dom, 12, 11, 2**31, 2**31, 0] for dom in IN_THE_DARK] +
                         [[dom, 2, 1, 2**31, 2**31, 200] for dom in BEFORE_THE_LAMP]},
    RUN_8548: {"n_events": 60, "n_hits": 1998, "n_in_time": 1157, "n_rings": 56, "n_found": 50,
               "n_found_as_usual": 48, "first_hit": [264, 60.2, 11.38], "first_ring": [-127.5, -114.5, 182.9]},
    ONE_EVENT: {"times_ns": [0, 14.5, 60], "n_hits": [15, 9, 12], "n_rings": [1, 0, 1], "n_together": 3},
    PMT_MAP: {},
    NECTARCAM: {"run_id": 1, "boards": list(range(12)), "present": [[True] * 12] * 9, "counters_kind": 2,
                "event_number": list(range(1, 10)), "said": "9 events of 12 boards, 7 pixels, 2 gains, 60 samples"},
    LST: {"run_id": 0, "boards": [0, 1], "present": [[False, True]] * 10, "trigger_tag": [0] * 10,
          "event_number": list(range(1, 11)), "counters_kind": 1,
          "stored_cells": [61440, 251, 61440, 251, 61440, 241, 61440, 245], "first_cells": None,
          "note": "its first cells are not taken: some are 61440"},
    DIGICAM: {"run_id": 0, "boards": list(range(108)), "present": [[True] * 108] * 10, "counters_kind": 0,
              "trigger_tag": [1, 1, 1, 1, 1, 32, 1, 1, 1, 1]},
}  # fmt: skip
