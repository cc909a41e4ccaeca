# SPDX-License-Identifier: Apache-2.0
"""The camera chain, as the command line leads it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from anello.account.record import CounterDict
from anello.account.verdict import Flaw
from anello.configuration.origin import Origin
from anello.run.chain import MEAN_INTERVALS, Chain, GivenEvents, RunEnd

from .account.boards import telling_states
from .account.losses import flaws_by_now
from .account.record import CameraKeeper, CameraRecord
from .configuration.config import CameraConfig
from .cta import r1_files
from .engine import Node, Source, engine
from .report.progress import CameraMeter


class CameraChain(Chain):
    """Hundreds of front-end boards, events, a filter, compressed output."""

    config: CameraConfig

    def make_node(self, directory: Path, origin: Origin | None = None) -> Node:
        values = self.node_values(directory, origin)
        if not self.config.camera_send.r1_streams:
            return cast(Node, self._node(values))
        run = origin.number or 0 if origin else 0
        files = r1_files.R1Files(self.config.camera_send, directory, camera=self.config.camera.model, run=run)
        try:
            node: Node = self._node(values | {"camera_send.r1_connections": files.connections})
        except BaseException:
            files.give_up()
            raise
        return r1_files.with_files(node, files)

    def own_node_values(self, directory: Path) -> dict[str, Any]:
        file = self.config.camera_send.file
        return {"camera_send.file": str(directory / file)} if file else {}

    def prepare(self, source: Source, given: GivenEvents | None) -> None:
        source.prepare()

    def keeper(self) -> CameraKeeper:
        return CameraKeeper(self.config.run.n_report_events)

    def meter(self) -> CameraMeter:
        return CameraMeter(self.config.n_events)

    def longest_pause_s(self) -> float:
        return MEAN_INTERVALS / self.config.camera_source.rate_hz

    def flaws(self, node: CounterDict, source: CounterDict | None) -> Sequence[Flaw]:
        return flaws_by_now(node, source, self.config)

    def record(self, end: RunEnd) -> CameraRecord:
        camera = self.config.camera
        return CameraRecord(
            config=self.config,
            **end.common() | {"states": telling_states(end.node.states())},
            events=end.kept.events(),
            truth=end.truth,
            positions=engine().positions(camera.boards, camera.pixels_per_board, camera.pixels_path),
        )
