# SPDX-License-Identifier: Apache-2.0
"""The configuration of the camera chain."""

from collections.abc import Iterator

from anello.configuration.base import FrontEndsConfig, Relation, Scalar, publish_relations
from anello.configuration.python_keys import ChainName, chain_field

from ..cta.models import DESCRIBED, MODELS
from ..engine_keys import CameraCalibrateKeys, CameraFilterKeys
from .sections import (
    DRS4_PIXELS,
    FIRST_CELLS_BYTES,
    MAX_PAYLOAD_BYTES,
    CameraBuildSection,
    CameraPublishSection,
    CameraReceiveSection,
    CameraRunSection,
    CameraSection,
    CameraSendSection,
    CameraSourceSection,
    CameraThreadsSection,
)


class CameraConfig(FrontEndsConfig):
    """From hundreds of front-end boards to filtered, compressed camera events."""

    source_section = "camera_source"

    chain: ChainName = chain_field("camera")
    run: CameraRunSection = CameraRunSection()
    camera: CameraSection = CameraSection()
    camera_source: CameraSourceSection = CameraSourceSection()
    receive: CameraReceiveSection = CameraReceiveSection()
    camera_build: CameraBuildSection = CameraBuildSection()
    camera_calibrate: CameraCalibrateKeys = CameraCalibrateKeys()
    camera_filter: CameraFilterKeys = CameraFilterKeys()
    camera_send: CameraSendSection = CameraSendSection()
    publish: CameraPublishSection = CameraPublishSection()
    threads: CameraThreadsSection = CameraThreadsSection()

    @property
    def data_files(self) -> list[str]:
        send = self.camera_send
        r1 = [f"{send.r1_folder}/{{node}}.fits.fz{ending}" for ending in ("", ".part")]  # {node} stands for any
        return ([send.file] if send.file else []) + (r1 if send.r1_streams else [])

    @property
    def packet_bytes(self) -> int:
        return self.camera.packet_bytes + self._first_cells_bytes

    @property
    def _first_cells_bytes(self) -> int:
        """Bytes of first cells after the waveforms of each fragment."""
        return FIRST_CELLS_BYTES if self.camera_source.counters == "dragon_drs4" else 0

    @property
    def front_ends(self) -> CameraSourceSection:
        return self.camera_source

    @property
    def n_lanes(self) -> dict[str, int]:
        """Lanes per stage: receive and build have one per group of boards."""
        return dict.fromkeys(("receive", "build"), self.camera_build.groups)

    def boards_by_group(self) -> list[range]:
        """The boards of each builder: those that send to its ports (equal runs of boards, and of ports)."""
        ports = equal_runs(self.camera.boards, len(self.receive.ports))
        groups = equal_runs(len(ports), self.camera_build.groups)
        return [range(ports[group.start].start, ports[group.stop - 1].stop) for group in groups if group]

    @property
    def n_events(self) -> int:
        """Events of the run; 0: endless."""
        if self.run.n_events or not self.run.duration_s:
            return self.run.n_events
        return max(1, round(self.run.duration_s * self.camera_source.rate_hz))

    def run_length(self) -> dict[str, int]:
        return {"run.n_events": self.n_events}

    def flat(self) -> dict[str, Scalar]:
        """The keys for the engine, which knows files and no models of cameras."""
        return super().flat() | {"camera.pixels_file": self.camera.pixels_path}

    def source_values(self) -> dict[str, bool | int | float | str | list[int]]:
        """The keys of the source; also the camera's shape and the number of events, under their whole names."""
        whole = {key: value for key, value in self.flat().items() if key.startswith("camera.") or key == "run.n_events"}
        return super().source_values() | whole

    def relations(self) -> Iterator[Relation]:
        yield from super().relations()
        yield from self._relations_of_shape()
        yield from self._relations_of_events()
        yield from publish_relations(self.publish)
        source, build = self.camera_source, self.camera_build
        yield Relation(
            len(source.ports) <= self.camera.boards,
            "camera_source.ports",
            f"must not name more ports than the camera has boards, {self.camera.boards}",
            "Leave some out",
        )
        yield Relation(
            build.groups <= len(self.receive.ports),
            "camera_build.groups",
            f"must not be above the number of ports, {len(self.receive.ports)}: each group has its own",
            "Add ports to receive.ports and camera_source.ports",
        )
        yield Relation(
            source.first_board + max(source.n_boards, 1) <= self.camera.boards,
            "camera_source.first_board",
            f"and n_boards must name boards of the camera, which has {self.camera.boards}",
            "The default is 0",
        )
        yield Relation(
            not source.faults.corrupt or (source.checksum and build.verify_checksum),
            "camera_source.faults.corrupt",
            "needs camera_source.checksum and camera_build.verify_checksum: nothing else tells a changed byte",
            "Set both to true",
        )
        yield Relation(
            not (build.in_place and self.receive.gro),
            "camera_build.in_place",
            "needs receive.gro false: of joined datagrams the kernel writes only the first to its slot",
            "Set receive.gro = false",
        )
        yield Relation(
            self.receive.policy != "overwrite_oldest",
            "receive.policy",
            "must be wait or drop_new here: the camera's events are not overwritten",
            "The default is wait",
        )
        yield Relation(
            not self.camera_send.tcp_host or self.camera_send.tcp_port > 0,
            "camera_send.tcp_port",
            "must be given with camera_send.tcp_host",
            "It is the port that the receiver listens at",
        )
        yield from self._relations_of_r1()

    def _relations_of_shape(self) -> Iterator[Relation]:
        camera, n_bytes = self.camera, self.camera.fragment_payload_bytes + self._first_cells_bytes
        yield Relation(
            n_bytes <= MAX_PAYLOAD_BYTES,
            "camera.samples",
            f"make a fragment of {n_bytes} bytes with these pixels and gains, and a jumbo frame has room for "
            f"{MAX_PAYLOAD_BYTES}",
            "Take fewer samples or pixels",
        )
        if camera.model:
            model = MODELS[camera.model]
            yield Relation(
                (camera.boards, camera.pixels_per_board) == (model.n_modules, model.channels_per_module),
                "camera.model",
                f"has {model.n_modules} boards of {model.channels_per_module} pixels",
                "Set camera.boards and camera.pixels_per_board",
            )
        has_shape = camera.payload_bytes in (0, camera.waveform_bytes)
        yield Relation(
            has_shape or self.camera_source.payload == "pattern",
            "camera_source.payload",
            f"must be pattern where camera.payload_bytes is neither 0 nor the {camera.waveform_bytes} of pixels, gains "
            "and samples",
            'Set camera_source.payload = "pattern"',
        )
        yield Relation(
            has_shape or not self.camera_calibrate.file,
            "camera_calibrate.file",
            "must be empty where camera.payload_bytes gives fragments no shape: there are no samples to calibrate",
            'Set camera_calibrate.file = ""',
        )
        yield Relation(
            has_shape or not self.camera_filter.enabled,
            "camera_filter.enabled",
            "must be false where camera.payload_bytes gives fragments no shape: there are no waveforms to integrate",
            "Set camera_filter.enabled = false",
        )
        yield Relation(
            has_shape or self.publish.to == "nothing" or self.publish.what == "event",
            "publish.what",
            "must be event where camera.payload_bytes gives fragments no shape: there are no pixels",
            'Set publish.what = "event"',
        )

    def _relations_of_r1(self) -> Iterator[Relation]:
        camera, send = self.camera, self.camera_send
        yield Relation(
            not send.r1_streams or camera.model in DESCRIBED,
            "camera.model",
            f"must be one of {', '.join(DESCRIBED)} with camera_send.r1_streams: others have none",
            "Which camera is it?",
        )
        yield Relation(
            not send.r1_streams or camera.payload_bytes in (0, camera.waveform_bytes),
            "camera_send.r1_streams",
            "must be 0 where camera.payload_bytes gives fragments no shape: there are no samples",
            "Leave it out",
        )
        calibrate = self.camera_calibrate
        yield Relation(
            not send.r1_pe_per_count or (bool(calibrate.file) and calibrate.flatfield),
            "camera_send.r1_pe_per_count",
            "must be 0 without the factors of camera_calibrate.flatfield: counts of pixels are not alike",
            "Set camera_calibrate.file and camera_calibrate.flatfield = true",
        )

    def _relations_of_events(self) -> Iterator[Relation]:
        camera, source = self.camera, self.camera_source
        has_cells, is_pattern = source.counters == "dragon_drs4", source.payload == "pattern"
        yield Relation(
            not has_cells or (camera.pixels_per_board == DRS4_PIXELS and not is_pattern),
            "camera_source.counters",
            f"must not be dragon_drs4 with other than {DRS4_PIXELS} pixels a board, nor with a pattern: the first "
            "cells of its chips follow waveforms",
            'Use "dragon"',
        )
        shares = {"pedestal_share": source.pedestal_share, "flatfield_share": source.flatfield_share}
        for key, share in shares.items():
            yield Relation(
                not share or (not is_pattern and share * source.pool_events >= 1),
                f"camera_source.{key}",
                f"must be 0 with a pattern, else 0 or at least 1 / camera_source.pool_events, "
                f"{1 / source.pool_events:g}",
                "Raise it, or pool_events",
            )
        yield Relation(
            sum(shares.values()) <= 1 + 1e-9,
            "camera_source.flatfield_share",
            f"must be at most {1 - source.pedestal_share:g}, what pedestal_share leaves",
            "Lower one of them",
        )


def equal_runs(n: int, n_runs: int) -> list[range]:
    """0 to n - 1 divided into runs of one length, the last of which may be shorter, as the engine divides them."""
    length = -(-n // n_runs)
    return [range(min(first, n), min(first + length, n)) for first in range(0, n_runs * length, length)]
