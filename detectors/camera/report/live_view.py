# SPDX-License-Identifier: Apache-2.0
"""The camera chain's part of the live page."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from anello.account.ledger import Counters, Ledger, count_of, numbered, total
from anello.account.leg import LegLatency
from anello.account.verdict import Flaw
from anello.counters.live import ENDED, LIVE, SILENT, WAITING, Board, Flow, Found, Stage
from anello.counters.pages import Event

from ..account.ledger import build_camera_ledger
from ..account.losses import LOSSES, NODE_LOSSES, flaws_by_now
from ..account.record import LEGS
from ..configuration.config import CameraConfig
from ..engine import engine
from . import last_event

BOARD_STATES = (LIVE, SILENT, ENDED)  # build.board<b>.state
NOT_USED = ("duplicate", "late", "ahead", "other_run", "dropped", "lost", "strangers")
# fmt: off
KEPT_BY = {"by signal": "kept_by_signal", "by fraction": "kept_by_fraction", "by prescale": "kept_by_prescale",
           "incomplete": "kept_incomplete", "calibration": "kept_calibration", "without a filter": "kept_unfiltered",
           "no signal": "rejected_no_signal", "rejected, incomplete": "rejected_incomplete"}
# fmt: on


class CameraLive:
    """Implements anello.counters.live.View."""

    def __init__(self, config: CameraConfig) -> None:
        self._config = config
        self._groups = config.boards_by_group()
        camera = config.camera
        self._positions = engine().positions(camera.boards, camera.pixels_per_board, camera.pixels_path)

    def whole_way(self, latency: Mapping[str, LegLatency]) -> str:
        return "first_to_sent"

    def legs(self) -> Mapping[str, str]:
        return LEGS

    def flow(self, node: Counters) -> Flow:
        built, decided, kept = count_of(node, "join", "events_out"), count_of(node, "filter", "events_in"), _kept(node)
        return Flow("events", built, decided, kept, "kept", total(node, "receive.port", "bytes"))

    def stages(self, node: Counters) -> Sequence[Stage]:
        built, bytes_out = count_of(node, "join", "events_out"), count_of(node, "compress", "events_encoded")
        fragments = total(node, "build.group", "fragments_in")
        return [
            Stage(
                "receive",
                "datagrams → fragments",
                total(node, "receive.port", "datagrams"),
                "datagrams",
                fragments,
                "fragments",
                _lost(node, "receive.port"),
            ),
            Stage(
                "build",
                "fragments → groups of boards",
                fragments,
                "fragments",
                total(node, "build.group", "events_out"),
                "parts",
                _lost(node, "build.group"),
            ),
            Stage(
                "join",
                "groups → events",
                count_of(node, "join", "parts_in"),
                "parts",
                built,
                "events",
                _behind(node, "join"),
            ),
            Stage("filter", "pixels → decision", count_of(node, "filter", "events_in"), "events", _kept(node), "kept"),
            Stage(
                "compress",
                "events → compressed",
                count_of(node, "compress", "events"),
                "events",
                bytes_out,
                "events",
                _behind(node, "compress"),
            ),
            *(
                [
                    Stage(
                        "store",
                        "events → file",
                        count_of(node, "camera_store", "events_seen"),
                        "events",
                        count_of(node, "camera_store", "events_stored"),
                        "stored",
                        _behind(node, "camera_store"),
                    )
                ]
                if "camera_store" in node
                else []
            ),
        ]

    def flaws(self, node: Counters, source: Counters | None) -> Sequence[Flaw]:
        return flaws_by_now(node, source, self._config)

    def ledger(self, node: Counters, source: Counters | None) -> Ledger:
        """The ledger with sums over all boards, as the boards' own rows would be thousands."""
        return build_camera_ledger(node, source, groups=self._groups)

    def boards(self, node: Counters) -> Sequence[Board]:
        return [self._board(number, block) for number, block in numbered(node, "build.board")]

    def _board(self, number: int, block: Mapping[str, int]) -> Board:
        lost, state = sum(block.get(cause, 0) for cause in NOT_USED), block.get("state", 0)
        is_there = block.get("placed", 0) > 0
        return Board(number, block.get("placed", 0), lost, BOARD_STATES[min(state, 2)] if is_there else WAITING)

    def found(self, node: Counters) -> Found | None:
        return Found(
            "what the filter decided", [*KEPT_BY], [count_of(node, "filter", name) for name in KEPT_BY.values()]
        )

    def drawing(self, event: Event) -> Mapping[str, Any] | None:
        if event.kind != last_event.KIND:
            return None
        seen = last_event.decode(event.payload)
        if len(seen.charge) != len(self._positions):
            return None
        return {
            "kind": "image",
            "about": f"event {seen.event_number}, kept by {seen.kept_by}",
            "kept": True,
            "x": _rounded(self._positions[:, 0]),
            "y": _rounded(self._positions[:, 1]),
            "value": _rounded(seen.charge),
            "size": _pitch_mm(self._positions),
        }


def _kept(node: Counters) -> int:
    return count_of(node, "filter", "events_kept")


def _lost(node: Counters, prefix: str) -> dict[str, int]:
    found = {words: total(node, prefix, name) for (where, name), words in LOSSES.items() if where == prefix}
    return {words: n for words, n in found.items() if n}


def _behind(node: Counters, block: str) -> dict[str, int]:
    found = {words: count_of(node, block, name) for (where, name), words in NODE_LOSSES.items() if where == block}
    return {words: n for words, n in found.items() if n}


def _rounded(values: Any) -> list[float]:
    return [float(value) for value in np.nan_to_num(np.asarray(values, float), posinf=0, neginf=0).round(1)]


def _pitch_mm(positions: Any) -> float:
    """Distance from the first pixel to the nearest one."""
    distance = np.hypot(*(positions[1:] - positions[0]).T)
    return float(distance.min()) if len(distance) else 1.0
