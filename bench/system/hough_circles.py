# SPDX-License-Identifier: Apache-2.0
"""OpenCV's HoughCircles as a ring finder: the peer that anyone has at hand.

It looks for edges in images, so hits are drawn as discs of about a PMT's size and smoothed, as its documentation asks.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from ring_sample import RingSample

from anello import Rings

HALF_WIDTH_MM = 360.0  # of the image: all PMTs of the sample and a margin
RADIUS_MIN_MM, RADIUS_MAX_MM = 95.0, 200.0


@dataclass(frozen=True)
class HoughParameters:
    """The best of 1500 combinations on 50 events of the mix of seed 2 (pixel 2 and 3 mm, disc 1 to 3 pixels, smoothing
    0 to 2.5, dp 1 to 4, threshold 4 to 30, distance 24 to 100 mm; HOUGH_GRADIENT_ALT found nothing better): the
    greatest eff5. Other settings are up to five times faster and find half as much."""

    pixel_mm: float = 3
    disc_pixels: int = 2
    smoothing_pixels: float = 1.5
    dp: float = 1  # resolution of the accumulator, pixels
    threshold: float = 4  # votes for a centre
    distance_mm: float = 100  # least distance of two centres
    edge: float = 100  # Canny's threshold
    max_rings: int = 8  # the strongest, as many as Anello tells


class HoughFinder:
    """Single-threaded. Drawing is not timed: only the search is."""

    def __init__(self, parameters: HoughParameters | None = None) -> None:
        import cv2

        cv2.setNumThreads(1)
        self._cv2: Any = cv2
        self._parameters = parameters or HoughParameters()
        self.version = str(cv2.__version__)

    def find(self, sample: RingSample) -> tuple[list[NDArray[np.float64]], float]:
        """Circles of each event, float64[n, 3] (x, y, radius, mm), strongest first, and the CPU time of it all, s."""
        circles, seconds = [], 0.0
        for event in range(sample.n_events):
            image = self._draw(*sample.hits_of(event))
            began_s = time.thread_time()
            found = self._search(image)
            seconds += time.thread_time() - began_s
            circles.append(self._in_mm(found))
        return circles, seconds

    def _draw(self, x_mm: NDArray[np.float32], y_mm: NDArray[np.float32]) -> NDArray[np.uint8]:
        p, cv2 = self._parameters, self._cv2
        n_pixels = round(2 * HALF_WIDTH_MM / p.pixel_mm)
        image = np.zeros((n_pixels, n_pixels), np.uint8)
        for x, y in zip(x_mm.tolist(), y_mm.tolist(), strict=True):
            centre = (round((x + HALF_WIDTH_MM) / p.pixel_mm), round((y + HALF_WIDTH_MM) / p.pixel_mm))
            cv2.circle(image, centre, p.disc_pixels, 255, -1)
        smooth = cv2.GaussianBlur(image, (0, 0), p.smoothing_pixels)
        brightest = int(smooth.max())
        return (smooth * (255.0 / brightest)).astype(np.uint8) if brightest else smooth

    def _search(self, image: NDArray[np.uint8]) -> Any:
        p = self._parameters
        return self._cv2.HoughCircles(
            image, self._cv2.HOUGH_GRADIENT, p.dp, p.distance_mm / p.pixel_mm, param1=p.edge, param2=p.threshold,
            minRadius=int(RADIUS_MIN_MM / p.pixel_mm), maxRadius=int(RADIUS_MAX_MM / p.pixel_mm),
        )  # fmt: skip

    def _in_mm(self, found: Any) -> NDArray[np.float64]:
        if found is None:
            return np.zeros((0, 3))
        circles = np.asarray(found, np.float64).reshape(-1, np.shape(found)[-1])[: self._parameters.max_rings, :3]
        return circles * self._parameters.pixel_mm - np.array([HALF_WIDTH_MM, HALF_WIDTH_MM, 0.0])


def as_rings(circles: list[NDArray[np.float64]], most: NDArray[np.int64] | None = None) -> Rings:
    """The circles of all events; most: int64[E], at most this many of each."""
    if most is not None:
        circles = [found[:n] for found, n in zip(circles, most.tolist(), strict=True)]
    offset = np.concatenate(([0], np.cumsum([len(found) for found in circles], dtype=np.int64))).astype(np.uint32)
    x_mm, y_mm, radius_mm = np.concatenate([np.zeros((0, 3)), *circles]).astype(np.float32).T
    return Rings(x_mm, y_mm, radius_mm, np.zeros(len(x_mm), np.uint16), offset)
