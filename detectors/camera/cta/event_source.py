# SPDX-License-Identifier: Apache-2.0
"""Lets ctapipe read the HDF5 files of the camera chain: `ctapipe-process --input events.h5 --output dl1.h5`.

ctapipe finds the class by its entry point once Anello is installed. Anello itself never imports this module.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import astropy.units as u
import ctapipe
import numpy as np
from astropy.coordinates import EarthLocation
from astropy.time import Time
from ctapipe.containers import (
    ArrayEventContainer,
    EventIndexContainer,
    EventType,
    ObservationBlockContainer,
    R0CameraContainer,
    R1CameraContainer,
    SchedulingBlockContainer,
    TelescopeTriggerContainer,
    TriggerContainer,
)
from ctapipe.coordinates import CameraFrame
from ctapipe.core.traits import CaselessStrEnum, Float, Int
from ctapipe.instrument import (
    CameraDescription,
    CameraGeometry,
    CameraReadout,
    OpticsDescription,
    ReflectorShape,
    SizeType,
    SubarrayDescription,
    TelescopeDescription,
)
from ctapipe.io import DataLevel, EventSource
from numpy.typing import NDArray
from packaging.version import Version

from .. import events as camera_events
from . import cameras, triggers
from .models import DESCRIBED

FORMAT = "anello camera events"
HAS_MONITORING = Version(ctapipe.__version__) >= Version("0.27.0a0")  # where it looks for dead pixels
LA_PALMA = (-17.89, 28.76, 2199.0)  # degrees east and north, m: where ctapipe needs a place, and the file has none
STORED = 0b1101  # pixel_status: both gains were there; 0: the pixel is missing
PULSE_WIDTH_NS, PULSE_STEP_NS = 2.0, 0.1


class AnelloEventSource(EventSource):  # type: ignore[misc]  # which is not typed
    """Events of one telescope with their samples (R0), and a first R1: one gain per pixel, less its pedestal.

    That R1 is in counts of the high gain: the pedestal is the mean of the first samples of the same event, and the low
    gain is scaled. It is not in photoelectrons, and spikes and time lapse of DRS4 chips are not corrected. Raises
    ConfigError where neither the file nor `camera` says which camera it is of.
    """

    camera = CaselessStrEnum(
        ["", *DESCRIBED], default_value="", help="Which camera; empty: as the run's camera.model said"
    ).tag(config=True)
    telescope = Int(1, help="Id of the telescope in the subarray").tag(config=True)
    n_pedestal = Int(8, help="Samples at the beginning that make the pedestal").tag(config=True)
    saturation = Int(3500, help="Above it in the high gain, the low gain is taken").tag(config=True)
    gain_ratio = Float(13.0, help="Of high over low gain").tag(config=True)

    def __init__(self, input_url: Any = None, config: Any = None, parent: Any = None, **traits: Any) -> None:
        super().__init__(input_url=input_url, config=config, parent=parent, **traits)
        self._run = int(cameras.attributes(self.input_url).get("run_number", 0))
        self._camera = cameras.of_file(self.input_url, self.camera)
        first = next(iter(camera_events.read(self.input_url)), None)
        self._n_gains: int = 2 if first is None else first.waveforms.shape[1]
        self._n_samples: int = 1 if first is None else first.waveforms.shape[3]
        self._subarray = self._describe()

    @staticmethod
    def is_compatible(file_path: Any) -> bool:
        try:
            return str(cameras.attributes(Path(file_path)).get("format", "")).startswith(FORMAT)
        except OSError:
            return False

    @property
    def subarray(self) -> SubarrayDescription:
        return self._subarray

    @property
    def is_simulation(self) -> bool:
        return False

    @property
    def datalevels(self) -> tuple[DataLevel, ...]:
        return (DataLevel.R0, DataLevel.R1)

    @property
    def observation_blocks(self) -> dict[int, ObservationBlockContainer]:
        block = ObservationBlockContainer(obs_id=np.uint64(self._run), sb_id=np.uint64(self._run), producer_id="anello")
        return {self._run: block}

    @property
    def scheduling_blocks(self) -> dict[int, SchedulingBlockContainer]:
        return {self._run: SchedulingBlockContainer(sb_id=np.uint64(self._run), producer_id="anello")}

    def _generator(self) -> Iterator[ArrayEventContainer]:
        for count, event in enumerate(camera_events.read(self.input_url)):
            alike = event.of_kind(calibrated=bool(event.is_calibrated.any()))
            samples, present = self._camera.by_pixel(alike)
            yield self._container(count, alike, samples, present)

    def _container(
        self, count: int, event: camera_events.CameraEvent, samples: NDArray[np.uint16], present: NDArray[np.bool_]
    ) -> ArrayEventContainer:
        time = Time(event.timestamp_ns // 10**9, event.timestamp_ns % 10**9 * 1e-9, format="unix_tai")
        kind = EventType(triggers.event_type(event.trigger_tag))
        made = ArrayEventContainer(
            count=count,
            index=EventIndexContainer(obs_id=self._run, event_id=event.event_number),
            trigger=TriggerContainer(time=time, tels_with_trigger=[self.telescope], event_type=kind),
        )
        made.trigger.tel[self.telescope] = TelescopeTriggerContainer(time=time)
        made.r0.tel[self.telescope] = R0CameraContainer(waveform=samples)
        gain, waveform = self._one_gain(event, samples)
        waveform[:, ~present] = 0
        made.r1.tel[self.telescope] = R1CameraContainer(
            waveform=waveform,
            selected_gain_channel=gain,
            event_type=kind,
            event_time=time,
            pixel_status=np.where(present, STORED, 0).astype(np.uint8),
        )
        if HAS_MONITORING:
            self._mask(made, ~present, gain)
        return made

    def _mask(self, made: ArrayEventContainer, missing: NDArray[np.bool_], gain: NDArray[np.int8]) -> None:
        from ctapipe.containers import CameraCalibrationContainer

        made.monitoring.tel[self.telescope].camera.coefficients = CameraCalibrationContainer(
            outlier_mask=np.tile(missing, (max(self._n_gains, 1 + int(gain.max())), 1))
        )

    def _one_gain(
        self, event: camera_events.CameraEvent, samples: NDArray[np.uint16]
    ) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        """int8[P], 0 the high gain, and float32[1, P, samples]: ctapipe's image cleaning stops at two gains. Where the
        run calibrated them, samples of a selected gain are counts of the high one already."""
        if len(samples) == 1:
            gain = self._camera.low_gain(event)[self._camera.channel_of_pixel].astype(np.int8)
            chosen = samples[0].astype(np.float32)
        else:
            gain = (samples[0].max(axis=1) > self.saturation).astype(np.int8)
            chosen = samples[gain, np.arange(samples.shape[1])].astype(np.float32)
        chosen -= chosen[:, : self.n_pedestal].mean(axis=1, keepdims=True)
        if len(samples) == 2 or not event.is_calibrated.any():
            chosen[gain == 1] *= self.gain_ratio
        return gain, chosen[np.newaxis]

    def _describe(self) -> SubarrayDescription:
        optics = _optics(self._camera.telescope)
        camera = CameraDescription(
            name=self._camera.name, geometry=_geometry(self._camera, optics), readout=self._readout()
        )
        east, north, height = LA_PALMA
        return SubarrayDescription(
            name="anello",
            tel_positions={self.telescope: np.zeros(3) * u.m},
            tel_descriptions={self.telescope: TelescopeDescription(name=optics.name, optics=optics, camera=camera)},
            reference_location=EarthLocation(lon=east * u.deg, lat=north * u.deg, height=height * u.m),
        )

    def _readout(self) -> CameraReadout:
        """With a plain pulse in place of the camera's own, which only corrections of charge would use."""
        time_ns = np.arange(-5 * PULSE_WIDTH_NS, 10 * PULSE_WIDTH_NS, PULSE_STEP_NS)
        return CameraReadout(
            name=self._camera.name,
            sampling_rate=self._camera.sampling_ghz * u.GHz,
            reference_pulse_shape=np.tile(np.exp(-((time_ns / PULSE_WIDTH_NS) ** 2)), (self._n_gains, 1)),
            reference_pulse_sample_width=PULSE_STEP_NS * u.ns,
            n_channels=self._n_gains,
            n_pixels=self._camera.n_pixels,
            n_samples=self._n_samples,
        )


def _optics(telescope: cameras.Telescope) -> OpticsDescription:
    return OpticsDescription(
        name=telescope.name,
        size_type=SizeType.LST if telescope.is_parabolic else SizeType.MST,
        n_mirrors=1,
        n_mirror_tiles=telescope.n_mirror_tiles,
        reflector_shape=ReflectorShape.PARABOLIC if telescope.is_parabolic else ReflectorShape.HYBRID,
        equivalent_focal_length=telescope.focal_length_m * u.m,
        effective_focal_length=telescope.effective_focal_length_m * u.m,
        mirror_area=telescope.mirror_area_m2 * u.m**2,
    )


def _geometry(camera: cameras.Camera, optics: OpticsDescription) -> CameraGeometry:
    n = camera.n_pixels
    return CameraGeometry(
        name=camera.name,
        pix_id=np.arange(n),
        pix_x=camera.x_m * u.m,
        pix_y=camera.y_m * u.m,
        pix_area=np.full(n, camera.pixel_area_m2) * u.m**2,
        pix_type="hexagon",
        pix_rotation=camera.pixel_rotation_deg * u.deg,
        cam_rotation=0 * u.deg,
        frame=CameraFrame(focal_length=optics.effective_focal_length),
    )
