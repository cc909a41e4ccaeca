# SPDX-License-Identifier: Apache-2.0
"""Coefficients in the files of an LST's own calibration, and what ctapipe_io_lst makes of the same files."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import of_others
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

from anello import cli
from anello.camera.cta import observatory_files
from anello.errors import InputError

G, P, CELLS = 2, 1855, 4096
Arrays = dict[str, NDArray[Any]]


def made_up(seed: int = 1) -> tuple[Arrays, Arrays]:
    random = np.random.default_rng(seed)
    drs4 = {
        "baseline_mean": random.normal(300, 20, (G, P, CELLS)).astype(np.float32),
        "spike_height": random.normal(45, 3, (G, P, 3)).astype(np.float32),
    }
    worth = random.normal(1, 0.1, (G, P)) * np.array([[0.0106], [0.181]])
    unusable = np.zeros((G, P), bool)
    unusable[0, [3, 1000]] = unusable[1, 7] = True
    worth[unusable] = [0, np.nan, -1]
    return drs4, {"dc_to_pe": worth, "pedestal_per_sample": random.normal(5, 2, (G, P)), "unusable_pixels": unusable}


def as_row(arrays: Arrays) -> NDArray[Any]:
    row = np.zeros(1, [(name, one.dtype if one.dtype != bool else "u1", one.shape) for name, one in arrays.items()])
    for name, one in arrays.items():
        row[name][0] = one
    return row


def as_hdf5(folder: Path, drs4: Arrays, levels: Arrays) -> tuple[Path, Path]:
    pedestal, calibration = folder / "drs4_pedestal.h5", folder / "calibration.h5"
    with h5py.File(pedestal, "w") as file:
        file["r1/monitoring/drs4_baseline/tel_001"] = as_row(drs4)
    with h5py.File(calibration, "w") as file:
        file["tel_1/calibration"] = as_row(levels)
    return pedestal, calibration


def as_fits(folder: Path, drs4: Arrays, levels: Arrays) -> tuple[Path, Path]:
    fits = pytest.importorskip("astropy.io.fits")
    table = pytest.importorskip("astropy.table")
    pedestal, calibration = folder / "drs4_pedestal.fits", folder / "calibration.fits.gz"
    fits.HDUList([fits.PrimaryHDU(), *(fits.ImageHDU(one, name=name) for name, one in drs4.items())]).writeto(pedestal)
    primary = fits.PrimaryHDU()
    primary.header["TEL_ID"] = 1
    rows = table.Table({name: one[np.newaxis] for name, one in levels.items()})
    others = [  # which ctapipe_io_lst wants to be there
        fits.BinTableHDU(table.Table({column: [1]}), name=name)
        for name, column in (
            ("flatfield", "n_events"),
            ("pedestal", "n_events"),
            ("pixel_status", "hardware_failing_pixels"),
        )
    ]
    fits.HDUList([primary, fits.BinTableHDU(rows, name="calibration"), *others]).writeto(calibration)
    return pedestal, calibration


@pytest.mark.parametrize("write", [as_hdf5, as_fits])
def test_a_count_less_baseline_times_factor_is_what_the_observatory_s_own_formula_says(
    write: Any, tmp_path: Path
) -> None:
    drs4, levels = made_up()
    found = observatory_files.read(*write(tmp_path, drs4, levels))
    counts = np.random.default_rng(2).uniform(300, 4000, (G, P, 1))
    wanted = (counts - drs4["baseline_mean"][:, :, :9] - levels["pedestal_per_sample"][..., np.newaxis]) * levels[
        "dc_to_pe"
    ][..., np.newaxis]
    made = found.coefficients
    assert made.flatfield is not None
    got = (counts - made.baseline[:, :, :9]) * made.flatfield[..., np.newaxis] * found.pe_per_count
    usable = ~levels["unusable_pixels"]
    assert np.allclose(got[usable], wanted[usable], rtol=1e-5, atol=1e-5)
    assert np.array_equal(made.spike_height, drs4["spike_height"])
    assert found.n_unusable == [2, 1]
    usual = [np.median(made.flatfield[gain][usable[gain]]) for gain in range(G)]
    assert made.flatfield[0, 3] == made.flatfield[0, 1000] == pytest.approx(usual[0])
    assert made.flatfield[1, 7] == pytest.approx(usual[1], rel=1e-6)
    assert usual[0] == pytest.approx(1)
    assert np.array_equal(made.baseline[0, 3], drs4["baseline_mean"][0, 3])


def test_the_engine_takes_what_the_command_writes(tmp_path: Path) -> None:
    pytest.importorskip("anello._engine", reason="the compiled engine is not built")
    from anello.camera.cta import cameras
    from anello.camera.cta.models import MODELS
    from anello.camera.engine import engine

    pedestal, calibration = as_hdf5(tmp_path, *made_up())
    output = tmp_path / "coefficients.fits"
    command = ["import-calibration", str(pedestal), str(calibration), str(output)]
    done = CliRunner().invoke(cli.app, command)
    assert done.exit_code == 0, done.output + str(done.exception)
    assert "1855 pixels; a count is worth 0.010" in " ".join(done.output.split())
    assert "is there already" in str(CliRunner().invoke(cli.app, command).exception)
    made, raw = observatory_files.read(pedestal, calibration).coefficients, np.full((1, G, 7, 40), 1000, np.uint16)
    ours = engine().Calibration(
        str(output),
        "",
        str(MODELS["LSTCam"].table),
        265,
        7,
        G,
        40,
        time_lapse=False,
        spikes=False,
        flatfield=True,
        gain_threshold=3500,
    )
    assert not ours.correct(np.array([9], np.uint16), raw, np.zeros((1, 8), np.uint16), np.zeros(1, np.uint64), 1).any()
    pixels = cameras.camera("LSTCam").pixel_id[9]
    assert made.flatfield is not None
    wanted = 400 + (1000 - made.baseline[0, pixels, :40]) * made.flatfield[0, pixels, np.newaxis]
    assert np.abs(raw[0, 0] - wanted).max() < 0.6 + 0.1


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.long
def test_ctapipe_reads_the_same_files_the_same_way(seed: int, tmp_path: Path) -> None:
    lst = of_others.package("ctapipe_io_lst.calibration")
    drs4, levels = made_up(seed)
    pedestal, calibration = as_fits(tmp_path, drs4, levels)
    found = observatory_files.read(pedestal, calibration)
    theirs = lst.LSTR0Corrections
    assert np.array_equal(theirs._get_spike_heights.__wrapped__(None, pedestal, 1), found.coefficients.spike_height)
    (monitoring,) = theirs._read_calibration_file(calibration).tel.values()
    usable = ~np.asarray(monitoring.calibration.unusable_pixels)
    assert found.coefficients.flatfield is not None
    worth = found.coefficients.flatfield * found.pe_per_count
    assert np.allclose(worth[usable], np.asarray(monitoring.calibration.dc_to_pe)[usable], rtol=1e-6)
    level = found.coefficients.baseline[:, :, 5] - drs4["baseline_mean"][:, :, 5]
    assert np.allclose(level[usable], np.asarray(monitoring.calibration.pedestal_per_sample)[usable], atol=1e-3)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda drs4, levels: levels.pop("dc_to_pe"), "cannot be read from /tel_1/calibration"),
        (lambda drs4, levels: drs4.update(baseline_mean=drs4["baseline_mean"][:, :7]), "which must be"),
        (lambda drs4, levels: drs4["baseline_mean"].__setitem__((0, 0, 0), 1e9), "must be 0 to 4095.9"),
        (lambda drs4, levels: levels.update(unusable_pixels=np.ones((G, P), bool)), "no pixel of the high gain"),
        (lambda drs4, levels: levels["dc_to_pe"].__setitem__((1, 0), 1e9), "must be 0 to 1000"),
    ],
)
def test_files_that_are_not_as_described_are_named(spoil: Any, says: str, tmp_path: Path) -> None:
    drs4, levels = made_up()
    spoil(drs4, levels)
    with pytest.raises(InputError, match=says):
        observatory_files.read(*as_hdf5(tmp_path, drs4, levels))


def test_a_dead_module_costs_that_module(tmp_path: Path) -> None:
    drs4, levels = made_up()
    before = observatory_files.read(*as_hdf5(tmp_path, drs4, levels))
    dead, living = slice(7, 14), np.r_[0:7, 14:P]
    for name in ("baseline_mean", "spike_height"):
        drs4[name] = drs4[name].astype(float)
        drs4[name][:, dead] = np.nan
    (tmp_path / "dead").mkdir()
    found = observatory_files.read(*as_hdf5(tmp_path / "dead", drs4, levels))
    assert all(np.isfinite(one).all() for one in (found.coefficients.baseline, found.coefficients.spike_height))
    assert np.array_equal(found.coefficients.baseline[:, living], before.coefficients.baseline[:, living])
    already = (levels["unusable_pixels"][:, dead] != 0) | ~(levels["dc_to_pe"][:, dead] > 0)
    assert np.array_equal(np.array(found.n_unusable) - before.n_unusable, (~already).sum(axis=1))


def test_another_telescope_is_named(tmp_path: Path) -> None:
    files = as_fits(tmp_path, *made_up())
    with pytest.raises(InputError, match="it is of telescope 1, and 3 is asked for"):
        observatory_files.read(*files, telescope=3)
    (tmp_path / "no.fits").write_bytes(b"x")
    with pytest.raises(InputError, match="cannot be read from its images"):
        observatory_files.read(tmp_path / "no.fits", files[1])
