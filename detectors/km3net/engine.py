# SPDX-License-Identifier: Apache-2.0
"""Types of the compiled part of this detector (bindings.cpp)."""

from collections.abc import Mapping
from typing import Any, Protocol

from anello.run.chain import ChainNode


class Node(ChainNode, Protocol):
    """rates() may be called after the node has stopped. It returns hits: uint64[D, 31], by DOM and PMT; pairs:
    uint64[31, 31], L1 of exactly two PMTs i < k; pair_cos: float[31, 31]; height_m: float[D].

    events() returns the events offered since the last call: slice, time_ns (calibrated time of the first L1 hit from
    the slice's begin), n_l1, n_doms, mask, and arrays over its hits: dom, channel, tot_ns, is_l1, hit_time_ns (from
    time_ns).
    """

    def rates(self) -> dict[str, Any]: ...
    def events(self) -> list[Mapping[str, Any]]: ...
