# SPDX-License-Identifier: Apache-2.0
"""The camera before the exchange: its event is the camera's, its fragment the data of a group of boards."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from anello.errors import ConfigError
from anello.exchange.feed import Feed

from .configuration.config import CameraConfig

MAX_READOUTS = 8  # groups of a camera event, events/event.hpp


class CameraFeed(Feed[CameraConfig]):
    """The boards of a camera, a group of them for each readout unit."""

    file_key = "camera_send.file"

    def _check(self) -> None:
        chain, n_readouts = self._chain, self.place.n_readouts
        if n_readouts > MAX_READOUTS or self._boards_of(n_readouts - 1).start >= self.n_boards:
            raise ConfigError(
                "exchange.roles",
                f"must have at most {MAX_READOUTS} readout units before a camera, and "
                f"equal groups of its {self.n_boards} boards for all",
                f"{n_readouts} readout units",
                "Name fewer of them",
            )
        if chain.camera_source.first_event:
            rule = "must be 0 before the exchange: the number of an event says which packet it belongs to"
            raise ConfigError("camera_source.first_event", rule, str(chain.camera_source.first_event), "Leave it out")
        if chain.camera_build.groups != 1:
            raise ConfigError(
                "camera_build.groups",
                "must be 1 before the exchange: each readout unit is a group",
                str(chain.camera_build.groups),
                "Leave it out",
            )
        calibrate = chain.camera_calibrate
        if calibrate.file and (calibrate.time_lapse or calibrate.spikes):
            rule = "and spikes must be false after the exchange: they need the event before, which another builder has"
            raise ConfigError("camera_calibrate.time_lapse", rule, str(calibrate.time_lapse), "Set both to false")
        if chain.camera_send.r1_streams:
            rule = "must be 0 after the exchange: convert the builders' files"
            raise ConfigError("camera_send.r1_streams", rule, str(chain.camera_send.r1_streams), "Leave it out")
        if chain.publish.to != "nothing":
            raise ConfigError(
                "publish.to",
                "must be nothing in the camera's configuration: the exchange publishes",
                chain.publish.to,
                "Set publish in the exchange's own file",
            )
        if len(chain.receive.ports) not in (1, self.n_boards):
            raise ConfigError(
                "receive.ports",
                "must be one before the exchange, or one for each board",
                f"{len(chain.receive.ports)} ports",
                "0 takes any free port",
            )

    @property
    def n_boards(self) -> int:
        return self._chain.camera.boards

    def _boards_of(self, readout: int) -> range:
        """All groups are equally large, except the last, which may be smaller."""
        size = -(-self.n_boards // self.place.n_readouts)
        return range(min(readout * size, self.n_boards), min((readout + 1) * size, self.n_boards))

    @property
    def boards(self) -> range:
        return range(0) if self.place.readout is None else self._boards_of(self.place.readout)

    @property
    def _n_events(self) -> int:
        """Number of events; 0: not known."""
        return self._chain.n_events if self.config.input.front_ends == "simulated" else 0

    @property
    def n_meps(self) -> int:
        return -(-self._n_events // self.config.exchange.packing)

    @property
    def duration_s(self) -> float:
        return self._n_events / self._chain.camera_source.rate_hz

    def chain_values(self, directory: Path) -> dict[str, Any]:
        return super().chain_values(directory) | {"receive.ports": self._of_own_boards(self._chain.receive.ports)}

    def source_settings(self, ports: Sequence[int]) -> list[str]:
        """Front ends get the ports of the whole camera; they do not use those of other nodes' boards."""
        mine = self.boards
        all_ports = [
            ports[(board - mine.start) * len(ports) // len(mine)] if board in mine else ports[0]
            for board in range(self.n_boards)
        ]
        return [
            f"camera_source.ports={all_ports}",
            f"receive.ports={all_ports}",
            f"camera_source.first_board={mine.start}",
            f"camera_source.n_boards={len(mine)}",
            f"run.n_events={self._chain.n_events}",
            f"run.seed={self._chain.run.seed}",
        ]
