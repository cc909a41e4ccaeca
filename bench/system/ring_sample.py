# SPDX-License-Identifier: Apache-2.0
"""Simulated events with their true rings, as `rings_score --dump FILE` writes them (bench/rings/sample_file.hpp)."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anello import Rings

MAGIC = b"ANELRING"
RING = np.dtype([("x_mm", "<f4"), ("y_mm", "<f4"), ("radius_mm", "<f4"), ("n_hits", "<i4")])


@dataclass(frozen=True)
class RingSample:
    """hit_offset: uint32[E + 1]. x_mm, y_mm: float32[N]. truth: the rings that made the hits, and noise did not."""

    hit_offset: NDArray[np.uint32]
    x_mm: NDArray[np.float32]
    y_mm: NDArray[np.float32]
    truth: Rings

    @property
    def n_events(self) -> int:
        return len(self.hit_offset) - 1

    def part(self, first: int, last: int) -> "RingSample":
        """The events first to last - 1."""
        offset = self.hit_offset[first : last + 1]
        hits = slice(offset[0], offset[-1])
        truth = self.truth.of_events(np.arange(first, last))
        return RingSample(offset - offset[0], self.x_mm[hits], self.y_mm[hits], truth)

    def hits_of(self, event: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        hits = slice(self.hit_offset[event], self.hit_offset[event + 1])
        return self.x_mm[hits], self.y_mm[hits]


def read(path: Path) -> RingSample:
    """Raises ValueError where the file is not such a sample."""
    content = path.read_bytes()
    if content[:8] != MAGIC:
        raise ValueError(f"{path} is no sample of rings: it begins with {content[:8]!r}")
    n_events, n_hits, n_rings = np.frombuffer(content, "<u4", 3, 8).tolist()
    sizes = {"hit_offset": n_events + 1, "ring_offset": n_events + 1, "x_mm": n_hits, "y_mm": n_hits}
    wanted = 20 + 4 * sum(sizes.values()) + RING.itemsize * n_rings
    if len(content) != wanted:
        raise ValueError(
            f"{path} has {len(content)} bytes: {n_events} events, {n_hits} hits, {n_rings} rings: {wanted}"
        )
    columns, at = {}, 20
    for name, size in sizes.items():
        columns[name] = np.frombuffer(content, "<u4" if name.endswith("offset") else "<f4", size, at)
        at += 4 * size
    ring = np.frombuffer(content, RING, n_rings, at)
    truth = Rings(ring["x_mm"], ring["y_mm"], ring["radius_mm"], ring["n_hits"].astype(np.uint16),
                  columns["ring_offset"])  # fmt: skip
    return RingSample(columns["hit_offset"], columns["x_mm"], columns["y_mm"], truth)
