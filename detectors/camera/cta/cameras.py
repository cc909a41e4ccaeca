# SPDX-License-Identifier: Apache-2.0
"""Cameras of the observatory: the positions of their pixels, and the module and channel of each pixel.

Positions of LST and NectarCAM are those of their own ctapipe plug-ins, in ctapipe's CameraFrame; those of DigiCam, the
camera of the SST-1M, are from its own table (tables/make_tables.py).
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anello.errors import ConfigError

from ..event import CameraEvent
from .models import DESCRIBED, MODELS


@dataclass(frozen=True)
class Telescope:
    """The telescope of a camera, as ctapipe describes it. Lengths in m, areas in m^2."""

    name: str
    focal_length_m: float
    effective_focal_length_m: float
    mirror_area_m2: float
    n_mirror_tiles: int
    is_parabolic: bool


@dataclass(frozen=True)
class Camera:
    """P pixels of M modules with K channels each. A module is a board: the number in its fragments.

    x_m, y_m: float64[P], by pixel id. pixel_id: uint16[M, K], by channel. The angle is defined as in ctapipe.
    """

    name: str
    telescope: Telescope
    pixel_rotation_deg: float
    pixel_area_m2: float
    sampling_ghz: float
    x_m: NDArray[np.float64]
    y_m: NDArray[np.float64]
    pixel_id: NDArray[np.uint16]

    @property
    def n_pixels(self) -> int:
        return len(self.x_m)

    @property
    def n_modules(self) -> int:
        return len(self.pixel_id)

    @cached_property
    def channel_of_pixel(self) -> NDArray[np.intp]:
        """intp[P]: module * K + channel, by pixel id."""
        return np.argsort(self.pixel_id.reshape(-1))

    def by_channel(self, event: CameraEvent) -> tuple[NDArray[np.uint16], NDArray[np.bool_]]:
        """uint16[gain, M * K, sample], 0 for missing modules, and bool[M], the modules that are present.

        Raises ValueError for an event that is not of this camera.
        """
        samples = event.waveforms
        _, n_gains, n_channels, n_samples = samples.shape
        if n_channels != self.pixel_id.shape[1] or int(event.boards.max()) >= self.n_modules:
            raise ValueError(
                f"event {event.event_number} has {n_channels} pixels a board and boards up to {event.boards.max()}: "
                f"{self.name} has {self.pixel_id.shape[1]}, and {self.n_modules} modules"
            )
        whole = np.zeros((n_gains, self.n_modules, n_channels, n_samples), np.uint16)
        whole[:, event.boards] = samples.transpose(1, 0, 2, 3)
        present = np.zeros(self.n_modules, bool)
        present[event.boards] = True
        return whole.reshape(n_gains, -1, n_samples), present

    def low_gain(self, event: CameraEvent) -> NDArray[np.bool_]:
        """bool[M * K]: channels whose low gain was selected."""
        whole = np.zeros(self.pixel_id.shape, bool)
        if (chosen := event.low_gain) is not None:
            whole[event.boards] = chosen
        return whole.reshape(-1)

    def by_pixel(self, event: CameraEvent) -> tuple[NDArray[np.uint16], NDArray[np.bool_]]:
        """uint16[gain, P, sample] by pixel id, 0 for missing pixels, and bool[P], the pixels that are present."""
        channels, present = self.by_channel(event)
        n_channels = self.pixel_id.shape[1]
        return channels[:, self.channel_of_pixel], np.repeat(present, n_channels)[self.channel_of_pixel]


LST = Telescope("LST", 28.0, 29.30565, 386.73, 198, True)
MST = Telescope("MST", 16.0, 16.44505, 106.0, 86, False)
_HEXAGON_M2 = 0.0021649681944  # of 50 mm from flat to flat
_CAMERAS = {
    "LSTCam": (LST, 100.893, _HEXAGON_M2, 1.024),
    "NectarCam": (MST, -19.1066, _HEXAGON_M2, 1.0),
}


def attributes(path: Path) -> Mapping[str, Any]:
    """Attributes of an HDF5 file of the camera chain, about itself and its run. Raises OSError if it is none."""
    import h5py

    with h5py.File(path, "r") as file:
        return {name: value.decode() if isinstance(value, bytes) else value for name, value in file.attrs.items()}


def of_file(path: Path, name: str = "") -> Camera:
    """The camera whose events a file of the chain has: the named one, else that of the run's camera.model.

    Raises ConfigError if neither gives it, OSError.
    """
    configuration = tomllib.loads(str(attributes(path).get("configuration", "")))
    return camera(name or str(configuration.get("camera", {}).get("model", "")))


@cache
def camera(name: str) -> Camera:
    """One of DESCRIBED. Raises ConfigError."""
    if name not in DESCRIBED:
        raise ConfigError("camera.model", f"must be one of {', '.join(DESCRIBED)}", repr(name), "Which camera is it?")
    telescope, rotation_deg, area_m2, sampling_ghz = _CAMERAS[name]
    return Camera(name, telescope, rotation_deg, area_m2, sampling_ghz, *pixels(name))


def pixels(name: str) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.uint16]]:
    """Pixels of one of MODELS: x_m[P], y_m[P], pixel_id[M, K]."""
    rows = np.loadtxt(MODELS[name].table, delimiter=",", skiprows=1)
    pixel, module, channel = rows[:, :3].astype(np.intp).T
    pixel_id = np.zeros((module.max() + 1, channel.max() + 1), np.uint16)
    pixel_id[module, channel] = pixel
    return rows[:, 3], rows[:, 4], pixel_id
