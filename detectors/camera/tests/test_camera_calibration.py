# SPDX-License-Identifier: Apache-2.0
"""Calibration of a camera's samples: against a reference in NumPy, against ctapipe_io_lst, and through a run."""

import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import of_others
import pytest
from numpy.typing import NDArray
from stalls import PATIENCE_MS
from typer.testing import CliRunner

from anello import cli
from anello.camera import events as camera_events
from anello.camera.cta import calibration, cameras, r1v1
from anello.camera.cta.models import MODELS
from anello.camera.engine import engine
from anello.camera.event import BOARD_HEADER, DRAGON_DRS4, LOW_GAIN_AT, CameraEvent, TriggerTag
from anello.errors import ConfigError, InputError, engine_errors

pytest.importorskip("anello._engine", reason="the compiled engine is not built")
fits = pytest.importorskip("astropy.io.fits", reason="anello[convert]")
ROOT = Path(__file__).parents[3]
START_NS = 1_790_000_000_000_000_000
G, M, K, P, S, CELLS = 2, 265, 7, 1855, 40, 4096
CHIPS = np.array([[0, 0, 1, 1, 2, 2, 3], [4, 4, 5, 5, 6, 6, 7]])  # Dragon's order, by gain and pixel of a module
PIXEL_ID = np.loadtxt(MODELS["LSTCam"].table, delimiter=",", skiprows=1)  # pixel, module, channel, x, y


def pixel_ids() -> NDArray[np.intp]:
    ids = np.zeros((M, K), np.intp)
    pixel, module, channel = PIXEL_ID[:, :3].astype(np.intp).T
    ids[module, channel] = pixel
    return ids


# --- Events and coefficients --------------------------------------------------------------------------------------
@dataclass
class Made:
    number: int
    cells: NDArray[np.uint16]  # [M, 8]
    clock: NDArray[np.uint64]  # [M]
    samples: NDArray[np.uint16]  # [M, G, K, S]
    tag: int = 0

    def event(self) -> CameraEvent:
        """As a run's file has it."""
        n_boards = len(self.cells)
        headers = np.zeros(n_boards, BOARD_HEADER)
        headers["board"], headers["event_number"], headers["n_samples"] = np.arange(n_boards), self.number, S
        headers["n_pixels"], headers["n_gains"], headers["counters_kind"] = K, G, DRAGON_DRS4
        headers["trigger_tag"] = self.tag
        headers["payload_bytes"] = G * K * S * 2 + 16
        headers["counters"][:, 14:22] = self.clock.astype("<u8").view(np.uint8).reshape(-1, 8)
        bodies = np.concatenate([self.samples.reshape(n_boards, -1), self.cells], axis=1).astype("<u2")
        return CameraEvent(
            run_id=7,
            event_number=self.number,
            timestamp_ns=START_NS + 1_000_003 * self.number,
            first_ns=0,
            closed_ns=0,
            n_boards=n_boards,
            boards=np.arange(n_boards, dtype=np.uint16),
            headers=headers,
            payloads=bodies.reshape(-1).view(np.uint8),
        )


def made_up(n: int, n_boards: int = M, seed: int = 3) -> Iterator[Made]:
    """Many first cells are such that spikes of the event before fall into the window."""
    random = np.random.default_rng(seed)
    clock, cells = 10**9, random.integers(0, CELLS, (n_boards, 8), np.uint16)
    for i in range(n):
        clock += int(random.integers(20_000, 2_000_000))
        last = (cells.astype(int) + S - 1) % 1024
        kind = random.integers(0, 6, (n_boards, 8))
        ring = 1024 * random.integers(0, 4, (n_boards, 8))
        near = random.integers(-2, S, (n_boards, 8))
        choices = [last + ring - near, ring - last - 2 - near, cells + random.integers(0, 60), 760 + ring + near]
        choices += [random.integers(0, CELLS, (n_boards, 8))] * 2
        cells = (np.choose(kind, choices) % CELLS).astype(np.uint16)
        clocks = np.full(n_boards, clock, np.uint64) + random.integers(0, 9, n_boards).astype(np.uint64)
        yield Made(i + 1, cells, clocks, random.integers(450, 1400, (n_boards, G, K, S)).astype(np.uint16))


def coefficients(folder: Path, n_pixels: int = P) -> tuple[Path, NDArray[np.float32], NDArray[np.float32]]:
    random = np.random.default_rng(5)
    base = random.normal(400, 20, (G, n_pixels, CELLS)).astype(np.float32)
    spike = random.normal(40, 5, (G, n_pixels, 3)).astype(np.float32)
    path = folder / "pedestal.fits"
    images = [fits.ImageHDU(base, name="baseline_mean"), fits.ImageHDU(spike, name="spike_height")]
    fits.HDUList([fits.PrimaryHDU(), *images]).writeto(path)
    return path, base, spike


class Reference:
    """Of a camera of B boards in double precision, by cell; pixels by board."""

    def __init__(
        self, base: NDArray[Any], spike: NDArray[Any], law: tuple[float, float, float] = (11.9, 0.22, 103.012)
    ) -> None:
        """base: [B, G, K, cell]; spike: [B, G, K, 3]."""
        self.base, self.spike, self.law = base.astype(float), spike.astype(float), law
        self.seen = np.full(base.shape, -np.inf)  # ms
        self.before: NDArray[np.intp] | None = None

    def correct(
        self, cells: NDArray[np.uint16], clock: NDArray[np.uint64], samples: NDArray[np.uint16]
    ) -> NDArray[np.float64]:
        first = cells[:, CHIPS].astype(np.intp)  # [B, G, K]
        where = (first[..., None] + np.arange(S)) % CELLS
        out = samples - np.take_along_axis(self.base, where, axis=3)
        now = (clock.astype(np.float64) * 7.5e-6)[:, None, None, None]
        scale, exponent, t0 = self.law
        age = now - np.take_along_axis(self.seen, where, axis=3)
        with np.errstate(divide="ignore"):
            out -= np.where(age < t0, scale * ((np.minimum(age, t0) / t0) ** -exponent - 1), 0)
        np.put_along_axis(self.seen, where, np.broadcast_to(now, where.shape), axis=3)
        self._hidden(first, now)
        if self.before is not None:
            self._spikes(first, out)
        self.before = first
        return out

    def _hidden(self, first: NDArray[np.intp], now: NDArray[np.float64]) -> None:
        for board, gain, pixel in zip(*np.nonzero(first % 1024 > 767), strict=True):
            if pixel % 2 == 0:
                f = int(first[board, gain, pixel])
                end = f + 1024 + 12 if f % 1024 < 1013 else (f // 1024 + 2) * 1024
                self.seen[board, gain, pixel, np.arange(f + 1024, end) % CELLS] = now[board, 0, 0, 0]

    def _spikes(self, first: NDArray[np.intp], out: NDArray[np.float64]) -> None:
        assert self.before is not None
        last = (self.before + S - 1) % 1024
        for board, gain, pixel in zip(*np.nonzero((last % 2 == 0) & (last < 512)), strict=True):
            f, e = int(first[board, gain, pixel]), int(last[board, gain, pixel])
            for begin in [*(1024 * k + e for k in range(4)), *(1024 * k + 1022 - e for k in range(4))]:
                place = (begin - f) % CELLS
                place = place - CELLS if place >= CELLS - 2 else place
                for i in range(3):
                    if 0 <= place + i < S:
                        out[board, gain, pixel, place + i] -= self.spike[board, gain, pixel, i]


def by_board(values: NDArray[Any]) -> NDArray[Any]:
    """[G, P, ...] by pixel number to [M, G, K, ...]."""
    return np.moveaxis(values[:, pixel_ids()], 0, 1)


def lst(path: Path, **steps: int) -> Any:
    return engine().Calibration(str(path), "", str(MODELS["LSTCam"].table), M, K, G, S, **steps)


# --- Corrections --------------------------------------------------------------------------------------------------
def test_every_sample_is_what_the_definition_says(tmp_path: Path) -> None:
    path, base, spike = coefficients(tmp_path)
    ours, reference = lst(path), Reference(by_board(base), by_board(spike))
    n_changed = 0
    for made in made_up(12):
        changed = made.samples.copy()
        assert not ours.correct(np.arange(M, dtype=np.uint16), changed, made.cells, made.clock, 1).any()
        wanted = reference.correct(made.cells, made.clock, made.samples)
        assert np.abs(changed - 400.0 - wanted).max() < 0.65
        plain = made.samples - np.take_along_axis(
            reference.base, (made.cells[:, CHIPS].astype(int)[..., None] + np.arange(S)) % CELLS, 3
        )
        n_changed += int((np.abs(wanted - plain) > 5).sum())
    assert n_changed > 10_000  # by time lapse and spikes


@pytest.mark.long
@pytest.mark.process
def test_ctapipe_finds_the_same_in_the_same_events(tmp_path: Path) -> None:
    plugin = of_others.package("ctapipe_io_lst")
    pytest.importorskip("protozfits")
    from traitlets.config import Config

    path, _, _ = coefficients(tmp_path)
    events = list(made_up(6))
    with r1v1.Writer(tmp_path / "r1", r1v1.Messages(cameras.camera("LSTCam"), 7)) as writer:
        for made in events:
            writer.write(made.event())
    settings = Config(
        {
            "LSTEventSource": {
                "pointing_information": False,
                "use_flatfield_heuristic": False,
                "LSTR0Corrections": {"drs4_pedestal_path": str(path)},
            }
        }
    )
    ours, n_events = lst(path), 0
    for theirs, made in zip(plugin.LSTEventSource(input_url=writer.files[0], config=settings), events, strict=True):
        changed = made.samples.copy()
        ours.correct(np.arange(M, dtype=np.uint16), changed, made.cells, made.clock, 1)
        mine = np.zeros((G, P, S))
        mine[:, pixel_ids()] = np.moveaxis(changed, 1, 0)
        assert theirs.r1.tel[1].waveform.shape == (G, P, 36)
        assert np.abs(mine[..., 3:39] - 400 - theirs.r1.tel[1].waveform).max() < 0.7
        n_events += 1
    assert n_events == 6


def test_time_lapse_of_a_file_of_its_own(tmp_path: Path) -> None:
    path, base, spike = coefficients(tmp_path)
    batch = np.arange(G * P, dtype=np.uint8).reshape(G, P) % 2
    laws = {
        "PIXEL_BATCH": batch,
        "SCALE": np.array([11.9, 30.0]),
        "EXPONENT": np.array([0.22, 0.1]),
        "T0": np.array([103.012, 60.0]),
    }
    images = [fits.ImageHDU(values, name=name) for name, values in laws.items()]
    fits.HDUList([fits.PrimaryHDU(), *images]).writeto(tmp_path / "laws.fits")
    ours = engine().Calibration(str(path), str(tmp_path / "laws.fits"), str(MODELS["LSTCam"].table), M, K, G, S)
    each = [Reference(by_board(base), by_board(spike), law) for law in ((11.9, 0.22, 103.012), (30.0, 0.1, 60.0))]
    for made in made_up(4):
        changed = made.samples.copy()
        ours.correct(np.arange(M, dtype=np.uint16), changed, made.cells, made.clock, 1)
        wanted = [one.correct(made.cells, made.clock, made.samples) for one in each]
        assert np.abs(changed - 400.0 - np.where(by_board(batch)[..., None] == 0, *wanted)).max() < 0.65


def test_a_wrong_array_is_refused(tmp_path: Path) -> None:
    path, _, _ = coefficients(tmp_path)
    made, ours = next(made_up(1)), lst(path)
    assert ours.steps == 2 | 4 | 8
    assert lst(path, time_lapse=False).steps == 2 | 8
    with pytest.raises(ValueError, match="no such board"):
        ours.correct(np.arange(1, M + 1, dtype=np.uint16), made.samples.copy(), made.cells, made.clock, 1)
    with pytest.raises(ValueError, match="first_cells"):
        ours.correct(np.arange(M, dtype=np.uint16), made.samples.copy(), made.cells[:, :7].copy(), made.clock, 1)
    with pytest.raises(ValueError, match="waveforms"):
        ours.correct(np.arange(M, dtype=np.uint16), made.samples[..., :39].copy(), made.cells, made.clock, 1)


def test_one_gain_is_selected_and_flat(tmp_path: Path) -> None:
    path, base, spike = coefficients(tmp_path)
    random = np.random.default_rng(21)
    factor = (random.normal(1, 0.1, (G, P)) * np.array([[1], [13]])).astype(np.float32)
    with fits.open(path, mode="append") as images:
        images.append(fits.ImageHDU(factor, name="flatfield"))
    ours, reference = lst(path, flatfield=True, gain_threshold=700), Reference(by_board(base), by_board(spike))
    assert ours.steps == 2 | 4 | 8 | 16 | 32
    for made in made_up(12):
        changed = made.samples.copy()
        changed[:, 0, 2] += 500
        wanted = reference.correct(made.cells, made.clock, changed)  # [M, G, K, S]
        assert not ours.correct(np.arange(M, dtype=np.uint16), changed, made.cells, made.clock, 1).any()
        low = (ours.low_gain[:, None] >> np.arange(K) & 1).astype(bool)
        most = wanted[:, 0].max(axis=2)
        assert np.array_equal(low, most > 700) or np.abs(most[low != (most > 700)] - 700).max() < 0.2
        assert low[:, 2].mean() > 0.1
        chosen = np.where(low[..., None], wanted[:, 1], wanted[:, 0])
        of_pixel = by_board(factor)
        scale = np.where(low, of_pixel[:, 1], of_pixel[:, 0])[..., None]
        assert (np.abs(changed[:, 0] - np.clip(400 + chosen * scale, 0, 65535)) < 0.51 + 0.15 * scale).all()


# --- Measuring ----------------------------------------------------------------------------------------------------
def pedestals(n: int, n_boards: int, base: NDArray[Any], spike: NDArray[Any]) -> list[CameraEvent]:
    """Of known baselines, spikes and time lapse, with noise of 3 counts; every fifth is a shower's."""
    random, zero = np.random.default_rng(8), Reference(base, spike)
    events = []
    for made in made_up(n, n_boards):
        raw = np.full(made.samples.shape, 2000, np.uint16)
        pedestal = 2000 - zero.correct(made.cells, made.clock, raw)  # what is added to nothing
        is_shower = made.number % 5 == 0
        light = 500 if is_shower else 0
        made.samples = np.rint(pedestal + light + random.normal(0, 3, raw.shape)).astype(np.uint16)
        made.tag = int(TriggerTag.STEREO if is_shower else TriggerTag.PEDESTAL)
        events.append(made.event())
    return events


def test_baselines_and_spikes_are_found_again(tmp_path: Path) -> None:
    random = np.random.default_rng(9)
    base = random.normal(300, 20, (2, G, K, CELLS))
    spike = np.broadcast_to([20.0, 45.0, 10.0], (2, G, K, 3))
    events = pedestals(1500, 2, base, spike)
    layout = calibration.Layout(np.arange(14, dtype=np.uint32)[::-1].reshape(2, 7), G, S, True, table(tmp_path))
    made, figures = calibration.measure(lambda _: events, layout, tmp_path)
    assert (figures.events, figures.held_out) == (1080, 120)
    found = np.moveaxis(made.baseline[:, layout.pixel_id], 0, 1)
    assert figures.cells_seen > 0.95 * figures.cells
    assert (
        np.sqrt(np.mean((found - base) ** 2)) < 3.5
    )  # 9 readings of a cell: 1 count; those of unseen cells are guessed
    assert np.median(np.abs(found - base)) < 1
    heights = np.moveaxis(made.spike_height[:, layout.pixel_id], 0, 1)
    assert np.abs(heights.mean(axis=(0, 1, 2)) - [20, 45, 10]).max() < 1
    assert min(figures.noise_before) > 15
    assert max(figures.noise_after) < 5.5


def test_a_camera_without_cells_gets_a_pedestal_for_each_pixel(tmp_path: Path) -> None:
    random = np.random.default_rng(10)
    level = random.integers(200, 300, (2, G, K))
    events = []
    for made in made_up(30, 2):
        made.samples = np.rint(level[..., None] + random.normal(0, 3, made.samples.shape)).astype(np.uint16)
        event = made.event()
        event.headers["counters_kind"], event.headers["payload_bytes"] = 0, G * K * S * 2
        events.append(replace(event, payloads=made.samples.reshape(-1).view(np.uint8)))
    layout = calibration.Layout(np.arange(14, dtype=np.uint32)[::-1].reshape(2, 7), G, S, False, table(tmp_path))
    made_of, figures = calibration.measure(lambda _: events, layout, tmp_path, all_events=True)
    assert made_of.baseline.shape == (G, 14, 1)
    found = np.moveaxis(made_of.baseline[:, layout.pixel_id, 0], 0, 1)
    assert np.abs(found - level).max() < 0.5  # 27 events of 40 samples
    assert (figures.cells_seen, figures.cells, figures.spikes) == (28, 28, 0)
    assert figures.noise_before == pytest.approx(figures.noise_after, abs=0.1)


def flashes(n: int, factor: NDArray[Any]) -> list[CameraEvent]:
    """Every third event a pedestal of 250, the others flashes, of which the high gain sees all but every fifth whole.
    factor: [2 boards, G, K], of the flat field; 0: the pixel is dead."""
    random, events = np.random.default_rng(11), []
    pulse = np.exp(-0.5 * ((np.arange(S) - 18) / 2.5) ** 2)
    for made in made_up(n, 2):
        height = 0 if made.number % 3 == 0 else 800 if made.number % 5 else 6000
        light = height * np.divide(1, factor, out=np.zeros(factor.shape), where=factor > 0)[..., None] * pulse
        made.samples = np.clip(np.rint(250 + light + random.normal(0, 2, made.samples.shape)), 0, 4095).astype(
            np.uint16
        )
        made.tag = int(TriggerTag.PEDESTAL if height == 0 else TriggerTag.CALIBRATION)
        event = made.event()
        event.headers["counters_kind"], event.headers["payload_bytes"] = 0, G * K * S * 2
        events.append(replace(event, payloads=made.samples.reshape(-1).view(np.uint8)))
    return events


def test_a_flat_field_is_found_again(tmp_path: Path) -> None:
    factor = np.random.default_rng(12).normal(1, 0.1, (2, G, K)) * np.array([[[1], [13]]])
    factor[0, :, 3] = 0
    layout = calibration.Layout(np.arange(14, dtype=np.uint32)[::-1].reshape(2, 7), G, S, False, table(tmp_path))
    events = flashes(150, factor)
    made, figures = calibration.measure(lambda _: events, layout, tmp_path)
    assert made.flatfield is not None
    found = np.moveaxis(made.flatfield[:, layout.pixel_id], 0, 1)
    lit = factor > 0
    ratio = found[lit] / factor[lit]
    assert np.abs(ratio / ratio.mean() - 1).max() < 0.01
    assert found[0, 0, 3] == pytest.approx(1)
    assert found[0, 1, 3] == pytest.approx(13, rel=0.1)
    assert np.median(found[:, 0][lit[:, 0]]) == pytest.approx(1, abs=0.01)
    assert (figures.flatfields, figures.flatfields_held_out, figures.lit) == (90, 10, [13, 13])
    assert min(figures.unevenness_before) > 0.05
    assert max(figures.unevenness_after) < 0.01
    assert "flat field of gain 1: 13 pixels measured" in "\n".join(calibration.in_words(figures))
    made.write(tmp_path / "flat.fits")
    used = engine().Calibration(
        str(tmp_path / "flat.fits"), "", table(tmp_path), 2, K, G, S, flatfield=True, gain_threshold=3500
    )
    charge = np.zeros((2, K))
    for event in events:
        if event.trigger_tag == TriggerTag.CALIBRATION:
            samples = event.waveforms.copy()
            used.correct(event.boards, samples, np.zeros((2, 0), np.uint16), np.zeros(2, np.uint64), 1)
            charge += (samples[:, 0].astype(float) - 400).sum(axis=2)
    assert charge[lit[:, 0]].std() / charge[lit[:, 0]].mean() < 0.01


def test_flashes_beyond_the_high_gain_make_no_flat_field(tmp_path: Path) -> None:
    layout = calibration.Layout(np.arange(14, dtype=np.uint32)[::-1].reshape(2, 7), G, S, False, table(tmp_path))
    events = flashes(30, np.full((2, G, K), 0.1) * np.array([[[1], [13]]]))
    made, figures = calibration.measure(lambda _: events, layout, tmp_path)
    assert made.flatfield is None
    assert "no flat field: of 18 flashes" in "\n".join(calibration.in_words(figures))


def table(folder: Path) -> str:
    """Two boards whose pixels are numbered backwards."""
    lines = [f"{13 - 7 * m - k},{m},{k},{0.05 * k},{0.05 * m}" for m in range(2) for k in range(K)]
    (folder / "pixels.csv").write_text("\n".join(["pixel,module,channel,x_m,y_m", *lines]) + "\n")
    return str(folder / "pixels.csv")


def test_without_pedestals_nothing_is_measured(tmp_path: Path) -> None:
    layout = calibration.Layout(np.arange(14, dtype=np.uint32)[::-1].reshape(2, 7), G, S, True, table(tmp_path))
    events = [made.event() for made in made_up(3, 2)]
    with pytest.raises(InputError, match="--all-events"):
        calibration.measure(lambda _: events, layout, tmp_path)


# --- Through a run ------------------------------------------------------------------------------------------------
def run(folder: Path, settings: Sequence[str] = ()) -> Path:
    given = [
        "run.n_events=40",
        "run.display=off",
        "camera.model=LSTCam",
        "camera.samples=40",
        "receive.ports=[0]",
        "camera_source.ports=[0]",
        "camera_source.rate_hz=40",
        "camera_source.counters=dragon_drs4",
        "camera_source.pedestal_share=0.5",
        "camera_source.signal_share=1",
        "camera_filter.fraction=1",
        "camera_send.file=events.h5",
        f"camera_build.timeout_ms={PATIENCE_MS}",
        *settings,
    ]
    command = [
        sys.executable,
        "-m",
        "anello",
        "run",
        str(ROOT / "detectors/camera/cta-camera.toml"),
        "--report-dir",
        str(folder),
        *(part for one in given for part in ("--set", one)),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "events.h5"


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("raw"))


@pytest.fixture(scope="module")
def file(raw: Path) -> Path:
    """As `anello calibrate` makes it of the run's pedestals."""
    made = raw.with_name("pedestal.fits")
    done = CliRunner().invoke(cli.app, ["calibrate", str(raw), str(made)])
    assert done.exit_code == 0, done.output
    assert "pedestal events used, " in done.output
    assert "cells seen; the other" in done.output
    assert "noise of gain 1" in done.output
    return made


@pytest.mark.process
def test_a_file_has_the_observatory_s_format(file: Path) -> None:
    with fits.open(file) as images:
        assert images["baseline_mean"].data.shape == (G, P, CELLS)
        assert images["baseline_mean"].header["BITPIX"] == -32
        assert images["spike_height"].data.shape == (G, P, 3)
        assert 200 < images["baseline_mean"].data.mean() < 300  # of the simulation


@pytest.fixture(scope="module")
def calibrated(file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("calibrated"), [f"camera_calibrate.file={file}"])


@pytest.mark.process
def test_a_run_calibrates_what_it_keeps(raw: Path, file: Path, calibrated: Path) -> None:
    """The corrections of a whole run, in its file, are those of its raw samples, in their order."""
    about = cameras.attributes(calibrated)
    assert about["calibration_steps"] == "baseline, time lapse, spikes"
    assert about["calibration_offset"] == 400
    ours, n_events = lst(file), 0
    for before, after in zip(camera_events.read(raw), camera_events.read(calibrated), strict=True):
        assert before.event_number == after.event_number
        assert set(before.calibration_steps) == {0}
        assert set(after.calibration_steps) == {2 | 4 | 8}
        samples = before.waveforms.copy()
        clocks = np.ascontiguousarray(after.headers["counters"][:, 14:22]).view("<u8").reshape(-1)
        assert after.first_cells is not None
        ours.correct(after.boards, samples, after.first_cells, clocks.astype(np.uint64), 1)
        assert np.array_equal(before.first_cells, after.first_cells)
        assert np.array_equal(samples, after.waveforms)
        n_events += 1
    assert n_events == 40
    with pytest.raises(InputError, match="calibrated already"):
        calibration.layout_of(calibrated)


@pytest.fixture(scope="module")
def of_one_gain(file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings = [f"camera_calibrate.file={file}", "camera_calibrate.gain_threshold=60"]
    return run(tmp_path_factory.mktemp("of_one_gain"), settings)


@pytest.mark.process
@pytest.mark.long
def test_a_run_keeps_one_gain(raw: Path, file: Path, of_one_gain: Path) -> None:
    about = cameras.attributes(of_one_gain)
    assert about["calibration_steps"] == "baseline, time lapse, spikes, gain selected"
    ours, n_low, n_events = lst(file, gain_threshold=60), 0, 0
    for before, after in zip(camera_events.read(raw), camera_events.read(of_one_gain), strict=True):
        samples = before.waveforms.copy()
        clocks = np.ascontiguousarray(after.headers["counters"][:, 14:22]).view("<u8").reshape(-1)
        assert after.first_cells is not None
        ours.correct(after.boards, samples, after.first_cells, clocks.astype(np.uint64), 1)
        assert after.waveforms.shape == (M, 1, K, S)
        assert np.array_equal(before.first_cells, after.first_cells)
        assert np.array_equal(samples[:, 0], after.waveforms[:, 0])
        assert before.low_gain is None
        assert after.low_gain is not None
        assert np.array_equal(after.low_gain, (ours.low_gain[:, None] >> np.arange(K) & 1).astype(bool))
        n_low += int(after.low_gain.sum())
        n_events += 1
    assert n_events == 40
    assert 20 < n_low < 40 * P / 2


@pytest.mark.long
@pytest.mark.process
def test_ctapipe_and_lst_s_own_reader_know_which_gain_was_kept(of_one_gain: Path, tmp_path: Path) -> None:
    pytest.importorskip("protozfits")
    camera, sent = cameras.camera("LSTCam"), {one.event_number: one for one in camera_events.read(of_one_gain)}
    low = {number: camera.low_gain(event)[camera.channel_of_pixel] for number, event in sent.items()}
    of_others.package("ctapipe")
    from anello.camera.cta.event_source import AnelloEventSource

    with AnelloEventSource(input_url=of_one_gain) as own:
        for event in own:
            assert np.array_equal(event.r1.tel[1].selected_gain_channel, low[event.index.event_id])
    done = CliRunner().invoke(cli.app, ["convert", str(of_one_gain), str(tmp_path / "r1")])
    assert done.exit_code == 0, done.output
    plugin = of_others.package("ctapipe_io_lst")
    (path,) = (tmp_path / "r1").iterdir()
    with plugin.LSTEventSource(input_url=path, pointing_information=False, apply_drs4_corrections=False) as source:
        for theirs in source:
            number = theirs.index.event_id
            wanted, _ = camera.by_pixel(sent[number])
            assert np.array_equal(np.squeeze(theirs.r1.tel[1].waveform), wanted[0].astype(np.float32) - 400)
            assert np.array_equal(theirs.r1.tel[1].selected_gain_channel, low[number])
            assert theirs.lst.tel[1].evt.tdp_action == 1 | 2 | 4 | 8


@pytest.mark.long
@pytest.mark.process
def test_lst_s_own_reader_gives_calibrated_samples_as_they_are(calibrated: Path, tmp_path: Path) -> None:
    """They are above the baseline, without a correction of its own."""
    pytest.importorskip("protozfits")
    done = CliRunner().invoke(cli.app, ["convert", str(calibrated), str(tmp_path / "r1")])
    assert done.exit_code == 0, done.output
    plugin = of_others.package("ctapipe_io_lst")
    (path,) = (tmp_path / "r1").iterdir()
    settings = {"pointing_information": False, "apply_drs4_corrections": False}
    sent = {event.event_number: event for event in camera_events.read(calibrated)}
    with plugin.LSTEventSource(input_url=path, **settings) as source:
        found = list(source)
    assert [theirs.index.event_id for theirs in found] == list(range(1, 40))  # it takes a number of 0 for no event
    for theirs in found:
        wanted, _ = cameras.camera("LSTCam").by_pixel(sent[theirs.index.event_id])
        assert np.array_equal(theirs.r1.tel[1].waveform, wanted.astype(np.float32) - 400)
        assert theirs.lst.tel[1].evt.tdp_action == 2 | 4 | 8


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere.h5", "out.fits"], "there is no such file"),
        (["RAW", "FILE"], "is there already"),
        (["RAW", "out.fits", "--camera", "SCT"], "must be one of LSTCam"),
    ],
)
@pytest.mark.process
def test_what_cannot_be_measured_is_said(
    raw: Path, file: Path, tmp_path: Path, arguments: list[str], says: str
) -> None:
    places = {"RAW": str(raw), "FILE": str(file), "out.fits": str(tmp_path / "out.fits")}
    done = CliRunner().invoke(cli.app, ["calibrate", *(places.get(one, one) for one in arguments)])
    assert done.exit_code != 0
    assert says in str(done.exception) + done.output


def test_a_file_that_does_not_fit_leaves_nothing_behind(tmp_path: Path) -> None:
    made = calibration.Coefficients(np.zeros((2, 7, 4096), np.float32), np.zeros((2, 7, 3), np.float32))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with pytest.raises(InputError, match="cannot be written"):
            made.write(tmp_path / "pedestal.fits")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []
    made.write(tmp_path / "pedestal.fits")
    assert [path.name for path in tmp_path.iterdir()] == ["pedestal.fits"]


def test_a_wrong_file_stops_a_run_before_it_starts(tmp_path: Path) -> None:
    (tmp_path / "wrong.fits").write_bytes(b"\x89HDF\r\n")
    with pytest.raises(ConfigError, match="it is no FITS file"), engine_errors():
        lst(tmp_path / "wrong.fits")


def one_gain_but(boards: Sequence[int]) -> CameraEvent:
    """Calibrated, one gain of two selected; these boards could not be."""
    event = next(made_up(1)).event()
    selected = np.isin(np.arange(M), boards, invert=True)
    bodies = event.payloads.reshape(M, -1)
    event.headers["flags"][selected] = (2 | 4 | 8 | 16) << 2
    event.headers["n_gains"][selected] = 1
    event.headers["payload_bytes"][selected] = K * S * 2 + 16
    event.headers["counters"][:, LOW_GAIN_AT] = 5  # pixels 0 and 2; of the others whatever their maker writes there
    one = np.r_[0 : K * S * 2, G * K * S * 2 : G * K * S * 2 + 16]
    pieces = [bodies[board][one] if selected[board] else bodies[board] for board in range(M)]
    return replace(event, payloads=np.concatenate(pieces))


def test_a_first_event_with_boards_that_could_not_be_calibrated_begins_a_file(tmp_path: Path) -> None:
    """They have two gains, where the others have one."""
    pytest.importorskip("protozfits")
    event = one_gain_but([3, 100])
    with pytest.raises(ValueError, match="no waveforms of one shape"):
        _ = event.waveforms
    messages = r1v1.Messages(cameras.camera("LSTCam"), 7)
    assert messages.configuration(event).num_channels == 1
    made = messages.event(event)
    assert (made.num_channels, messages.n_left_out, made.debug.tdp_action) == (1, 2, 15)
    assert len(made.waveform.data) == 2 * (M - 2) * K * S
    status = np.frombuffer(made.pixel_status.data, np.uint8).reshape(M, K)
    assert (status[[3, 100]] == 0).all()
    assert status[0].tolist() == [0b1001, 0b0101, 0b1001, 0b0101, 0b0101, 0b0101, 0b0101]
    with r1v1.Writer(tmp_path, r1v1.Messages(cameras.camera("LSTCam"), 7)) as writer:
        writer.write(event)
    assert [r1v1.n_events_in(path) for path in writer.files] == [1]
    assert event.of_kind(calibrated=False).boards.tolist() == [3, 100]
    none = next(made_up(1)).event()
    assert none.of_kind(calibrated=True) is none


def test_boards_that_are_not_calibrated_are_left_out_of_calibrated_files() -> None:
    """A data stream has one offset; which kind it is of, its first event says."""
    pytest.importorskip("protozfits")
    event, raw_event = next(made_up(1)).event(), next(made_up(1)).event()
    event.headers["flags"] = (2 | 4 | 8) << 2
    event.headers["flags"][[3, 100]] = 1  # a checksum, and nothing else
    messages = r1v1.Messages(cameras.camera("LSTCam"), 7)
    made = messages.event(event)
    assert messages.data_stream(event).waveform_offset == 400
    status = np.frombuffer(made.pixel_status.data, np.uint8).reshape(M, K)
    assert sorted(set(np.nonzero(status == 0)[0])) == [3, 100]
    assert len(made.waveform.data) == 2 * G * (M - 2) * K * S
    assert (messages.n_left_out, made.debug.tdp_action) == (2, 14)
    raw = r1v1.Messages(cameras.camera("LSTCam"), 7)
    assert raw.data_stream(raw_event).waveform_offset == 0
    assert raw.event(raw_event).debug.tdp_action == 0
    assert np.frombuffer(raw.event(event).pixel_status.data, np.uint8).reshape(M, K)[:, 0].nonzero()[0].tolist() == [
        3,
        100,
    ]
