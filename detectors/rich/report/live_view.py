# SPDX-License-Identifier: Apache-2.0
"""The RICH chain's part of the live page."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from anello.account.ledger import Counters, Ledger, count_of
from anello.account.leg import LegLatency
from anello.account.verdict import Flaw
from anello.counters.live import ENDED, LIVE, SILENT, WAITING, Board, Flow, Found, Stage
from anello.counters.pages import Event

from ..account.card_ledger import boards_of, has_merged
from ..account.ledger import EFFORTS, RINGS, build_ledger
from ..account.losses import LOSSES, NODE_LOSSES, flaws_by_now, losses, payload_bytes, receive_blocks
from ..account.record import LEGS, whole_leg
from ..configuration.config import RichConfig
from ..engine import engine
from . import last_event

TICK_NS = 24.951059536
BY_MARKERS = "made, by its markers"
BOARD_STATES = (LIVE, SILENT, ENDED)  # build.board<b>.state


class RichLive:
    """Implements anello.counters.live.View for the RICH."""

    def __init__(self, config: RichConfig) -> None:
        self._config = config
        self._by_events = config.source.format == "mep"
        self._positions = engine().positions(config.trigger.fit_frame)
        self._extent_mm = float(np.abs(self._positions).max()) * 1.04
        self._window_ns = config.trigger.in_time_window_ns

    def whole_way(self, latency: Mapping[str, LegLatency]) -> str:
        return whole_leg(latency)

    def legs(self) -> Mapping[str, str]:
        return LEGS

    def flow(self, node: Counters) -> Flow:
        decided, n_bytes = count_of(node, "trigger", "events"), payload_bytes(node)
        kept = sum(count_of(node, "trigger", name) for words, name in RINGS if words != "without a ring")
        return Flow("events", count_of(node, "build", "events_built"), decided, kept, "with rings", n_bytes)

    def stages(self, node: Counters) -> Sequence[Stage]:
        built, decided = count_of(node, "build", "events_built"), count_of(node, "trigger", "events")
        cheaper = {words: n for words, name in EFFORTS[1:] if (n := count_of(node, "trigger", name))}
        return [
            self._receive(node),
            Stage(
                "build",
                "fragments → events",
                count_of(node, "build", "fragments_in"),
                "fragments",
                built,
                "events",
                _lost(node, "build"),
            ),
            Stage("trigger", "events → rings → decisions", decided, "events", decided, "decisions", {}, cheaper),
            *self._outputs(node),
        ]

    def _receive(self, node: Counters) -> Stage:
        if has_merged(node):
            frames, read = count_of(node, "nanet", "frames"), count_of(node, "nanet.merge", "datagrams_ok")
            return Stage("receive", "frames → the card", frames, "frames", read, "datagrams", losses(node))
        blocks = receive_blocks(node)
        packets = sum(block.get("packets", 0) for block in blocks.values())
        placed = sum(block.get("fragments", 0) for block in blocks.values())
        return Stage("receive", "datagrams → fragments", packets, "packets", placed, "fragments", losses(node))

    def _outputs(self, node: Counters) -> list[Stage]:
        found = []
        if "emit" in node:
            found.append(
                Stage(
                    "emit",
                    "L0 primitives over UDP",
                    count_of(node, "emit", "primitives_in"),
                    "primitives",
                    count_of(node, "emit", "frames_sent"),
                    "frames",
                    _lost(node, "emit"),
                )
            )
        if "store" in node:
            found.append(
                Stage(
                    "store",
                    "decisions → HDF5",
                    count_of(node, "store", "events_seen"),
                    "decisions",
                    count_of(node, "store", "events_stored"),
                    "stored",
                    _lost(node, "store"),
                )
            )
        if "publish" in node:
            dropped = {name: n for name, n in node["publish"].items() if name.startswith("records_dropped")}
            found.append(
                Stage(
                    "publish",
                    "records for subscribers",
                    count_of(node, "publish", "records_in"),
                    "records",
                    count_of(node, "publish", "records_sent"),
                    "records",
                    dropped,
                )
            )
        return found

    def flaws(self, node: Counters, source: Counters | None) -> Sequence[Flaw]:
        return flaws_by_now(node, source, self._config)

    def ledger(self, node: Counters, source: Counters | None) -> Ledger:
        """The ledger without rows that balance only at the end of a burst."""
        whole = build_ledger(node, source, by_events=self._by_events)
        return Ledger(tuple(row for row in whole.rows if not row.name.endswith(BY_MARKERS)))

    def boards(self, node: Counters) -> Sequence[Board]:
        if has_merged(node):
            return [_merged_board(node, number) for number in boards_of(node)]
        return [self._board(node, name, block) for name, block in receive_blocks(node).items()]

    def _board(self, node: Counters, name: str, block: Mapping[str, int]) -> Board:
        number = int(name.removeprefix("receive.board"))
        lost = sum(block.get(cause, 0) for cause in LOSSES)
        state = _state(node, number) if block.get("packets") else WAITING
        return Board(number, block.get("packets", 0), lost, state)

    def found(self, node: Counters) -> Found | None:
        counts = [count_of(node, "trigger", name) for _, name in RINGS]
        return Found("rings per event", [words for words, _ in RINGS], counts)

    def drawing(self, event: Event) -> Mapping[str, Any] | None:
        """Draws the event in the fit frame, in which the two disks are overlaid."""
        if event.kind != last_event.KIND:
            return None
        seen = last_event.decode(event.payload)
        known = seen.hit_pmt < len(self._positions)
        at = self._positions[seen.hit_pmt[known]]
        in_time = np.abs(seen.hit_time_fine[known] * TICK_NS / 256) <= self._window_ns
        rings = [[float(ring[name]) for name in ("x_mm", "y_mm", "radius_mm")] for ring in seen.rings]
        return {
            "kind": "rings",
            "about": f"{len(at)} hits, {len(rings)} rings",
            "extent": self._extent_mm,
            "hits": [[round(float(x), 1), round(float(y), 1), bool(t)] for (x, y), t in zip(at, in_time, strict=True)],
            "rings": [ring for ring in rings if np.isfinite(ring).all() and ring[2] > 0],
        }


def _state(node: Counters, number: int) -> str:
    return BOARD_STATES[min(count_of(node, f"build.board{number}", "state"), len(BOARD_STATES) - 1)]


def _merged_board(node: Counters, number: int) -> Board:
    """State of a board when the card merges; the card counts fragments."""
    name = f"build.board{number}"
    lost = sum(count_of(node, name, f"fragments_{cause}") for cause in ("late", "duplicate", "ahead"))
    came = count_of(node, name, "fragments_in")
    return Board(number, came, lost, _state(node, number) if came else WAITING)


def _lost(node: Counters, block: str) -> dict[str, int]:
    return {words: n for name, words in NODE_LOSSES[block].items() if (n := count_of(node, block, name))}
