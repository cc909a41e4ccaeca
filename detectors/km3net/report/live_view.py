# SPDX-License-Identifier: Apache-2.0
"""The KM3NeT chain's part of the live page."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from anello.account.identity import BOARD_DEAD
from anello.account.ledger import Counters, Ledger, Loss, count_of, losses_by_now, numbered, total, unheard
from anello.account.leg import LegLatency
from anello.account.verdict import Flaw, losses_of
from anello.counters.live import LIVE, SILENT, WAITING, Board, Flow, Found, Stage
from anello.counters.pages import Event

from ..account.ledger import FATES, build_ledger, flaws, losses
from ..configuration.config import Km3netConfig
from . import last_event
from .presentation import LEGS, NODE_LOSSES

NOT_USED = tuple(name for name in FATES if name != "used")
KINDS = {"L1, different PMTs": "l1_different_pmts", "L2": "l2", "supernova": "supernova", "events": "events"}


def _losses_by_now(node: Counters, source: Counters | None) -> Iterator[Loss]:
    """Losses that no counter of the node shows."""
    for board, block in numbered(node, "build.board"):
        strangers = block.get("strangers", 0)
        yield from unheard(board, block.get("datagrams", 0) - strangers, strangers)
        dead = (source or {}).get(f"source.board{board}", {}).get("packets_dead_board", 0)
        yield from losses_by_now("datagrams", board, 0, {BOARD_DEAD: dead}, "")


def _state(block: Mapping[str, int]) -> str:
    if not block.get("datagrams"):
        return WAITING
    return SILENT if block.get("silent") else LIVE


class Km3netLive:
    """Implements anello.counters.live.View for KM3NeT."""

    def __init__(self, config: Km3netConfig) -> None:
        self._config = config
        self._n_doms = config.line.doms

    def whole_way(self, latency: Mapping[str, LegLatency]) -> str:
        return "last_to_decided"

    def legs(self) -> Mapping[str, str]:
        return LEGS

    def flow(self, node: Counters) -> Flow:
        slices, events = count_of(node, "trigger", "slices"), count_of(node, "trigger", "events")
        return Flow(
            "slices",
            count_of(node, "build", "slices"),
            slices,
            events,
            "events of several DOMs",
            total(node, "receive.port", "bytes"),
        )

    def stages(self, node: Counters) -> Sequence[Stage]:
        came, used = total(node, "receive.port", "datagrams"), total(node, "build.board", "used")
        dropped = total(node, "receive.port", "kernel_dropped") + total(node, "receive.port", "blocks_dropped")
        incomplete = {"slices incomplete": n} if (n := count_of(node, "build", "slices_incomplete")) else {}
        events = count_of(node, "trigger", "events")
        found = [
            Stage(
                "receive",
                "datagrams → hits of DOMs",
                came,
                "datagrams",
                used,
                "datagrams",
                losses(node) | ({"dropped before the builder": dropped} if dropped else {}),
            ),
            Stage(
                "build",
                "hits → slices of 100 ms",
                used,
                "datagrams",
                count_of(node, "build", "slices"),
                "slices",
                {},
                incomplete,
            ),
            Stage(
                "trigger",
                "slices → coincidences → events",
                count_of(node, "trigger", "hits_used"),
                "hits",
                events,
                "events",
                _behind(node, "trigger"),
            ),
        ]
        if "store" in node:
            found.append(
                Stage(
                    "store",
                    "events → messages",
                    events,
                    "events",
                    count_of(node, "store", "stored"),
                    "messages",
                    _behind(node, "store"),
                )
            )
        return found

    def flaws(self, node: Counters, source: Counters | None) -> Sequence[Flaw]:
        known = Ledger((), losses=tuple(_losses_by_now(node, source)))
        return [*losses_of(known), *flaws(node, source, self._config, known)]

    def ledger(self, node: Counters, source: Counters | None) -> Ledger:
        return build_ledger(node, source, n_doms=self._n_doms, one_host=False, made={}, came={})

    def boards(self, node: Counters) -> Sequence[Board]:
        return [
            Board(number, block.get("datagrams", 0), sum(block.get(name, 0) for name in NOT_USED), _state(block))
            for number, block in numbered(node, "build.board")
        ]

    def found(self, node: Counters) -> Found | None:
        return Found("coincidences and events", [*KINDS], [count_of(node, "trigger", name) for name in KINDS.values()])

    def drawing(self, event: Event) -> Mapping[str, Any] | None:
        if event.kind != last_event.KIND:
            return None
        seen = last_event.decode(event.payload)
        times = np.nan_to_num(seen.time_ns.astype(float), posinf=0, neginf=0).round(1)
        return {
            "kind": "hits",
            "about": f"slice {seen.slice}, {seen.n_doms} DOMs",
            "x": times.tolist(),
            "y": seen.dom.tolist(),
            "labels": ["time, ns", "DOM"],
        }


def _behind(node: Counters, wanted: str) -> dict[str, int]:
    return {words: n for words, block, name in NODE_LOSSES if block == wanted and (n := count_of(node, block, name))}
