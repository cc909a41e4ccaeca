# SPDX-License-Identifier: Apache-2.0
"""The file's table: written by a node, read with plain h5py and HDF5's filters, and with Anello's reader; tables that
others have made or damaged (docs/reference/camera-table.md)."""

import contextlib
import struct
from pathlib import Path
from typing import Any

import numpy as np
import of_others
import pytest
import seeds
from camera_over_udp import assert_same, run_node
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from anello.camera import events as camera_events
from anello.camera import files as camera_files
from anello.camera.event import BOARD_HEADER

h5py = pytest.importorskip("h5py")
pytest.importorskip("anello._engine", reason="the compiled engine is not built")

N_EVENTS, N_BOARDS = 12, 5
SHAPE = (2, 7, 30)  # of a board
PATIENT = "camera_build.timeout_ms=2000"  # as long is waited for the boards that are missing; the others come at once


@pytest.fixture(scope="module")
def sent() -> camera_files.CameraEvents:
    """Some boards are missing in some events."""
    rng = np.random.default_rng(seeds.seed())
    present = rng.random((N_EVENTS, N_BOARDS)) < 0.8
    present[:, 2] = True
    present[0] = present[-1] = True  # the first and the last tell how far the run goes
    waveform = rng.integers(0, 1 << 16, (N_EVENTS, N_BOARDS, *SHAPE), dtype=np.uint16)
    return camera_files.CameraEvents(
        run_id=3,
        boards=np.arange(N_BOARDS, dtype=np.uint16),
        event_number=np.arange(N_EVENTS, dtype=np.uint32) + 40,
        timestamp_ns=np.arange(N_EVENTS, dtype=np.uint64) * 1000 + 10**15,
        waveform=waveform,
        present=present,
        counters=rng.integers(0, 256, (N_EVENTS, N_BOARDS, 24), dtype=np.uint8),
        counters_kind=1,
    )


@pytest.fixture(scope="module")
def table(sent: camera_files.CameraEvents, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "events.h5"
    run_node(sent, f"camera_send.file={path}", PATIENT)
    return path


STEPS = [("bit", 1), ("byte", 3), ("none", 1), ("bit", 0)]


@pytest.mark.parametrize(("how", "level"), STEPS, ids=[f"{how}-{level}" for how, level in STEPS])
@pytest.mark.parametrize("n_threads", [0, 2])
@pytest.mark.long
def test_plain_h5py_reads_every_sample_and_header(
    sent: camera_files.CameraEvents, tmp_path: Path, how: str, level: int, n_threads: int
) -> None:
    of_others.package("hdf5plugin")
    path = tmp_path / "events.h5"
    run_node(
        sent,
        f"camera_send.file={path}",
        f"camera_send.table_shuffle={how}",
        f"camera_send.zstd_level={level}",
        f"camera_send.compress_threads={n_threads}",
        f"camera_filter.threads={n_threads}",
        PATIENT,
    )
    with h5py.File(path) as file:
        assert file["event_number"][:].tolist() == sent.event_number.tolist()
        np.testing.assert_array_equal(file["timestamp_ns"], sent.timestamp_ns)
        assert set(file["run_id"][:].tolist()) == {sent.run_id}
        np.testing.assert_array_equal(file["present"], sent.present)
        np.testing.assert_array_equal(file["n_present"], sent.present.sum(axis=1))
        waveform, headers = file["waveform"][:], file["headers"][:]
        assert (file["first_ns"][:] <= file["closed_ns"][:]).all()
        assert "gain" in file["waveform"].attrs["meaning"].decode()
        if level == 0:
            assert file["waveform"].id.get_chunk_info(0).filter_mask & 4, "not compressed"
    assert waveform.shape == (N_EVENTS, N_BOARDS, *SHAPE)
    assert headers.shape == (N_EVENTS, N_BOARDS, 64)
    np.testing.assert_array_equal(waveform, np.where(sent.present[..., None, None, None], sent.waveform, 0))
    np.testing.assert_array_equal(headers[..., 40:], np.where(sent.present[..., None], sent.counters, 0))
    fields = headers.view(BOARD_HEADER)[..., 0]
    assert (fields["board"][sent.present] == np.nonzero(sent.present)[1]).all()
    assert not headers[~sent.present].any()


@pytest.mark.parametrize("file_format", ["table", "records"])
def test_both_formats_give_the_same_events(sent: camera_files.CameraEvents, tmp_path: Path, file_format: str) -> None:
    path = tmp_path / "events.h5"
    run_node(sent, f"camera_send.file={path}", f"camera_send.file_format={file_format}", PATIENT)
    assert_same(camera_events.read(path), sent)
    with h5py.File(path) as file:
        assert ("waveform" in file, "records" in file) == (file_format == "table", file_format == "records")


def test_payloads_without_shape_are_kept_whole(sent: camera_files.CameraEvents, tmp_path: Path) -> None:
    path = tmp_path / "events.h5"
    n_bytes = 2 * int(np.prod(SHAPE))
    run_node(sent, f"camera_send.file={path}", f"camera.payload_bytes={n_bytes}", PATIENT)
    for event, waveform, present in zip(camera_events.read(path), sent.waveform, sent.present, strict=True):
        np.testing.assert_array_equal(event.waveforms, waveform[present])


@pytest.mark.long
def test_a_table_that_others_have_packed_is_read(table: Path, sent: camera_files.CameraEvents, tmp_path: Path) -> None:
    of_others.package("hdf5plugin")
    import hdf5plugin

    plain: dict[str, Any] = {"compression": "gzip"}
    in_blocks = {"shuffle": True, **hdf5plugin.Bitshuffle(nelems=64, cname="zstd")}
    for way in (plain, in_blocks):
        with h5py.File(table) as file, h5py.File(tmp_path / "packed.h5", "w") as packed:
            for name, column in file.items():
                packed.create_dataset(name, data=column[:], **(way if name == "waveform" else {}))
        assert_same(camera_events.read(tmp_path / "packed.h5"), sent)


def test_a_table_ends_where_its_shortest_column_does(table: Path, tmp_path: Path) -> None:
    """As a kill may leave it."""
    for name in ("headers", "waveform", "present", "closed_ns"):
        path = copy_of(table, tmp_path / f"{name}.h5")
        with h5py.File(path, "r+") as file:
            file[name].resize(N_EVENTS - 5, axis=0)
        assert sum(1 for _ in camera_events.read(path)) == N_EVENTS - 5


def test_damage_is_named(table: Path, tmp_path: Path) -> None:
    for name in ("headers", "waveform"):
        path = copy_of(table, tmp_path / f"{name}.h5")
        with h5py.File(table) as file:
            info = file[name].id.get_chunk_info(3)
        content = bytearray(path.read_bytes())
        content[info.byte_offset + info.size // 2] ^= 1
        path.write_bytes(content)
        assert next(iter(camera_events.read(path))).event_number == 40
        with pytest.raises(ValueError, match="it is damaged"):
            list(camera_events.read(path))


def test_rows_without_chunks_are_named(table: Path, tmp_path: Path) -> None:
    path = copy_of(table, tmp_path / "events.h5")
    with h5py.File(path, "r+") as file:
        for column in file.values():
            column.resize(N_EVENTS + 1, axis=0)
        file["present"][N_EVENTS] = 1
    with pytest.raises(ValueError, match="row 12"):
        list(camera_events.read(path))


def put(path: Path, name: str, content: NDArray[Any]) -> Path:
    with h5py.File(path, "r+") as file:
        del file[name]
        file[name] = content
    return path


def longer_payloads() -> NDArray[np.uint8]:
    """Headers that announce more bytes than waveforms, and first cells after these."""
    headers = np.zeros((N_EVENTS, N_BOARDS, 64), np.uint8)
    headers[:, :, 38:40] = np.frombuffer(struct.pack("<H", 2 * int(np.prod(SHAPE)) + 16 + 2), np.uint8)
    return headers


HOSTILE: dict[str, tuple[NDArray[Any], str]] = {
    "present": (np.ones((N_EVENTS, N_BOARDS + 1), np.uint8), "of 6 boards"),
    "headers": (np.zeros((N_EVENTS, N_BOARDS, 63), np.uint8), "it must be 64"),
    "waveform": (np.zeros((N_EVENTS, N_BOARDS, 2, 7), np.uint16), "it must be uint16"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_columns_of_other_shapes_are_refused(table: Path, tmp_path: Path, name: str) -> None:
    content, words = HOSTILE[name]
    with pytest.raises(ValueError, match=words):
        list(camera_events.read(put(copy_of(table, tmp_path / "events.h5"), name, content)))


def test_a_camera_of_too_many_boards_and_a_row_of_no_board_are_refused(table: Path, tmp_path: Path) -> None:
    path = put(copy_of(table, tmp_path / "many.h5"), "present", np.ones((1, 1025), np.uint8))
    with pytest.raises(ValueError, match="1 to 1024 boards"):
        list(camera_events.read(path))
    path = put(copy_of(table, tmp_path / "flat.h5"), "present", np.ones(12, np.uint8))
    with pytest.raises(ValueError, match="1 to 1024 boards"):
        list(camera_events.read(path))


def test_headers_that_announce_more_than_there_is_are_refused(table: Path, tmp_path: Path) -> None:
    path = put(copy_of(table, tmp_path / "events.h5"), "headers", longer_payloads())
    with pytest.raises(ValueError, match="other payloads"):
        list(camera_events.read(path))


def test_a_missing_column_is_named(table: Path, tmp_path: Path) -> None:
    path = copy_of(table, tmp_path / "events.h5")
    with h5py.File(path, "r+") as file:
        del file["present"]
    with pytest.raises(KeyError, match="present"):
        list(camera_events.read(path))


@given(content=st.binary(max_size=200), done=st.integers(0, 2**32 - 1), n_bytes=st.integers(0, 20_000_000))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_bytes_are_a_chunk_or_are_refused(content: bytes, done: int, n_bytes: int) -> None:
    from anello.camera.engine import engine

    with contextlib.suppress(ValueError):
        assert len(engine().decode_chunk(content, done, n_bytes)) == n_bytes


def copy_of(table: Path, path: Path) -> Path:
    path.write_bytes(table.read_bytes())
    return path
