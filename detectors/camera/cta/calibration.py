# SPDX-License-Identifier: Apache-2.0
"""Baselines and flat field of a camera's pixels, measured from its calibration events, in the observatory's format of
files.

A file has the images baseline_mean, float32[gains, pixels, cells], and spike_height, float32[gains, pixels, 3], pixels
in the order of their numbers, as ctapipe_io_lst reads them. `cells` is 4096, the cells of a pixel's ring, if boards
send their first cells (DRS4), else 1. An image of our own, flatfield, float32[gains, pixels], exists if there were flat
fields: its factors turn counts of a pixel into counts of the usual pixel's high gain. The run takes such a file as
camera_calibrate.file.
"""

import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anello import columns
from anello.errors import ConfigError, InputError, engine_errors

from ..engine import engine
from ..event import N_CELLS, N_CHIPS, NO_CELL, CameraEvent, TriggerTag
from ..events import read
from . import triggers
from .cameras import attributes
from .models import MODELS
from .r1v1 import CALIBRATED_OFFSET, DRAGON_CLOCK_AT

DRAGON_CLOCK = slice(DRAGON_CLOCK_AT, DRAGON_CLOCK_AT + 8)  # bytes of a board's counters
RING_CELLS = 1024
SPIKE_SAMPLES = 3
LEAST_FOR_A_SPIKE = 20  # samples of a pixel's spike, below which the mean of its gain is taken
HELD_OUT = 10  # every tenth pedestal event is not used, but gives the remaining noise
LARGEST_BASELINE = 4095.9  # largest baseline, 12 bits, that the run takes
LARGEST_FACTOR = 1000.0  # largest factor of a flat field that the run takes
FLATFIELD = 0  # of ctapipe's EventType
SATURATED = 3500  # counts above the baseline up to which the high gain is valid
CHARGE_SAMPLES, CHARGE_BEFORE = 12, 4  # samples summed for a flash, and how many of them are before the peak
LEAST_FLASHES = 10  # flashes of a pixel and gain; with fewer, the pixel has no factor of its own
LEAST_LIGHT = 0.2  # share of the median of its gain below which a pixel is dark
CHIP_OF_PIXEL = np.arange(7) // 2  # chips per gain: 4 chips for 7 pixels

Baseline = NDArray[np.float32]


@dataclass(frozen=True)
class Coefficients:
    """baseline: float32[gains, pixels, cells]. spike_height: float32[gains, pixels, 3], 0 if not known. flatfield:
    float32[gains, pixels]; None: not measured."""

    baseline: Baseline
    spike_height: NDArray[np.float32]
    flatfield: NDArray[np.float32] | None = None

    def write(self, path: Path) -> None:
        """Writes the file, which gets its name once it is complete. Raises ConfigError if astropy is not installed,
        InputError if the file exists already or cannot be written."""
        try:
            from astropy.io import fits
        except ImportError:
            raise ConfigError(
                "OUT.fits", "needs the package astropy", str(path), 'Install it: pip install "anello[convert]"'
            ) from None
        images = [
            fits.ImageHDU(self.baseline, name="baseline_mean"),
            fits.ImageHDU(self.spike_height, name="spike_height"),
        ]
        if self.flatfield is not None:
            images.append(fits.ImageHDU(self.flatfield, name="flatfield"))
        part = path.with_name(path.name + ".part")
        try:
            fits.HDUList([fits.PrimaryHDU(), *images]).writeto(part, overwrite=True)
            path.hardlink_to(part)  # fails if the file exists
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error})") from error
        finally:
            part.unlink(missing_ok=True)


@dataclass
class Figures:
    """The results, and numbers of the events used. Noise: standard deviation of held-out events' samples, in counts."""

    events: int = 0
    held_out: int = 0
    n_cells: int = 1
    cells_seen: int = 0
    cells: int = 0
    spikes_measured: int = 0
    spikes: int = 0
    noise_before: list[float] = field(default_factory=list)  # of each gain; empty: no event was held out
    noise_after: list[float] = field(default_factory=list)
    flatfields: int = 0
    flatfields_held_out: int = 0
    lit: list[int] = field(default_factory=list)  # pixels of each gain with a factor of their own
    unevenness_before: list[float] = field(default_factory=list)  # of each gain: standard deviation over mean of lit
    unevenness_after: list[float] = field(default_factory=list)  # pixels' charges, in those held out; nan: none was


@dataclass(frozen=True)
class Layout:
    """pixel_id: uint32[boards, pixels on a board], each pixel's number."""

    pixel_id: NDArray[np.uint32]
    n_gains: int
    n_samples: int
    has_cells: bool
    pixels_file: str  # path for the engine

    @property
    def n_cells(self) -> int:
        return N_CELLS if self.has_cells else 1


def layout_of(path: Path, camera: str = "") -> Layout:
    """Layout for a run's file: that of the camera named, else of its run. Raises InputError, ConfigError, OSError."""
    about = attributes(path)
    if about.get("calibration_file"):
        raise InputError(f"{path}: its samples are calibrated already, with {about['calibration_file']}")
    first = next(read(path), None)
    if first is None:
        raise InputError(f"{path}: there are no events in it")
    _, n_gains, n_pixels, n_samples = first.waveforms.shape
    of_run = tomllib.loads(str(about.get("configuration", ""))).get("camera", {})
    name = camera or str(of_run.get("model", ""))
    if name and name not in MODELS:
        raise ConfigError("--camera", f"must be one of {', '.join(MODELS)}", repr(name), "Which camera is it?")
    pixels_file = str(of_run.get("pixels_file", "")) if not camera else ""
    pixels_file = pixels_file or (str(MODELS[name].table) if name else "")
    pixel_id = np.arange(first.n_boards * n_pixels, dtype=np.uint32).reshape(first.n_boards, n_pixels)
    if pixels_file:
        pixel, module, channel = np.loadtxt(pixels_file, delimiter=",", skiprows=1)[:, :3].astype(np.intp).T
        if len(pixel) != pixel_id.size or module.max() >= len(pixel_id) or channel.max() >= n_pixels:
            raise InputError(
                f"{path}: its camera has {first.n_boards} boards of {n_pixels} pixels, {pixels_file} others"
            )
        pixel_id[module, channel] = pixel
    has_cells = first.first_cells is not None and n_pixels == len(CHIP_OF_PIXEL)
    return Layout(pixel_id, n_gains, n_samples, has_cells, pixels_file)


def count_events(path: Path) -> int:
    """Number of events in a file and in those that follow it."""
    return sum(len(file["event_number"]) for file in columns.files(path))


class Measurement:
    """Sums over events for baselines and spikes.

    Events are used in two rounds: all of them with add(), which measures baselines, then again with add_spikes().
    Their time lapse must have been subtracted.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout, self.figures = layout, Figures(n_cells=layout.n_cells)
        n_boards, n_pixels = layout.pixel_id.shape
        shape = (n_boards, layout.n_gains, n_pixels, layout.n_cells)
        self._sum, self._n = np.zeros(shape), np.zeros(shape, np.uint32)
        spikes = (*shape[:3], SPIKE_SAMPLES)
        self._spike_sum, self._spike_n = np.zeros(spikes), np.zeros(spikes, np.uint32)
        self.baseline = np.zeros(shape, np.float32)  # [board, gain, pixel, cell]

    def add(
        self,
        boards: NDArray[np.uint16],
        samples: NDArray[np.float32],
        cells: NDArray[np.intp] | None,
        spike: NDArray[np.int8] | None,
    ) -> None:
        """Adds B boards. samples: [B, gain, pixel, sample]; cells: the cell of each sample; spike: the number of the
        sample in a spike, -1: in none; cells and spike are None for cameras without cells."""
        if cells is None or spike is None:
            self._sum[boards] += samples.sum(axis=3, keepdims=True, dtype=np.float64)
            self._n[boards] += samples.shape[3]
        else:
            where = (*self._places(boards), cells)
            is_clean = spike < 0  # no cell occurs twice in a window, so that plain sums are right
            self._sum[where] += np.where(is_clean, samples, 0)
            self._n[where] += is_clean
        self.figures.events += 1

    def end_of_baselines(self) -> None:
        """Ends the first round: cells never read get their pixel's mean, and pixels never read their gain's."""
        seen = self._n > 0
        self.figures.cells_seen, self.figures.cells = int(seen.sum()), seen.size
        mean = _ratio(self._sum, self._n)
        of_pixel = _mean_where(mean, seen, axis=3)
        has_pixel: NDArray[np.bool_] = np.asarray(seen.any(axis=3, keepdims=True))
        of_gain = _mean_where(of_pixel, has_pixel, axis=(0, 2, 3))
        filled = np.where(seen, mean, np.where(has_pixel, of_pixel, of_gain))
        self.baseline[:] = np.clip(filled, 0, LARGEST_BASELINE)

    def add_spikes(
        self, boards: NDArray[np.uint16], samples: NDArray[np.float32], cells: NDArray[np.intp], spike: NDArray[np.int8]
    ) -> None:
        """Adds the same events in the second round."""
        if not (spike >= 0).any():
            return
        place, gain, pixel, sample = np.nonzero(spike >= 0)
        height = (
            samples[place, gain, pixel, sample]
            - self.baseline[boards[place], gain, pixel, cells[place, gain, pixel, sample]]
        )
        where = (boards[place], gain, pixel, spike[place, gain, pixel, sample])
        np.add.at(self._spike_sum, where, height)
        np.add.at(self._spike_n, where, 1)

    def coefficients(self) -> Coefficients:
        """The coefficients in the order of the pixels' numbers."""
        enough = self._spike_n >= LEAST_FOR_A_SPIKE
        if self.layout.has_cells:
            self.figures.spikes_measured, self.figures.spikes = int(enough.sum()), enough.size
        mean = _ratio(self._spike_sum, self._spike_n)
        of_gain = _mean_where(mean, enough, axis=(0, 2))
        spike_height = by_pixel(self.layout, np.where(enough, mean, of_gain))
        return Coefficients(by_pixel(self.layout, self.baseline), spike_height)

    def _places(self, boards: NDArray[np.uint16]) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        _, n_gains, n_pixels, _ = self._sum.shape
        return (
            boards.astype(np.intp)[:, None, None, None],
            np.arange(n_gains)[:, None, None],
            np.arange(n_pixels)[:, None],
        )


def by_pixel(layout: Layout, values: NDArray[np.floating]) -> NDArray[np.float32]:
    """values: [board, gain, pixel of the board, any]. float32[gain, pixel by its number, any]."""
    n_gains = values.shape[1]
    flat = values.transpose(1, 0, 2, 3).reshape(n_gains, -1, values.shape[3])
    made = np.empty_like(flat, dtype=np.float32)
    made[:, layout.pixel_id.reshape(-1)] = flat
    return made


def _mean_where(
    values: NDArray[np.float64], where: NDArray[np.bool_], axis: int | tuple[int, ...]
) -> NDArray[np.float64]:
    n = where.sum(axis=axis, keepdims=True)
    total = np.where(where, values, 0).sum(axis=axis, keepdims=True)
    return _ratio(total, n)


def _ratio(total: NDArray[np.float64], n: NDArray[np.integer]) -> NDArray[np.float64]:
    """Means; 0 if there are no values."""
    made: NDArray[np.float64] = np.divide(total, n, out=np.zeros_like(total), where=n > 0)
    return made


# --- Cells and spikes ---------------------------------------------------------------------------------------------
def cells_of(first: NDArray[np.uint16], n_gains: int, n_samples: int) -> NDArray[np.intp]:
    """first: [B, 8], first cells of the chips. Returns intp[B, gain, 7, sample], the cell of each sample."""
    chips = 4 * np.arange(n_gains)[:, None] + CHIP_OF_PIXEL
    return (first[:, chips].astype(np.intp)[..., None] + np.arange(n_samples)) % N_CELLS


def spikes_in(cells: NDArray[np.intp], before: NDArray[np.uint16], n_samples: int) -> NDArray[np.int8]:
    """The number of each sample in a spike, 0 to 2, or -1; if two spikes overlap, that in the later one.

    cells: result of cells_of(). before: [B, 8], the first cells of the board's previous event; NO_CELL: not known.
    A spike is where the previous reading ended, if that was in an even cell of the first half of its ring, and at
    its mirror image, in each of the four rings (ctapipe_io_lst 0.31.1, get_spike_A_positions).
    """
    _, n_gains, _, _ = cells.shape
    chips = 4 * np.arange(n_gains)[:, None] + CHIP_OF_PIXEL
    first = before[:, chips].astype(np.intp)[..., None]
    last = (first + n_samples - 1) % RING_CELLS
    has_spike = (first != NO_CELL) & (last % 2 == 0) & (last < RING_CELLS // 2)
    found = np.full(cells.shape, -1, np.int8)
    for begin in (RING_CELLS - last - 2, last):
        place = (cells - begin) % RING_CELLS
        found = np.where(has_spike & (place < SPIKE_SAMPLES), place.astype(np.int8), found)
    return found


# --- The whole way ------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Sampled:
    """The boards of an event that send their first cells, or for cameras without cells all boards.

    raw: uint16[B, gain, pixel, sample]; first_cells: uint16[B, 8] or [B, 0]; cells and spike: as above.
    """

    run_id: int
    is_pedestal: bool
    is_flatfield: bool
    boards: NDArray[np.uint16]
    raw: NDArray[np.uint16]
    first_cells: NDArray[np.uint16]
    clocks: NDArray[np.uint64]
    cells: NDArray[np.intp] | None = None
    spike: NDArray[np.int8] | None = None


def sampled(events: Iterable[CameraEvent], layout: Layout, *, all_events: bool) -> Iterator[Sampled]:
    """Yields events in their order, since a cell's reading depends on earlier ones."""
    before = np.full((len(layout.pixel_id), N_CHIPS), NO_CELL, np.uint16)
    for event in events:
        is_pedestal = all_events or bool(event.trigger_tag & TriggerTag.PEDESTAL)
        first = np.zeros((len(event.boards), 0), np.uint16)
        if layout.has_cells:
            first = (
                np.full((len(event.boards), N_CHIPS), NO_CELL, np.uint16)
                if event.first_cells is None
                else event.first_cells
            )
        there = (first < N_CELLS).all(axis=1)
        boards, first = event.boards[there], first[there]
        clocks = (
            np.ascontiguousarray(event.headers["counters"][there][:, DRAGON_CLOCK]).view("<u8")[:, 0].astype(np.uint64)
        )
        is_flatfield = not is_pedestal and triggers.event_type(event.trigger_tag) == FLATFIELD
        raw = np.ascontiguousarray(event.waveforms[there])
        one = Sampled(event.run_id, is_pedestal, is_flatfield, boards, raw, first, clocks)
        if layout.has_cells:
            cells = cells_of(first, layout.n_gains, layout.n_samples)
            one = replace(one, cells=cells, spike=spikes_in(cells, before[boards], layout.n_samples))
            before[boards] = first
        yield one


class Corrected:
    """Corrects events as a run does with a file of coefficients, one after the other."""

    def __init__(self, layout: Layout, file: Path, time_lapse_file: str = "") -> None:
        n_boards, n_pixels = layout.pixel_id.shape
        with engine_errors():
            self._engine = engine().Calibration(
                str(file), time_lapse_file, layout.pixels_file, n_boards, n_pixels, layout.n_gains, layout.n_samples
            )

    def counts(self, event: Sampled) -> NDArray[np.float32]:
        """Counts above the baseline: float32, with the shape of event.raw."""
        changed = event.raw.copy()
        self._engine.correct(event.boards, changed, event.first_cells, event.clocks, event.run_id)
        return changed.astype(np.float32) - np.float32(CALIBRATED_OFFSET)


def measure(
    events: Callable[[str], Iterable[CameraEvent]],
    layout: Layout,
    folder: Path,
    *,
    all_events: bool = False,
    time_lapse_file: str = "",
) -> tuple[Coefficients, Figures]:
    """events yields all events for each round, called baselines, spikes or noise. folder: for temporary files.

    Raises InputError if no event is a pedestal, ConfigError.
    """
    measured = Measurement(layout)
    zero = np.zeros((layout.n_gains, layout.pixel_id.size, layout.n_cells), np.float32)
    Coefficients(zero, np.zeros((*zero.shape[:2], SPIKE_SAMPLES), np.float32)).write(folder / "zero.fits")

    def corrected(what: str, file: Path) -> Iterator[tuple[bool, Sampled, NDArray[np.float32]]]:
        """Yields for each calibration event whether it is held out, and its counts above the baselines of `file`."""
        correct, n = Corrected(layout, file, time_lapse_file), [0, 0]
        for one in sampled(events(what), layout, all_events=all_events):
            counts = correct.counts(one)
            if one.is_pedestal or one.is_flatfield:
                n[one.is_pedestal] += 1
                yield n[one.is_pedestal] % HELD_OUT == 0, one, counts

    for is_held_out, one, counts in corrected("baselines", folder / "zero.fits"):  # only the time lapse is subtracted
        if one.is_pedestal and not is_held_out:
            measured.add(one.boards, counts, one.cells, one.spike)
    if not measured.figures.events:
        raise InputError("no event is tagged as a pedestal; --all-events takes every event for one")
    measured.end_of_baselines()
    if layout.has_cells:
        for is_held_out, one, counts in corrected("spikes", folder / "zero.fits"):
            if one.is_pedestal and not is_held_out and one.cells is not None and one.spike is not None:
                measured.add_spikes(one.boards, counts, one.cells, one.spike)
    made = measured.coefficients()
    made.write(folder / "made.fits")
    noise, flatfield = Noise(measured), FlatField(layout)
    for is_held_out, one, counts in corrected("noise", folder / "made.fits"):
        if one.is_flatfield:
            flatfield.add(one.boards, counts, is_held_out=is_held_out)
        elif is_held_out:
            noise.add(one, counts)
    noise.fill(measured.figures)
    factor = flatfield.factors()
    flatfield.fill(measured.figures, factor)
    return replace(made, flatfield=None if factor is None else by_pixel(layout, factor)[..., 0]), measured.figures


class FlatField:
    """Charges of flashes that light all pixels alike, less the baseline."""

    def __init__(self, layout: Layout) -> None:
        n_boards, n_pixels = layout.pixel_id.shape
        shape = (2, n_boards, layout.n_gains, n_pixels)  # used, held out
        self._sum, self._n, self._n_events = np.zeros(shape), np.zeros(shape, np.int64), [0, 0]

    def add(self, boards: NDArray[np.uint16], counts: NDArray[np.float32], *, is_held_out: bool) -> None:
        """Adds B boards. counts: [B, gain, pixel, sample]."""
        self._n_events[is_held_out] += 1
        if not len(boards):
            return
        n_samples = counts.shape[3]
        peak = int(counts.mean(axis=(0, 2))[-1].argmax())  # the low gain's, which never saturates
        begin = max(0, min(peak - CHARGE_BEFORE, n_samples - CHARGE_SAMPLES))
        charge = counts[..., begin : begin + CHARGE_SAMPLES].sum(axis=3, dtype=np.float64)
        is_good = counts[:, :1].max(axis=3) <= SATURATED  # for both gains, else low gains have brighter flashes
        self._sum[int(is_held_out), boards] += np.where(is_good, charge, 0)
        self._n[int(is_held_out), boards] += is_good

    def factors(self) -> NDArray[np.float64] | None:
        """Factors [board, gain, pixel, 1]. Dark pixels, and pixels with too few flashes, get their gain's median.
        None if no gain was measured."""
        lit = self._is_lit()
        if not lit.any(axis=(0, 2)).all():
            return None
        mean = _ratio(self._sum[0], self._n[0])
        median = np.array([np.median(mean[:, gain][lit[:, gain]]) for gain in range(mean.shape[1])])[:, np.newaxis]
        factor: NDArray[np.float64] = median[0, 0] / np.where(lit, mean, median)
        return np.clip(factor, 1 / LARGEST_FACTOR, LARGEST_FACTOR)[..., np.newaxis]

    def fill(self, figures: Figures, factor: NDArray[np.float64] | None) -> None:
        figures.flatfields, figures.flatfields_held_out = self._n_events
        if factor is None:
            return
        lit, mean = self._is_lit(), _ratio(self._sum[1], self._n[1])
        figures.lit = lit.sum(axis=(0, 2)).tolist()
        lit &= self._n[1] > 0
        for charges, spread in ((mean, figures.unevenness_before), (mean * factor[..., 0], figures.unevenness_after)):
            of_gains = [charges[:, gain][lit[:, gain]] for gain in range(lit.shape[1])]
            spread += [float(one.std() / one.mean()) if len(one) else float("nan") for one in of_gains]

    def _is_lit(self) -> NDArray[np.bool_]:
        mean = _ratio(self._sum[0], self._n[0])
        lit: NDArray[np.bool_] = (self._n[0] >= LEAST_FLASHES) & (mean > 0)
        for gain in range(mean.shape[1]):
            if lit[:, gain].any():
                lit[:, gain] &= mean[:, gain] >= LEAST_LIGHT * np.median(mean[:, gain][lit[:, gain]])
        return lit


class Noise:
    """Noise of samples: before, with only the mean of their pixel's baselines subtracted; after, as corrected."""

    def __init__(self, measured: Measurement) -> None:
        self._mean = measured.baseline.mean(axis=3, keepdims=True)  # [board, gain, pixel, 1]
        self._squares = np.zeros((2, self._mean.shape[1]))
        self._n_events = self._n = 0

    def add(self, event: Sampled, counts: NDArray[np.float32]) -> None:
        self._n_events += 1
        self._n += counts.size // counts.shape[1]
        for place, rest in enumerate((event.raw - self._mean[event.boards], counts)):
            self._squares[place] += (rest.astype(np.float64) ** 2).sum(axis=(0, 2, 3))

    def fill(self, figures: Figures) -> None:
        figures.held_out = self._n_events
        if self._n:
            figures.noise_before, figures.noise_after = np.sqrt(self._squares / self._n).tolist()


def in_words(figures: Figures) -> Iterator[str]:
    """One line of text for each measured quantity."""
    yield f"{figures.events} pedestal events used, {figures.held_out} held out"
    what = "cells" if figures.n_cells > 1 else "pixels and gains"
    lacking = figures.cells - figures.cells_seen
    yield f"{figures.cells_seen:,} of {figures.cells:,} {what} seen" + (
        f"; the other {lacking:,} have the mean of their pixel, or of their gain" if lacking else ""
    )
    if figures.spikes:
        yield (
            f"{figures.spikes_measured:,} of {figures.spikes:,} heights of spikes measured {LEAST_FOR_A_SPIKE} times "
            "and more; the others have the mean of their gain"
        )
    for gain, (before, after) in enumerate(zip(figures.noise_before, figures.noise_after, strict=True)):
        yield f"noise of gain {gain}: {before:.2f} counts about the pixel's mean baseline, {after:.2f} corrected"
    if not figures.flatfields:
        return
    if not figures.lit:
        yield (
            f"no flat field: of {figures.flatfields} flashes no {LEAST_FLASHES} are within the range of a pixel in "
            "each gain"
        )
        return
    yield f"{figures.flatfields} flat fields used, {figures.flatfields_held_out} held out"
    uneven = zip(figures.lit, figures.unevenness_before, figures.unevenness_after, strict=True)
    for gain, (n_lit, before, after) in enumerate(uneven):
        yield f"flat field of gain {gain}: {n_lit} pixels measured, uneven by {before:.1%}, {after:.1%} corrected"
