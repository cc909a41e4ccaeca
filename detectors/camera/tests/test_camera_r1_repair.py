# SPDX-License-Identifier: Apache-2.0
"""R1v1 files whose writer was killed: what is saved of them, and what is refused."""

import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from anello import cli
from anello.camera.cta import zfits_repair
from anello.errors import ConfigError, InputError

TILE = 20  # events
SHARED = f"{Path(__file__).parent}:{Path(__file__).parents[3] / 'tests/python'}"  # what the writer imports
WRITER = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[2].split(":")
from test_camera_r1_files import event, r1v1, stream_in
stream = stream_in(Path(sys.argv[1]), r1v1.Limits(n_events=int(sys.argv[3])))
for number in range(1, 1000):
    stream.write(event(number))
    sys.stderr.write(f"{number}\\n")
    sys.stderr.flush()
"""  # its standard output is protozfits's


@pytest.fixture
def protozfits() -> Any:
    return pytest.importorskip("protozfits")


def killed(folder: Path, at_event: int, most_events: int = 5000) -> Path:
    """The .part of a process that was killed once it had written this event, or a little later."""
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-c", WRITER, str(folder), SHARED, str(most_events)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as writer:
        assert writer.stderr is not None
        said = []
        for line in writer.stderr:
            said.append(line)
            if line.strip() == str(at_event):
                break
        else:
            pytest.fail("".join(said))
        writer.kill()
    (part,) = folder.iterdir()
    assert part.name.endswith(".fits.fz.part")
    return part


def events_in(protozfits: Any, path: Path) -> list[int]:
    """Their numbers, once every sample was looked at."""
    numbers = []
    with protozfits.File(str(path)) as file:
        assert (len(file.DataStream), len(file.CameraConfiguration)) == (1, 1)
        for row in file.Events:
            assert row.waveform.shape == (2 * 1855 * 40,)
            assert (row.waveform == 100 + row.event_id).all()
            assert (row.pixel_status == 0b1101).all()
            numbers.append(int(row.event_id))
    return numbers


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.process
def test_whole_tiles_are_saved_of_a_writer_killed_at_any_moment(seed: int, protozfits: Any, tmp_path: Path) -> None:
    chosen = random.Random(seed)
    at_event, most_events = chosen.randint(2 * TILE, 130), chosen.choice([1000, 5000, 20_000])
    print(f"seed {seed}: killed at event {at_event}, index for {most_events}")
    part = killed(tmp_path / "r1", at_event, most_events)
    before = part.read_bytes()
    done = CliRunner().invoke(cli.app, ["r1-repair", str(part)])
    assert done.exit_code == 0, done.output + str(done.exception)
    found = events_in(protozfits, part.with_suffix(""))
    assert f"{len(found)} events saved" in done.output.replace("\n", " ")
    assert found == list(range(1, len(found) + 1))
    assert len(found) % TILE == 0
    assert len(found) >= (at_event // TILE - 1) * TILE  # the last one may lie in the writer's memory
    assert part.read_bytes() == before
    assert sorted(path.name for path in part.parent.iterdir()) == [part.stem, part.name]


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("protozfits")
    return killed(tmp_path_factory.mktemp("r1"), 70)


@pytest.mark.process
def test_nothing_is_overwritten(part: Path, tmp_path: Path) -> None:
    there = tmp_path / "there.fits.fz"
    there.write_text("somebody's")
    with pytest.raises(InputError, match="is there already: nothing is overwritten"):
        zfits_repair.repair(part, there)
    assert there.read_text() == "somebody's"
    stopped = tmp_path / "other.fits.fz.repair"
    stopped.write_text("half")
    with pytest.raises(InputError, match="of a repair that was stopped"):
        zfits_repair.repair(part, tmp_path / "other.fits.fz")
    assert stopped.read_text() == "half"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.process
def test_a_file_cut_anywhere_is_saved_as_far_as_it_goes_or_refused(
    seed: int, part: Path, protozfits: Any, tmp_path: Path
) -> None:
    chosen, whole = random.Random(seed), part.read_bytes()
    for number in range(12):
        length = chosen.randrange(len(whole))
        print(f"seed {seed}: {length} bytes")
        cut, output = tmp_path / f"{number}.part", tmp_path / f"{number}.fits.fz"
        cut.write_bytes(whole[:length])
        try:
            n_saved = zfits_repair.repair(cut, output)
        except InputError:
            assert not output.exists()
            assert not output.with_name(output.name + ".repair").exists()
            continue
        assert events_in(protozfits, output) == list(range(1, n_saved + 1))


@pytest.mark.process
def test_a_torn_tile_ends_what_is_saved(part: Path, protozfits: Any, tmp_path: Path) -> None:
    data = bytearray(part.read_bytes())
    *_, second, _ = (found.start() for found in re.finditer(b"TILE", data))  # of three; other tables have some, too
    data[second + 16 : second + 24] = (2**63).to_bytes(8, "little")  # a column longer than its tile
    torn, output = tmp_path / "torn.part", tmp_path / "torn.fits.fz"
    torn.write_bytes(data)
    assert zfits_repair.repair(torn, output) == TILE
    assert events_in(protozfits, output) == list(range(1, TILE + 1))


@pytest.mark.process
def test_a_file_that_was_closed_gets_its_name(part: Path, protozfits: Any, tmp_path: Path) -> None:
    """Its writer was killed between closing and renaming it; a file that was cut after that is reported."""
    closed = tmp_path / "closed.fits.fz.part"
    zfits_repair.repair(part, closed)
    n_events = zfits_repair.repair(closed, tmp_path / "closed.fits.fz")
    assert events_in(protozfits, tmp_path / "closed.fits.fz") == list(range(1, n_events + 1))
    shutil.copy(closed, tmp_path / "cut.part")
    with (tmp_path / "cut.part").open("r+b") as file:
        file.truncate(closed.stat().st_size - zfits_repair.BLOCK)
    with pytest.raises(
        InputError, match=r"cut\.part: it says that its events end at byte \d+, and has \d+: it was cut"
    ):
        zfits_repair.repair(tmp_path / "cut.part", tmp_path / "cut.fits.fz")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"\x89HDF" * 2000, "a header has no end"),
        (np.random.default_rng(1).bytes(100_000), "a header has no end"),
    ],
)
def test_what_is_no_zfits_file_is_named(content: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / "x.part").write_bytes(content)
    with pytest.raises(InputError, match=says):
        zfits_repair.repair(tmp_path / "x.part", tmp_path / "x.fits.fz")
    assert [path.name for path in tmp_path.iterdir()] == ["x.part"]


def test_the_command_says_what_it_needs(tmp_path: Path) -> None:
    (tmp_path / "x.fits.fz").write_bytes(b"x")
    runner = CliRunner()
    assert isinstance(runner.invoke(cli.app, ["r1-repair", str(tmp_path / "x.fits.fz")]).exception, ConfigError)
    missing = runner.invoke(cli.app, ["r1-repair", str(tmp_path / "nowhere.part")])
    assert "there is no such file" in str(missing.exception)
