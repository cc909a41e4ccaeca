# SPDX-License-Identifier: Apache-2.0
"""The engine writes with the distribution's HDF5, h5py reads with its own: two libraries in one process, whichever
comes first, whatever the environment tells either of them (docs/decisions/0019-files-that-survive.md)."""

import importlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

pytest.importorskip("anello._engine", reason="the compiled engine is not built")

TESTS = Path(__file__).parent
ENGINE, READER = "anello._engine", "h5py"


def write_and_read(path: Path, *first: str) -> None:
    """In a process of its own: loads the libraries in this order, and has a camera's node write what h5py reads."""
    for name in first:
        importlib.import_module(name)
    assert len(loaded()) == len(first), loaded()
    import h5py
    import numpy as np
    from camera_over_udp import assert_same, run_node

    from anello.camera import events, files

    n_events, n_boards, shape = 6, 3, (2, 7, 30)
    rng = np.random.default_rng(1)
    sent = files.CameraEvents(
        run_id=3, boards=np.arange(n_boards, dtype=np.uint16), event_number=np.arange(n_events, dtype=np.uint32),
        timestamp_ns=np.arange(n_events, dtype=np.uint64),
        waveform=rng.integers(0, 1 << 16, (n_events, n_boards, *shape), dtype=np.uint16),
        present=np.ones((n_events, n_boards), np.bool_), counters=np.zeros((n_events, n_boards, 24), np.uint8),
        counters_kind=1,
    )  # fmt: skip
    run_node(sent, f"camera_send.file={path}")
    assert len(loaded()) == 2, loaded()
    assert_same(events.read(path), sent)
    with h5py.File(path) as held:  # and locked, where locks are on: the next file of the engine's is another
        run_node(sent, f"camera_send.file={path.with_name('second.h5')}")
        np.testing.assert_array_equal(held["event_number"], sent.event_number)
        assert held["first_ns"].attrs["unit"] == b"ns"
    print("read")


def loaded() -> set[str]:
    """HDF5 libraries of this process."""
    return set(re.findall(r"\S*/libhdf5(?:_serial)?[-.]\S*", Path("/proc/self/maps").read_text()))


@pytest.mark.parametrize("first", [(ENGINE, READER), (READER, ENGINE)], ids=["engine-first", "h5py-first"])
@pytest.mark.parametrize("environment", ["locks", "no-locks", "plug-ins"])
def test_what_one_library_writes_the_other_reads(tmp_path: Path, environment: str, first: tuple[str, str]) -> None:
    variables = {"HDF5_USE_FILE_LOCKING": "TRUE" if environment == "locks" else "FALSE"}
    if environment == "plug-ins":  # of h5py's HDF5, as analysts set it
        plugins = pytest.importorskip("hdf5plugin", reason="HDF5's plug-ins, in the extra readers")
        variables = {"HDF5_PLUGIN_PATH": plugins.PLUGIN_PATH}
    script = f"import test_two_hdf5, pathlib; test_two_hdf5.write_and_read(pathlib.Path('events.h5'), *{first!r})"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env={**os.environ, **variables, "PYTHONPATH": str(TESTS)},
        check=False, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "read\n"), done.stderr


def test_a_growing_file_shows_more_each_time_it_is_opened(tmp_path: Path) -> None:
    """Another process than its writer opens it, like any reader during a run."""
    from test_run import start

    path = tmp_path / "run/decisions.h5"
    run = start(
        "run", "detectors/rich/na62-rich.toml", "--report-dir", str(path.parent), *(part for setting in (
            "run.display=off", "run.duration_s=60", "source.burst_ms=100000", "source.rate_hz=5000",
            "source.simulation.n_pool_events=500",
            "receive.events_per_buffer=32", "store.decisions=decisions.h5", "store.prescale_log2=0",
        ) for part in ("--set", setting)),
    )  # fmt: skip
    from anello import columns

    try:
        seen: set[int] = set()
        while len(seen) < 3:
            assert run.poll() is None, run.communicate()
            if path.exists():
                seen.update(len(file["event_key"]) for file in columns.files(path))
            time.sleep(0.02)  # the run needs the core that this takes
    finally:
        run.kill()
        run.communicate()
