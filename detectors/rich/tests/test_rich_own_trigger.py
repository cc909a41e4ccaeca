# SPDX-License-Identifier: Apache-2.0
"""The user's algorithms: a Python function and a shared library, each alone and in complete runs."""

import gc
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_run import ROOT, run

import anello
from anello.errors import ConfigError
from anello.rich.python_trigger import DEFAULT_PRIMITIVE, NO_PRIMITIVE, PythonTrigger, as_columns, load
from anello.system.exit_codes import LOST

EXAMPLE = ROOT / "examples/python_trigger.py"


def module(folder: Path, text: str) -> Path:
    path = folder / "my_trigger.py"
    path.write_text(text)
    return path


# --- The function's file ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("my_trigger.py", r"trigger.python: must be file.py:function \(given: my_trigger.py\)"),
        ("my_trigger.txt:decide", "must be file.py:function"),
        ("nowhere.py:decide", "must name a file that exists"),
        ("{file}:missing", "must have the function missing .* It has: decide"),
        ("{file}:NUMBER", "must have the function NUMBER"),
    ],
)
def test_a_wrong_name_is_explained(tmp_path: Path, name: str, message: str) -> None:
    path = module(tmp_path, "NUMBER = 1\n\ndef decide(batch):\n    return None\n")
    with pytest.raises(ConfigError, match=message):
        load(name.format(file=path))


@pytest.mark.parametrize(
    ("text", "message"),
    [("def decide(:\n", r"SyntaxError: .* \(line 1\)"), ("import nothing_at_all\n", "ModuleNotFoundError: .*line 1")],
)
def test_a_file_that_does_not_run_is_explained(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load(f"{module(tmp_path, text)}:decide")


def test_the_file_may_import_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "neighbour_of_my_trigger.py").write_text("def decide(batch):\n    return None\n")
    load(f"{module(tmp_path, 'from neighbour_of_my_trigger import decide')}:decide")


# --- What it returns ----------------------------------------------------------------------------------------------
def test_nothing_is_no_rings() -> None:
    offset, x_mm, *_, primitive_id = as_columns(None, 3)
    assert offset.tolist() == [0, 0, 0, 0]
    assert len(x_mm) == 0
    assert primitive_id.tolist() == [DEFAULT_PRIMITIVE] * 3


def test_rings_as_arrays_and_as_an_object_are_the_same() -> None:
    arrays = ([0, 2, 2], [1.0, 2.0], [3, 4], np.array([150.0, 160.0]))
    ours = anello.Rings(
        *(np.asarray(column, np.float32) for column in arrays[1:]),
        np.array([7, 8], np.uint16),
        np.array(arrays[0], np.uint32),
    )
    plain, rings = as_columns(arrays, 2), as_columns(ours, 2)
    for position in (0, 1, 2, 3, 5):
        np.testing.assert_array_equal(plain[position], rings[position])
    assert plain[4].tolist() == [0, 0]
    assert rings[4].tolist() == [7, 8]
    assert all(column.dtype == np.float32 for column in plain[1:4])


def test_primitive_ids_that_are_none_are_left_to_be_counted() -> None:
    *_, primitive_id = as_columns(np.array([0, 0x101, -1, 0x10000]), 4)
    assert primitive_id.tolist() == [0, 0x101, NO_PRIMITIVE, NO_PRIMITIVE]


def test_rings_and_primitive_ids_together() -> None:
    rings = ([0, 1, 1], [1.0], [2.0], [150.0])
    offset, x_mm, *_, primitive_id = as_columns((rings, [0x111, 0]), 2)
    assert offset.tolist() == [0, 1, 1]
    assert x_mm.tolist() == [1.0]
    assert primitive_id.tolist() == [0x111, 0]


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (([0, 1], [1.0], [1.0]), "and not of 3"),
        ((None, [0.5]), "primitive ids must be whole numbers"),
        ((([0, 2], [1.0], [1.0], [150.0]), [0]), "must rise from 0 to the number of rings, 1"),
        (([0, 1], [1.0], [1.0], [1.0, 2.0]), r"must have one shape, not .*\(2,\)"),
        (
            ([0, 1, 1], [1.0], [1.0], [150.0]),
            r"ring_offset must be whole numbers of shape \(2,\), not int64 of .*\(3,\)",
        ),
        (([0, 2], [1.0], [1.0], [150.0]), "must rise from 0 to the number of rings, 1"),
        ([0x101, 0x102], r"primitive ids must be whole numbers of shape \(1,\), not int64 of shape \(2,\)"),
        ([0.5], "not float64"),
        ("yes", "primitive ids must be whole numbers"),
    ],
)
def test_wrong_results_are_explained(result: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        as_columns(result, 1)


def test_only_the_first_traceback_is_reported() -> None:
    trigger = PythonTrigger(lambda batch: batch.no_such_column, "mine")
    columns = [np.zeros(2)] * 6
    assert trigger(*columns) is None
    assert trigger(*columns) is None
    (notice,) = trigger.take_notices()
    assert "mine raised an exception" in notice
    assert "no_such_column" in notice
    assert trigger.take_notices() == []


# --- Whole runs ---------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def engine() -> Any:
    return pytest.importorskip("anello._engine", reason="the compiled engine is not built")


@pytest.mark.usefixtures("engine")
@pytest.mark.process
def test_the_example_decides_a_run(tmp_path: Path) -> None:
    code, output, summary = run(tmp_path, "--trigger", f"{EXAMPLE}:decide")
    assert code == 0, output
    trigger = summary["counters"]["node"]["trigger"]
    assert trigger["plugin_failed_batches"] == 0
    assert summary["quality"]["all_events"]["efficiency_5mm"]["value"] > 0.5
    assert f"plugin {EXAMPLE}:decide" in summary["states"]["trigger"]


@pytest.mark.usefixtures("engine")
@pytest.mark.process
@pytest.mark.long
def test_primitives_by_the_function_in_two_threads(tmp_path: Path) -> None:
    code, output, summary = run(
        tmp_path,
        "--trigger",
        f"{EXAMPLE}:by_multiplicity",
        "--set",
        "trigger.threads=2",
        "--set",
        "source.simulation.ring_shares=[0, 1]",
        "--set",
        "source.simulation.noise_hits=40",
    )
    assert code == 0, output
    trigger = summary["counters"]["node"]["trigger"]
    assert trigger["rings"] == 0
    assert trigger["primitives"] > 0.99 * trigger["events"], "40 hits of noise: nearly all have ten in time"
    assert trigger["plugin_invalid_primitives"] == 0


KEEPS_AND_FAILS = """
import numpy as np
kept = []

def decide(batch):
    assert batch.x_mm.dtype == np.float32 and batch.event_key.dtype == np.uint64
    assert len(batch.hit_id) == len(batch.x_mm) == len(batch.hit_time_ns) == batch.hit_offset[-1]
    assert np.abs(batch.hit_time_ns).max(initial=0) <= 8.1
    assert np.hypot(batch.x_mm, batch.y_mm).max(initial=0) < 700
    kept.append(batch.x_mm)
    try:
        batch.x_mm[:] = 0
    except ValueError:
        if len(kept) % 2:
            raise RuntimeError("a fault of mine")
        offset = np.arange(batch.n_events + 1)
        return offset, np.full(batch.n_events, np.nan), offset[1:], offset[1:]
"""


@pytest.mark.usefixtures("engine")
@pytest.mark.process
def test_faults_of_the_function_are_counted_and_reported(tmp_path: Path) -> None:
    code, output, summary = run(tmp_path, "--trigger", f"{module(tmp_path, KEEPS_AND_FAILS)}:decide")
    assert code == LOST, output
    trigger = summary["counters"]["node"]["trigger"]
    assert trigger["plugin_failed_batches"] == (trigger["batches"] + 1) // 2
    assert trigger["plugin_invalid_rings"] > 0
    assert trigger["events_with_0_rings"] == trigger["events"]
    n_reports = output.count('RuntimeError("a fault of mine")')  # at once if the run has not ended, and at its end
    assert n_reports in (1, 2), output
    assert "the plugin failed for" in output


@pytest.mark.usefixtures("engine")
def test_a_node_dropped_while_running_ends(engine: Any) -> None:
    from anello.configuration.load import load as load_config

    values = load_config(None).flat() | {"trigger.python": "f", "trigger.python_function": PythonTrigger(id, "f")}
    node = engine.rich.Node(values)
    node.start()
    del node
    gc.collect()


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["trigger.plugin=nowhere.so"], "trigger.plugin: must be the path of a shared library (given: nowhere.so)"),
        (["trigger.plugin=a.so", "trigger.python=b.py:c"], "trigger.python: cannot be given together with"),
        (["trigger.python=b.py:c"], "trigger.python: must name a file that exists"),
    ],
)
@pytest.mark.process
def test_a_wrong_plugin_ends_before_the_run(tmp_path: Path, settings: list[str], message: str) -> None:
    code, output, _ = run(tmp_path, *(part for setting in settings for part in ("--set", setting)))
    assert code == 2
    assert message in output


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiles the example as its page describes."""
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    path = tmp_path_factory.mktemp("plugin") / "single_ring_cut.so"
    source = ROOT / "examples/trigger-plugin/single_ring_cut.cpp"
    subprocess.run(
        [compiler, "-std=c++20", "-O2", "-shared", "-fPIC", f"-I{ROOT / 'detectors'}", "-o", path, source], check=True
    )
    return path


@pytest.mark.usefixtures("engine")
@pytest.mark.process
def test_the_library_decides_a_run(tmp_path: Path, library: Path) -> None:
    settings = ["--set", f"trigger.plugin={library}", "--set", "trigger.plugin_parameters=5 21"]
    code, output, summary = run(tmp_path, *settings)
    assert code == 0, output
    trigger = summary["counters"]["node"]["trigger"]
    assert trigger["primitives"] == trigger["events_with_1_ring"] > 1000
    assert trigger["events_with_2_rings"] == trigger["plugin_failed_batches"] == 0


@pytest.mark.usefixtures("engine")
@pytest.mark.process
def test_parameters_that_the_library_refuses_end_before_the_run(tmp_path: Path, library: Path) -> None:
    settings = ["--set", f"trigger.plugin={library}", "--set", "trigger.plugin_parameters=many"]
    code, output, _ = run(tmp_path, *settings)
    assert code == 2
    assert "trigger.plugin_parameters: must be what" in output
    assert "such as: 4 21 400" in output
