# SPDX-License-Identifier: Apache-2.0
"""Records that chains publish: their format, and whole runs with subscribers in another process."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stalls import FARM_PATIENCE, PATIENCE_MS
from test_run import ROOT, SHORT, start

from anello.errors import ConfigError
from anello.subscribe import ENTRY, HEADER, MAGIC, RecordError, parse, subscribe
from anello.system.exit_codes import LOST


def made(**header: Any) -> bytes:
    """A record of kind mep: one value, an array of five, one without values."""
    values: dict[str, Any] = {
        "seven": np.array(7, "<u4"),
        "five": np.arange(5, dtype="<f4"),
        "none": np.zeros((2, 0), "<u2"),
    }
    codes = {"seven": 3, "five": 9, "none": 2}
    entries, content = np.zeros(3, ENTRY), bytearray()
    begin = HEADER.itemsize + entries.nbytes
    for entry, (name, value) in zip(entries, values.items(), strict=True):
        entry["name"], entry["type"], entry["n_dimensions"] = name, codes[name], value.ndim
        entry["shape"][: value.ndim], entry["offset_bytes"] = value.shape, begin + len(content)
        content += value.tobytes() + bytes(-value.nbytes % 8)
    head = np.zeros(1, HEADER)
    fields: dict[str, Any] = {"magic": MAGIC, "version": 1, "kind": 3, "n_arrays": 3, "sequence": 9, "run": 4,
                              "length_bytes": begin + len(content)}  # fmt: skip
    for name, value in (fields | header).items():
        head[0][name] = value
    return head.tobytes() + entries.tobytes() + bytes(content)


def test_arrays_are_views() -> None:
    content = np.frombuffer(made(), np.uint8).copy()
    record = parse(content)
    assert (record.kind, record.sequence, record.run) == ("mep", 9, 4)
    assert record.arrays["seven"].shape == ()
    assert int(record.arrays["seven"]) == 7
    np.testing.assert_array_equal(record.arrays["five"], np.arange(5))
    assert record.arrays["none"].shape == (2, 0)
    kept = record.copy()
    content[-24:-20] = np.frombuffer(np.float32(100).tobytes(), np.uint8)
    assert record.arrays["five"][0] == 100
    assert kept.arrays["five"][0] == 0
    with pytest.raises(ValueError, match="read-only"):
        record.arrays["five"][0] = 1


@pytest.mark.parametrize(
    ("header", "words"),
    [({"magic": b"ANOTHER!"}, "does not begin with"), ({"version": 2}, "version 2"), ({"kind": 4}, "kind 4"),
     ({"n_arrays": 65}, "65 arrays"), ({"length_bytes": 1 << 60}, "came"), ({"n_arrays": 60}, "came")],
)  # fmt: skip
def test_wrong_headers_are_named(header: dict[str, Any], words: str) -> None:
    with pytest.raises(RecordError, match=words):
        parse(made(**header))


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [("offset_bytes", 3, "does not lie"), ("offset_bytes", 0, "does not lie"),
     ("offset_bytes", 1 << 63, "does not lie"), ("shape", [1 << 31] * 4, "does not lie"),
     ("type", 11, "cannot be"), ("type", 0, "cannot be"), ("n_dimensions", 5, "cannot be"),
     ("name", b"", "cannot be"), ("name", b"x" * 32, "cannot be"), ("name", b"\xff", "ASCII"),
     ("name", b"seven", "one name"), ("reserved", 1, "reserved")],
)  # fmt: skip
def test_wrong_entries_are_named(field: str, value: Any, words: str) -> None:
    content = np.frombuffer(made(), np.uint8).copy()
    entries = np.frombuffer(content, ENTRY, 3, HEADER.itemsize)
    entries[1][field] = value
    if field == "shape":
        entries[1]["n_dimensions"] = 4
    with pytest.raises(RecordError, match=words):
        parse(content)


@given(st.lists(st.tuples(st.integers(0, HEADER.itemsize + 3 * ENTRY.itemsize - 1), st.integers(0, 255)), max_size=4),
       st.integers(0, 300))  # fmt: skip
def test_any_bytes_are_a_record_or_refused(changes: list[tuple[int, int]], n_bytes: int) -> None:
    content = bytearray(made())
    for place, value in changes:
        content[place] = value
    for data in (bytes(content), bytes(content[:n_bytes])):
        try:
            record = parse(data)
        except RecordError:
            continue
        assert sum(array.nbytes for array in record.arrays.values()) <= 3 * len(data)


def test_wrong_addresses_are_named() -> None:
    for address in ("@anello", "http://there", "stream://"):
        with pytest.raises(ConfigError, match="stream://@NAME"):
            subscribe(address)
    with pytest.raises(ConfigError, match="cannot be connected to"):
        subscribe("tcp://nowhere")


# --- Whole runs ---------------------------------------------------------------------------------------------------
engine = pytest.importorskip("anello._engine", reason="the compiled engine is not built")
needs_publishing = pytest.mark.skipif(not hasattr(engine, "stream_connect"), reason="this engine has no streams")


def settings(**publish: str) -> list[str]:
    return [part for key, value in publish.items() for part in ("--set", f"publish.{key}={value}")]


def patience() -> list[str]:
    return [part for setting in FARM_PATIENCE for part in ("--set", setting)]


def summary_of(directory: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((directory / "summary.json").read_text())
    return loaded


def example(address: str, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "examples/subscribe/subscribe.py", address, *more], cwd=ROOT, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={"PYTHONPATH": str(ROOT)})  # fmt: skip


@needs_publishing
@pytest.mark.process
def test_decisions_come_by_stream_and_none_is_missing(tmp_path: Path) -> None:
    name = f"@test-{tmp_path.name}-{id(tmp_path)}"
    run = start("run", "detectors/rich/na62-rich.toml", *SHORT, "--report-dir", str(tmp_path),
                *settings(to="stream", address=name, when_full="wait"))  # fmt: skip
    keys, n_rings, ends = [], 0, 0
    with subscribe(f"stream://{name}", connect_s=60, timeout=60) as records:
        for record in records:
            arrays = record.arrays
            keys.append(arrays["event_key"].copy())
            n_rings += int(arrays["ring_offset"][-1])
            ends += int(arrays["end_of_burst"])
            assert arrays["ring_x_mm"].size == arrays["ring_offset"][-1]
            assert arrays["event_key"].size == arrays["primitive_id"].size == arrays["ring_offset"].size - 1
    output, errors = run.communicate(timeout=120)
    assert run.returncode == 0, output + errors
    summary = summary_of(tmp_path)
    events = np.concatenate(keys)
    assert events.size == summary["rates"]["events"]
    assert (np.diff(events.astype(np.int64)) > 0).all()
    node = summary["counters"]["node"]
    assert (n_rings, ends, records.n_missed) == (node["trigger"]["rings"], 3, 0)
    assert records.n_records == node["publish"]["records_sent"] == node["publish.subscriber0"]["records_sent"]
    assert any(row["name"] == "to be published" for row in summary["ledger"]["rows"])


@needs_publishing
@pytest.mark.process
def test_what_nobody_takes_is_dropped_and_in_the_ledger(tmp_path: Path) -> None:
    run = start("run", "detectors/rich/na62-rich.toml", *SHORT, "--report-dir", str(tmp_path),
                *settings(to="zmq_push", address=f"ipc://{tmp_path}/push"))  # fmt: skip
    output, errors = run.communicate(timeout=120)
    assert run.returncode == 0, output + errors
    summary = summary_of(tmp_path)
    node = summary["counters"]["node"]
    assert node["publish"]["records_dropped_full"] == node["publish"]["records_in"] == node["trigger"]["batches"]
    assert summary["balanced"] is True


@needs_publishing
@pytest.mark.process
def test_camera_events_come_by_zeromq(tmp_path: Path) -> None:
    address = f"ipc://{tmp_path}/pub"
    subscriber = example(address)
    short = [part for key in ("run.duration_s=1", "camera_source.rate_hz=50", f"camera_build.timeout_ms={PATIENCE_MS}")
             for part in ("--set", key)]  # fmt: skip
    process = start("run", "detectors/camera/cta-camera.toml", "--report-dir", str(tmp_path), *short,
                    *settings(to="zmq_pub", address=address, when_full="wait"))  # fmt: skip
    output, failed = process.communicate(timeout=180)
    assert process.returncode == 0, output + failed
    summary = json.loads((tmp_path / "summary.json").read_text())
    words, errors = subscriber.communicate(timeout=60)
    n_kept = summary["counters"]["node"]["send"]["events_kept"]
    assert n_kept > 0
    assert f"{n_kept} records (0 missed), {n_kept} events" in words, words + errors
    assert summary["balanced"] is True


@needs_publishing
@pytest.mark.process
@pytest.mark.long
def test_built_events_come_by_zeromq_to_the_workers(tmp_path: Path) -> None:
    address = f"ipc://{tmp_path}/built-{{node}}"
    run = start("exchange", "configs/lhcb-exchange.toml", "--local", "2", "--report-dir", str(tmp_path),
                "--set", "exchange.n_meps=40", "--set", "run.duration_s=0", *patience(),
                *settings(to="zmq_push", address=address, when_full="wait"))  # fmt: skip
    workers = [example(address.replace("{node}", str(node)), "pull") for node in range(2)]
    output, errors = run.communicate(timeout=120)
    assert run.returncode == 0, output + errors
    found = [worker.communicate(timeout=60)[0].split() for worker in workers]
    assert sum(int(words[0]) for words in found) == 40
    assert summary_of(tmp_path)["balanced"] is True


@pytest.mark.long
@needs_publishing
@pytest.mark.process
def test_an_exchange_ends_though_a_subscriber_stands_still(tmp_path: Path) -> None:
    name = f"@test-{tmp_path.name}-{id(tmp_path)}"
    run = start("exchange", "configs/lhcb-exchange.toml", "--local", "2", "--report-dir", str(tmp_path),
                "--set", "exchange.n_meps=0", "--set", "run.duration_s=1", *patience(),
                *settings(to="stream", address=name + "-{node}", when_full="wait"))  # fmt: skip
    with subscribe(f"stream://{name}-1", connect_s=60):  # and nobody at the other node
        output, errors = run.communicate(timeout=120)
    assert run.returncode == LOST, output + errors
    summary = summary_of(tmp_path)
    assert summary["balanced"] is True
    assert "records not published by the end" in summary["verdict"]["line"]
    assert "did not end" not in output + errors
