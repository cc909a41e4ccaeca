# SPDX-License-Identifier: Apache-2.0
"""What detectors read from the last event of a counter page, which any process may have written."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from anello.camera.report import last_event as camera
from anello.km3net.report import last_event as km3net
from anello.rich.report import last_event as rich


def rich_payload(n_hits: int, n_rings: int) -> bytes:
    snapshot = np.zeros(1, rich.SNAPSHOT)
    snapshot["event_key"], snapshot["n_hits"], snapshot["n_rings"] = 2**40 + 7, n_hits, n_rings
    snapshot["hit_pmt"][0, :3] = [5, 6, 1951]
    snapshot["rings"][0, 0] = (1.5, -2.5, 180.0, 3)
    return snapshot.tobytes()


def camera_payload(n_pixels: int, kept_by: int = 2) -> bytes:
    head = np.zeros(1, camera.HEAD)
    head["event_number"], head["n_pixels"], head["kept_by"], head["charge_sum"] = 9, n_pixels, kept_by, 6
    return head.tobytes() + np.arange(4, dtype="<f4").tobytes()


def km3net_payload(n_hits: int) -> bytes:
    sample = np.zeros(1, km3net.SAMPLE)
    sample["slice"], sample["n_hits"], sample["begin"] = 3, n_hits, -16
    sample["dom"][0, :2], sample["is_l1"][0, 1], sample["time_ns"][0, 1] = [4, 2069], 1, 12.5
    return sample.tobytes()


def test_a_rich_event_is_hits_and_rings() -> None:
    event = rich.decode(rich_payload(3, 1))
    assert event.event_key == 2**40 + 7
    assert event.hit_pmt.tolist() == [5, 6, 1951]
    assert event.rings.tolist() == [(1.5, -2.5, 180.0, 3)]


def test_a_camera_event_is_an_image() -> None:
    image = camera.decode(camera_payload(4))
    assert (image.event_number, image.kept_by, image.charge_sum) == (9, "signal", 6)
    assert image.charge.tolist() == [0, 1, 2, 3]


def test_an_event_of_km3net_is_hits() -> None:
    event = km3net.decode(km3net_payload(2))
    assert (event.slice, event.begin) == (3, -16)
    assert event.dom.tolist() == [4, 2069]
    assert event.is_l1.tolist() == [False, True]
    assert event.time_ns.tolist() == [0, 12.5]


def test_numbers_beyond_what_has_room_are_cut() -> None:
    assert len(rich.decode(rich_payload(2**32 - 1, 255)).hit_pmt) == rich.MAX_HITS
    assert len(rich.decode(rich_payload(2**32 - 1, 255)).rings) == rich.MAX_RINGS
    assert len(km3net.decode(km3net_payload(2**32 - 1)).dom) == km3net.MAX_HITS


@pytest.mark.parametrize(
    ("decode", "payload"),
    [(rich.decode, b""), (rich.decode, b"\xff" * 657), (km3net.decode, b"\xff" * 4663), (camera.decode, b"\xff" * 15),
     (camera.decode, b"\xff" * 100), (camera.decode, camera_payload(5)),
     (camera.decode, camera_payload(4, len(camera.KEPT_BY)))],
)  # fmt: skip
def test_what_is_no_event_is_refused(decode: Callable[[bytes], Any], payload: bytes) -> None:
    with pytest.raises(ValueError, match=r"bytes, not|or more, not"):
        decode(payload)
