# SPDX-License-Identifier: Apache-2.0
"""Events of the camera chain in the hands of the observatory's own tools: what they open has every sample in its place.

Those that need readers of others and ctapipe, of requirements/readers.txt, are marked `long`.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import of_others
import pytest
from camera_zfits import check_dl0
from detector_data import DIGICAM, LST, NECTARCAM, DetectorData
from numpy.typing import NDArray
from stalls import PATIENCE_MS
from typer.testing import CliRunner

from anello import cli
from anello.camera import files as camera_files
from anello.camera.cta import array_stream, cameras, dl0v1, r1v1, triggers, zfits
from anello.camera.cta.models import DESCRIBED
from anello.camera.event import BOARD_HEADER, DRAGON_DRS4, CameraEvent, TriggerTag
from anello.camera.files import CameraEvents
from anello.errors import ConfigError, InputError

pytest.importorskip("anello._engine", reason="the compiled engine is not built")
ROOT = Path(__file__).parents[3]
START_NS = 1_790_000_000_000_000_000
SAMPLES = {"LSTCam": 40, "NectarCam": 60}
N_READ = int(os.environ.get("ANELLO_READER_EVENTS", "10"))  # simulated events that each reader of others is given


def event(
    number: int, n_samples: int, missing: Sequence[int] = (), n_gains: int = 2, *, tag: int = 0, has_cells: bool = False
) -> CameraEvent:
    """Of 265 boards with random samples and counters; a trigger's pattern has 7 bits, as NectarCAM's reader insists."""
    random = np.random.default_rng(number)
    boards = np.setdiff1d(np.arange(265), missing).astype(np.uint16)
    headers = np.zeros(len(boards), BOARD_HEADER)
    headers["board"], headers["event_number"], headers["n_samples"] = boards, number, n_samples
    headers["n_pixels"], headers["n_gains"] = 7, n_gains
    headers["counters"][:, :20] = random.integers(0, 128, (len(boards), 20))
    samples = random.integers(0, 4096, (len(boards), n_gains, 7, n_samples)).astype("<u2")
    headers["trigger_tag"] = tag
    headers["payload_bytes"] = samples[0].nbytes
    payloads = np.frombuffer(samples.tobytes(), np.uint8)
    if has_cells:
        cells = random.integers(0, 4096, (len(boards), 8)).astype("<u2")
        headers["counters_kind"], headers["payload_bytes"] = DRAGON_DRS4, samples[0].nbytes + 16
        each = [samples.reshape(len(boards), -1).view(np.uint8), cells.view(np.uint8)]
        payloads = np.concatenate(each, axis=1).reshape(-1)
    return CameraEvent(7, number, START_NS + 1_000_003 * number, 0, 0, 265, boards, headers, payloads)


def written(folder: Path, name: str, events: Sequence[CameraEvent], **options: Any) -> list[Path]:
    with r1v1.Writer(folder, r1v1.Messages(cameras.camera(name), 7), **options) as writer:
        for one in events:
            writer.write(one)
    return writer.files


def check(found: Iterator[Any], events: Sequence[CameraEvent], name: str) -> None:
    """Samples by pixel id in both gains, times to the microsecond that ctapipe's float has."""
    n_seen = 0
    for n_seen, one in enumerate(found, 1):  # noqa: B007
        sent = events[one.index.event_id - 1]
        wanted, _ = cameras.camera(name).by_pixel(sent)
        level = next(of.tel[1] for of in (one.r0, one.r1, one.dl0) if of.tel[1].waveform is not None)
        assert np.array_equal(np.asarray(level.waveform, np.int64), wanted), sent.event_number
        assert one.trigger.time.unix_tai == pytest.approx(sent.timestamp_ns * 1e-9, abs=1e-6)
    assert n_seen == len(events)


# --- Cameras ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", DESCRIBED)
def test_a_camera_is_a_lattice_of_modules(name: str) -> None:
    camera = cameras.camera(name)
    assert camera.pixel_id.shape == (265, 7)
    assert sorted(camera.pixel_id.reshape(-1)) == list(range(1855))
    places = np.stack([camera.x_m, camera.y_m], axis=1)
    distance = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))
    neighbours = (distance < 0.07).sum(axis=1) - 1
    assert np.bincount(neighbours).tolist() == [0, 0, 0, 60, 54, 54, 1687]
    for module in camera.pixel_id:  # a flower: six around one
        from_one = distance[module][:, module]
        assert np.count_nonzero(from_one < 0.07, axis=1).max() == 7


def test_cameras_number_their_pixels_differently() -> None:
    lst, nectarcam = cameras.camera("LSTCam"), cameras.camera("NectarCam")
    assert lst.pixel_id[132, 3] == 0
    assert (lst.x_m[0], lst.y_m[0]) == (0, 0)
    assert lst.pixel_id.reshape(-1)[:7].tolist() == [1853, 1838, 1794, 1839, 1854, 1795, 1840]
    assert nectarcam.pixel_id.reshape(-1).tolist() == list(range(1855))


# fmt: off
DIGICAM_PIXELS = {  # of camera_config.cfg of digicampipe: (module, pixel in it), both from 1: pixel, x and y in mm
    (1, 1): (662, 60.75, 7.01), (1, 9): (624, 0, -14.03), (5, 1): (593, 133.65, -35.07), (17, 1): (812, 206.55, 91.19),
    (31, 1): (455, 279.45, -119.25), (76, 12): (0, 12.15, -498.05), (82, 4): (353, 413.1, -182.39),
    (86, 1): (1037, 425.25, 217.46), (2, 1): (730, -36.45, 49.1), (8, 1): (874, -36.45, 133.28),
    (9, 1): (799, -109.35, 91.19), (18, 12): (884, 206.55, 133.28), (22, 1): (868, -182.25, 133.28),
    (107, 7): (37, -121.5, -392.83), (108, 1): (1, -24.3, -477.01), (108, 12): (39, -72.9, -392.83),
}
# fmt: on


def test_digicam_is_three_sectors_of_modules_of_twelve() -> None:
    x_m, y_m, pixel_id = cameras.pixels("DigiCam")
    assert sorted(pixel_id.reshape(-1)) == list(range(108 * 12))
    for (module, channel), (pixel, x_mm, y_mm) in DIGICAM_PIXELS.items():
        assert pixel_id[module - 1, channel - 1] == pixel
        assert 1e3 * x_m[pixel] == pytest.approx(x_mm, abs=0.02)
        assert 1e3 * y_m[pixel] == pytest.approx(y_mm, abs=0.02)
    distance = np.hypot(x_m[:, None] - x_m, y_m[:, None] - y_m)
    assert np.bincount((distance < 0.034).sum(axis=1) - 1).tolist() == [0, 0, 3, 69, 0, 69, 1155]  # neighbours
    with pytest.raises(ConfigError, match="must be one of LSTCam, NectarCam"):
        cameras.camera("DigiCam")


def test_a_missing_module_is_zero_and_reported() -> None:
    camera = cameras.camera("LSTCam")
    waveforms, present = camera.by_pixel(event(1, 40, missing=[132]))
    assert set(np.flatnonzero(~present)) == set(camera.pixel_id[132])
    assert not waveforms[:, ~present].any()
    with pytest.raises(ValueError, match="265 modules"):
        camera.by_pixel(CameraEvent(**{**event(1, 40).__dict__, "boards": np.arange(1, 266, dtype=np.uint16)}))


def test_an_unknown_camera_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"camera.model: must be one of LSTCam, NectarCam \(given: 'SCT'\)"):
        cameras.camera("SCT")


# --- Kinds of events ----------------------------------------------------------------------------------------------
TYPES = {  # of ctapipe's EventType, by trigger tag
    0: 32,
    TriggerTag.MONO: 32,
    TriggerTag.STEREO: 32,
    TriggerTag.MONO | TriggerTag.STEREO: 32,
    TriggerTag.CALIBRATION: 0,
    TriggerTag.CALIBRATION | TriggerTag.MONO: 0,
    TriggerTag.PEDESTAL: 2,
    TriggerTag.PEDESTAL | TriggerTag.MONO: 32,
    TriggerTag.SINGLE_PE: 1,
    TriggerTag.SOFTWARE: 32,
}


@pytest.mark.parametrize(("tag", "kind"), TYPES.items())
def test_a_tag_makes_a_type(tag: int, kind: int) -> None:
    assert triggers.event_type(tag) == kind


@pytest.mark.long
def test_tags_make_the_types_that_lst_s_own_reader_decides() -> None:
    lst = of_others.package("ctapipe_io_lst")
    theirs = {tag: lst.LSTEventSource._event_type_from_trigger_bits(tag).value for tag in TYPES}
    assert {tag: kind for tag, kind in theirs.items() if kind != 255}.items() <= TYPES.items(), "255: it does not know"
    assert set(theirs.values()) >= {0, 32}


def test_what_boards_and_types_say_is_a_tag() -> None:
    tib, cdts, old = np.zeros(12, np.uint8), np.zeros(36, np.uint8), np.zeros(31, np.uint8)
    tib[11], cdts[28], old[28] = 32, 4, 8
    assert triggers.tag_of_boards(3, tib, cdts) == 4
    assert triggers.tag_of_boards(3, tib, old) == 8
    assert triggers.tag_of_boards(1, tib, cdts) == 32
    assert triggers.tag_of_boards(0, tib, cdts) == 0
    assert triggers.tag_of_boards(3, tib[:11], cdts[:35]) == 0
    cdts[28] = 128 + 4
    assert triggers.tag_of_boards(3, tib, cdts) == 32, "no type at all"
    assert [triggers.tag_of_type(kind) for kind in (0, 1, 2, 3, 4, 17, 24, 32, 255)] == [4, 8, 32, 32, 32, 2, 16, 1, 0]


# --- zfits --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", DESCRIBED)
def test_every_sample_time_and_counter_is_in_the_file(name: str, tmp_path: Path) -> None:
    protozfits = pytest.importorskip("protozfits")
    events = [event(number, SAMPLES[name], missing=[3, 100] if number == 2 else []) for number in (1, 2, 3)]
    (path,) = written(tmp_path, name, events)
    with protozfits.File(str(path)) as file:
        configuration, rows = next(iter(file.CameraConfiguration)), list(file.Events)
        assert configuration.pixel_id_map.tolist() == cameras.camera(name).pixel_id.reshape(-1).tolist()
        for row, sent in zip(rows, events, strict=True):
            assert (row.event_id, row.local_run_id) == (sent.event_number, 7)
            assert (row.event_time_s, row.event_time_qns) == (sent.timestamp_ns // 10**9, sent.timestamp_ns % 10**9 * 4)
            whole, present = cameras.camera(name).by_channel(sent)
            stored = np.repeat(present, 7)
            assert (row.pixel_status != 0).tolist() == stored.tolist()
            wanted = whole[:, stored] if name == "LSTCam" else whole
            assert np.array_equal(row.waveform.reshape(wanted.shape), wanted)
            counters = row.debug.counters.reshape(265, -1)
            assert np.array_equal(counters[sent.boards, :20], sent.headers["counters"][:, :20])
            assert not counters[~present].any()


@pytest.mark.long
@pytest.mark.process
def test_lst_opens_with_its_own_reader_and_finds_all_streams(tmp_path: Path) -> None:
    lst = of_others.package("ctapipe_io_lst")
    tags = [1, 4, 32, 3, 5, 32, 8, 1, 2, 4]
    events = [
        event(number, 40, missing=[3, 100] if number == 5 else [], tag=tags[number % len(tags)], has_cells=True)
        for number in range(1, N_READ + 1)
    ]
    files = written(tmp_path, "LSTCam", events, streams=4)
    assert [path.name for path in files] == [f"LST-1.{stream}.Run00007.0000.fits.fz" for stream in (1, 2, 3, 4)]
    settings = {"pointing_information": False, "apply_drs4_corrections": False}
    with lst.LSTEventSource(input_url=files[0], **settings) as source:
        check(with_types_and_cells(source, events), events, "LSTCam")


def with_types_and_cells(source: Any, events: Sequence[CameraEvent]) -> Iterator[Any]:
    """What the reader finds of them, chip by chip, and for each pixel by its id."""
    from ctapipe_io_lst.calibration import get_first_capacitors_for_pixels

    camera = cameras.camera("LSTCam")
    for found in source:
        sent = events[found.index.event_id - 1]
        assert found.trigger.event_type.value == TYPES[sent.trigger_tag]
        assert found.lst.tel[1].evt.ucts_trigger_type == sent.trigger_tag
        cells = found.lst.tel[1].evt.first_capacitor_id
        assert np.array_equal(cells.reshape(265, 8)[sent.boards], sent.first_cells)
        by_pixel = get_first_capacitors_for_pixels(cells, camera.pixel_id.reshape(-1))
        module = int(sent.boards[-1])
        for gain, pixel in np.ndindex(2, 7):
            wanted = sent.first_cells[-1, 4 * gain + pixel // 2]
            assert by_pixel[gain, camera.pixel_id[module, pixel]] == wanted
        yield found


@pytest.mark.long
def test_nectarcam_opens_with_its_own_reader(tmp_path: Path) -> None:
    nectarcam = of_others.package("ctapipe_io_nectarcam")
    from traitlets.config import Config

    events = [event(number, 60, missing=[3] if number == 2 else []) for number in range(1, N_READ + 1)]
    (path,) = written(tmp_path, "NectarCam", events)
    # fmt: off
    off = Config({"NectarCAMEventSource": {"NectarCAMR0Corrections": {
        "calibration_path": None, "apply_flatfield": False, "select_gain": False}}})
    # fmt: on
    assert nectarcam.NectarCAMEventSource.is_compatible(str(path))
    check(iter(nectarcam.NectarCAMEventSource(input_url=str(path), config=off)), events, "NectarCam")


@pytest.mark.long
def test_the_array_s_own_reader_opens_dl0_and_finds_all_streams(tmp_path: Path) -> None:
    zfits_source = of_others.package("ctapipe_io_zfits")
    events = [event(number, 40, missing=[3, 100] if number == 5 else []) for number in range(1, N_READ + 1)]
    messages = dl0v1.messages("DL0v1", cameras.camera("LSTCam"), 7)
    with r1v1.Writer(tmp_path, messages, streams=4) as writer:
        for one in events:
            writer.write(one)
    with zfits_source.ProtozfitsDL0TelescopeEventSource(input_url=writer.files[0]) as source:
        check(iter(source), events, "LSTCam")


def test_a_file_is_never_overwritten_and_has_its_name_when_it_is_complete(tmp_path: Path) -> None:
    pytest.importorskip("protozfits")
    written(tmp_path, "NectarCam", [event(1, 60)])
    with pytest.raises(InputError, match="is there already"):
        written(tmp_path, "NectarCam", [event(1, 60)])
    with pytest.raises(ValueError, match="no board with samples like those before: raw, 2 gains"):
        written(tmp_path / "broken", "NectarCam", [event(1, 60), event(2, 60, n_gains=3)])
    assert [path.name for path in (tmp_path / "broken").iterdir()] == ["NectarCAM.Run0007.0000.fits.fz.part"]


def test_a_new_file_begins_before_readers_lose_their_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("protozfits")
    monkeypatch.setattr(r1v1, "EVENTS_PER_FILE", 2)
    files = written(tmp_path, "LSTCam", [event(number, 40) for number in range(1, 6)])
    assert [path.name[-12:-8] for path in files] == ["0000", "0001", "0002"]


# --- From a run ---------------------------------------------------------------------------------------------------
N_EVENTS = 12


def run_command(folder: Path, settings: Sequence[str] = ()) -> list[str]:
    """A short run of an LST camera that keeps all events."""
    given = [
        f"run.n_events={N_EVENTS}",
        "run.display=off",
        "camera.model=LSTCam",
        "camera.samples=40",
        "receive.ports=[0]",
        "camera_source.ports=[0]",
        "camera_source.rate_hz=40",
        "camera_source.counters=dragon_drs4",
        "camera_source.signal_share=1",
        "camera_source.pool_events=12",
        "camera_source.pedestal_share=0.25",
        "camera_source.flatfield_share=0.25",
        "camera_filter.fraction=1",
        "camera_send.file=events.h5",
        f"camera_build.timeout_ms={PATIENCE_MS}",
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


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("camera")
    done = subprocess.run(run_command(folder), cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "events.h5"


@pytest.mark.process
def test_a_run_s_file_becomes_the_observatory_s(run: Path, tmp_path: Path) -> None:
    protozfits = pytest.importorskip("protozfits")
    from anello.camera import events as camera_events

    done = CliRunner().invoke(cli.app, ["convert", str(run), str(tmp_path / "r1")])
    assert done.exit_code == 0, done.output
    assert "12 events of LSTCam" in done.output
    (path,) = (tmp_path / "r1").iterdir()
    with protozfits.File(str(path)) as file:
        rows = list(file.Events)
    for row, sent in zip(rows, camera_events.read(run), strict=True):
        assert np.array_equal(row.waveform.reshape(2, 1855, 40), cameras.camera("LSTCam").by_channel(sent)[0])
        assert np.array_equal(row.first_cell_id.reshape(265, 8), sent.first_cells)
        assert row.event_type == TYPES[sent.trigger_tag]
        assert row.debug.cdts_data[28] == sent.trigger_tag


@pytest.mark.process
def test_a_run_s_file_tells_kinds_and_cells(run: Path) -> None:
    """In its columns as in its records; cells of one chip move on between events, by the same number in all."""
    h5py = pytest.importorskip("h5py")
    from anello.camera import events as camera_events

    sent = list(camera_events.read(run))
    with h5py.File(run, "r") as file:
        tags = file["trigger_tag"][:].tolist()
    assert tags == [one.trigger_tag for one in sent]
    assert sorted(tags) == [1] * 6 + [4] * 3 + [32] * 3
    cells = np.stack([one.first_cells for one in sent]).astype(int)
    assert cells.shape == (N_EVENTS, 265, 8)
    assert len(np.unique(cells[0])) > 1000
    step = np.diff(cells, axis=0) % 4096
    assert (step == step[:, :1, :1]).all()
    assert len(np.unique(step)) > 3


@pytest.mark.parametrize("as_capture", [False, True], ids=["node", "pcap"])
@pytest.mark.process
def test_first_cells_and_types_go_through_every_file(run: Path, tmp_path: Path, as_capture: bool) -> None:
    """events.h5, R1v1, fragments, a node again (of a capture), R1v1 again: the same."""
    pytest.importorskip("protozfits")
    from anello.camera import events as camera_events

    sent = list(camera_events.read(run))
    if not as_capture:
        found = zfits.read(r1v1_of(run, tmp_path / "r1"))
        assert found.note == ""
        assert found.counters_kind == DRAGON_DRS4
        assert found.trigger_tag is not None
        assert found.first_cells is not None
        assert found.trigger_tag.tolist() == [one.trigger_tag for one in sent]
        assert np.array_equal(found.first_cells, np.stack([one.first_cells for one in sent]))
        return
    again = list(camera_events.read(through_a_node(r1v1_of(run, tmp_path / "r1"), tmp_path)))
    for one, two in zip(sent, again, strict=True):
        assert (one.event_number, one.trigger_tag) == (two.event_number, two.trigger_tag)
        assert np.array_equal(one.first_cells, two.first_cells)
        assert np.array_equal(one.waveforms, two.waveforms)
    once = zfits.read(r1v1_of(run, tmp_path / "1"))
    twice = zfits.read(r1v1_of(tmp_path / "again/events.h5", tmp_path / "2"))
    assert np.array_equal(once.first_cells, twice.first_cells)
    assert np.array_equal(once.trigger_tag, twice.trigger_tag)
    assert np.array_equal(once.waveform, twice.waveform)


def r1v1_of(file: Path, folder: Path) -> Path:
    done = CliRunner().invoke(cli.app, ["convert", str(file), str(folder)])
    assert done.exit_code == 0, done.output
    (path,) = folder.iterdir()
    return path


def through_a_node(file: Path, folder: Path) -> Path:
    capture = folder / "again.pcap"
    done = CliRunner().invoke(cli.app, ["convert", "--ports", "1", str(file), str(capture)])
    assert done.exit_code == 0, done.output
    given = [
        "camera.model=LSTCam",
        "camera.samples=40",
        "receive.backend=pcap",
        f"receive.pcap_file={capture}",
        "receive.ports=[6000]",
        "camera_filter.fraction=1",
        "camera_send.file=events.h5",
        "run.display=off",
    ]
    command = [
        sys.executable,
        "-m",
        "anello",
        "node",
        str(ROOT / "detectors/camera/cta-camera.toml"),
        "--report-dir",
        str(folder / "again"),
        *(part for one in given for part in ("--set", one)),
    ]
    node = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert node.returncode == 0, node.stdout + node.stderr
    return folder / "again/events.h5"


@pytest.mark.long
@pytest.mark.process
def test_our_source_tells_ctapipe_the_kind_of_each_event(run: Path) -> None:
    of_others.package("ctapipe")
    from anello.camera import events as camera_events
    from anello.camera.cta.event_source import AnelloEventSource

    with AnelloEventSource(input_url=run) as source:
        found = [(one.trigger.event_type, one.r1.tel[1].event_type) for one in source]
    wanted = [TYPES[sent.trigger_tag] for sent in camera_events.read(run)]
    assert [kind.value for kind, _ in found] == wanted == [kind.value for _, kind in found]
    assert {0, 2, 32} == set(wanted)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--camera", "SCT"], "camera.model: must be one of LSTCam, NectarCam"),
        (["nowhere.h5"], "there is no such file"),
    ],
)
@pytest.mark.process
def test_what_cannot_be_converted_is_said(run: Path, tmp_path: Path, arguments: list[str], says: str) -> None:
    file = arguments if arguments[0].endswith(".h5") else [str(run), *arguments]
    done = CliRunner().invoke(cli.app, ["convert", file[0], str(tmp_path / "out"), *file[1:]])
    assert done.exit_code != 0
    assert says in str(done.exception) + done.output


def images(path: Path) -> NDArray[np.float32]:
    tables = of_others.package("tables")
    with tables.open_file(str(path)) as file:
        return np.asarray(file.root.dl1.event.telescope.images.tel_001[:]["image"])


@pytest.mark.long
@pytest.mark.process
def test_ctapipe_processes_a_run_s_file(run: Path, tmp_path: Path) -> None:
    """ctapipe finds the source by its entry point, which the installed package has and a checkout has not."""
    of_others.package("ctapipe")
    package = tmp_path / "anello-0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: anello\nVersion: 0\n")
    (package / "entry_points.txt").write_text("[ctapipe_io]\n" + entry_point())
    output = tmp_path / "dl1.h5"
    command = [
        sys.executable,
        "-m",
        "ctapipe.tools.process",
        "--input",
        str(run),
        "--output",
        str(output),
        "--DataWriter.write_dl1_images=True",
    ]
    path = os.pathsep.join([str(tmp_path), str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = images(output)
    assert found.shape == (12, 1855)
    from anello.camera import events as camera_events

    check_showers(found[[one.trigger_tag == TriggerTag.MONO for one in camera_events.read(run)]])


def entry_point() -> str:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return "".join(f"{name} = {value}\n" for name, value in project["entry-points"]["ctapipe_io"].items())


def check_showers(found: NDArray[np.float32]) -> None:
    """Light of a simulated shower lies together on the real camera: neighbours of the brightest pixel are bright."""
    camera = cameras.camera("LSTCam")
    for image in found:
        brightest = int(image.argmax())
        distance = np.hypot(camera.x_m - camera.x_m[brightest], camera.y_m - camera.y_m[brightest])
        assert image[distance < 0.07].mean() > 5 * abs(float(np.median(image)))


# --- DL0v1 ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", DESCRIBED)
def test_every_sample_of_pixels_that_are_there(name: str, tmp_path: Path) -> None:
    protozfits = pytest.importorskip("protozfits")
    missing = {2: [0, 100, 264]}
    sent = [
        event(number, SAMPLES[name], missing=missing.get(number, []), tag=tag, has_cells=name == "LSTCam")
        for number, tag in ((1, 1), (2, 32), (3, 4))
    ]
    messages = dl0v1.messages("DL0v1", cameras.camera(name), 7, begun_s=1_790_000_000)
    with r1v1.Writer(tmp_path, messages, 2) as writer:
        for one in sent:
            writer.write(one)
    assert [path.name for path in writer.files] == [
        f"TEL001_SDH{stream:03d}_20260921T141320_SBID{7:019d}_OBSID{7:019d}_TEL_SHOWER_CHUNK000.fits.fz"
        for stream in (1, 2)
    ]
    by_number = {one.event_number: one for one in sent}
    assert [check_dl0(protozfits, path, name, by_number, 7) for path in writer.files] == [[1, 3], [2]]


def test_one_gain_above_the_baseline(tmp_path: Path) -> None:
    protozfits = pytest.importorskip("protozfits")
    messages = dl0v1.messages("DL0v1", cameras.camera("NectarCam"), 7)
    one = calibrated(event(1, 60, n_gains=1))
    with r1v1.Writer(tmp_path, messages) as writer:
        writer.write(one)
    check_dl0(protozfits, writer.files[0], "NectarCam", {1: one}, 7)
    with protozfits.File(str(writer.files[0])) as file:
        assert next(iter(file.DataStream)).waveform_offset == 400
        assert (next(iter(file.Events)).pixel_status == 0b0101).all()


@pytest.mark.process
def test_a_run_s_file_is_converted_beyond_events_that_cannot_be(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("protozfits")
    from anello.camera import events as camera_events

    odd = [event(1, 40), calibrated(event(2, 40)), event(3, 40)]
    monkeypatch.setattr(camera_events, "read", lambda _: iter(odd))
    done = CliRunner().invoke(cli.app, ["convert", str(run), str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    words = " ".join(done.output.split())
    assert "2 events of LSTCam" in words
    assert "1 events refused, the first: event 2 has no board with samples like those before" in words
    odd[:] = [event(4, 40, n_gains=3)]
    done = CliRunner().invoke(cli.app, ["convert", str(run), str(tmp_path / "none")])
    assert "no events of this camera can be read (event 4 has no board with samples of LSTCam)" in str(done.exception)


def test_another_data_model_is_named(tmp_path: Path) -> None:
    (tmp_path / "events.h5").write_bytes(b"")
    done = CliRunner().invoke(
        cli.app, ["convert", str(tmp_path / "events.h5"), str(tmp_path / "out"), "--model", "DL1"]
    )
    assert "--model: must be one of R1v1, DL0v1" in str(done.exception)


# --- Photo-electrons ------------------------------------------------------------------------------------------------
def flatfielded(number: int, n_samples: int) -> CameraEvent:
    one = event(number, n_samples, n_gains=1)
    one.headers["flags"] = (2 | 16 | 32) << 2
    one.headers["checksum"] = 0
    return one


def test_photo_electrons_need_a_flat_field() -> None:
    from anello.configuration.load import load

    with pytest.raises(ConfigError, match="r1_pe_per_count: must be 0 without the factors"):
        load(
            None,
            ["chain=camera", "camera.model=LSTCam", "camera_send.r1_streams=1", "camera_send.r1_pe_per_count=0.01"],
        )


@pytest.mark.long
def test_photo_electrons_in_place_of_counts(tmp_path: Path) -> None:
    """Scale and offset of the stream say it, as the camera's own reader applies them."""
    pytest.importorskip("protozfits")
    lst = of_others.package("ctapipe_io_lst")
    from traitlets.config import Config

    messages = r1v1.Messages(cameras.camera("LSTCam"), 7, pe_per_count=0.0125)
    with pytest.raises(ValueError, match="the flat field's factors, which photo-electrons need"):
        messages.event(calibrated(event(9, 40, n_gains=1)))
    sent = [flatfielded(1, 40), flatfielded(2, 40)]
    sent[1].headers["flags"][5] = 2 << 2
    with r1v1.Writer(tmp_path, messages) as writer:
        for one in sent:
            writer.write(one)
    assert messages.n_unlike == 1
    settings = Config({"LSTEventSource": {"pointing_information": False, "apply_drs4_corrections": False}})
    with lst.LSTEventSource(input_url=writer.files[0], config=settings) as source:
        for found, one in zip(source, sent, strict=True):
            counts, present = cameras.camera("LSTCam").by_pixel(one.of_boards((one.calibration_steps & 32) != 0))
            got = found.r1.tel[1].waveform
            wanted = (counts[0].astype(float) - 400) * 0.0125
            assert np.allclose(got.reshape(wanted.shape)[present], wanted[present], atol=1e-4)
            assert found.lst.tel[1].evt.tdp_action == 1 | 2 | 32 | 64


@pytest.mark.parametrize("model", ["R1v1", "DL0v1"])
@pytest.mark.process
def test_a_run_s_file_becomes_photo_electrons(
    model: str, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    protozfits = pytest.importorskip("protozfits")
    from anello.camera import events as camera_events

    sent = [flatfielded(1, 40), calibrated(event(2, 40, n_gains=1)), flatfielded(3, 40)]
    monkeypatch.setattr(camera_events, "read", lambda _: iter(sent))
    arguments = ["convert", str(run), str(tmp_path), "--model", model, "--pe-per-count", "0.0125"]
    done = CliRunner().invoke(cli.app, arguments)
    assert done.exit_code == 0, done.output
    assert "1 events refused, the first: event 2 has no board with samples" in " ".join(done.output.split())
    (path,) = tmp_path.rglob("*.fits.fz")
    with protozfits.File(str(path)) as file:
        assert next(iter(file.DataStream)).waveform_scale == pytest.approx(80)
        assert [int(one.event_id) for one in file.Events] == [1, 3]


# --- As the array's data handler takes it -------------------------------------------------------------------------
def walked(message: bytes) -> tuple[int, str, int, bytes]:
    """Type, source, count and payload, by the receiver's own way: a tag, then what must follow it."""

    def varint(at: int) -> tuple[int, int]:
        value = shift = 0
        while True:
            value |= (message[at] & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if not message[at - 1] & 0x80:
                return value, at

    assert message[0] == 0x08
    kind, at = varint(1)
    assert message[at] == 0x12
    n_bytes, at = varint(at + 1)
    name, at = message[at : at + n_bytes].decode(), at + n_bytes
    assert message[at] == 0x1D
    count, at = int.from_bytes(message[at + 1 : at + 5], "little"), at + 5
    assert message[at] == 0x22
    n_bytes, at = varint(at + 1)
    assert at + n_bytes == len(message)
    return kind, name, count, message[at:]


def test_a_frame_is_the_array_s_own_message() -> None:
    """The bytes that the receiver's documentation gives, and what its Protobuf reads."""
    wanted = bytes.fromhex("0816120261621d07000000220378797a")
    assert array_stream.framed(22, b"xyz", 7, "ab") == wanted
    core = pytest.importorskip("protozfits.CoreMessages_pb2")
    for kind, payload in ((22, b"x" * 1000), (-1, b"")):
        message = core.CTAMessage.FromString(array_stream.framed(kind, payload, 2**31 - 1))
        assert (list(message.payload_type), list(message.payload_data)) == ([kind], [payload])
        assert (message.source_name, message.message_count) == ("anello", 2**31 - 1)


@pytest.mark.process
def test_a_run_is_a_stream_of_the_array_s_messages(tmp_path: Path) -> None:
    protozfits = pytest.importorskip("protozfits")
    import zmq
    from protozfits import R1v1_pb2

    from anello.camera import events as camera_events

    assert protozfits
    with zmq.Context() as context, context.socket(zmq.PULL) as receiver:
        receiver.linger, receiver.rcvtimeo = 0, 60_000
        port = receiver.bind_to_random_port("tcp://127.0.0.1")
        name = f"@anello-camera-{os.getpid()}"
        command = [
            sys.executable,
            "-m",
            "anello",
            "r1-stream",
            f"stream://{name}",
            f"tcp://127.0.0.1:{port}",
            "--camera",
            "LSTCam",
            "--run",
            "7",
        ]
        publishing = ["publish.to=stream", f"publish.address={name}", "publish.when_full=wait"]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as sender:
            node = subprocess.Popen(
                run_command(tmp_path, publishing), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            messages = [walked(receiver.recv()) for _ in range(2 + N_EVENTS + 1)]
            assert "12 events of LSTCam, 0 missed, 0 refused" in sender.communicate(timeout=60)[0]
        assert node.wait(timeout=60) == 0, node.communicate()[0]
    assert [kind for kind, *_ in messages] == [20, 21, *[22] * N_EVENTS, 2**64 - 1]
    assert [(source, count) for _, source, count, _ in messages] == [("anello", n) for n in range(N_EVENTS + 3)]
    for (*_, payload), sent in zip(messages[2:-1], camera_events.read(tmp_path / "events.h5"), strict=True):
        found = R1v1_pb2.Event.FromString(payload)
        assert (found.event_id, found.local_run_id) == (sent.event_number, 7)
        samples = np.frombuffer(found.waveform.data, "<u2").reshape(2, 1855, 40)
        assert np.array_equal(samples, cameras.camera("LSTCam").by_channel(sent)[0])
        cells = np.frombuffer(found.first_cell_id.data, "<u2").reshape(265, 8)
        assert np.array_equal(cells, sent.first_cells)
        assert found.event_type == TYPES[sent.trigger_tag]


def received(context: Any, events: Sequence[CameraEvent]) -> tuple[Any, list[tuple[int, str, int, bytes]]]:
    """The sender of these events, and the messages that a receiver gets."""
    import zmq

    messages = r1v1.Messages(cameras.camera("LSTCam"), 7)
    with context.socket(zmq.PULL) as receiver:
        receiver.linger, receiver.rcvtimeo = 0, 60_000
        port = receiver.bind_to_random_port("tcp://127.0.0.1")
        with array_stream.Sender(f"tcp://127.0.0.1:{port}", messages) as sender:
            n_sent = sender.send(iter(events))
            got = [walked(receiver.recv()) for _ in range(n_sent + 1 + 2 * (n_sent > 0))]
    return sender, got


def calibrated(one: CameraEvent, boards: Any = slice(None)) -> CameraEvent:
    one.headers["flags"][boards] = 2 << 2
    return one


def test_a_stream_continues_after_events_that_are_not_of_its_kind() -> None:
    """Neither calibrated boards, nor boards of this camera, nor samples: each ended the stream."""
    pytest.importorskip("protozfits")
    import zmq
    from protozfits import R1v1_pb2

    without, mixed = event(1, 40), event(4, 40)
    without.headers["n_samples"] = 0
    mixed.headers["flags"][3] = 0
    mixed = calibrated(mixed, slice(4, None))
    mixed.headers["n_samples"][100] = 20  # as long as before, so another shape
    mixed.headers["flags"][:3] = 2 << 2
    events = [
        without,
        calibrated(event(2, 40)),
        event(3, 40),
        mixed,
        calibrated(event(5, 40, n_gains=1)),
        event(6, 40).of_boards(np.zeros(265, bool)),
        calibrated(event(7, 40)),
    ]
    with zmq.Context() as context:
        sender, got = received(context, events)
    assert [kind for kind, *_ in got] == [20, 21, 22, 22, 22, 2**64 - 1]
    assert [count for _, _, count, _ in got] == list(range(6))
    assert R1v1_pb2.TelescopeDataStream.FromString(got[0][3]).waveform_offset == 400
    found = [R1v1_pb2.Event.FromString(payload) for *_, payload in got[2:5]]
    assert [one.event_id for one in found] == [2, 4, 7]
    status = np.frombuffer(found[1].pixel_status.data, np.uint8).reshape(265, 7)
    assert sorted(set(np.nonzero(status == 0)[0].tolist())) == [3, 100]
    assert (sender.n_refused, sender.why_refused) == (4, "event 1 has no board with samples of LSTCam")
    messages = sender._messages
    assert (messages.n_unlike, messages.n_other_shape, messages.n_left_out) == (1, 1, 2)


def test_a_stream_of_nothing_but_refused_events_has_an_end() -> None:
    pytest.importorskip("protozfits")
    import zmq

    without = event(1, 40)
    without.headers["n_samples"] = 0
    with zmq.Context() as context:
        sender, got = received(context, [without])
    assert [kind for kind, *_ in got] == [2**64 - 1]
    assert sender.n_refused == 1


def test_a_file_continues_after_events_that_are_not_of_its_kind(tmp_path: Path) -> None:
    """FileWriter counts them: refused events are in no file, and boards left out are reported."""
    pytest.importorskip("protozfits")
    from anello.camera import events as camera_events
    from anello.camera.cta.r1_writer import FileWriter

    events = [calibrated(event(1, 40)), event(2, 40), calibrated(event(3, 40, n_gains=1)), calibrated(event(4, 40))]
    events[3].headers["flags"][:2] = 0
    stream = r1v1.FileSequence(r1v1.FilePlace(tmp_path), r1v1.Messages(cameras.camera("LSTCam"), 7), r1v1.Limits())
    writer = FileWriter(stream)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(camera_events, "decode", lambda record: events[int(record)])
        for number in range(4):
            writer.take(str(number).encode(), 0.0)
    writer.end_file(0.0)
    counts = writer.counts
    assert (counts.events_in, counts.events_written, counts.events_refused, counts.events_lost) == (4, 2, 2, 0)
    assert counts.boards_left_out == 2


def test_nobody_takes_the_stream() -> None:
    pytest.importorskip("protozfits")
    messages = r1v1.Messages(cameras.camera("LSTCam"), 7)
    sender = array_stream.Sender("tcp://127.0.0.1:*", messages, timeout_ms=50)
    with sender, pytest.raises(TimeoutError, match=r"nobody took a message for 0\.05 s"):
        sender.send(iter([event(1, 40)]))
    with pytest.raises(ConfigError, match="TO: cannot be used"):
        array_stream.Sender("nowhere", messages)


# --- Files of real cameras ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("status", "is_whole", "wanted"),
    [
        ([0b1101, 0b1101, 0], True, [True, True, False]),  # after the data volume reduction
        ([0b1100, 0b1100, 0], True, [True, True, False]),  # before it
        ([0b1100, 0b1101, 0], False, [False, True, False]),  # two of three were taken away
        ([0b1100, 0b1100, 0], False, [False, False, False]),
        (None, True, [True, True, True]),
        ([], True, [True, True, True]),
    ],
)
def test_a_field_that_a_file_need_not_have_is_not_taken_for_no_data(
    status: list[int] | None, is_whole: bool, wanted: list[bool]
) -> None:
    given = None if status is None else np.array(status, np.uint8)
    assert zfits._stored(given, 3, is_whole=is_whole).tolist() == wanted


@pytest.mark.parametrize("name", DESCRIBED)
def test_r1v1_files_become_fragments_again(name: str, tmp_path: Path) -> None:
    """What was written is read with all samples, times and counters, missing modules missing."""
    pytest.importorskip("protozfits")
    sent = [
        event(number, SAMPLES[name], missing=[3, 100] if number == 2 else [], tag=tag)
        for number, tag in ((1, 1), (2, 32), (3, 4))
    ]
    (path,) = written(tmp_path, name, sent)
    found = zfits.read(path)
    assert (found.run_id, found.n_boards, found.counters_kind) == (7, 265, {"LSTCam": 1, "NectarCam": 3}[name])
    assert found.event_number.tolist() == [1, 2, 3]
    assert found.timestamp_ns.tolist() == [one.timestamp_ns for one in sent]
    assert found.trigger_tag.tolist() == [1, 32, 4]
    assert found.first_cells is None, "none were known"
    for index, one in enumerate(sent):
        assert np.flatnonzero(found.present[index]).tolist() == one.boards.tolist()
        assert np.array_equal(found.waveform[index][one.boards], one.waveforms)
        assert np.array_equal(found.counters[index, one.boards], one.headers["counters"])


# --- Files as LST's event builder writes them -----------------------------------------------------------------------
N_LOW_IN_A_THOUSAND = 10


def low_gains(number: int) -> NDArray[np.bool_]:
    """bool[1855], as the pixels stand in the file: of event `number`."""
    return np.random.default_rng(number).integers(0, 1000, 1855) < N_LOW_IN_A_THOUSAND


def both_gains(number: int) -> NDArray[np.uint16]:
    """uint16[2, 1855, 40]: the low gain is recognised by its 10,000."""
    samples = np.random.default_rng(100 + number).integers(300, 500, (2, 1855, 40)).astype(np.uint16)
    samples[1] += 10_000
    return samples


def lst_file(path: Path, numbers: Sequence[int], *, run: int = 4343) -> Path:
    """Cosmics of one gain, chosen for each pixel, and as every fifth event a flat field of two gains."""
    import protozfits
    from protozfits import CoreMessages_pb2, R1v1_debug_pb2, R1v1_pb2

    def any_array(values: NDArray[Any]) -> Any:
        kind = {"uint8": 2, "uint16": 4, "uint64": 8}[values.dtype.name]
        return CoreMessages_pb2.AnyArray(type=kind, data=np.ascontiguousarray(values).tobytes())

    with protozfits.ProtobufZOFits(n_tiles=5, rows_per_tile=20, compression_block_size_kb=64 * 1024) as out:
        out.open(str(path))
        out.move_to_new_table("DataStream")
        out.write_message(R1v1_pb2.TelescopeDataStream(sb_id=run, obs_id=run, waveform_offset=400, waveform_scale=1))
        out.move_to_new_table("CameraConfiguration")
        out.write_message(
            R1v1_pb2.CameraConfiguration(
                tel_id=1,
                local_run_id=run,
                num_modules=265,
                num_pixels=1855,
                num_channels=2,
                data_model_version="1.0",
                num_samples_nominal=40,
                pixel_id_map=any_array(np.arange(1855, dtype=np.uint16)),
                module_id_map=any_array(np.arange(265, dtype=np.uint16)),
            )
        )
        out.move_to_new_table("Events")
        for number in numbers:
            is_flat_field = number % 5 == 0
            samples, low = both_gains(number), low_gains(number)
            one_gain = np.where(low[:, np.newaxis], samples[1], samples[0])
            status = np.full(1855, 0b1101) if is_flat_field else np.where(low, 0b1001, 0b0101)
            out.write_message(
                R1v1_pb2.Event(
                    event_id=number,
                    tel_id=1,
                    local_run_id=run,
                    event_type=0 if is_flat_field else 32,
                    event_time_s=START_NS // 10**9,
                    event_time_qns=number * 400_000,
                    num_samples=40,
                    num_pixels=1855,
                    num_channels=2 if is_flat_field else 1,
                    pixel_status=any_array(status.astype(np.uint8)),
                    waveform=any_array((samples if is_flat_field else one_gain).reshape(-1)),
                    first_cell_id=any_array(np.random.default_rng(number).integers(0, 4096, 2120).astype(np.uint16)),
                    module_hires_local_clock_counter=any_array(np.zeros(265, np.uint64)),
                    debug=R1v1_debug_pb2.DebugEvent(
                        module_status=any_array(np.ones(265, np.uint8)),
                        extdevices_presence=0,
                        counters=any_array(np.zeros(265 * 22, np.uint8)),
                    ),
                )
            )
    return path


@pytest.mark.process
def test_events_of_one_gain_stand_beside_those_of_two_through_every_file(tmp_path: Path) -> None:
    """An event builder's file, fragments, a node, its file, R1v1 again: each pixel's gain is known throughout."""
    protozfits = pytest.importorskip("protozfits")
    from anello.camera import events as camera_events

    kept = through_a_node(lst_file(tmp_path / "lst.fits.fz", range(1, 11)), tmp_path)
    found = list(camera_events.read(kept))
    assert [one.event_number for one in found] == list(range(1, 11))
    for one in found:
        low, samples = low_gains(one.event_number), both_gains(one.event_number)
        assert not one.is_calibrated.any()
        if one.event_number % 5 == 0:
            assert one.low_gain is None
            assert np.array_equal(one.waveforms.transpose(1, 0, 2, 3).reshape(2, 1855, 40), samples)
            continue
        assert one.low_gain is not None
        assert np.array_equal(one.low_gain.reshape(-1), low)
        chosen = np.where(low[:, np.newaxis], samples[1], samples[0])
        assert np.array_equal(one.waveforms.reshape(1855, 40), chosen)
        assert one.first_cells is not None
    with protozfits.File(str(r1v1_of(kept, tmp_path / "r1"))) as file:
        for row in file.Events:
            low, is_flat_field = low_gains(row.event_id), row.event_id % 5 == 0
            wanted = np.full(1855, 0b1101) if is_flat_field else np.where(low, 0b1001, 0b0101)
            assert np.array_equal(row.pixel_status, wanted)
            assert row.num_channels == (2 if is_flat_field else 1)
    again = zfits.read(tmp_path / "r1" / next(iter((tmp_path / "r1").iterdir())).name)
    assert [one is None for one in again.low_gain] == [number % 5 == 0 for number in range(1, 11)]


def test_events_of_one_gain_without_a_status_of_their_pixels_say_no_gain() -> None:
    assert zfits._low_gain(SimpleNamespace(pixel_status=None), 2, has_two=True) is None


def test_files_that_an_event_builder_writes_side_by_side_are_one_run(tmp_path: Path) -> None:
    pytest.importorskip("protozfits")
    paths = [lst_file(tmp_path / f"{i}.fits.fz", range(i, 9, 2)) for i in (1, 2)]
    found = zfits.read(*paths)
    assert found.event_number.tolist() == list(range(1, 9))
    done = CliRunner().invoke(cli.app, ["convert", *map(str, paths), str(tmp_path / "both.pcap")])
    assert done.exit_code == 0, done.output
    assert "8 events of 265 boards" in done.output
    assert "7 events have one of two gains" in done.output
    with pytest.raises(InputError, match="event 1 is in more than one of the files"):
        zfits.read(paths[0], paths[1], paths[0])
    other = lst_file(tmp_path / "other.fits.fz", [20], run=4344)
    with pytest.raises(InputError, match=r"other.fits.fz: run 4344, or its modules, are not those of .*: run 4343"):
        zfits.read(paths[0], other)


def sample(data: DetectorData, name: str) -> tuple[CameraEvents, list[Any], dict[str, Any]]:
    """As we read it, as protozfits gives it, and what is known of it."""
    protozfits = pytest.importorskip("protozfits")
    path, truth = data.file(name)
    with protozfits.File(str(path)) as file:
        return zfits.read(path), list(file.Events), truth


@pytest.mark.parametrize("name", [NECTARCAM, LST, DIGICAM])
def test_what_was_written_by_other_code_is_read(name: str, detector_data: DetectorData) -> None:
    """To the last sample; of real files less is known."""
    events, _, truth = sample(detector_data, name)
    if name == DIGICAM and "by_pixel" in truth:
        *_, pixel_id = cameras.pixels("DigiCam")
        truth = truth | {"waveform": np.array(truth["by_pixel"])[:, pixel_id][:, :, np.newaxis]}
    for field in (
        "run_id",
        "boards",
        "event_number",
        "timestamp_ns",
        "present",
        "trigger_tag",
        "counters_kind",
        "waveform",
    ):
        if field in truth:
            assert np.array_equal(getattr(events, field), truth[field]), field
    if "counters" in truth:
        counters = np.array(truth["counters"], np.uint8)
        assert np.array_equal(events.counters[:, :, : counters.shape[2]], counters)
        assert not events.counters[:, :, counters.shape[2] :].any()


def test_an_lst_of_2018(detector_data: DetectorData) -> None:
    """Its first module was dead; gains come before modules there."""
    events, rows, truth = sample(detector_data, LST)
    n_samples = rows[0].waveform.size // 28
    assert np.shape(events.waveform) == (len(rows), 2, 2, 7, n_samples)
    assert events.present.tolist() == [[False, True]] * len(rows)
    assert events.counters_kind == truth["counters_kind"]
    for index, row in enumerate(rows):
        assert events.event_number[index] == row.event_id
        assert np.array_equal(events.waveform[index][1, 1], row.waveform.reshape(2, 14, n_samples)[1, 7:])
        assert events.counters[index, 1, :22].tobytes() == row.lstcam.counters[22:].tobytes()
    wanted = truth["first_cells"]
    assert (events.first_cells is None) if wanted is None else np.array_equal(events.first_cells, wanted)
    assert truth["note"] in events.note
    assert bool(truth["note"]) == bool(events.note)


def test_an_lst_of_2018_with_cells(detector_data: DetectorData, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the sample would be with cells that there are."""
    monkeypatch.setattr(zfits, "N_CELLS", 2**16)
    events, rows, truth = sample(detector_data, LST)
    assert events.counters_kind == DRAGON_DRS4
    for index, row in enumerate(rows):
        assert events.first_cells[index, 1].tolist() == row.lstcam.first_capacitor_id[8:].tolist()
    assert events.first_cells[0, 1].tolist() == truth["stored_cells"]


def test_digicam(detector_data: DetectorData) -> None:
    """Each pixel at the place of its module, by the camera's own table."""
    events, rows, _ = sample(detector_data, DIGICAM)
    *_, pixel_id = cameras.pixels("DigiCam")
    assert np.shape(events.waveform) == (len(rows), 108, 1, 12, rows[0].hiGain.waveforms.samples.size // 1296)
    for index, row in enumerate(rows):
        assert events.event_number[index] == row.eventNumber
        assert events.timestamp_ns[index] == row.local_time_sec * 10**9 + row.local_time_nanosec
        by_pixel = dict(
            zip(row.hiGain.waveforms.pixelsIndices, row.hiGain.waveforms.samples.reshape(1296, -1), strict=True)
        )
        for module, channel in np.ndindex(pixel_id.shape):
            assert np.array_equal(events.waveform[index][module, 0, channel], by_pixel[pixel_id[module, channel]])
    assert len(list(camera_files.fragments(events))) == 108 * (len(rows) + 1 + camera_files.N_END_MARKERS)
