# SPDX-License-Identifier: Apache-2.0
"""Camera events as zfits files of the observatory's data model R1v1, as the cameras' event builders write them.

    with r1v1.Writer(folder, r1v1.Messages(cameras.camera("LSTCam"), run=1)) as writer:
        for event in camera_events.read("events.h5"):
            writer.write(event)

The files are written by protozfits, which wraps the observatory's own library. ctapipe's LSTEventSource and
NectarCAMEventSource can read them. Samples are as in the run: waveform_scale is 1, waveform_offset 0, or 400 if
the run calibrated them.
"""

import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anello.errors import ConfigError, InputError

from ..event import FLATFIELDED, GAIN_SELECTED, NO_CELL, CameraEvent, TriggerTag, shapes_of
from ..event import N_CHIPS as CHIPS_PER_MODULE
from . import triggers
from .cameras import Camera

EVENTS_PER_TILE, TILES = 20, 1000
EVENTS_PER_FILE = EVENTS_PER_TILE * TILES  # with more, protozfits makes a file that nobody can read
STREAMS = 4
STORED = {1: 0b0101, 2: 0b1101}  # pixel_status, by number of gains: data there (DVR), high and low gain
STORED_LOW = 0b1001
TDP_STEPS, TDP_GAIN = 14, 1  # bits of tdp_action: baseline, time lapse, spikes; one gain selected
TDP_PE = 32 | 64  # pedestal subtracted, in photo-electrons
SWAT_BYTES = 56
CALIBRATED_OFFSET = 400  # offset of calibrated samples
DRAGON_CLOCK_AT = 14  # of the 22 bytes of an LST module's counters: u64, 133 MHz
COUNTERS_BYTES = {"LSTCam": 22, "NectarCam": 20}
BLOCK_KB = 64 * 1024  # protozfits needs more than a tile has


@dataclass
class Messages:
    """A telescope's run as messages of R1v1 (Protobuf).

    The first event with samples of this camera decides whether samples are calibrated (camera_calibrate), and their
    shape: a data stream has one offset, and a table one shape, except for events whose front ends sent one of two
    gains. Boards that differ are left out of events, as if they were missing, and counted by cause: n_unlike, whose
    calibration differs from the stream's; n_other_shape. An event that has only such boards is refused (ValueError),
    and its boards are not counted.

    pe_per_count: photo-electrons per count above the baseline; readers then get photo-electrons. It holds for boards
    whose samples had the flat field's factors; others differ from the stream. 0: readers get counts.
    """

    camera: Camera
    run: int
    telescope: int = 1
    is_calibrated: bool | None = None
    shape: tuple[int, ...] = ()  # gains, pixels, samples of a board that sends all gains
    n_unlike: int = 0
    n_other_shape: int = 0
    pe_per_count: float = 0.0

    @property
    def n_left_out(self) -> int:
        """Boards left out, for any cause."""
        return self.n_unlike + self.n_other_shape

    @property
    def left_out_in_words(self) -> str:
        """Text on the boards left out; empty: none was."""
        causes = {"calibrated or not, unlike the first": self.n_unlike, "of another shape": self.n_other_shape}
        return ", ".join(f"{n} boards left out ({cause})" for cause, n in causes.items() if n)

    def file_name(self, number: int, streams: int, part: int) -> str:
        """Name of a file in a run, as from the camera's own event builder; readers find the other streams by it."""
        if self.camera.name == "LSTCam":
            return f"LST-{self.telescope}.{number}.Run{self.run:05d}.{part:04d}.fits.fz"
        return f"NectarCAM.Run{self.run:04d}.{part * streams + number - 1:04d}.fits.fz"

    @property
    def marks_trimmed(self) -> bool:
        """Whether a table says that `waveform` has only pixels that are present."""
        return self.camera.name == "LSTCam"

    def data_stream(self, event: CameraEvent) -> Any:
        """The message of the data stream. Raises ValueError, as the others, for an event that cannot be in it."""
        self._learn(event)
        return _messages().TelescopeDataStream(
            tel_id=self.telescope,
            sb_id=self.run,
            obs_id=self.run,
            waveform_scale=scale_of(self),
            waveform_offset=offset_of(self),
        )

    def configuration(self, event: CameraEvent) -> Any:
        self._learn(event)
        camera, numbers = self.camera, np.uint16
        n_gains, _, n_samples = self.shape
        actions = np.zeros(16, numbers)
        actions[0] = self._actions(event)  # of events of any kind; readers look where event builders put it by mistake
        debug = _debug_messages().DebugCameraConfiguration(
            cs_serial="anello",
            evb_version="v6.12.0",
            cdhs_version="anello",
            tdp_type=array_of(np.zeros(15, numbers)),
            tdp_action=array_of(actions),
            ttype_pattern=array_of(actions),
        )
        return _messages().CameraConfiguration(
            tel_id=self.telescope,
            local_run_id=self.run,
            config_time_s=float(event.timestamp_ns // 10**9),
            camera_config_id=1,
            pixel_id_map=array_of(camera.pixel_id.reshape(-1)),
            module_id_map=array_of(np.arange(camera.n_modules, dtype=numbers)),
            num_modules=camera.n_modules,
            num_pixels=camera.n_pixels,
            num_channels=n_gains,
            data_model_version="1.0",
            calibration_service_id=0,
            calibration_algorithm_id=0,
            num_samples_nominal=n_samples,
            num_samples_long=0,
            debug=debug,
        )

    def event(self, event: CameraEvent) -> Any:
        """Sets all fields each time, as the first message of a table decides on its columns. Raises ValueError."""
        self._learn(event)
        unlike, fits = self._which(event)
        if not fits.any():
            raise ValueError(f"event {event.event_number} has no board with samples like those before: {self._kind}")
        n_unlike, n_other_shape = int(unlike.sum()), int((~unlike & ~fits).sum())
        made = self._event(event.of_boards(fits))
        self.n_unlike += n_unlike
        self.n_other_shape += n_other_shape
        return made

    def _event(self, event: CameraEvent) -> Any:
        """The message of an event with the boards that the stream takes."""
        camera = self.camera
        sent = self._by_channel(event)
        waveforms, stored = sent.waveforms, sent.stored
        n_gains, n_pixels, n_samples = waveforms.shape
        counters = np.zeros((camera.n_modules, COUNTERS_BYTES[camera.name]), np.uint8)
        counters[event.boards] = event.headers["counters"][:, : counters.shape[1]]
        is_lst = camera.name == "LSTCam"
        clocks = np.zeros(camera.n_modules, np.uint64)
        if is_lst:
            clocks = np.ascontiguousarray(counters[:, DRAGON_CLOCK_AT:]).view("<u8").reshape(-1).astype(np.uint64)
        samples = waveforms[:, stored] if is_lst else waveforms  # LSTEventSource needs other values than other readers
        debug = _debug_messages().DebugEvent(
            module_status=array_of(sent.present.astype(np.uint8)),
            extdevices_presence=triggers.CDTS_PRESENT,
            tib_data=array_of(np.zeros(triggers.TIB_BYTES, np.uint8)),
            cdts_data=array_of(_cdts(event)),
            swat_data=array_of(np.zeros(SWAT_BYTES, np.uint8)),
            counters=array_of(counters.reshape(-1)),
            chips_flags=array_of(np.zeros(camera.n_modules * CHIPS_PER_MODULE, np.uint16)),
            charges_gain1=array_of(np.zeros(n_pixels, np.uint16)),
            charges_gain2=array_of(np.zeros(n_pixels, np.uint16)),
            tdp_action=self._actions(event),
        )
        return _messages().Event(
            event_id=event.event_number,
            tel_id=self.telescope,
            local_run_id=self.run,
            event_type=triggers.event_type(event.trigger_tag),
            event_time_s=event.timestamp_ns // 10**9,
            event_time_qns=event.timestamp_ns % 10**9 * 4,
            num_channels=n_gains,
            num_samples=n_samples,
            num_pixels=n_pixels,
            num_modules=camera.n_modules,
            waveform=array_of(samples.reshape(-1)),
            pixel_status=array_of(sent.status),
            first_cell_id=array_of(first_cells(event, camera.n_modules) if is_lst else np.zeros(n_pixels, np.uint16)),
            module_hires_local_clock_counter=array_of(clocks),
            calibration_monitoring_id=0,
            pedestal_intensity=array_of(np.zeros(n_pixels, np.float32)),
            debug=debug,
        )

    def _by_channel(self, event: CameraEvent) -> "ByChannel":
        waveforms, present = self.camera.by_channel(event)
        n_gains, n_pixels, _ = waveforms.shape
        stored = np.repeat(present, n_pixels // self.camera.n_modules)
        status = np.where(self.camera.low_gain(event), STORED_LOW, STORED[n_gains])
        return ByChannel(waveforms, present, stored, np.where(stored, status, 0).astype(np.uint8))

    def _learn(self, event: CameraEvent) -> None:
        if self.is_calibrated is not None:
            return
        is_calibrated = self._is_calibrated(event)
        shapes = shapes_of(event.headers)
        can_be_written = (shapes[:, 1] == self.camera.pixel_id.shape[1]) & np.isin(shapes[:, 0], [*STORED])
        usable = _has_samples(event) & can_be_written & (is_calibrated | (self.pe_per_count == 0))
        if not usable.any():
            raise ValueError(f"event {event.event_number} has no board with samples of {self.camera.name}{self._needs}")
        self.is_calibrated = bool((usable & is_calibrated).any())
        shapes[_is_raw_and_selected(event), 0] += 1
        found, n_boards = np.unique(shapes[usable & (is_calibrated == self.is_calibrated)], axis=0, return_counts=True)
        self.shape = tuple(found[n_boards.argmax()].tolist())

    def _which(self, event: CameraEvent) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """bool[B] both: calibrated or not, unlike the stream; what the stream takes."""
        unlike = self._is_calibrated(event) != bool(self.is_calibrated)
        shapes = shapes_of(event.headers)
        selected = _is_raw_and_selected(event)
        shapes[selected, 0] += 1  # what such a board has been read with
        fits = ~unlike & _has_samples(event) & (shapes == self.shape).all(axis=1)
        return unlike, fits & (selected == (2 * (fits & selected).sum() > fits.sum()))

    def _is_calibrated(self, event: CameraEvent) -> NDArray[np.bool_]:
        """bool[B]: whether boards are calibrated, as far as the stream needs it."""
        if not self.pe_per_count:
            return event.is_calibrated
        found: NDArray[np.bool_] = (event.calibration_steps & FLATFIELDED) != 0
        return found

    def _actions(self, event: CameraEvent) -> int:
        return _steps(event) | (TDP_PE if self.pe_per_count else 0)

    @property
    def _needs(self) -> str:
        return " and the flat field's factors, which photo-electrons need" if self.pe_per_count else ""

    @property
    def _kind(self) -> str:
        n_gains, n_pixels, n_samples = self.shape
        kind = "calibrated" if self.is_calibrated else "raw"
        return f"{kind}, {n_gains} gains of {n_pixels} pixels, {n_samples} samples"


@dataclass(frozen=True)
class ByChannel:
    """waveforms: uint16[gain, M * K, sample], 0 where a module is missing. present: bool[M]. stored: bool[M * K].
    status: uint8[M * K], pixel_status."""

    waveforms: NDArray[np.uint16]
    present: NDArray[np.bool_]
    stored: NDArray[np.bool_]
    status: NDArray[np.uint8]


def offset_of(messages: Messages) -> float:
    """The number to subtract from a scaled sample to have it above the baseline."""
    return float(CALIBRATED_OFFSET if messages.is_calibrated else 0) / scale_of(messages)


def scale_of(messages: Messages) -> float:
    """The number by which samples are divided: 1 for counts, or counts per photo-electron."""
    return 1 / messages.pe_per_count if messages.pe_per_count else 1.0


def _is_raw_and_selected(event: CameraEvent) -> NDArray[np.bool_]:
    """bool[B]: boards whose front end has sent one of two gains."""
    found: NDArray[np.bool_] = event.calibration_steps == GAIN_SELECTED
    return found


def _has_samples(event: CameraEvent) -> NDArray[np.bool_]:
    """bool[B]: whether payloads are as long as their shape; a board may have been sent without samples."""
    n_samples = shapes_of(event.headers).prod(axis=1, dtype=np.int64)
    found: NDArray[np.bool_] = (n_samples > 0) & (event.headers["payload_bytes"] >= 2 * n_samples)
    return found


@dataclass(frozen=True)
class Limits:
    """Limits after which a file ends and the next one begins. seconds: by the clock of the machine that built the
    events, so that the files of all streams end together. 0: no limit, also for n_bytes."""

    n_events: int = EVENTS_PER_FILE
    n_bytes: int = 0
    seconds: float = 0.0
    grace_s: float = 0.1  # for events that are still on their way


@dataclass(frozen=True)
class FilePlace:
    """The path of one of `streams` parallel files, and its number among them, from 1."""

    folder: Path
    number: int = 1
    streams: int = 1

    def path(self, messages: Messages, part: int) -> Path:
        return self.folder / messages.file_name(self.number, self.streams, part)


class Writer:
    """Writes the events of one run to `streams` files in turn, and begins new ones after EVENTS_PER_FILE.

    A file gets its name once it is complete; until then `.part` is appended. files: those that are complete.
    Raises ConfigError if protozfits is not installed, InputError if a file exists already.
    """

    def __init__(self, folder: Path, messages: Messages, streams: int = 1) -> None:
        if not 1 <= streams <= STREAMS:
            raise ConfigError("--streams", f"must be 1 to {STREAMS}", str(streams), "Cameras write up to 4.")
        self.messages = messages
        places = [FilePlace(folder, number, streams) for number in range(1, streams + 1)]
        self._streams = [FileSequence(place, self.messages, Limits(EVENTS_PER_FILE)) for place in places]
        self._n_events = 0
        protozfits_of("OUT", "R1v1")
        folder.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        for stream in self._streams:
            if kind is None:
                stream.end_file()
            else:
                stream.close_as_it_is()

    @property
    def n_written(self) -> int:
        """Number of events in complete files."""
        return sum(stream.n_written for stream in self._streams)

    @property
    def files(self) -> list[Path]:
        """The complete files, in the order of their names."""
        return sorted(path for stream in self._streams for path in stream.files)

    def write(self, event: CameraEvent) -> None:
        """Raises ValueError for an event that is not of this camera, InputError, OSError."""
        self._streams[self._n_events % len(self._streams)].write(event)
        self._n_events += 1

    def close(self) -> None:
        self.__exit__(None, None, None)


class FileSequence:
    """Writes one file after the other. n_events: events in the open file; files, n_written: the complete files, and the
    events in them."""

    def __init__(self, place: FilePlace, messages: Messages, limits: Limits) -> None:
        self.place, self.messages, self._limits = place, messages, limits
        self.files: list[Path] = []
        self.n_events = self.n_written = 0
        self._file: Any = None
        self._path, self._begun = Path(), False  # whether this process has made a .part
        self._part = self._period = 0

    def write(self, event: CameraEvent) -> None:
        """Writes an event. Raises ValueError for an event that no file of this camera can hold, InputError, OSError,
        RuntimeError; the event is not in the open file then."""
        message = self.messages.event(event)
        if self._file is not None and self._is_full(event):
            self.end_file()
        if self._file is None:
            self._begin_file(event)
        self._file.write_message(message)
        self.n_events += 1

    def seconds_left(self, now_s: float) -> float | None:
        """Seconds of the wall clock until end_file() must end the open file, if no event does before; None: never."""
        if self._file is None or not self._limits.seconds:
            return None
        return max(0.0, (self._period + 1) * self._limits.seconds + self._limits.grace_s - now_s)

    def _is_full(self, event: CameraEvent) -> bool:
        if self.n_events >= self._limits.n_events or self._period_of(event) != self._period:
            return True
        return 0 < self._limits.n_bytes <= self._part_path.stat().st_size

    def _period_of(self, event: CameraEvent) -> int:
        return int(event.closed_ns * 1e-9 // self._limits.seconds) if self._limits.seconds else 0

    def _begin_file(self, event: CameraEvent) -> None:
        self._path = self.place.path(self.messages, self._part)
        for path in (self._path, self._part_path):
            if path.exists():
                raise InputError(f"{path} is there already: nothing is overwritten; name another folder or run")
        self._file = protozfits_of("OUT", "R1v1").FlatProtobufZOFits(
            n_tiles=-(-self._limits.n_events // EVENTS_PER_TILE),
            rows_per_tile=EVENTS_PER_TILE,
            compression_block_size_kb=BLOCK_KB,
            default_compression="zstd1",
        )
        self._period, self._begun = self._period_of(event), True
        self._file.open(str(self._part_path))
        self._file.request_explicit_compression("waveform", "diffman16")
        self._table("DataStream", self.messages.data_stream(event))
        self._table("CameraConfiguration", self.messages.configuration(event))
        self._table("Events")
        if self.messages.marks_trimmed:
            self._file.set_bool("LSTDVR", True)  # only pixels that are there are in `waveform`

    @property
    def _part_path(self) -> Path:
        return self._path.with_name(self._path.name + ".part")

    def _table(self, name: str, message: Any = None) -> None:
        self._file.move_to_new_table(name)
        self._file.set_string("ORIGIN", "CTA")  # protozfits says CTAO, which NectarCAMEventSource does not take
        if message is not None:
            self._file.write_message(message)

    def end_file(self) -> None:
        """Ends the file and gives it its name if it is complete. Raises OSError if it is not."""
        if self._file is None:
            return
        self.close_as_it_is()
        if (n_found := n_events_in(self._part_path)) != self.n_events:
            raise OSError(f"{self._part_path} has {n_found} events of {self.n_events}: the disk may be full")
        try:
            self._path.hardlink_to(self._part_path)  # which, other than renaming, replaces nothing
        except FileExistsError:
            raise InputError(f"{self._path} is there already: nothing is overwritten") from None
        self._part_path.unlink()
        self._begun = False
        self.files.append(self._path)
        self.n_written, self.n_events = self.n_written + self.n_events, 0
        self._part += 1

    def close_as_it_is(self) -> None:
        """Closes the file, which stays a `.part`."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def give_up_file(self) -> int:
        """Call it after an error: removes the open file and returns the number of events lost with it."""
        n_events, self.n_events = self.n_events, 0
        with suppress(OSError, RuntimeError):
            self.close_as_it_is()
        if self._begun:
            self._part_path.unlink(missing_ok=True)
        self._begun = False
        return n_events


def n_events_in(path: Path) -> int:
    """Events in a closed file, from its header, as protozfits does not report failed writes. 0: it has no number."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tables = protozfits_of("OUT", "R1v1").detect_bintables(str(path))
        except (OSError, KeyError):
            return 0
    return next((int(table.znaxis2) for table in tables if table.extname == "Events"), 0)


def _steps(event: CameraEvent) -> int:
    """The steps that were done with all calibrated boards, as bits of tdp_action."""
    steps = event.calibration_steps[event.calibration_steps != 0]
    done = int(np.bitwise_and.reduce(steps)) if len(steps) else 0
    return (done & TDP_STEPS) | (TDP_GAIN if done & GAIN_SELECTED else 0)


def first_cells(event: CameraEvent, n_modules: int) -> NDArray[np.uint16]:
    """uint16[module * 8 + chip], in the file's order of modules; 0 if they are not known."""
    cells = np.zeros((n_modules, CHIPS_PER_MODULE), np.uint16)
    if event.first_cells is not None:
        cells[event.boards] = np.where(event.first_cells == NO_CELL, 0, event.first_cells)
    return cells.reshape(-1)


def _cdts(event: CameraEvent) -> NDArray[np.uint8]:
    """Time and kind of trigger, as the camera's clock would have sent them; mono trigger if the kind is not known."""
    data = np.zeros(triggers.CDTS_BYTES, np.uint8)
    data[:8] = np.frombuffer(event.timestamp_ns.to_bytes(8, "little"), np.uint8)
    data[triggers.CDTS_TYPE_AT] = event.trigger_tag or TriggerTag.MONO
    return data


def array_of(values: NDArray[Any]) -> Any:
    return protozfits_of("OUT", "R1v1").numpy_to_any_array(np.ascontiguousarray(values))


def protozfits_of(key: str, given: str) -> Any:
    """The package protozfits. Raises ConfigError if it is not installed."""
    try:
        import protozfits
    except ImportError:
        raise ConfigError(
            key, "needs the package protozfits", given, 'Install it: pip install "anello[convert]"'
        ) from None
    return protozfits


def _messages() -> Any:
    from protozfits import R1v1_pb2

    return R1v1_pb2


def _debug_messages() -> Any:
    from protozfits import R1v1_debug_pb2

    return R1v1_debug_pb2
