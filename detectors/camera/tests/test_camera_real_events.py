# SPDX-License-Identifier: Apache-2.0
"""Real camera events the whole way: the NectarCAM sample as its boards' fragments over UDP, built by a node, written to
a file and streamed over TCP; both are compared with the sample, sample for sample and counter for counter."""

import threading
from pathlib import Path

import pytest
from camera_over_udp import assert_same, run_node
from detector_data import NECTARCAM, DetectorData

from anello.camera import events as camera_events
from anello.camera import files as camera_files
from anello.camera.cta import zfits


@pytest.fixture(scope="module")
def sample(detector_data: DetectorData) -> camera_files.CameraEvents:
    pytest.importorskip("protozfits")
    return zfits.read(detector_data.file(NECTARCAM)[0])


@pytest.mark.parametrize("file_format", ["table", "records"])
def test_events_over_udp_come_out_of_the_file_as_they_were(
    sample: camera_files.CameraEvents, tmp_path: Path, file_format: str
) -> None:
    path = tmp_path / "events.h5"
    run_node(sample, f"camera_send.file={path}", f"camera_send.file_format={file_format}")
    assert_same(camera_events.read(path), sample)


def test_events_over_udp_come_out_of_the_stream_as_they_were(sample: camera_files.CameraEvents) -> None:
    received: list[camera_events.CameraEvent] = []
    with camera_events.Receiver(timeout_s=10) as receiver:
        thread = threading.Thread(target=lambda: received.extend(receiver))
        thread.start()
        run_node(sample, "camera_send.tcp_host=127.0.0.1", f"camera_send.tcp_port={receiver.port}")
        thread.join(timeout=10)
    assert_same(iter(received), sample)
