# SPDX-License-Identifier: Apache-2.0
"""The camera chain, as the command line leads it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from anello.account.record import CounterDict
from anello.account.verdict import Flaw
from anello.configuration.origin import Origin, node_values
from anello.errors import engine_errors
from anello.run.chain import Chain, GivenEvents, RunEnd
from anello.run.source_process import need_ports, page_values

from .account.boards import telling_states
from .account.losses import flaws_by_now
from .account.record import CameraKeeper, CameraRecord
from .configuration.config import CameraConfig
from .cta import r1_files
from .engine import Node, Source, engine
from .report.progress import CameraMeter

MEAN_INTERVALS = 20.0  # between two triggers: longer comes once in 10^9


class CameraChain(Chain):
    """Hundreds of front-end boards, events, a filter, compressed output."""

    def __init__(self, config: CameraConfig) -> None:
        self._config = config

    @property
    def config(self) -> CameraConfig:
        return self._config

    def make_node(self, directory: Path, origin: Origin | None = None) -> Node:
        values: dict[str, Any] = self._config.flat() | node_values(origin)
        if self._config.camera_send.file:
            values["camera_send.file"] = str(directory / self._config.camera_send.file)
        if not self._config.camera_send.r1_streams:
            with engine_errors():
                return engine().Node(values)
        run = origin.number or 0 if origin else 0
        files = r1_files.R1Files(self._config.camera_send, directory, camera=self._config.camera.model, run=run)
        try:
            with engine_errors():
                node = engine().Node(values | {"camera_send.r1_connections": files.connections})
        except BaseException:
            files.give_up()
            raise
        return r1_files.with_files(node, files)

    def make_source(self, given: GivenEvents | None) -> Source:
        need_ports(self._config)
        with engine_errors():
            source = engine().Source(self._config.source_values() | page_values(self._config))
            source.prepare()
        return source

    def keeper(self) -> CameraKeeper:
        return CameraKeeper(self._config.run.n_report_events)

    def meter(self) -> CameraMeter:
        return CameraMeter(self._config.n_events)

    def longest_pause_s(self) -> float:
        return MEAN_INTERVALS / self._config.camera_source.rate_hz

    def flaws(self, node: CounterDict, source: CounterDict | None) -> Sequence[Flaw]:
        return flaws_by_now(node, source, self._config)

    def record(self, end: RunEnd) -> CameraRecord:
        camera = self._config.camera
        return CameraRecord(
            config=self._config,
            **end.common() | {"states": telling_states(end.node.states())},
            events=end.kept.events(),
            truth=end.truth,
            positions=engine().positions(camera.boards, camera.pixels_per_board, camera.pixels_path),
        )
