# SPDX-License-Identifier: Apache-2.0
"""`anello dump`: what it prints of captures and live ports, and how it ends."""

import io
import json
import os
import re
import socket
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest
from packet_files import seeds, vectors, write_capture

pytest.importorskip("anello._engine", reason="the compiled engine is not built")
from anello import cli

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "anello", "dump"]
VECTORS = {name: data for name, (data, _) in vectors().items()}


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def dump(*arguments: str | Path) -> Done:
    """Runs the command in this process, as starting one is most of a command's cost."""
    said, errors = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said), redirect_stderr(errors):
        patch.setattr(sys, "argv", ["anello", "dump", *map(str, arguments)])
        code = cli.main()
    return Done(code, said.getvalue(), errors.getvalue())


def wrong_checksum(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """One datagram of each vector, and an MGP whose last byte was changed on the way."""
    datagrams = [(6000, data) for data in VECTORS.values()]
    return write_capture(tmp_path / "all.pcap", [*datagrams, (6001, wrong_checksum(VECTORS["mgp_9bit_checksum"]))])


def test_a_line_for_each_packet_and_what_it_was_in_all(capture: Path) -> None:
    done = dump(capture)
    assert done.returncode == 0, done.stderr
    heads = [line for line in done.stdout.splitlines() if not line.startswith(" ")]
    assert [line.split("  ")[0] for line in heads] == [str(i + 1) for i in range(len(VECTORS) + 1)]
    assert heads[0].startswith(
        "1  22:13:20.000000000  10.0.0.1:50000 > 6000  69 B  camera  ok  board 264, run_id 16909060"
    )
    by_format = [line.split("  ")[4] for line in heads[:-1]]
    assert by_format == [name.split("_")[0] for name in VECTORS]
    assert "mgp  wrong_checksum (datagrams whose content differs from their checksum)  source_id" in heads[-1]
    assert f"{len(VECTORS) + 1} datagrams" in done.stderr
    assert "  1 mgp wrong_checksum: datagrams whose content differs from their checksum" in done.stderr


def test_units_and_contents(capture: Path) -> None:
    done = dump(capture, "--port", "6000", "--verbose")
    assert "3 primitives: id, timestamp_ticks, fine_time [1/256 tick]\n      0x4001 305419776 0\n" in done.stdout
    assert "4 hits: event, readout_channel, time_fine [1/256 tick], edge\n" in done.stdout
    assert "length_bytes 116" in done.stdout
    assert "frame 1193046 6.4 us" in done.stdout


def test_only_bad_ones_their_bytes_and_only_some(capture: Path) -> None:
    data = wrong_checksum(VECTORS["mgp_9bit_checksum"])
    done = dump(capture, "--bad", "--hex")
    lines = done.stdout.splitlines()
    assert len(lines) == 1 + (len(data) + 15) // 16
    assert bytes.fromhex("".join(line[13:52] for line in lines[1:])) == data
    assert len(dump(capture, "--count", "2", "--json").stdout.splitlines()) == 2
    assert dump(capture, "--quiet").stdout == ""


def test_json_has_all_of_it(capture: Path) -> None:
    lines = [json.loads(line) for line in dump(capture, "--json").stdout.splitlines()]
    of = dict(zip(VECTORS, lines, strict=False))
    assert of["mtp_primitives"]["tables"]["primitives"]["id"] == [0x4001, 0x4002, 0xC0FF]
    assert len(of["camera_waveforms"]["tables"]["samples"]["sample"]) == 24
    assert (lines[-1]["verdict"], lines[-1]["tables"]) == ("wrong_checksum", {})


def test_super_packets_are_taken_apart_or_reported(tmp_path: Path) -> None:
    """Captures hold them with segmentation offload; headers of clb have no length, so that it cannot be cut."""
    mgp, mep = VECTORS["mgp_9bit"], VECTORS["mep_tel62"]
    clb = b"TTDC" + bytes(24) + bytes(10_001)
    path = write_capture(tmp_path / "joined.pcap", [(1, mgp * 3), (2, mep * 2), (3, clb)])
    lines = [json.loads(line) for line in dump(path, "--json").stdout.splitlines()]
    assert [(line["format"], line["verdict"]) for line in lines] == [
        *3 * [("mgp", "ok")], *2 * [("mep", "ok")], ("clb", "wrong_length"),
    ]  # fmt: skip


def test_a_port_is_judged_by_what_it_had_and_by_what_it_is_told_to_be(tmp_path: Path) -> None:
    mep = VECTORS["mep_tel62"]
    path = write_capture(tmp_path / "mep.pcap", [(7, mep[:-4]), (7, mep), (7, mep[:-4]), (8, b"hello")])

    def formats(*arguments: str) -> list[tuple[str, str]]:
        lines = map(json.loads, dump(path, "--json", *arguments).stdout.splitlines())
        return [(line["format"], line["verdict"]) for line in lines]

    unknown = ("unknown", "wrong_magic")
    assert formats() == [unknown, ("mep", "ok"), ("mep", "wrong_length"), unknown]
    assert formats("--format", "7=mep") == [("mep", "wrong_length"), ("mep", "ok"), ("mep", "wrong_length"), unknown]
    assert formats("--format", "mtp")[-1] == ("mtp", "too_short")


@pytest.mark.process
def test_nobody_reads_on(capture: Path) -> None:
    """If the reader of the pipe stops, the command ends in order, and at once."""
    big = write_capture(capture.parent / "big.pcap", 3000 * [(1, VECTORS["mgp_16bit_checksum"])])
    command = f"{sys.executable} -m anello dump {big} | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1] == "0"
    number = re.search(r"^(\d+) datagrams", done.stderr, re.MULTILINE)
    assert number is not None
    assert int(number.group(1)) < 3000
    assert "Traceback" not in done.stderr


@pytest.mark.process
def test_a_capture_on_standard_input(capture: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "-"], cwd=ROOT, stdin=capture.open("rb"), capture_output=True, text=True, check=True
    )
    assert done.stdout == dump(capture).stdout


def test_what_cannot_be_read(capture: Path, tmp_path: Path) -> None:
    (tmp_path / "no.pcap").write_text("this is no capture")
    assert dump(tmp_path / "no.pcap").returncode == 2
    assert dump(tmp_path / "nowhere.pcap").returncode == 2
    assert "formats are mgp" in dump(capture, "--format", "ogg").stderr
    assert "one capture file" in dump(capture, "6000").stderr
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(capture.read_bytes()[:-10])
    done = dump(cut)
    assert done.returncode == 1
    assert "could not be read to its end" in done.stderr
    assert len([line for line in done.stdout.splitlines() if line[0].isdigit()]) == len(VECTORS)


def test_a_file_of_messages_and_nothing_else(tmp_path: Path) -> None:
    """The file holds messages one after the other, as KM3NeT's programs write them."""
    messages, path = seeds("daq"), tmp_path / "messages.dat"
    path.write_bytes(b"".join(messages))
    done = dump(path)
    assert done.returncode == 0, done.stderr
    heads = [line.split("  ") for line in done.stdout.splitlines() if not line.startswith(" ")]
    offsets = [sum(map(len, messages[:i])) for i in range(3)]
    assert [head[1] for head in heads] == [f"byte {offset}" for offset in offsets]
    assert [head[3:5] for head in heads] == [["daq", "ok"]] * 3
    assert "number 77, trigger_mask 0x10, n_overlays 3" in done.stdout
    assert "    1 triggered: dom_id 808, channel 4, time_ns 500, time_over_threshold_ns 26" in done.stdout
    assert "3 packets" in done.stderr
    lines = [json.loads(line) for line in dump(path, "--json").stdout.splitlines()]
    assert [line["offset"] for line in lines] == offsets
    path.write_bytes(b"".join(messages)[:-1])
    done = dump(path)
    assert done.returncode == 1
    assert f"from byte {offsets[2]} on it is no whole packet of the format daq" in done.stderr
    assert "wrong_length" in done.stdout.splitlines()[-1]


def test_the_file_of_another_format_is_read_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "packets.bin"
    path.write_bytes(2 * VECTORS["mtp_primitives"])
    done = dump(path, "--format", "mtp")
    assert done.returncode == 0, done.stderr
    assert "  2 mtp ok" in done.stderr


def test_other_frames_are_counted(tmp_path: Path) -> None:
    path = write_capture(tmp_path / "odd.pcap", [(1, VECTORS["mtp_empty"])])
    arp = bytes(12) + b"\x08\x06" + bytes(28)
    path.write_bytes(path.read_bytes() + bytes(8) + 2 * len(arp).to_bytes(4, "little") + arp)
    assert "  1 frames skipped: neither IPv4 nor UDP over IPv6" in dump(path).stderr


@pytest.mark.process
def test_a_live_port() -> None:
    program = subprocess.Popen(
        [*COMMAND, "0", "--count", "2"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert program.stderr is not None
    port = int(program.stderr.readline().rpartition(":")[2])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.bind(("127.0.0.1", 0))
        sender.sendto(b"what", ("127.0.0.1", port))
        sender.sendto(VECTORS["mgp_9bit"], ("127.0.0.1", port))
        own_port = sender.getsockname()[1]
    said, errors = program.communicate(timeout=60)
    assert program.returncode == 0
    first, second = said.splitlines()[:2]
    assert f"127.0.0.1:{own_port} > {port}" in first
    assert "unknown  wrong_magic (begins like no registered format" in first
    assert "mgp  ok" in second
    assert "2 datagrams" in errors


def test_a_port_in_use() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as holder:
        holder.bind(("127.0.0.1", 0))
        assert dump(str(holder.getsockname()[1]), "--seconds", "1").returncode == 1
