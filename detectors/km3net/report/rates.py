# SPDX-License-Identifier: Apache-2.0
"""Rates of coincidences: as measured, and as expected from the background of the sea."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from anello.account.record import Arrays

from ..engine_keys import Km3netCoincidencesKeys

SLICE_S = 0.1
SUPERNOVA_HZ = 5.2  # >= 4 PMTs of a DOM within 10 ns; measured in real data and in simulation


def k40_hz(cos_angle: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rate of coincidences of two PMTs from 40K decays in Hz, from a public parameterisation (km3pipe)."""
    c = cos_angle
    return np.exp(-0.7234 + 2.5920 * c - 0.4359 * c**2 + 1.1051 * c**3)


class Rates:
    """Rates per DOM in Hz, averaged over the frames that the trigger used."""

    def __init__(self, trigger: Mapping[str, int], arrays: Arrays, settings: Km3netCoincidencesKeys) -> None:
        self._trigger, self._arrays, self._settings = trigger, arrays, settings
        self.dom_seconds = trigger.get("frames_used", 0) * SLICE_S

    def of(self, counter: str) -> float:
        return self._trigger.get(counter, 0) / self.dom_seconds if self.dom_seconds else 0.0

    @property
    def by_pmt(self) -> NDArray[np.float64]:
        """float[D, 31], Hz: averaged over all slices of the run, also those without the DOM."""
        seconds = self._trigger.get("slices", 0) * SLICE_S
        hits: NDArray[np.float64] = self._arrays["hits"].astype(np.float64)
        return hits / seconds if seconds else hits

    def _random_hz(self, window_ns: float, chosen: NDArray[np.bool_]) -> float:
        """Rate in Hz of random coincidences of pairs of PMTs i < k: 2 R_i R_k window."""
        rate = self._arrays["hits"].sum(0) / max(self.dom_seconds, SLICE_S)
        return float((np.outer(rate, rate) * chosen).sum() * window_ns * 1e-9)

    def expected(self) -> dict[str, float]:
        """Expected rates in Hz, from the measured rates of the PMTs and from 40K."""
        cos = self._arrays["pair_cos"]
        pairs = ~np.eye(len(cos), dtype=bool)
        near = pairs & (cos >= self._settings.l2_cos_min)
        return {
            "l1": self._random_hz(self._settings.l1_ns, pairs) + float(k40_hz(cos[pairs]).sum()) / 2,
            "l2": self._random_hz(self._settings.l2_ns, near) + float(k40_hz(cos[near]).sum()) / 2,
            "supernova": SUPERNOVA_HZ,
        }

    def found(self) -> dict[str, float]:
        names = {"l1": "l1_different_pmts", "l2": "l2", "supernova": "supernova"}
        return {name: self.of(counter) for name, counter in names.items()}

    def pairs_above_chance_hz(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(cosine, Hz) of the 465 pairs of PMTs: rate of L1 of exactly these two PMTs, without random coincidences."""
        cos, pairs = self._arrays["pair_cos"], self._arrays["pairs"]
        i, k = np.triu_indices(len(cos), 1)
        seconds = max(self.dom_seconds, SLICE_S)
        rate = self._arrays["hits"].sum(0) / seconds
        chance = 2 * rate[i] * rate[k] * self._settings.l1_ns * 1e-9
        return cos[i, k], pairs[i, k] / seconds - chance
