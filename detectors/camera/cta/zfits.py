# SPDX-License-Identifier: Apache-2.0
"""Camera events from the files of CTA's cameras (zfits), read by the package protozfits.

| camera | message of the table Events | what its own table says |
|---|---|---|
| NectarCAM until 2018 | DataModel.CameraEvent | RunHeader |
| DigiCam, SST-1M | DataModel.CameraEvent | none: the camera's own table says which pixel is whose |
| LST until 2018 | R1.CameraEvent | CameraConfig: modules, pixels, samples |
| LST, NectarCAM | R1v1.Event | CameraConfiguration: modules, pixels |
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anello.errors import ConfigError, InputError

from ..event import DRAGON_DRS4, N_CELLS, N_CHIPS
from ..files import COUNTERS_BYTES, CameraEvents
from . import cameras, triggers

PIXELS_PER_MODULE = 7
MAX_PAYLOAD_BYTES = 9000 - 28 - 64
DRAGON = 1
COUNTERS_KINDS = {22: DRAGON, 16: 2, 20: 3}  # bytes of a module's counters: counters_kind of its fragments
UCTS_BYTES, UCTS_TIME_AT = 31, 12  # after event, pps and clock counter, u32 each: a u64 in ns
STORED, GAINS = 0b11, 0b1100  # bits of pixel_status in R1v1: has samples in `waveform`; gains read
LOW_GAIN = 0b1000  # only this gain of the two


@dataclass(frozen=True)
class _Event:
    """Of M modules with K pixels. waveform: uint16[M, gain, K, sample], the high gain first. counters: uint8[M, n].

    trigger_tag: bits of TriggerTag, 0: not known. first_cells: uint16[M, 8], of LST's modules; None: there are none.
    low_gain: uint16[M], with a bit for each pixel whose low gain was selected; None: all gains are present.
    """

    number: int
    timestamp_ns: int
    waveform: NDArray[np.uint16]
    present: NDArray[np.bool_]
    counters: NDArray[np.uint8]
    trigger_tag: int = 0
    first_cells: NDArray[np.uint16] | None = None
    low_gain: NDArray[np.uint16] | None = None


def read(path: Path, *others: Path) -> CameraEvents:
    """Reads a file. others: files of the same run, if its event builders distributed the events to several files.

    Raises InputError if one is no file of one of these cameras, or of another run; ConfigError without protozfits.
    """
    run_id, modules, events = _of_file(path)
    for other in others:
        its_run, its_modules, its_events = _of_file(other)
        if its_run != run_id or not np.array_equal(its_modules, modules):
            raise InputError(f"{other}: run {its_run}, or its modules, are not those of {path}: run {run_id}")
        events += its_events
    if others:
        events.sort(key=lambda event: event.number)
        _check_no_event_comes_twice(path, events)
    return _joined(path, run_id, modules, events)


def _check_no_event_comes_twice(path: Path, events: Sequence[_Event]) -> None:
    for event, after in pairwise(events):
        if event.number == after.number:
            raise InputError(f"{path}: event {event.number} is in more than one of the files, or twice in one")


def _of_file(path: Path) -> tuple[int, NDArray[np.uint16], list[_Event]]:
    if not path.is_file():
        raise InputError(f"{path}: there is no such file")
    zfits = _protozfits(path)
    try:
        with zfits.File(str(path)) as file:
            return _read(file)
    except (OSError, AttributeError, KeyError, IndexError, StopIteration, TypeError, ValueError) as error:
        raise InputError(f"{path}: no zfits file of events of a camera that is known ({error})") from error


def _read(file: Any) -> tuple[int, NDArray[np.uint16], list[_Event]]:
    """Number of the run, numbers of the modules, events."""
    if hasattr(file, "CameraConfiguration"):
        about = next(iter(file.CameraConfiguration))
        return int(about.local_run_id), np.asarray(about.module_id_map), [_r1v1(row, about) for row in file.Events]
    if hasattr(file, "CameraConfig"):
        about = next(iter(file.CameraConfig))
        modules = np.asarray(about.lstcam.expected_modules_id)
        return 0, modules, [_lst(row, len(modules), about.num_samples) for row in file.Events]
    if hasattr(file, "RunHeader"):
        events = [_nectarcam(row) for row in file.Events]
        return int(next(iter(file.RunHeader)).runNumber), _first(events), events
    events = [_digicam(row) for row in file.Events]
    return 0, _first(events), events


def _first(events: Sequence[_Event]) -> NDArray[np.uint16]:
    """Modules of a camera that does not number them."""
    return np.arange(len(events[0].present), dtype=np.uint16)


def _nectarcam(row: Any) -> _Event:
    present = np.asarray(row.moduleStatus.status, bool)
    gains = [gain.waveforms.samples.reshape(len(present), PIXELS_PER_MODULE, -1) for gain in (row.hiGain, row.loGain)]
    counters = np.frombuffer(row.cameraCounters.counters.astype("<u2").tobytes(), np.uint8)
    data = row.uctsData.data
    has_time = data is not None and len(data) == UCTS_BYTES
    return _Event(
        number=int(row.eventNumber),
        timestamp_ns=_u64(data[UCTS_TIME_AT : UCTS_TIME_AT + 8]) if has_time else 0,
        waveform=np.stack(gains, axis=1).astype(np.uint16),
        present=present,
        counters=counters.reshape(len(present), -1),
        trigger_tag=triggers.tag_of_boards(triggers.CDTS_PRESENT | triggers.TIB_PRESENT, row.tibData.data, data),
    )


def _digicam(row: Any) -> _Event:
    """DigiCam has one gain; its modules have no counters, and all are present."""
    *_, pixel_id = cameras.pixels("DigiCam")
    samples, pixels = row.hiGain.waveforms.samples, np.asarray(row.hiGain.waveforms.pixelsIndices)
    if samples.min() < 0 or not np.array_equal(np.sort(pixels), np.arange(pixel_id.size)):
        raise ValueError(f"event {row.eventNumber} has negative samples, or not each of {pixel_id.size} pixels once")
    by_pixel = samples.astype(np.uint16).reshape(pixel_id.size, -1)[np.argsort(pixels)]
    return _Event(
        number=int(row.eventNumber) % 2**32,
        timestamp_ns=int(row.local_time_sec) * 10**9 + int(row.local_time_nanosec),
        waveform=by_pixel[pixel_id][:, np.newaxis],
        present=np.ones(len(pixel_id), bool),
        counters=np.zeros((len(pixel_id), 0), np.uint8),
        trigger_tag=int(triggers.DIGICAM_TAGS.get(int(row.event_type), 0)),
    )


def _lst(row: Any, n_modules: int, n_samples: int) -> _Event:
    gains_first = row.waveform.reshape(-1, n_modules, PIXELS_PER_MODULE, n_samples)
    return _Event(
        number=int(row.event_id),
        timestamp_ns=int(row.trigger_time_s) * 10**9 + int(row.trigger_time_qns) // 4,
        waveform=gains_first.transpose(1, 0, 2, 3),
        present=np.asarray(row.lstcam.module_status, bool),
        counters=row.lstcam.counters.reshape(n_modules, -1),
        trigger_tag=triggers.tag_of_boards(
            int(row.lstcam.extdevices_presence), row.lstcam.tib_data, row.lstcam.cdts_data
        ),
        first_cells=np.asarray(row.lstcam.first_capacitor_id).reshape(n_modules, N_CHIPS),
    )


def _r1v1(row: Any, about: Any) -> _Event:
    """The pixels of a module without samples may also be missing in `waveform`."""
    n_modules, n_pixels, n_gains = int(about.num_modules), int(about.num_pixels), int(row.num_channels)
    samples = row.waveform.reshape(n_gains, -1, int(row.num_samples))
    stored = _stored(row.pixel_status, n_pixels, is_whole=samples.shape[1] == n_pixels)
    whole = np.zeros((n_gains, n_pixels, samples.shape[2]), np.uint16)
    whole[:, stored if samples.shape[1] != n_pixels else slice(None)] = samples
    debug = row.debug
    counters = np.zeros((n_modules, 0), np.uint8)
    tag = 0
    if debug is not None:
        tag = triggers.tag_of_boards(int(debug.extdevices_presence or 0), debug.tib_data, debug.cdts_data)
        if debug.counters is not None:
            counters = debug.counters.reshape(n_modules, -1)
    cells = row.first_cell_id
    return _Event(
        number=int(row.event_id) % 2**32,
        timestamp_ns=int(row.event_time_s) * 10**9 + int(row.event_time_qns) // 4,
        waveform=whole.reshape(n_gains, n_modules, -1, samples.shape[2]).transpose(1, 0, 2, 3),
        present=np.asarray(stored.reshape(n_modules, -1).any(axis=1)),
        counters=counters,
        trigger_tag=tag or triggers.tag_of_type(int(row.event_type)),
        first_cells=cells.reshape(n_modules, N_CHIPS) if _are_of_chips(cells, n_modules) else None,
        low_gain=_low_gain(row, n_modules, has_two=int(about.num_channels) > 1) if n_gains == 1 else None,
    )


def _low_gain(row: Any, n_modules: int, *, has_two: bool) -> NDArray[np.uint16] | None:
    """The low gains of an event of one gain; None if its camera has no other. has_two: the file says that it has."""
    if row.pixel_status is None or not len(row.pixel_status):
        return None
    status = np.asarray(row.pixel_status)
    is_low = (status & GAINS) == LOW_GAIN
    if not has_two and not is_low.any():
        return None
    bits = np.uint16(1) << np.arange(len(status) // n_modules, dtype=np.uint16)
    return np.asarray((is_low.reshape(n_modules, -1) * bits).sum(axis=1), np.uint16)


def _stored(pixel_status: Any, n_pixels: int, *, is_whole: bool) -> NDArray[np.bool_]:
    """Pixels that have samples, bool[P]. Before the data volume reduction no pixel has this bit, and each that was read
    has samples; without any status all pixels have. is_whole: there are samples for all pixels."""
    if pixel_status is None or not len(pixel_status):
        return np.ones(n_pixels, bool)
    status = np.asarray(pixel_status)
    stored = np.asarray((status & STORED) != 0)
    return np.asarray((status & GAINS) != 0) if is_whole and not stored.any() else stored


def _are_of_chips(cells: Any, n_modules: int) -> bool:
    """LST's; NectarCAM has another kind, one a pixel."""
    return cells is not None and len(cells) == n_modules * N_CHIPS


def _u64(data: NDArray[np.uint8]) -> int:
    return int.from_bytes(data.tobytes(), "little")


def _protozfits(path: Path) -> Any:
    try:
        import protozfits
    except ImportError:
        rule = "needs the package protozfits to be read"
        raise ConfigError("FILE", rule, str(path), 'Install it: pip install "anello[convert]"') from None
    return protozfits


def _joined(path: Path, run_id: int, modules: NDArray[np.uint16], events: Sequence[_Event]) -> CameraEvents:
    shapes = {(event.waveform.shape[0], *event.waveform.shape[2:], event.counters.shape) for event in events}
    if len(shapes) != 1:
        raise InputError(f"{path}: {len(events)} events, which are not all of one shape")
    if max(event.waveform[0].nbytes for event in events) + 2 * N_CHIPS > MAX_PAYLOAD_BYTES:
        raise InputError(f"{path}: a board's waveforms are larger than a datagram, {MAX_PAYLOAD_BYTES} bytes")
    n_bytes = events[0].counters.shape[1]
    if n_bytes and n_bytes not in COUNTERS_KINDS:
        raise InputError(f"{path}: {n_bytes} bytes of counters a module; known are {sorted(COUNTERS_KINDS)}")
    present = np.stack([event.present for event in events])
    first_cells, note = _first_cells(path, events, present)
    kind = DRAGON_DRS4 if first_cells is not None else COUNTERS_KINDS.get(n_bytes, 0)
    counters = np.zeros((len(events), len(modules), COUNTERS_BYTES), np.uint8)
    counters[:, :, :n_bytes] = np.stack([event.counters for event in events])
    return CameraEvents(
        run_id=run_id,
        boards=modules.astype(np.uint16),
        event_number=np.array([event.number for event in events], np.uint32),
        timestamp_ns=np.array([event.timestamp_ns for event in events], np.uint64),
        waveform=[event.waveform for event in events],
        present=present,
        counters=counters,
        counters_kind=kind,
        trigger_tag=np.array([event.trigger_tag for event in events], np.uint8),
        first_cells=first_cells,
        low_gain=[event.low_gain for event in events],
        note=note,
    )


def _first_cells(
    path: Path, events: Sequence[_Event], present: NDArray[np.bool_]
) -> tuple[NDArray[np.uint16] | None, str]:
    """First cells of all events, or None, and the reason. 0 in all chips of a file: its writer did not know them."""
    found = [event.first_cells for event in events if event.first_cells is not None]
    if len(found) != len(events) or COUNTERS_KINDS.get(events[0].counters.shape[1]) != DRAGON:
        return None, ""
    if events[0].waveform.shape[2] != PIXELS_PER_MODULE:
        return None, ""
    cells = np.stack(found).astype(np.uint16)
    cells[~present] = 0
    if not cells.any():
        return None, ""
    if cells.max() >= N_CELLS:
        return None, f"{path}: its first cells are not taken: some are {cells.max()}, and a chip has {N_CELLS} cells"
    return cells, ""
