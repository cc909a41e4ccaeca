# SPDX-License-Identifier: Apache-2.0
"""Camera events from files: a sample of NectarCAM, converted, is read back with nothing but Python and compared with
the file, sample for sample and counter for counter."""

import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from detector_data import NECTARCAM, DetectorData
from typer.testing import CliRunner

from anello import cli
from anello.camera import files as camera_files
from anello.camera.cta import zfits
from anello.errors import ConfigError, InputError

HEADER = struct.Struct("<4sBBHIIIIQHBBBBH24s")


@pytest.fixture(scope="session")
def sample(detector_data: DetectorData) -> tuple[Path, dict[str, Any]]:
    return detector_data.file(NECTARCAM)


@pytest.fixture(scope="session")
def file_events(sample: tuple[Path, dict[str, Any]]) -> list[Any]:
    """As protozfits gives them."""
    protozfits = pytest.importorskip("protozfits")
    with protozfits.File(str(sample[0])) as file:
        return list(file.Events)


def small_camera() -> camera_files.CameraEvents:
    """Three events of two boards; the second board lacks the second event."""
    waveform = np.arange(3 * 2 * 2 * 7 * 4, dtype=np.uint16).reshape(3, 2, 2, 7, 4)
    return camera_files.CameraEvents(
        run_id=5,
        boards=np.arange(2, dtype=np.uint16),
        event_number=np.array([2**32 - 2, 2**32 - 1, 0], np.uint32),
        timestamp_ns=np.array([10**18, 10**18 + 10**9, 10**18 + 2 * 10**9], np.uint64),
        waveform=waveform,
        present=np.array([[True, True], [True, False], [True, True]]),
        counters=np.arange(3 * 2 * 24, dtype=np.uint8).reshape(3, 2, 24),
        counters_kind=2,
    )


def test_first_cells_and_tags_are_in_the_fragments() -> None:
    cells = np.random.default_rng(3).integers(0, 4096, (3, 2, 8)).astype(np.uint16)
    tags = np.array([32, 4, 1], np.uint8)
    events = replace(small_camera(), counters_kind=4, first_cells=cells, trigger_tag=tags)
    n_seen = 0
    for fragment in camera_files.fragments(events):
        *_, kind, tag, n_bytes, _ = HEADER.unpack_from(fragment.data)
        if fragment.data[5] & 6:
            assert (kind, tag, n_bytes) == (0, 0, 24)
            continue
        index = (struct.unpack_from("<I", fragment.data, 12)[0] + 2) % 2**32
        assert (kind, tag, n_bytes) == (4, tags[index], 2 * 2 * 7 * 4 + 16)
        assert fragment.data[-16:] == cells[index, fragment.board].tobytes()
        assert fragment.data[64:-16] == events.waveform[index][fragment.board].tobytes()
        n_seen += 1
    assert n_seen == 5


def read_pcap(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Stamp in ns, UDP destination port, payload of each frame."""
    data = path.read_bytes()
    assert data[:4] == bytes.fromhex("4d3cb2a1")
    at = 24
    while at < len(data):
        seconds, nanoseconds, captured, length = struct.unpack_from("<IIII", data, at)
        frame = data[at + 16 : at + 16 + captured]
        assert captured == length == len(frame)
        assert frame[12:15] == bytes.fromhex("080045")
        assert frame[23] == 17
        total, udp_bytes = struct.unpack_from(">H", frame, 16)[0], struct.unpack_from(">H", frame, 38)[0]
        assert (total, udp_bytes) == (len(frame) - 14, len(frame) - 34)
        checksum = sum(struct.unpack_from(">10H", frame, 14))
        assert (checksum & 0xFFFF) + (checksum >> 16) == 0xFFFF
        yield seconds * 10**9 + nanoseconds, struct.unpack_from(">H", frame, 36)[0], frame[42:]
        at += 16 + captured


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def test_sample_is_what_the_file_says(
    sample: tuple[Path, dict[str, Any]], file_events: list[Any], tmp_path: Path
) -> None:
    (path, truth), out = sample, tmp_path / "nectarcam.pcap"
    result = CliRunner().invoke(cli.app, ["convert", str(path), str(out), "--first-port", "7000"])
    assert result.exit_code == 0, result.output
    assert truth["said"] in result.output
    n_samples = file_events[0].hiGain.waveforms.num_samples
    fragments = {}
    for stamp_ns, port, data in read_pcap(out):
        _, _, flags, board, run, event, sequence, _, time_ns, *rest = HEADER.unpack_from(data)
        assert (port, run) == (7000 + board, truth["run_id"])
        if not flags & 6:
            wanted = (time_ns, sum(before < event for before, of in fragments if of == board), [n_samples, 7, 2, 2])
            assert (stamp_ns, sequence, rest[:4]) == wanted
            assert rest[5] == 2 * 7 * n_samples * 2
            assert rest[4] == file_events[event - 1].uctsData.data[28]
            fragments[event, board] = data
    has = [(event.eventNumber, board) for event in file_events for board in np.flatnonzero(event.moduleStatus.status)]
    assert sorted(fragments) == sorted(has)
    for event in file_events:
        pixels = np.stack([gain.waveforms.samples.reshape(-1, n_samples) for gain in (event.hiGain, event.loGain)])
        own = event.cameraCounters.counters.tobytes()
        for board in np.flatnonzero(event.moduleStatus.status):
            data = fragments[event.eventNumber, board]
            waveform = np.frombuffer(data, "<u2", offset=64).reshape(2, 7, n_samples)
            assert (waveform == pixels[:, 7 * board : 7 * board + 7]).all()
            assert data[40:56] == own[16 * board : 16 * board + 16]
            assert data[56:64] == bytes(8)


def test_sample_as_arrays(sample: tuple[Path, dict[str, Any]], file_events: list[Any]) -> None:
    events = zfits.read(sample[0])
    n_boards = len(file_events[0].moduleStatus.status)
    assert np.shape(events.waveform) == (len(file_events), n_boards, 2, 7, file_events[0].hiGain.waveforms.num_samples)
    assert events.present.tolist() == [event.moduleStatus.status.astype(bool).tolist() for event in file_events]
    assert events.event_number.tolist() == [event.eventNumber for event in file_events]
    own = events.counters.view("<u4")[:, :, 0]
    assert (own == events.event_number[:, None]).all(), "each board's own count of events"
    one_per_second = np.diff(events.timestamp_ns.astype(np.int64))
    assert (np.abs(one_per_second - 1_000_065_590) < 50).all()


def test_every_datagram_has_its_checksum_and_markers_their_totals() -> None:
    events = small_camera()
    sent = {0: 0, 1: 0}
    last_totals = {}
    times = []
    for fragment in camera_files.fragments(events):
        data = fragment.data
        checksum = struct.unpack_from("<I", data, 20)[0]
        assert (
            checksum
            == crc32c(data[:20] + bytes(4) + data[24:])
            == camera_files.crc32c(data[:20] + bytes(4) + data[24:])
        )
        flags, board = data[5], struct.unpack_from("<H", data, 6)[0]
        sequence = struct.unpack_from("<I", data, 16)[0]
        assert (board, sequence) == (fragment.board, sent[board])
        if flags & 6:
            last_totals[board] = (flags, struct.unpack_from("<QQII", data, 64))
        else:
            sent[board] += 1
        times.append(fragment.time_ns)
    assert times == sorted(times)
    assert last_totals == {0: (5, (3, 3 * 176, 2**32 - 2, 1)), 1: (5, (2, 2 * 176, 2**32 - 2, 1))}


def test_boards_may_share_ports(tmp_path: Path) -> None:
    events = small_camera()
    out = tmp_path / "out.pcap"
    assert camera_files.write_pcap(out, events, 9000, 1) == 2 + 5 + 10
    assert {port for _, port, _ in read_pcap(out)} == {9000}
    with pytest.raises(ConfigError, match="--ports: must be 1 to 2"):
        camera_files.write_pcap(out, events, 9000, 3)
    with pytest.raises(ConfigError, match="--first-port: must be 1 to 65534"):
        camera_files.write_pcap(out, events, 65535)


def test_times_before_the_epoch_are_not_written() -> None:
    events = replace(small_camera(), timestamp_ns=np.zeros(3, np.uint64))
    assert min(fragment.time_ns for fragment in camera_files.fragments(events)) == 0


def test_a_file_of_another_kind_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        zfits.read(tmp_path / "absent.fits.fz")
    pytest.importorskip("protozfits")
    other = tmp_path / "other.fits.fz"
    other.write_bytes(b"no FITS file at all")
    with pytest.raises(InputError, match="no zfits file"):
        zfits.read(other)
