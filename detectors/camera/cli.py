# SPDX-License-Identifier: Apache-2.0
"""Commands of the camera."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anello.errors import ConfigError, InputError

if TYPE_CHECKING:
    from .cta import r1v1
    from .event import CameraEvent

EVENTS_BETWEEN = 20  # one look at how far it is and the next
CONNECT_S = 30.0  # a run that is being started


def convert(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Events: FILE.fits.fz of a camera, all of a run; or a run's FILE.h5."),
    ],
    output: Annotated[Path, typer.Argument(metavar="OUT", help="Capture file to write; of FILE.h5: a folder.")],
    *,
    first_port: Annotated[int, typer.Option(help="UDP port of board 0.")] = 6000,
    ports: Annotated[int, typer.Option(help="Number of ports shared by the boards; 0: one port per board.")] = 0,
    camera: Annotated[str, typer.Option(help="Of FILE.h5: LSTCam or NectarCam; as camera.model of its run.")] = "",
    telescope: Annotated[int, typer.Option(min=1, max=255, help="Of FILE.h5: number of the telescope.")] = 1,
    streams: Annotated[int, typer.Option(min=1, max=4, help="Of FILE.h5: files side by side.")] = 1,
    model: Annotated[str, typer.Option(help="Of FILE.h5: R1v1, as event builders write, or DL0v1.")] = "R1v1",
    pe_per_count: Annotated[
        float, typer.Option(min=0, max=100, help="Of FILE.h5: as camera_send.r1_pe_per_count.")
    ] = 0.0,
) -> None:
    """Converts files of camera events.

    FILE.fits.fz becomes its boards' datagrams (a pcap file for receive.backend = "pcap"); of files that an event
    builder has written side by side, give all. FILE.h5 becomes files of the observatory's data model R1v1 or DL0v1
    (zfits), as event builders write them and ctapipe reads them.
    """
    if files[0].suffix not in (".h5", ".hdf5"):
        _to_capture(files, output, first_port, ports)
    elif len(files) > 1:
        given = " ".join(map(str, files))
        raise ConfigError("FILE", "must be one where it is a run's", given, "Convert each by itself")
    else:
        _to_zfits(files[0], output, camera, streams, (model, telescope, pe_per_count))


def calibrate(
    file: Annotated[Path, typer.Argument(metavar="EVENTS.h5", help="A run's events, pedestals among them.")],
    output: Annotated[Path, typer.Argument(metavar="OUT.fits", help="File of coefficients to write.")],
    *,
    all_events: Annotated[
        bool, typer.Option(help="Take every event for a pedestal, whatever its trigger tag.")
    ] = False,
    camera: Annotated[str, typer.Option(help="LSTCam, NectarCam or DigiCam; as camera.model of its run.")] = "",
    time_lapse_file: Annotated[str, typer.Option(help="As camera_calibrate.time_lapse_file.")] = "",
) -> None:
    """Measures a camera's baselines, spikes and flat field from its calibration events, for camera_calibrate.file.

    Of cameras with DRS4 chips each of a pixel's 4096 cells gets a baseline, of others each pixel. The file has the
    observatory's format. Every tenth pedestal event is held out, and tells the noise before and after. Where the run
    has flat fields, the file has their factors, too.
    """
    import tempfile

    from .cta import calibration

    if not file.is_file():
        raise InputError(f"{file}: there is no such file")
    if output.exists():
        raise InputError(f"{output} is there already: nothing is overwritten")
    try:
        layout = calibration.layout_of(file, camera)
        with tempfile.TemporaryDirectory() as folder, _rounds(file) as events:
            made, figures = calibration.measure(
                events, layout, Path(folder), all_events=all_events, time_lapse_file=time_lapse_file
            )
    except (ConfigError, InputError):
        raise
    except (OSError, KeyError, ValueError) as error:
        raise InputError(f"{file}: no events of this camera can be read ({error})") from error
    made.write(output)
    print("\n".join([f"{output}: baselines of {made.baseline.shape[1]} pixels", *calibration.in_words(figures)]))


def import_calibration(
    pedestal: Annotated[Path, typer.Argument(metavar="DRS4_PEDESTAL", help="Baselines and spikes, .fits or .h5.")],
    calibration: Annotated[Path, typer.Argument(metavar="CALIBRATION", help="What a count is worth, .fits or .h5.")],
    output: Annotated[Path, typer.Argument(metavar="OUT.fits", help="File of coefficients to write.")],
    *,
    telescope: Annotated[int, typer.Option(min=1, max=255, help="Number of the telescope.")] = 1,
) -> None:
    """Makes a file for camera_calibrate.file of an LST's own calibration files.

    Levels of the second are added to the baselines of the first. Factors make counts of each pixel and gain counts of
    the high gain's usual one, and what such a count is worth in photo-electrons is said.
    """
    from .cta import observatory_files

    if output.exists():
        raise InputError(f"{output} is there already: nothing is overwritten")
    made = observatory_files.read(pedestal, calibration, telescope)
    made.coefficients.write(output)
    unusable = ", ".join(f"{n} of gain {gain}" for gain, n in enumerate(made.n_unusable))
    print(f"{output}: {made.coefficients.baseline.shape[1]} pixels; a count is worth {made.pe_per_count:.6g} p.e.")
    print(f"pixels that are not usable, which take their gain's usual factor: {unusable}")


@contextmanager
def _rounds(file: Path) -> Iterator[Callable[[str], Iterator["CameraEvent"]]]:
    """Yields the file's events again at each call, and shows the progress."""
    from rich.console import Console

    from anello.run import display

    from . import events
    from .cta import calibration

    n_events, began_s = calibration.count_events(file), time.monotonic()
    with display.make("auto", Console(stderr=True)) as shown:

        def one_round(name: str) -> Iterator["CameraEvent"]:
            for n, event in enumerate(events.read(file), 1):
                if n % EVENTS_BETWEEN == 0:
                    item = display.Item(name, f"{n:,} of {n_events:,} events")
                    shown.show(display.Progress(time.monotonic() - began_s, (item,)))
                yield event

        yield one_round


def _to_capture(paths: list[Path], output: Path, first_port: int, ports: int) -> None:
    from . import files
    from .cta import zfits

    events = zfits.read(*paths)
    n_frames = files.write_pcap(output, events, first_port, ports)
    n_modules, _, n_pixels, n_samples = events.waveform[0].shape
    n_selected = sum(one is not None for one in events.low_gain)
    n_gains = max(waveform.shape[1] for waveform in events.waveform)
    print(
        f"{output}: {events.n_events} events of {n_modules} boards, {n_pixels} pixels, {n_gains} gains, {n_samples} "
        f"samples; {n_frames} datagrams from port {first_port} on"
    )
    if n_selected:
        print(f"{n_selected} events have one of two gains of each pixel, and say which")
    if events.note:
        print(events.note)


def _to_zfits(file: Path, folder: Path, camera: str, streams: int, options: tuple[str, int, float]) -> None:
    """Writes zfits files; the user gives the data model, the telescope and the photo-electrons per count."""
    from . import events
    from .cta import cameras, dl0v1, r1v1

    model, telescope, pe_per_count = options
    if model not in dl0v1.MODELS:
        raise ConfigError("--model", f"must be one of {', '.join(dl0v1.MODELS)}", model, "R1v1 is what cameras write.")
    if not file.is_file():
        raise InputError(f"{file}: there is no such file")
    try:
        which, run = cameras.of_file(file, camera), int(cameras.attributes(file).get("run_number", 0))
        with r1v1.Writer(
            folder, dl0v1.messages(model, which, run, telescope, pe_per_count=pe_per_count), streams
        ) as writer:
            refused = [said for event in events.read(file) if (said := _refusal_of(writer, event))]
        if refused and not writer.n_written:
            raise ValueError(refused[0])
    except (ConfigError, InputError):
        raise
    except (OSError, KeyError, ValueError) as error:
        raise InputError(f"{file}: no events of this camera can be read ({error})") from error
    names = ", ".join(path.name for path in writer.files)
    if left_out := writer.messages.left_out_in_words:
        print(f"{left_out}: one file has samples of one kind")
    print(f"{folder}: {writer.n_written} events of {which.name}, run {run}: {names or 'nothing'}")
    if refused:
        print(f"{len(refused)} events refused, the first: {refused[0]}")


def _refusal_of(writer: "r1v1.Writer", event: "CameraEvent") -> str:
    """The reason why an event cannot be in the files; empty: there is none."""
    try:
        writer.write(event)
    except InputError:  # of the file
        raise
    except ValueError as error:
        return str(error)
    return ""


def r1_repair(
    file: Annotated[Path, typer.Argument(metavar="FILE.part", help="What a writer that was killed has left.")],
    output: Annotated[
        Path | None, typer.Argument(metavar="OUT", help="File to write; without it, FILE without its .part.")
    ] = None,
) -> None:
    """Makes a readable R1v1 file (zfits) of one whose writer was killed.

    It has the events whose tiles, of 20 each, were written whole. FILE.part stays as it is.
    """
    from .cta import zfits_repair

    if not file.is_file():
        raise InputError(f"{file}: there is no such file")
    if output is None:
        if file.suffix != ".part":
            raise ConfigError("OUT", "must be given where FILE does not end in .part", str(file), "Name a new file.")
        output = file.with_suffix("")
    print(f"{output}: {zfits_repair.repair(file, output)} events saved")


def r1_stream(
    source: Annotated[str, typer.Argument(metavar="FROM", help="publish.address of the run, e.g. stream://@camera.")],
    to: Annotated[
        str, typer.Argument(metavar="TO", help="The receiver's address, e.g. tcp://HOST:9100; tcp://*:9100.")
    ],
    *,
    camera: Annotated[str, typer.Option(help="LSTCam or NectarCam.")],
    run: Annotated[int, typer.Option(min=0, help="Number of the run, as the receiver is to know it.")] = 0,
    telescope: Annotated[int, typer.Option(min=1, max=255, help="Number of the telescope.")] = 1,
) -> None:
    """Sends what a camera's run publishes to array control and pipelines: R1v1 messages over ZeroMQ PUSH."""
    from anello.subscribe import subscribe

    from .cta import array_stream, cameras, r1v1

    messages = r1v1.Messages(cameras.camera(camera), run, telescope)
    with array_stream.Sender(to, messages) as sender, subscribe(source, connect_s=CONNECT_S) as records:
        try:
            n_events = sender.send(array_stream.event_of(record) for record in records)
        except (OSError, ValueError) as error:  # of the run, or nobody takes what is sent
            raise InputError(f"{source}: {error}") from error
    left_out = f", {messages.left_out_in_words}" if messages.n_left_out else ""
    print(f"{to}: {n_events} events of {camera}, {records.n_missed} missed, {sender.n_refused} refused{left_out}")
    if sender.why_refused:
        print(f"the first that was refused: {sender.why_refused}")
