# SPDX-License-Identifier: Apache-2.0
"""Camera records and pixel integration against NumPy and the description of the format."""

import socket
import struct
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from anello.camera import events as camera_events
from anello.camera.event import BOARD_HEADER, CameraEvent

pytest.importorskip("anello._engine", reason="the compiled engine is not built")

U16 = NDArray[np.uint16]


def crc32c(content: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def board_header(board: int, n_gains: int, n_pixels: int, n_samples: int) -> bytes:
    n_bytes = 2 * n_gains * n_pixels * n_samples
    head = struct.pack("<4sBBHIIIIQ", b"CAM1", 1, 0, board, 7, 42, 41, 0, 123)
    return (head + struct.pack("<HBBBBH", n_samples, n_pixels, n_gains, 0, 0, n_bytes)).ljust(64, b"\0")


def record_of(waveforms: U16, boards: list[int], n_boards: int) -> bytes:
    """As docs/reference/camera-record.md says, not compressed, with differences and byte shuffle."""
    flat = waveforms.ravel()
    step = np.diff(flat, prepend=np.uint16(0)).view(np.int16)
    folded = ((step << 1) ^ (step >> 15)).view(np.uint16)
    shuffled = folded.astype("<u2").view(np.uint8).reshape(-1, 2).T.tobytes()
    body = b"".join(board_header(b, *waveforms.shape[1:]) for b in boards) + shuffled
    present = sum(1 << b for b in boards).to_bytes((n_boards + 63) // 64 * 8, "little")
    total = 64 + len(present) + len(body)
    head = struct.pack(
        "<4sBBBBIIIHHQqqIII",
        b"CEV1",
        1,
        0,
        1,
        1,
        total,
        7,
        42,
        n_boards,
        len(boards),
        123,
        5,
        6,
        len(body),
        len(body),
        0,
    )
    return head + struct.pack("<I", crc32c(head + present + body)) + present + body


def some_waveforms(n_boards: int, n_samples: int = 60) -> U16:
    rng = np.random.default_rng(5)
    return rng.integers(0, 4096, (n_boards, 2, 7, n_samples)).astype(np.uint16)


def test_a_record_is_what_its_page_says() -> None:
    waveforms = some_waveforms(3)
    event = camera_events.decode(record_of(waveforms, [0, 5, 69], 70))
    assert (event.run_id, event.event_number, event.timestamp_ns, event.n_boards) == (7, 42, 123, 70)
    assert (event.first_ns, event.closed_ns) == (5, 6)
    assert event.boards.tolist() == event.headers["board"].tolist() == [0, 5, 69]
    np.testing.assert_array_equal(event.waveforms, waveforms)


def event_with_cells() -> camera_events.CameraEvent:
    """Four boards; the second has no DRS4 chips. Tags: 32, 1, 32, 4."""
    rng = np.random.default_rng(6)
    headers = np.zeros(4, BOARD_HEADER)
    headers["board"], headers["n_gains"], headers["n_pixels"], headers["n_samples"] = np.arange(4), 2, 7, 3
    headers["trigger_tag"] = [32, 1, 32, 4]
    headers["counters_kind"] = [4, 1, 4, 4]
    headers["payload_bytes"] = [100, 84, 100, 100]
    payloads = rng.integers(0, 16, 384).astype("<u2").view(np.uint8)[:384]
    return camera_events.CameraEvent(7, 42, 123, 5, 6, 4, np.arange(4, dtype=np.uint16), headers, payloads)


def test_first_cells_stand_behind_each_board_s_waveforms() -> None:
    event = event_with_cells()
    values = event.payloads.view("<u2")
    assert event.trigger_tag == camera_events.TriggerTag.PEDESTAL
    assert event.waveforms.shape == (4, 2, 7, 3)
    assert event.first_cells is not None
    for board, begin in enumerate((0, 50, 92, 142)):
        assert np.array_equal(event.waveforms[board].reshape(-1), values[begin : begin + 42])
        wanted = [0xFFFF] * 8 if board == 1 else values[begin + 42 : begin + 50].tolist()
        assert event.first_cells[board].tolist() == wanted


def test_headers_that_lie_about_first_cells_are_named() -> None:
    event = event_with_cells()
    event.headers["payload_bytes"] = [8, 8, 8, 8]
    with pytest.raises(ValueError, match="of another length than their shape"):
        _ = event.waveforms
    with pytest.raises(ValueError, match="too short for first cells"):
        _ = event.first_cells


def test_a_published_event_has_the_payloads_that_boards_sent() -> None:
    pytest.importorskip("zmq")
    from anello.camera.cta import array_stream
    from anello.subscribe import Record

    event = event_with_cells()
    arrays = {
        "event_number": np.uint32(42),
        "timestamp_ns": np.uint64(123),
        "first_ns": np.int64(5),
        "closed_ns": np.int64(6),
        "n_boards": np.uint32(4),
        "board": event.boards,
        "waveforms": event.waveforms,
        "board_header": event.headers.view(np.uint8).reshape(4, 64),
        "first_cells": event.first_cells,
    }
    again = array_stream.event_of(Record("camera_event", 0, 7, 0, arrays))
    assert np.array_equal(again.payloads, event.payloads)
    assert again.trigger_tag == event.trigger_tag


def published(event: CameraEvent, waveforms: NDArray[Any]) -> CameraEvent:
    """What is read of a published record of this event."""
    pytest.importorskip("zmq")
    from anello.camera.cta import array_stream
    from anello.subscribe import Record

    arrays = {
        "event_number": np.uint32(42),
        "timestamp_ns": np.uint64(123),
        "first_ns": np.int64(5),
        "closed_ns": np.int64(6),
        "n_boards": np.uint32(4),
        "board": event.boards,
        "waveforms": waveforms,
        "board_header": event.headers.view(np.uint8).reshape(4, 64),
    }
    return array_stream.event_of(Record("camera_event", 0, 7, 0, arrays))


def test_a_published_board_of_another_shape_is_there_without_samples() -> None:
    event = event_with_cells()
    event.headers["n_gains"][2] = 1
    samples = np.arange(4 * 42, dtype=np.uint16).reshape(4, 2, 7, 3)
    found = published(event, samples)
    assert found.boards.tolist() == event.boards.tolist()
    assert found.headers["payload_bytes"].tolist() == [84, 84, 0, 84]
    assert np.array_equal(found.payloads.view("<u2"), samples[[0, 1, 3]].reshape(-1))


def test_a_published_board_that_sent_one_of_two_gains_has_its_samples() -> None:
    event = event_with_cells()
    event.headers["n_gains"][2], event.headers["flags"][2] = 1, 64
    samples = np.arange(4 * 42, dtype=np.uint16).reshape(4, 2, 7, 3)
    found = published(event, samples)
    assert found.headers["payload_bytes"].tolist() == [84, 84, 42, 84]
    wanted = [samples[0], samples[1], samples[2, :1], samples[3]]
    assert np.array_equal(found.payloads.view("<u2"), np.concatenate([one.reshape(-1) for one in wanted]))


def test_published_payloads_come_without_their_padding() -> None:
    """Where nobody says how many pixels a board has, each is a row of bytes, as long as the longest may be."""
    event = event_with_cells()
    ends = np.cumsum(event.headers["payload_bytes"], dtype=int)
    rows = np.zeros((4, 200), np.uint8)
    for row, begin, end in zip(rows, [0, *ends[:-1]], ends, strict=True):
        row[: end - begin] = event.payloads[begin:end]
    found = published(event, rows)
    assert np.array_equal(found.payloads, event.payloads)


def test_damage_is_named() -> None:
    record = bytearray(record_of(some_waveforms(1), [1], 2))
    with pytest.raises(ValueError, match="too_short"):
        camera_events.decode(bytes(record[:10]))
    record[-1] ^= 1
    with pytest.raises(ValueError, match="wrong_checksum"):
        camera_events.decode(bytes(record))


def test_events_come_over_the_network() -> None:
    records = [record_of(some_waveforms(n), list(range(n)), 4) for n in (1, 3)]

    def send(port: int) -> None:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            for record in records:
                connection.sendall(len(record).to_bytes(4, "little") + record)
            connection.sendall(b"\x10\0\0\0cut")  # the sender dies within a record

    with camera_events.Receiver(timeout_s=60) as receiver:
        sender = threading.Thread(target=send, args=(receiver.port,))
        sender.start()
        events = list(receiver)
        sender.join()
    assert [len(event.boards) for event in events] == [1, 3]


def test_an_absurd_length_is_refused() -> None:
    with (
        camera_events.Receiver(timeout_s=60) as receiver,
        socket.create_connection(("127.0.0.1", receiver.port)) as connection,
    ):
        connection.sendall(b"\xff\xff\xff\xff")
        with pytest.raises(ValueError, match="4294967295 bytes"):
            next(iter(receiver))


STREAM = b"".join(
    len(one).to_bytes(4, "little") + one
    for one in (record_of(np.arange(2 * 4 * 30, dtype=np.uint16).reshape(2, 1, 4, 30) + n, [1, 3], 5) for n in range(3))
)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, len(STREAM) - 1), st.integers(0, 255)), max_size=3),
    st.integers(0, len(STREAM)),
    st.lists(st.integers(16, 700), min_size=1, max_size=8),
)
def test_any_stream_of_records_is_read_or_refused(
    changes: list[tuple[int, int]], n_bytes: int, cuts: list[int]
) -> None:
    """Damaged, ended anywhere, and in pieces: events, ValueError, or the end. A socket holds some hundred pieces."""
    content = bytearray(STREAM)
    for place, value in changes:
        content[place] = value
    near, far = socket.socketpair()
    with near, far:
        far.settimeout(10)
        rest, i = bytes(content[:n_bytes]), 0
        while rest:
            near.sendall(rest[: cuts[i % len(cuts)]])
            rest, i = rest[cuts[i % len(cuts)] :], i + 1
        near.close()
        n_read = 0
        try:
            while (record := camera_events.read_record(far)) is not None:
                n_read += camera_events.decode(record).n_boards == 5
        except ValueError:
            assert changes
        assert n_read <= 3
        assert changes or n_read == n_bytes // (len(STREAM) // 3)


def test_a_file_is_read_in_order(tmp_path: Path) -> None:
    import h5py

    records = [record_of(some_waveforms(n), list(range(n)), 4) for n in (2, 1, 4)]
    lengths = np.array([len(record) for record in records])
    with h5py.File(tmp_path / "camera.h5", "w") as file:
        file["records"] = np.frombuffer(b"".join(records), np.uint8)
        file["record_bytes"] = lengths
        file["record_offset"] = np.cumsum(lengths) - lengths
    assert [len(event.boards) for event in camera_events.read(tmp_path / "camera.h5")] == [2, 1, 4]


def integrate_with_numpy(waveforms: U16, n_pedestal: int, width: int, before: int) -> tuple[NDArray[np.float64], U16]:
    """Of the high gain."""
    high = waveforms[:, 0].astype(np.int64)
    sums = high[..., :-2] + high[..., 1:-1] + high[..., 2:]
    peak = sums.argmax(axis=-1) + 1
    begin = np.clip(peak - before, 0, high.shape[-1] - width)
    window = np.take_along_axis(high, begin[..., None] + np.arange(width), axis=-1).sum(axis=-1)
    return window - width * high[..., :n_pedestal].mean(axis=-1), peak.astype(np.uint16)


@pytest.mark.parametrize("n_samples", [5, 12, 40, 60, 128])
def test_integration_is_numpys(n_samples: int) -> None:
    from anello.engine import _engine

    waveforms = some_waveforms(11, n_samples) // 16 * 4  # below saturation, many ties
    charge, peak = integrate_with_numpy(waveforms, 4, 5, 2)
    for isa in _engine.isas():
        found = camera_events.integrate(waveforms, n_pedestal=4, window_samples=5, window_before=2, isa=isa)
        np.testing.assert_array_equal(found.peak_sample, peak)
        np.testing.assert_allclose(found.charge, charge, rtol=1e-6, atol=1e-3)
        assert not found.low_gain.any()


def test_saturated_pixels_take_the_low_gain() -> None:
    waveforms = np.full((2, 2, 7, 60), 250, np.uint16)
    waveforms[1, 0, 3, 30] = 4095
    waveforms[1, 1, 3, 31] = 350
    found = camera_events.integrate(waveforms, gain_ratio=10)
    assert found.low_gain.sum() == 1
    assert found.charge[1, 3] == 1000
    assert found.peak_sample[1, 3] == 30


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match=r"uint16\(1, 2\): it must be uint16"):
        camera_events.integrate(np.zeros((1, 2), np.uint16))
    with pytest.raises(ValueError, match=r"^window_samples: must be 1 to 60"):
        camera_events.integrate(some_waveforms(1), window_samples=61)
