# SPDX-License-Identifier: Apache-2.0
"""`anello nanet simulate` without its tools: how it handles a capture and the model's output."""

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from anello.errors import InputError
from anello.nanet import capture, registers, simulation


def checksum(content: bytes) -> int:
    """Checksum by RFC 1071; it is 0 for data that hold their own checksum."""
    words = struct.unpack(f">{(len(content) + 1) // 2}H", content + bytes(len(content) % 2))
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


@pytest.mark.parametrize("payload", [b"", b"x", b"MGP1" * 300, bytes(7)])
def test_frames_carry_right_checksums(payload: bytes) -> None:
    frame = capture._frame(payload, 50_000, 6000)
    ip, udp = frame[14:34], frame[34:]
    assert frame[12:15] == b"\x08\x00\x45"
    assert (len(ip) + len(udp), len(udp)) == tuple(struct.unpack(">H", part)[0] for part in (ip[2:4], udp[4:6]))
    assert checksum(ip) == 0
    assert checksum(ip[12:] + struct.pack(">HH", 17, len(udp)) + udp) == 0
    assert udp[8:] == payload


def written(path: Path, *frames: bytes, order: str = "<", magic: int = 0xA1B23C4D) -> Path:
    head = struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 0x40000, 1)
    path.write_bytes(head + b"".join(struct.pack(f"{order}IIII", 0, 0, len(one), len(one)) + one for one in frames))
    return path


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("magic", [0xA1B23C4D, 0xA1B2C3D4])
def test_ports_are_those_that_frames_go_to(tmp_path: Path, order: str, magic: int) -> None:
    frames = [capture._frame(b"x", 1, port) for port in (6002, 6000, 6002)] + [b"short", bytes(60)]
    assert simulation.ports_in(written(tmp_path / "a.pcap", *frames, order=order, magic=magic)) == [6000, 6002]


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "b.pcap").write_bytes(b"\x0a\x0d\x0d\x0a" + bytes(100))
    with pytest.raises(InputError, match="no pcap file"):
        simulation.ports_in(tmp_path / "b.pcap")
    with pytest.raises(InputError, match="No such file"):
        simulation.ports_in(tmp_path / "absent.pcap")


def found(*, merge: bool = False, said: dict[str, Any] | None = None, **counts: int) -> simulation.CardRun:
    whole = {one.name.removeprefix("count."): 0 for one in registers.REGISTERS if one.name.startswith("count.")}
    usual = {"frames": 10, "records": 8, "is_idle": True, "wrong_records": 0, "differing_events": 0}
    return simulation.CardRun(usual | (said or {}), whole | counts, (6000,), merge)


GOOD = {"frames_accepted": 9, "frames_arp": 1, "records_written": 8, "records_dropped": 1}


def test_every_frame_has_one_verdict_and_every_accepted_one_an_end() -> None:
    assert found(**GOOD).problems == []
    assert found(**GOOD | {"frames_arp": 0}).problems == ["10 frames went in, and 9 have a verdict"]
    assert found(**GOOD | {"records_dropped": 0}).problems == [
        "9 frames were accepted, and 8 records are written, dropped or too long"
    ]
    late = replace(
        found(**GOOD | {"frames_arp": 0, "frames_bad_udp_checksum": 1, "records_written": 9}), cuts_through=True
    )
    assert replace(late, said={**late.said, "records": 9}).problems == []
    assert len(replace(late, cuts_through=False).problems) == 1
    assert found(said={"records": 7}, **GOOD).problems == ["8 records were written, and the host found 7"]
    assert len(found(said={"is_idle": False, "wrong_records": 2}, **GOOD).problems) == 2


def test_merged_events_are_the_software_s_unless_something_was_dropped() -> None:
    read = {"frames_accepted": 10, "datagrams_ok": 9, "datagrams_wrong_magic": 1}
    assert found(merge=True, **read).problems == []
    assert found(merge=True, **read | {"datagrams_ok": 8}).problems == [
        "10 frames were accepted, and the merger has read 9 datagrams"
    ]
    differing = {"differing_events": 3}
    assert found(merge=True, said=differing, **read).problems == ["3 events differ from the software's"]
    assert found(merge=True, said=differing, **read | {"packets_dropped": 1}).problems == []
