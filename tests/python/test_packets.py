# SPDX-License-Identifier: Apache-2.0
"""Every registered format from Python: what the vectors say, real data, and any bytes at all."""

import struct
from pathlib import Path

import numpy as np
import pytest
from detector_data import CLB, L1, DetectorData
from hypothesis import given
from hypothesis import strategies as st
from packet_files import FORMATS, numbers, seeds, vectors, write_capture

pytest.importorskip("anello._engine", reason="the compiled engine is not built")
from anello import packets
from anello.errors import ConfigError

VECTORS = vectors()
ROWS = {"event": "events", "fragment": "events", "primitive": "primitives"}  # of a vector's line: its table


def test_the_registry_has_every_format_that_has_a_fuzzer_of_its_packets() -> None:
    assert set(packets.formats()) == set(FORMATS)


@pytest.mark.parametrize("name", VECTORS)
def test_vectors_are_recognised_and_read(name: str) -> None:
    data, lines = VECTORS[name]
    packet = packets.decode(data)
    assert (packet.format, packet.verdict) == (lines[0].split()[0], "ok")
    said = numbers(lines[0])
    assert {field: packet.header[field] for field in said} == said


@pytest.mark.parametrize("name", [name for name in VECTORS if name.startswith(("mgp", "mep", "mtp"))])
def test_events_and_hits_of_vectors(name: str) -> None:
    data, lines = VECTORS[name]
    packet = packets.decode(data)
    rows = [line for line in lines[1:] if line.split()[0] in ROWS]
    for i, line in enumerate(rows):
        table = packet.tables[ROWS[line.split()[0]]]
        said = numbers(line)
        assert {column: int(table.columns[column][i]) for column in said if column != "hits"} == {
            column: value for column, value in said.items() if column != "hits"
        }
    hits = [hit for line in rows for hit in line.partition("hits=")[2].split(",") if hit]
    if "hits" in packet.tables:
        found = list(packet.tables["hits"].columns.values())
        edges = {4: "leading", 5: "trailing"}
        words = [[str(value) for value in column] for column in found[1:]]
        if len(found) == 4:
            words[2] = [edges[int(value)] for value in found[3]]
        elif len(found) == 3:
            words[1] = [f"{int(value):+d}" for value in found[2]]
        assert [":".join(row) for row in zip(*words, strict=True)] == hits
        n_hits = np.bincount(found[0].astype(np.intp), minlength=len(rows))
        assert list(n_hits) == list(packet.tables["events"].columns["n_hits"])


def test_waveforms() -> None:
    data, lines = VECTORS["camera_waveforms"]
    packet = packets.decode(data)
    samples = packets.samples(packet)
    assert samples.shape == (2, 3, 4)
    assert ",".join(map(str, samples.ravel())) == lines[2].split()[1]


def test_totals_of_markers() -> None:
    data, lines = VECTORS["camera_end_of_run"]
    assert packets.decode(data).tables["totals"].columns["n_fragments"][0] == numbers(lines[-1])["n_fragments"]
    data, lines = VECTORS["mgp_end_of_burst"]
    totals = packets.decode(data).tables["totals"].columns
    assert [int(column[0]) for column in totals.values()] == list(numbers(lines[1]).values())


def test_fragments_of_mfp_have_a_verdict_each() -> None:
    data, _ = VECTORS["mfp_three"]
    fragments = packets.decode(data).tables["fragments"].columns
    first, length = int(fragments["offset_bytes"][0]), int(fragments["length_bytes"][0])
    assert data[first : first + length] == bytes.fromhex("a0a1a2a3a4a5a6a7a8")
    spoilt = bytearray(data)
    spoilt[first] ^= 1
    packet = packets.decode(bytes(spoilt))
    assert packet.verdict == "wrong_checksum"
    names = list(packets.verdicts())
    assert [names[i] for i in packet.tables["fragments"].columns["verdict"]] == ["wrong_checksum", "ok", "ok"]


def test_rich_frame_and_camera_group() -> None:
    frame = packets.decode(seeds("rich_frame")[1][8:], "rich_frame")  # after the stamp of its MFP
    assert frame.verdict == "ok"
    assert len(frame.tables["hits"]) == frame.tables["events"].columns["n_hits"].sum() > 0
    for data in seeds("camera_group"):
        group = packets.decode(data)
        assert (group.format, group.verdict) == ("camera_group", "ok")
        assert len(group.tables["boards"]) == group.header["n_present"]


def test_a_board_of_another_detector_has_no_tel62_data() -> None:
    """The payload of another detector's board is not judged as TEL62 data."""
    fragment = struct.pack("<HBBI", 12, 5, 0, 0x12345) + b"\xff" * 4
    data = struct.pack("<IHBB", 5 | 0x24 << 24, 8 + len(fragment), 1, 0) + fragment
    assert packets.decode(data).verdict == "ok"
    of_the_rich = struct.pack("<IHBB", 5 | 0x1C << 24, 8 + len(fragment), 1, 0) + fragment
    assert packets.decode(of_the_rich).verdict == "unknown_source"


def test_clb_datagrams(detector_data: DetectorData) -> None:
    path, truth = detector_data.file(CLB)
    content, n_hits, sequences, first_hits = path.read_bytes(), [], [], []
    while content:
        (length,) = struct.unpack_from("<I", content)
        packet = packets.decode(content[4 : 4 + length])
        assert (packet.format, packet.verdict) == ("clb", "ok")
        hits = packet.tables["hits"]
        n_hits.append(len(hits))
        columns = [hits.columns[name].tolist() for name in ("channel", "time_ns", "time_over_threshold_ns")]
        first_hits += list(zip(*columns, strict=True))[:1]
        sequences.append(packet.header["udp_sequence"])
        assert packet.header["dom_id"] == truth["dom_id"]
        content = content[4 + length :]
    assert (n_hits, sequences, first_hits) == (
        truth["n_hits"],
        truth["udp_sequence"],
        [tuple(hit) for hit in truth["first_hits"]],
    )


def test_messages_of_an_l1_file(detector_data: DetectorData) -> None:
    """All hits of the L1 file, and the first message in full."""
    path, truth = detector_data.file(L1)
    name = packets.FileReader.format_of(path)
    assert name == "daq"
    reader, n_messages, n_hits = packets.FileReader(path, name), 0, 0
    while not reader.finished():
        packet = packets.decode(reader.next()[0].data)
        assert packet.is_ok
        assert packet.header["type"] == 1003
        if n_messages == 0:
            origin = [packet.header[field] for field in ("detector", "run", "frame_index", "begins")]
            hits, frames = packet.tables["hits"].columns, packet.tables["frames"].columns
            first_hits = np.stack([hits[name] for name in ("channel", "time_ns", "time_over_threshold_ns")], axis=1)[:3]
            assert (origin, first_hits.tolist()) == (truth["first_origin"], truth["first_hits"])
            assert np.stack(list(frames.values()), axis=1).tolist() == truth["first_frames"]
        n_messages += 1
        n_hits += len(packet.tables["hits"])
    assert (n_messages, n_hits, reader.read_error()) == (truth["n_messages"], truth["n_hits"], "")


def test_a_summary_says_rates_in_hz() -> None:
    data = next(seed for seed in seeds("daq") if seed[4:6] == b"\xd1\x07")
    packet = packets.decode(data)
    rates = packet.tables["rates"].columns["rate_hz"]
    assert list(rates[:2]) == [0, 2055]
    assert packet.header["begins"] == 1_513_144_803_100_000_000


def test_an_unknown_format_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="mgp, mfp, "):
        packets.decode(b"", "ogg")


@st.composite
def spoilt(draw: st.DrawFn) -> bytes:
    """A seed of some format, cut, lengthened, and with some bytes changed."""
    data = bytearray(draw(st.sampled_from([seed for name in FORMATS for seed in seeds(name)])))
    for _ in range(draw(st.integers(0, 4))):
        if data:
            data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data[: draw(st.integers(0, len(data)))]) + draw(st.binary(max_size=64))


@given(spoilt() | st.binary(max_size=300), st.sampled_from([*FORMATS, None]))
def test_any_bytes_have_a_verdict(data: bytes, name: str | None) -> None:
    packet = packets.decode(data, name)
    assert packet.verdict in packets.verdicts()
    assert name is None or packet.format == name
    for table in packet.tables.values():
        assert len({len(column) for column in table.columns.values()}) == 1
        assert table.columns.keys() == table.units.keys()
    if packet.tables and not packet.is_ok:
        assert any("verdict" in table.columns for table in packet.tables.values())


def test_a_capture_comes_back_as_it_was(tmp_path: Path) -> None:
    sent = [(6000 + i, data) for i, (data, _) in enumerate(VECTORS.values())]
    came = list(packets.read_capture(write_capture(tmp_path / "all.pcap", sent)))
    assert [(each.port, each.data) for each in came] == sent
    assert [each.time_ns for each in came[:2]] == [1_700_000_000_000_000_000, 1_700_000_000_001_000_000]
    assert {(str(each.source[0]), each.source[1]) for each in came} == {("10.0.0.1", 50000)}
