# SPDX-License-Identifier: Apache-2.0
"""A camera's node that gets given events over UDP, and a check that it wrote the events that were sent."""

import socket
import time
from collections.abc import Callable, Iterator

import numpy as np
from stalls import PATIENCE_MS

from anello.camera import events as camera_events
from anello.camera import files as camera_files
from anello.camera.engine import engine
from anello.configuration.load import load


def send(events: camera_files.CameraEvents, ports: list[int]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for fragment in camera_files.fragments(events):
            sender.sendto(fragment.data, ("127.0.0.1", ports[fragment.board]))


def eventually(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.001)
    return condition()


def run_node(events: camera_files.CameraEvents, *settings: str) -> None:
    """A node that gets all fragments and has stopped."""
    boards, gains, pixels, samples = events.waveform[0].shape
    shape = (f"boards={boards}", f"gains={gains}", f"pixels_per_board={pixels}", f"samples={samples}")
    config = load(
        None, [*(f"camera.{part}" for part in shape), f"receive.ports={[0] * boards}",
               f"camera_source.ports={[0] * boards}", "camera_filter.enabled=false",
               f"camera_build.timeout_ms={PATIENCE_MS}", *settings],
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
        np.testing.assert_array_equal(event.waveforms, events.waveform[index][present])
        np.testing.assert_array_equal(event.headers["counters"], events.counters[index, present])
        n_seen += 1
    assert n_seen == events.n_events
