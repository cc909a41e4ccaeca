# SPDX-License-Identifier: Apache-2.0
"""The results of a run of the camera chain, as plain values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from anello.account.ledger import Ledger
from anello.account.record import Arrays, Record
from anello.account.verdict import Flaw
from anello.report.share import Share, share_by_event

from ..configuration.config import CameraConfig
from ..cta import triggers
from .ledger import build_camera_ledger
from .losses import flaws

LEGS = {
    "first_to_built": "first fragment → built",
    "built_to_decided": "built → decided",
    "built_to_sent": "built → sent",
    "first_to_decided": "first fragment → decided",
    "first_to_sent": "first fragment → sent",
}
N_IMAGES_OF_A_KIND = 3
EVENT_NUMBER_BITS = np.uint64(0xFFFFFFFF)  # of an event key, below the run's number


@dataclass(frozen=True)
class CameraImage:
    """One event. charge: float[n_pixels], counts, 0 without data. charge_sum: the sum over pixels above threshold."""

    event_number: int
    charge: NDArray[np.float32]
    charge_sum: float
    kept: bool


@dataclass(frozen=True)
class SampledEvents:
    """A sample of E events of a run: their charge and whether the filter kept them; and a few images."""

    number: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    charge: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    kept: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))
    images: tuple[CameraImage, ...] = ()


class CameraSamples(Protocol):
    """The part of a node that offers samples of events, each only once."""

    def events(self) -> Sequence[Mapping[str, Any]]: ...


class CameraKeeper:
    """Collects samples from a node at intervals. It keeps an event offered twice only once, and at most n_events."""

    def __init__(self, n_events: int) -> None:
        self._n_events = n_events
        self._charge: dict[int, tuple[float, bool]] = {}  # by event number
        self._images: dict[bool, list[CameraImage]] = {True: [], False: []}

    def look(self, node: CameraSamples) -> None:
        for offered in node.events():
            number = int(offered["event_number"])
            if number in self._charge or len(self._charge) >= self._n_events:
                continue
            charge_sum, kept = float(offered["charge_sum"]), bool(offered["kept"])
            self._charge[number] = (charge_sum, kept)
            self._keep_image(CameraImage(number, offered["charge"], charge_sum, kept))

    def _keep_image(self, image: CameraImage) -> None:
        """Keeps the brightest kept events and the first rejected ones, but no event of the pool twice."""
        images = self._images[image.kept]
        if any(np.array_equal(one.charge, image.charge) for one in images):
            return
        images.append(image)
        if image.kept:
            images.sort(key=lambda one: one.charge_sum, reverse=True)
        del images[N_IMAGES_OF_A_KIND:]

    def events(self) -> SampledEvents:
        kept = np.array([kept for _, kept in self._charge.values()], bool)
        charge = np.array([charge for charge, _ in self._charge.values()], np.float64)
        number = np.array(list(self._charge), np.int64)
        return SampledEvents(number, charge, kept, (*self._images[True], *self._images[False]))


@dataclass(frozen=True)
class CameraRecord(Record):
    """One run of the camera chain."""

    config: CameraConfig
    events: SampledEvents = field(default_factory=SampledEvents)
    truth: Arrays | None = None  # CameraSource.truth
    positions: NDArray[np.float32] | None = None  # [n_pixels, 2], mm

    @cached_property
    def _ledger(self) -> Ledger:
        return build_camera_ledger(
            self.node,
            self.whole_source,
            groups=self.config.boards_by_group(),
            one_host=self.one_host,
            made=self.made,
            came=self.came,
        )

    @property
    def whole_way(self) -> str:
        return "first_to_sent"

    def ledger(self) -> Ledger:
        return self._ledger

    def flaws(self) -> list[Flaw]:
        return flaws(self.node, self.source, self.config, self.ledger())

    @property
    def n_events(self) -> int:
        return self.node.get("join", {}).get("events_out", 0)

    @property
    def sending_s(self) -> float:
        """Duration of sending, from the front ends' events and clock, or else that of the whole run."""
        generator = (self.source or {}).get("source", {})
        if not generator.get("events") or not self.config.camera_source.paced:
            return self.cpu["wall_s"] if self.cpu else self.wall_s
        forgone_s = generator.get("time_forgone_ns", 0) * 1e-9
        return float(generator["events"] / self.config.camera_source.rate_hz + forgone_s)

    def kept_by_truth(self) -> "KeptByTruth | None":
        """The filter's decisions on the events whose truth is known."""
        if self.truth is None or not len(self.events.number) or not len(self.truth["event_key"]):
            return None
        sent = (self.truth["event_key"] & EVENT_NUMBER_BITS).astype(np.int64)
        _, seen, known = np.intersect1d(self.events.number, sent, return_indices=True)
        pool = self.truth["pool_index"][known].astype(np.int64)
        return KeptByTruth(
            self.truth["n_pe"][pool],
            self.truth["length_mm"][pool] > 0,
            self.events.kept[seen],
            pool,
            triggers.is_calibration(self.truth["trigger_tag"][pool]),
        )


@dataclass(frozen=True)
class KeptByTruth:
    """E events: true photo-electrons float[E], whether there was a shower bool[E], whether the filter kept them
    bool[E], the number of each in the pool, int[E], as the pool is sent repeatedly, and whether each is a pedestal or
    a flat field, bool[E]."""

    n_pe: NDArray[np.float32]
    has_shower: NDArray[np.bool_]
    kept: NDArray[np.bool_]
    pool_index: NDArray[np.int64]
    is_calibration: NDArray[np.bool_]

    @property
    def showers(self) -> Share:
        return self.of(self.has_shower)

    @property
    def noise(self) -> Share:
        return self.of(~self.has_shower & ~self.is_calibration)

    def of(self, chosen: NDArray[np.bool_]) -> Share:
        """The share of these events that the filter kept."""
        return share_by_event(self.kept[chosen], self.pool_index[chosen])
