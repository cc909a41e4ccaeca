# SPDX-License-Identifier: Apache-2.0
"""Real camera events the whole way: the NectarCAM sample as its boards' fragments over UDP, built by a node, written to
a file and streamed over TCP; both are compared with the sample, sample for sample and counter for counter."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from anello.camera import events as camera_events
from anello.camera import files as camera_files
from anello.camera.cta import zfits
from anello.camera.engine import engine
from anello.config import load

SAMPLE = "example_9evts_NectarCAM.fits.fz"


@pytest.fixture(scope="module")
def sample(real_data: Path) -> camera_files.CameraEvents:
    pytest.importorskip("protozfits")
    path = real_data / SAMPLE
    if not path.exists():
        pytest.skip(f"there is no {path}; ANELLO_DATA names another folder")
    return zfits.read(path)


def send(events: camera_files.CameraEvents, ports: list[int]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for fragment in camera_files.fragments(events):
            sender.sendto(fragment.data, ("127.0.0.1", ports[fragment.board]))


def eventually(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 10
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.001)
    return condition()


def run_node(events: camera_files.CameraEvents, *settings: str) -> None:
    """A node that gets all fragments and has stopped."""
    boards, gains, pixels, samples = events.waveform.shape[1:]
    shape = (f"boards={boards}", f"gains={gains}", f"pixels_per_board={pixels}", f"samples={samples}")
    config = load(
        None, [*(f"camera.{part}" for part in shape), f"receive.ports={[0] * boards}",
               f"camera_source.ports={[0] * boards}", "camera_filter.enabled=false", *settings],
        {"chain": "camera"},
    )  # fmt: skip
    node = engine().Node(config.flat())
    node.start()
    try:
        stream = node.counters().get("camera_stream")  # what it is offered before somebody receives, it drops
        assert stream is None or eventually(lambda: node.counters()["camera_stream"]["connections"] > 0)
        send(events, list(node.ports()))
        assert eventually(node.finished)
    finally:
        node.stop()


def assert_same(built: Iterator[camera_events.CameraEvent], events: camera_files.CameraEvents) -> None:
    n_seen = 0
    for index, event in enumerate(built):
        present = np.flatnonzero(events.present[index])
        assert event.run_id == events.run_id
        assert event.event_number == events.event_number[index]
        assert event.timestamp_ns == events.timestamp_ns[index]
        assert event.boards.tolist() == present.tolist()
        np.testing.assert_array_equal(event.waveforms, events.waveform[index, present])
        np.testing.assert_array_equal(event.headers["counters"], events.counters[index, present])
        n_seen += 1
    assert n_seen == events.n_events


def test_events_over_udp_come_out_of_the_file_as_they_were(sample: camera_files.CameraEvents, tmp_path: Path) -> None:
    path = tmp_path / "events.h5"
    run_node(sample, f"camera_send.file={path}")
    assert_same(camera_events.read(path), sample)


def test_events_over_udp_come_out_of_the_stream_as_they_were(sample: camera_files.CameraEvents) -> None:
    received: list[camera_events.CameraEvent] = []
    with camera_events.Receiver(timeout_s=10) as receiver:
        thread = threading.Thread(target=lambda: received.extend(receiver))
        thread.start()
        run_node(sample, "camera_send.tcp_host=127.0.0.1", f"camera_send.tcp_port={receiver.port}")
        thread.join(timeout=10)
    assert_same(iter(received), sample)
