# SPDX-License-Identifier: Apache-2.0
"""One camera event as its boards sent it."""

from dataclasses import dataclass, replace
from enum import IntFlag
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

DRAGON_DRS4 = 4  # counters_kind of boards with first cells after the waveforms
GAIN_SELECTED, FLATFIELDED = 16, 32  # bit of calibration_steps
LOW_GAIN_AT = 22  # place of a u16 in the counters of boards that send one of two gains
N_CHIPS, N_CELLS, NO_CELL = 8, 4096, 0xFFFF  # of a board; of a pixel's ring; of boards that send none
BOARD_HEADER = np.dtype(
    {
        "names": [
            "flags",
            "board",
            "event_number",
            "sequence",
            "checksum",
            "timestamp_ns",
            "n_samples",
            "n_pixels",
            "n_gains",
            "counters_kind",
            "trigger_tag",
            "payload_bytes",
            "counters",
        ],
        "formats": ["u1", "<u2", "<u4", "<u4", "<u4", "<u8", "<u2", "u1", "u1", "u1", "u1", "<u2", "24u1"],
        "offsets": [5, 6, 12, 16, 20, 24, 32, 34, 35, 36, 37, 38, 40],
        "itemsize": 64,
    }
)


def shapes_of(headers: NDArray[Any]) -> NDArray[np.uint16]:
    """[B, 3]: gains, pixels and samples of each board. headers: BOARD_HEADER[B]."""
    return np.stack([headers[name] for name in ("n_gains", "n_pixels", "n_samples")], axis=1)


class TriggerTag(IntFlag):
    """The cause of a trigger (docs/reference/camera.md); 0: not known."""

    MONO = 1
    STEREO = 2
    CALIBRATION = 4
    SINGLE_PE = 8
    SOFTWARE = 16
    PEDESTAL = 32
    SLOW_CONTROL = 64


@dataclass(frozen=True)
class CameraEvent:
    """One event with the B boards that it has, of n_boards.

    boards: uint16[B]. headers: structured[B], each board's header (docs/reference/camera.md). payloads: uint8, the
    boards' payloads one after the other. timestamp_ns: time of the trigger. first_ns, closed_ns: wall clock, when the
    first fragment was placed and when the event was handed on.
    """

    run_id: int
    event_number: int
    timestamp_ns: int
    first_ns: int
    closed_ns: int
    n_boards: int
    boards: NDArray[np.uint16]
    headers: NDArray[Any]
    payloads: NDArray[np.uint8]

    @cached_property
    def trigger_tag(self) -> int:
        """Bits of TriggerTag: the tag that most boards sent; of tags of equally many boards, the lowest."""
        return int(np.bincount(self.headers["trigger_tag"], minlength=1).argmax())

    @cached_property
    def waveforms(self) -> NDArray[np.uint16]:
        """uint16[B, gains, pixels, samples]. Raises ValueError if boards differ in shape or sent no samples."""
        of_boards = shapes_of(self.headers)
        if not len(of_boards) or not of_boards[0].all() or (of_boards != of_boards[0]).any():
            shapes = sorted(map(tuple, np.unique(of_boards, axis=0).tolist()))
            raise ValueError(f"event {self.event_number} has no waveforms of one shape: {shapes}")
        shape = tuple(of_boards[0].tolist())
        if not self._has_cells.any():
            return self.payloads.view("<u2").reshape(len(self.boards), *shape)
        n_samples = int(np.prod(shape))
        if (self.headers["payload_bytes"] != 2 * n_samples + np.where(self._has_cells, 2 * N_CHIPS, 0)).any():
            raise ValueError(f"event {self.event_number} has payloads of another length than their shape")
        if self._has_cells.all():
            whole = self.payloads.view("<u2").reshape(len(self.boards), n_samples + N_CHIPS)
            return whole[:, :n_samples].reshape(len(self.boards), *shape)
        begins = np.cumsum(self.headers["payload_bytes"], dtype=np.int64) - self.headers["payload_bytes"]
        return np.stack(
            [self.payloads[begin : begin + 2 * n_samples].view("<u2").reshape(shape) for begin in begins.tolist()]
        )

    @cached_property
    def first_cells(self) -> NDArray[np.uint16] | None:
        """uint16[B, 8]: the cell of the first sample in each board's DRS4 chips (docs/reference/camera.md), NO_CELL for
        boards that send none; None if no board does."""
        if not self._has_cells.any():
            return None
        if (self.headers["payload_bytes"][self._has_cells] < 2 * N_CHIPS).any():
            raise ValueError(f"event {self.event_number} has payloads that are too short for first cells")
        cells = np.full((len(self.boards), N_CHIPS), NO_CELL, np.uint16)
        ends = np.cumsum(self.headers["payload_bytes"], dtype=np.int64)
        for place in np.flatnonzero(self._has_cells).tolist():
            cells[place] = self.payloads[ends[place] - 2 * N_CHIPS : ends[place]].view("<u2")
        return cells

    @property
    def calibration_steps(self) -> NDArray[np.uint8]:
        """uint8[B]: steps done with each board's samples, 0 if they are raw (camera_calibrate): 2 baseline subtracted
        and 400 added, 4 time lapse, 8 spikes, 16 one of two gains selected, 32 flat field. 16 alone: the front end
        selected the gain, and samples are raw."""
        return (self.headers["flags"] >> 2 & 62).astype(np.uint8)

    @property
    def is_calibrated(self) -> NDArray[np.bool_]:
        """bool[B]: boards whose samples are not raw."""
        found: NDArray[np.bool_] = (self.calibration_steps & ~np.uint8(GAIN_SELECTED)) != 0
        return found

    @property
    def low_gain(self) -> NDArray[np.bool_] | None:
        """bool[B, pixels]: pixels whose low gain was selected (of calibrated boards in counts of the high one); None if
        both gains are present."""
        is_selected = (self.calibration_steps & GAIN_SELECTED) != 0
        if not is_selected.any():
            return None
        chosen = np.ascontiguousarray(self.headers["counters"][:, LOW_GAIN_AT : LOW_GAIN_AT + 2]).view("<u2")
        bits = chosen >> np.arange(self.headers["n_pixels"].max(), dtype=np.uint16)
        low: NDArray[np.bool_] = (bits & 1).astype(bool) & is_selected[:, np.newaxis]
        return low

    def of_boards(self, keep: NDArray[np.bool_]) -> Self:
        """The event with only these boards. keep: bool[B]."""
        ends = np.cumsum(self.headers["payload_bytes"], dtype=np.int64)
        begins = ends - self.headers["payload_bytes"]
        pieces = [self.payloads[begins[place] : ends[place]] for place in np.flatnonzero(keep).tolist()]
        payloads = np.concatenate(pieces) if pieces else self.payloads[:0]
        return replace(self, boards=self.boards[keep], headers=self.headers[keep], payloads=payloads)

    def of_kind(self, *, calibrated: bool) -> Self:
        """The event with only its calibrated boards, or only the others; unchanged if it has none of them. With gain
        selection, a board that could not be calibrated has another shape than the others."""
        fits = self.is_calibrated == calibrated
        return self.of_boards(fits) if fits.any() and not fits.all() else self

    @property
    def _has_cells(self) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = self.headers["counters_kind"] == DRAGON_DRS4
        return found
