# SPDX-License-Identifier: Apache-2.0
"""The observatory's own readers open R1v1 files that a run of the camera chain writes before it ends.

What needs readers of others, of requirements/readers.txt, is marked `long`.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import of_others
import pytest
from camera_zfits import check_dl0
from stalls import PATIENCE_MS
from typer.testing import CliRunner

from anello import cli
from anello.camera import events as camera_events
from anello.camera.cta import cameras, r1v1
from anello.camera.cta.r1_files import R1Files
from anello.camera.cta.r1_writer import RETRY_S, FileWriter
from anello.camera.event import BOARD_HEADER, CameraEvent
from anello.configuration.load import load
from anello.errors import ConfigError, InputError

pytest.importorskip("anello._engine", reason="the compiled engine is not built")
ROOT = Path(__file__).parents[3]
SAMPLES = {"LSTCam": 40, "NectarCam": 60}
N_EVENTS = 12
START_NS = 1_790_000_000_000_000_000


@pytest.fixture
def protozfits() -> Any:
    return pytest.importorskip("protozfits")


# --- One stream ---------------------------------------------------------------------------------------------------
def event(number: int, seconds: float = 0.0, n_gains: int = 2, n_samples: int = 40) -> CameraEvent:
    """An event of 265 boards with equal samples, handed on `seconds` after START_NS."""
    headers = np.zeros(265, BOARD_HEADER)
    headers["board"], headers["event_number"], headers["n_samples"] = np.arange(265), number, n_samples
    headers["n_pixels"], headers["n_gains"] = 7, n_gains
    headers["payload_bytes"] = 14 * n_gains * n_samples
    payloads = np.full(265 * 7 * n_gains * n_samples, 100 + number, "<u2").view(np.uint8)
    closed_ns = START_NS + round(seconds * 1e9)
    return CameraEvent(
        7, number, START_NS + number, 0, closed_ns, 265, np.arange(265, dtype=np.uint16), headers, payloads
    )


def stream_in(folder: Path, limits: r1v1.Limits, number: int = 1) -> r1v1.FileSequence:
    return r1v1.FileSequence(r1v1.FilePlace(folder, number, 2), r1v1.Messages(cameras.camera("LSTCam"), 7), limits)


def numbers_in(protozfits: Any, path: Path) -> list[int]:
    with protozfits.File(str(path)) as file:
        return [int(row.event_id) for row in file.Events]


def test_files_side_by_side_end_at_the_same_second(protozfits: Any, tmp_path: Path) -> None:
    """By the clock of the events: however far behind one stream is."""
    streams = [stream_in(tmp_path, r1v1.Limits(seconds=2.0), number) for number in (1, 2)]
    for number, seconds in enumerate((0.1, 0.5, 1.7, 1.9, 2.1, 2.3, 6.5, 7.9)):
        streams[number % 2].write(event(number, seconds))
    for stream in streams:
        stream.end_file()
    found = [[numbers_in(protozfits, path) for path in stream.files] for stream in streams]
    assert found == [[[0, 2], [4], [6]], [[1, 3], [5], [7]]]
    assert streams[1].files[2].name == "LST-1.2.Run00007.0002.fits.fz"


def test_an_open_file_says_when_it_is_to_end(protozfits: Any, tmp_path: Path) -> None:
    stream = stream_in(tmp_path, r1v1.Limits(seconds=2.0, grace_s=0.25))
    now_s = START_NS * 1e-9
    assert stream.seconds_left(now_s) is None
    stream.write(event(1, 1.5))
    assert stream.seconds_left(now_s + 1.5) == pytest.approx(0.75, abs=1e-3)
    assert stream.seconds_left(now_s + 9) == 0
    stream.end_file()
    assert stream.seconds_left(now_s) is None


def test_a_file_ends_at_its_size(protozfits: Any, tmp_path: Path) -> None:
    stream = stream_in(tmp_path, r1v1.Limits(n_events=100, n_bytes=60_000))
    for number in range(45):  # in tiles of 20, each of less than that
        stream.write(event(number))
    stream.end_file()
    found = [numbers_in(protozfits, path) for path in stream.files]
    assert len(found) > 1
    assert [number for file in found for number in file] == list(range(45))
    assert all(path.stat().st_size >= 60_000 for path in stream.files[:-1])


def test_nothing_is_overwritten(protozfits: Any, tmp_path: Path) -> None:
    """Neither a file that is there before, nor one that comes while ours is written."""
    there = tmp_path / "LST-1.1.Run00007.0000.fits.fz"
    there.write_text("somebody's")
    with pytest.raises(InputError, match="is there already"):
        stream_in(tmp_path, r1v1.Limits()).write(event(1))
    other = stream_in(tmp_path, r1v1.Limits(), number=2)
    other.write(event(1))
    comes = tmp_path / "LST-1.2.Run00007.0000.fits.fz"
    comes.write_text("somebody's, too")
    with pytest.raises(InputError, match="is there already"):
        other.end_file()
    assert (there.read_text(), comes.read_text()) == ("somebody's", "somebody's, too")


# --- A writer -----------------------------------------------------------------------------------------------------
def test_what_no_file_can_hold_is_refused_and_counted(
    protozfits: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = FileWriter(stream_in(tmp_path, r1v1.Limits()))
    writer.take(b"no record", 0.0)
    monkeypatch.setattr(camera_events, "decode", lambda record: event(len(record), n_gains=2 + (len(record) == 2)))
    for record in (b"1", b"22", b"333"):
        writer.take(record, 0.0)
    writer.end_file(0.0)
    (path,) = tmp_path.iterdir()
    assert numbers_in(protozfits, path) == [1, 3]
    counts = writer.counts
    assert (counts.events_in, counts.events_written, counts.events_refused, counts.events_lost) == (4, 2, 2, 0)
    assert (counts.files_written, counts.bytes_written) == (1, path.stat().st_size)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], check=False)
    if mounted.returncode != 0:
        pytest.skip("a small disk needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.process
def test_a_full_disk_costs_events_that_are_counted_and_goes_by(
    protozfits: Any, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(camera_events, "decode", lambda record: event(len(record)))
    writer = FileWriter(stream_in(small_disk, r1v1.Limits(n_events=100)))
    fill = small_disk / "fill"
    fill.write_bytes(bytes(1_000_000))
    now_s = 0.0
    writer.take(b"1", now_s)
    writer.end_file(now_s)
    assert "the disk may be full" in writer.error
    writer.take(b"22", now_s)  # not tried: it has just been so
    assert (writer.counts.events_in, writer.counts.events_lost) == (2, 2)
    assert [path.name for path in small_disk.iterdir()] == ["fill"], "what is no file is not left there"
    fill.unlink()
    writer.take(b"333", now_s + RETRY_S)
    writer.end_file(now_s + RETRY_S)
    (path,) = small_disk.iterdir()
    assert path.name == "LST-1.1.Run00007.0000.fits.fz"
    assert numbers_in(protozfits, path) == [3]
    assert (writer.counts.events_lost, writer.counts.events_written) == (2, 1)


def test_without_protozfits_no_run_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "protozfits", None)
    config: Any = load(None, ["chain=camera", "camera.model=LSTCam", "camera_send.r1_streams=2"])
    with pytest.raises(ConfigError, match=r"camera_send.r1_streams: needs the package protozfits \(given: 2\)"):
        R1Files(config.camera_send, tmp_path, camera="LSTCam", run=1)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("model", ["", "DigiCam"])
def test_of_other_cameras_there_are_no_such_files(model: str) -> None:
    shape = ["camera.boards=108", "camera.pixels_per_board=12"] if model else []
    with pytest.raises(
        ConfigError, match=r"camera\.model: must be one of LSTCam, NectarCam with camera_send.r1_streams"
    ):
        load(None, ["chain=camera", f"camera.model={model}", *shape, "camera_send.r1_streams=1"])


# --- A run --------------------------------------------------------------------------------------------------------
def run_command(folder: Path, name: str, settings: Sequence[str]) -> list[str]:
    """A short run that keeps all events."""
    given = [
        f"run.n_events={N_EVENTS}",
        "run.display=off",
        f"camera.model={name}",
        f"camera.samples={SAMPLES[name]}",
        "receive.ports=[0]",
        "camera_source.ports=[0]",
        "camera_source.rate_hz=40",
        "camera_source.pool_events=12",
        "camera_filter.enabled=false",
        "camera_send.file=events.h5",
        f"camera_build.timeout_ms={PATIENCE_MS}",
        "camera_send.r1_streams=2",
        "camera_source.first_event=1",  # LSTEventSource skips number 0
        *settings,
    ]
    return [
        sys.executable,
        "-m",
        "anello",
        "run",
        str(ROOT / "detectors/camera/cta-camera.toml"),
        "--report-dir",
        str(folder),
        *(part for one in given for part in ("--set", one)),
    ]


def run_of(folder: Path, name: str, *settings: str) -> dict[str, Any]:
    done = subprocess.run(
        run_command(folder, name, settings), cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    summary: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return summary


@pytest.fixture(scope="module", params=["LSTCam", pytest.param("NectarCam", marks=pytest.mark.long)])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, dict[str, Any]]:
    pytest.importorskip("protozfits")
    folder = tmp_path_factory.mktemp("r1")
    counters = {"LSTCam": "dragon_drs4", "NectarCam": "nectarcam_20"}[request.param]
    return request.param, folder, run_of(folder, request.param, f"camera_source.counters={counters}")


@pytest.mark.process
def test_each_event_is_in_one_file_sample_by_sample(run: tuple[str, Path, dict[str, Any]], protozfits: Any) -> None:
    name, folder, summary = run
    files = sorted((folder / "r1").iterdir())
    assert all(path.name.endswith(".fits.fz") for path in files)
    rows = {}
    for path in files:
        with protozfits.File(str(path)) as file:
            assert (len(file.DataStream), len(file.CameraConfiguration)) == (1, 1)
            configuration = next(iter(file.CameraConfiguration))
            assert configuration.pixel_id_map.tolist() == cameras.camera(name).pixel_id.reshape(-1).tolist()
            of_file = {int(row.event_id): row for row in file.Events}
        assert not of_file.keys() & rows.keys()
        rows |= of_file
    sent = {one.event_number: one for one in camera_events.read(folder / "events.h5")}
    assert rows.keys() == sent.keys()
    assert len(rows) == N_EVENTS
    for number, row in rows.items():
        wanted, _ = cameras.camera(name).by_channel(sent[number])
        assert np.array_equal(row.waveform.reshape(wanted.shape), wanted)
        assert row.event_time_s * 10**9 + row.event_time_qns // 4 == sent[number].timestamp_ns
    writers = summary["r1_files"]
    assert [one["events_written"] for one in writers] == [N_EVENTS // 2] * 2
    assert sum(one["files_written"] for one in writers) == len(files)
    assert sum(one["bytes_written"] for one in writers) == sum(path.stat().st_size for path in files)
    assert [one["died"] for one in writers] == [0, 0]


@pytest.mark.long
@pytest.mark.process
def test_the_camera_s_own_reader_opens_them(run: tuple[str, Path, dict[str, Any]]) -> None:
    name, folder, _ = run
    sent = {one.event_number: one for one in camera_events.read(folder / "events.h5")}
    n_seen = 0
    for found in (lst_events if name == "LSTCam" else nectarcam_events)(sorted((folder / "r1").iterdir())):
        wanted, _ = cameras.camera(name).by_pixel(sent[found.index.event_id])
        level = found.r0.tel[1] if found.r0.tel[1].waveform is not None else found.r1.tel[1]
        assert np.array_equal(np.asarray(level.waveform, np.int64), wanted)
        n_seen += 1
    assert n_seen == N_EVENTS


@pytest.mark.parametrize("name", [pytest.param("LSTCam", marks=pytest.mark.long), "NectarCam"])
@pytest.mark.process
def test_a_run_writes_dl0_during_the_run(name: str, protozfits: Any, tmp_path: Path) -> None:
    counters = {"LSTCam": "dragon_drs4", "NectarCam": "nectarcam_20"}[name]
    summary = run_of(tmp_path, name, f"camera_source.counters={counters}", "camera_send.r1_model=DL0v1")
    files = sorted((tmp_path / "r1").iterdir())
    assert len({path.name.split("_")[2] for path in files}) == 1, "the run began once"
    sent = {one.event_number: one for one in camera_events.read(tmp_path / "events.h5")}
    run = int(cameras.attributes(tmp_path / "events.h5")["run_number"])
    numbers = [number for path in files for number in check_dl0(protozfits, path, name, sent, run)]
    assert sorted(numbers) == sorted(sent)
    assert len(numbers) == N_EVENTS
    assert sum(one["events_written"] for one in summary["r1_files"]) == N_EVENTS
    done = CliRunner().invoke(
        cli.app, ["convert", str(tmp_path / "events.h5"), str(tmp_path / "dl0"), "--model", "DL0v1"]
    )
    assert done.exit_code == 0, done.output
    (path,) = (tmp_path / "dl0").iterdir()
    assert sorted(check_dl0(protozfits, path, name, sent, run)) == sorted(sent)


def lst_events(files: Sequence[Path]) -> Iterator[Any]:
    """All streams and subruns, found from the first one's name."""
    lst = of_others.package("ctapipe_io_lst")
    from traitlets.config import Config

    settings = Config(
        {
            "LSTEventSource": {"pointing_information": False, "apply_drs4_corrections": False},
            "MultiFiles": {"all_subruns": True},
        }
    )
    with lst.LSTEventSource(input_url=files[0], config=settings) as source:
        yield from source


def nectarcam_events(files: Sequence[Path]) -> Iterator[Any]:
    nectarcam = of_others.package("ctapipe_io_nectarcam")
    from traitlets.config import Config

    # fmt: off
    off = Config({"NectarCAMEventSource": {"NectarCAMR0Corrections": {
        "calibration_path": None, "apply_flatfield": False, "select_gain": False}}})
    # fmt: on
    for path in files:
        yield from nectarcam.NectarCAMEventSource(input_url=str(path), config=off)


# --- Runs that end badly ------------------------------------------------------------------------------------------
class Running:
    """A run without an end of its own: it continues until its process gets a signal."""

    def __init__(self, folder: Path) -> None:
        settings = ["run.n_events=0", "run.duration_s=0", "camera_send.r1_file_s=0.5"]
        self.folder = folder
        self.process = subprocess.Popen(
            run_command(folder, "LSTCam", settings),
            cwd=ROOT,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def writers(self) -> dict[int, int]:
        """Process of each stream's writer."""
        tasks = Path(f"/proc/{self.process.pid}/task").iterdir()
        found = {}
        for child in (int(one) for task in tasks for one in (task / "children").read_text().split()):
            words = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
            if len(words) > 3 and words[2].endswith(b"r1_writer"):
                found[json.loads(words[3])["number"]] = child
        return found

    def files(self, stream: int) -> list[Path]:
        return sorted((self.folder / "r1").glob(f"LST-1.{stream}.*.fits.fz"))

    def wait_for(self, condition: Callable[[], Any]) -> None:
        """The test's time-out ends it."""
        while not condition():
            assert self.process.poll() is None, self.process.communicate()[0]
            time.sleep(0.02)


@pytest.fixture
def running(protozfits: Any, tmp_path: Path) -> Iterator[Running]:
    made = Running(tmp_path / "run")
    yield made
    if made.process.poll() is None:
        made.process.kill()
        made.process.communicate()


@pytest.mark.long
@pytest.mark.process
def test_a_run_continues_without_a_writer_that_was_killed(running: Running) -> None:
    running.wait_for(lambda: running.files(1) and running.files(2))
    os.kill(running.writers()[2], signal.SIGKILL)
    n_files = len(running.files(1))
    running.wait_for(lambda: len(running.files(1)) > n_files + 2)
    running.process.send_signal(signal.SIGINT)
    said, _ = running.process.communicate()
    assert "the writer of R1v1 files, stream 2, died: Killed; others take its events" in said
    summary = json.loads((running.folder / "summary.json").read_text())
    assert summary["ledger"]["balanced"], said
    assert [one["died"] for one in writers_of(summary)] == [0, 1]
    in_files = {number for path in (running.folder / "r1").glob("*.fits.fz") for number in numbers_of(path)}
    lost = {one.event_number for one in camera_events.read(running.folder / "events.h5")} - in_files
    counted = sum(writers_of(summary)[1][name] for name in ("events_never_taken", "events_lost_with_writer"))
    counted += summary["counters"]["node"]["r1_stream1"]["lost_disconnected"]
    assert len(lost) == counted


def writers_of(summary: Mapping[str, Any]) -> list[dict[str, int]]:
    writers: list[dict[str, int]] = summary["r1_files"]
    return writers


def numbers_of(path: Path) -> list[int]:
    import protozfits

    return numbers_in(protozfits, path)


@pytest.mark.process
@pytest.mark.long
def test_what_is_killed_with_all_its_writers_leaves_whole_files(running: Running) -> None:
    """Nothing is missing of a time of which each stream has a whole file."""
    running.wait_for(lambda: len(running.files(1)) > 2 and len(running.files(2)) > 2)
    for process in (*running.writers().values(), running.process.pid):
        os.kill(process, signal.SIGKILL)
    running.process.communicate()
    stored = camera_events.read(running.folder / "events.h5")
    period = {one.event_number: one.closed_ns // 500_000_000 for one in stored}
    found = [[number for path in running.files(stream) for number in numbers_of(path)] for stream in (1, 2)]
    assert all(len(numbers) == len(set(numbers)) for numbers in found)
    whole = min(max(period.get(number, 0) for number in numbers) for numbers in found)
    wanted = {number for number, of_event in period.items() if of_event <= whole}
    assert wanted
    assert wanted <= {number for numbers in found for number in numbers}


@pytest.mark.process
@pytest.mark.long
def test_writers_close_their_files_when_the_run_alone_is_killed(running: Running) -> None:
    running.wait_for(lambda: running.files(1) and running.files(2))
    writers = running.writers()
    os.kill(running.process.pid, signal.SIGKILL)
    running.process.communicate()
    while any(is_running(writer) for writer in writers.values()):  # the test's time-out ends it
        time.sleep(0.02)
    files = list((running.folder / "r1").iterdir())
    assert all(path.name.endswith(".fits.fz") for path in files)
    numbers = [number for path in files for number in numbers_of(path)]
    assert len(numbers) == len(set(numbers)) > 0


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
