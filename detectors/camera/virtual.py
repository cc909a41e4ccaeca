# SPDX-License-Identifier: Apache-2.0
"""A camera's chain in virtual time (`anello simulate`)."""

from anello.account.identity import CameByBoard, MadeByBoard
from anello.account.ledger import Counters, Ledger
from anello.virtual_farm.books import VirtualChain

from .account.ledger import build_camera_ledger
from .configuration.config import CameraConfig, equal_runs


def settings(config: CameraConfig) -> dict[str, object]:
    """Settings with the names of simulate/virtual_camera.cpp, where a camera has 19 boards."""
    build, source = config.camera_build, config.camera_source
    return {
        "layout": ",".join(config.threads.layout),
        "n_groups": build.groups,
        "window_events": build.window_events,
        "n_buffers": build.n_events,
        "timeout_ns": round(build.timeout_ms * 1e6),
        "rate_hz": source.rate_hz,
        "spread_us": 0 if source.burst else source.spread_us,
    }


def ledger(node: Counters, source: Counters, made: MadeByBoard, came: CameByBoard) -> Ledger:
    """The ledger. In virtual time each board has its own port, so that builders share the ports evenly."""
    n_groups = sum(block.startswith("build.group") and block.count(".") == 1 for block in node)
    n_boards = sum(block.startswith("build.board") for block in node)
    return build_camera_ledger(node, source, groups=equal_runs(n_boards, n_groups), made=made, came=came)


VIRTUAL = VirtualChain(settings, ledger)
