# SPDX-License-Identifier: Apache-2.0
"""Coefficients of an LST's own calibration, in Anello's form: `anello import-calibration`.

Two files, each FITS or HDF5, as ctapipe_io_lst reads them: baselines and spikes of DRS4 cells (drs4_pedestal*: images
or columns baseline_mean, spike_height), and what a count is worth (calibration*: dc_to_pe, pedestal_per_sample,
unusable_pixels, float[gains, pixels] of the first row). Arrays are in the order of pixel numbers in all of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anello.errors import ConfigError, InputError

from ..event import N_CELLS
from .calibration import LARGEST_BASELINE, LARGEST_FACTOR, SPIKE_SAMPLES, Coefficients

Arrays = Mapping[str, NDArray[Any]]
PEDESTAL, CALIBRATION = ("baseline_mean", "spike_height"), ("dc_to_pe", "pedestal_per_sample", "unusable_pixels")


@dataclass(frozen=True)
class Imported:
    """pe_per_count: photo-electrons per stored count above the baseline, the same for all pixels once flat field and
    gain are corrected. n_unusable: for each gain, the number of pixels without a factor of their own."""

    coefficients: Coefficients
    pe_per_count: float
    n_unusable: list[int]


def read(pedestal: Path, calibration: Path, telescope: int = 1) -> Imported:
    """Reads both files. Raises InputError if they are not as described, ConfigError if a package is missing."""
    drs4 = _arrays(pedestal, PEDESTAL, telescope, f"r1/monitoring/drs4_baseline/tel_{telescope:03d}", "")
    levels = _arrays(calibration, CALIBRATION, telescope, f"tel_{telescope}/calibration", "calibration")
    n_gains, n_pixels = _two(levels["dc_to_pe"], calibration)
    _check(
        pedestal,
        drs4,
        {"baseline_mean": (n_gains, n_pixels, N_CELLS), "spike_height": (n_gains, n_pixels, SPIKE_SAMPLES)},
    )
    _check(calibration, levels, dict.fromkeys(CALIBRATION, (n_gains, n_pixels)))
    has_baseline = np.isfinite(np.concatenate([drs4[name] for name in PEDESTAL], axis=2)).all(axis=2)
    usable = (levels["unusable_pixels"] == 0) & (levels["dc_to_pe"] > 0) & has_baseline  # NaN is not above 0
    if not usable[0].any():
        raise InputError(f"{calibration}: no pixel of the high gain is usable")
    pe_per_count = float(np.median(levels["dc_to_pe"][0][usable[0]]))
    factor = np.where(usable, levels["dc_to_pe"], pe_per_count) / pe_per_count
    for gain in range(n_gains):  # counts of the other gain are worth more
        factor[gain][~usable[gain]] = np.median(factor[gain][usable[gain]]) if usable[gain].any() else 1.0
    level = np.where(usable, levels["pedestal_per_sample"], 0)
    cells, spikes = (_of_the_living(drs4[name], np.asarray(has_baseline)) for name in PEDESTAL)
    baseline = cells + level[:, :, np.newaxis]
    _check_range(pedestal, "baseline_mean and pedestal_per_sample", baseline, (0, LARGEST_BASELINE))
    _check_range(pedestal, "spike_height", spikes, (-LARGEST_BASELINE, LARGEST_BASELINE))
    _check_range(calibration, "dc_to_pe over its median", factor, (0, LARGEST_FACTOR))
    made = Coefficients(*(np.asarray(one, np.float32) for one in (baseline, spikes, factor)))
    return Imported(made, pe_per_count, [int(one) for one in (~usable).sum(axis=1)])


def _of_the_living(values: NDArray[Any], has_baseline: NDArray[np.bool_]) -> NDArray[Any]:
    """values: float[gains, pixels, K]. A dead module's pixels, NaN in its file, get the median of their gain's other
    pixels: their samples have no meaning, and the camera's other pixels can be calibrated."""
    filled = np.array(values, float)
    for gain, is_there in enumerate(has_baseline):
        if is_there.any():
            filled[gain, ~is_there] = np.median(filled[gain, is_there], axis=0)
    return filled


def _arrays(path: Path, names: tuple[str, ...], telescope: int, group: str, table: str) -> Arrays:
    """Reads arrays. group: in an HDF5 file. table: in a FITS file; empty: each array is an image."""
    if not path.is_file():
        raise InputError(f"{path}: there is no such file")
    is_hdf5 = path.suffix in (".h5", ".hdf5")
    take: Callable[[], Arrays] = (
        (lambda: _of_hdf5(path, names, group)) if is_hdf5 else (lambda: _of_fits(path, names, table, telescope))
    )
    try:
        return {name: np.asarray(array) for name, array in take().items()}
    except (KeyError, IndexError, ValueError, OSError, TypeError) as error:
        if isinstance(error, InputError):
            raise
        where = f"/{group}" if is_hdf5 else table or "its images"
        raise InputError(f"{path}: {', '.join(names)} cannot be read from {where} ({error})") from error


def _of_hdf5(path: Path, names: tuple[str, ...], group: str) -> Arrays:
    import h5py

    with h5py.File(path, "r") as file:
        row = file[group][0]
        return {name: np.array(row[name]) for name in names}


def _of_fits(path: Path, names: tuple[str, ...], table: str, telescope: int) -> Arrays:
    try:
        from astropy.io import fits
    except ImportError:
        raise ConfigError(
            "FILE", "needs the package astropy", str(path), 'Install it: pip install "anello[convert]"'
        ) from None
    with fits.open(path, memmap=False) as file:
        if not table:
            return {name: np.array(file[name].data) for name in names}
        if (found := file[0].header.get("TEL_ID", telescope)) != telescope:
            raise InputError(f"{path}: it is of telescope {found}, and {telescope} is asked for")
        row = file[table].data
        return {name: np.array(row[name][0]) for name in names}


def _two(values: NDArray[Any], path: Path) -> tuple[int, int]:
    if values.ndim != 2 or 0 in values.shape:
        raise InputError(f"{path}: dc_to_pe has the shape {values.shape}, which must be (gains, pixels)")
    return int(values.shape[0]), int(values.shape[1])


def _check(path: Path, arrays: Arrays, shapes: Mapping[str, tuple[int, ...]]) -> None:
    for name, shape in shapes.items():
        if arrays[name].shape != shape or arrays[name].dtype.kind not in "fiub":
            raise InputError(
                f"{path}: {name} is {arrays[name].dtype} {arrays[name].shape}, which must be {shape} numbers"
            )


def _check_range(path: Path, name: str, values: NDArray[Any], limits: tuple[float, float]) -> None:
    least, most = limits
    if not ((values >= least) & (values <= most)).all():  # NaN is not
        raise InputError(
            f"{path}: {name} must be {least:g} to {most:g} everywhere; some are {values.min()} or {values.max()}"
        )
