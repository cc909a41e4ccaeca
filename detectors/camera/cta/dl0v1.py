# SPDX-License-Identifier: Apache-2.0
"""Camera events as messages of the observatory's data model DL0v1, which it archives for a telescope.

Differences to R1v1: for any camera, `waveform` has only the pixels that are present; boards' counters and clocks, and
R1v1's fields for debugging, are left out. Files have the names that the observatory's archive gives them.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..event import CameraEvent
from . import triggers
from .cameras import Camera
from .r1v1 import Messages, array_of, first_cells, offset_of, scale_of

MODELS = ("R1v1", "DL0v1")
CREATOR = 2  # of a scheduling block: the array control


@dataclass
class DL0Messages(Messages):
    """begun_s: begin of the run, s since 1970 (UTC), for the names of its files; 0: time of the first event."""

    begun_s: int = 0

    def file_name(self, number: int, streams: int, part: int) -> str:
        """Name of a file, in which streams are data handlers (SDH) and parts are chunks."""
        begun = time.strftime("%Y%m%dT%H%M%S", time.gmtime(self.begun_s))
        return (
            f"TEL{self.telescope:03d}_SDH{number:03d}_{begun}_SBID{self.run:019d}_OBSID{self.run:019d}"
            f"_TEL_SHOWER_CHUNK{part:03d}.fits.fz"
        )

    def _learn(self, event: CameraEvent) -> None:
        super()._learn(event)
        self.begun_s = self.begun_s or event.closed_ns // 10**9

    @property
    def marks_trimmed(self) -> bool:
        return False

    def data_stream(self, event: CameraEvent) -> Any:
        self._learn(event)
        return _pb2().DataStream(
            tel_id=self.telescope,
            sb_id=self.run,
            obs_id=self.run,
            waveform_scale=scale_of(self),
            waveform_offset=offset_of(self),
            sb_creator_id=CREATOR,
        )

    def configuration(self, event: CameraEvent) -> Any:
        self._learn(event)
        camera = self.camera
        n_gains, _, n_samples = self.shape
        return _pb2().CameraConfiguration(
            tel_id=self.telescope,
            local_run_id=self.run,
            config_time_s=float(event.timestamp_ns // 10**9),
            camera_config_id=1,
            pixel_id_map=array_of(camera.pixel_id.reshape(-1)),
            module_id_map=array_of(np.arange(camera.n_modules, dtype=np.uint16)),
            num_pixels=camera.n_pixels,
            num_channels=n_gains,
            num_samples_nominal=n_samples,
            num_samples_long=0,
            num_modules=camera.n_modules,
            sampling_frequency=round(camera.sampling_ghz * 1000),
            calibration_algorithm_id=0,
            calibration_service_id=0,
            data_model_version="1.0",
        )

    def _event(self, event: CameraEvent) -> Any:
        camera = self.camera
        sent = self._by_channel(event)
        n_gains, _, n_samples = sent.waveforms.shape
        return _pb2().Event(
            event_id=event.event_number,
            tel_id=self.telescope,
            event_type=triggers.event_type(event.trigger_tag),
            event_time_s=event.timestamp_ns // 10**9,
            event_time_qns=event.timestamp_ns % 10**9 * 4,
            pixel_status=array_of(sent.status),
            first_cell_id=array_of(first_cells(event, camera.n_modules)),
            num_channels=n_gains,
            num_samples=n_samples,
            num_pixels_survived=int(sent.stored.sum()),
            calibration_monitoring_id=0,
            waveform=array_of(sent.waveforms[:, sent.stored].reshape(-1)),
            pedestal_intensity=array_of(np.zeros(camera.n_pixels, np.float32)),
            num_modules=camera.n_modules,
        )


def messages(
    model: str, camera: Camera, run: int, telescope: int = 1, *, begun_s: int = 0, pe_per_count: float = 0.0
) -> Messages:
    """model: one of MODELS. begun_s: as for DL0Messages. pe_per_count: as for Messages."""
    if model == "DL0v1":
        return DL0Messages(camera, run, telescope, begun_s=begun_s, pe_per_count=pe_per_count)
    return Messages(camera, run, telescope, pe_per_count=pe_per_count)


def _pb2() -> Any:
    from protozfits import DL0v1_Telescope_pb2

    return DL0v1_Telescope_pb2
