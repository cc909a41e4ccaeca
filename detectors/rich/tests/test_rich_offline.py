# SPDX-License-Identifier: Apache-2.0
"""`anello rings`: what it uses of a file and of the configuration, and how it reports what it leaves out."""

import math
from pathlib import Path

import pytest

pytest.importorskip("anello._engine", reason="the compiled engine is not built")

from anello.errors import ConfigError, InputError
from anello.rich.commands.cli import rings


def ring(event: int, n_hits: int, time_ns: float = 0) -> list[str]:
    """Returns lines of a file with the hits of one circle."""
    angles = [2 * math.pi * i / n_hits for i in range(n_hits)]
    radii = [125 + 5 * (i % 3) for i in range(n_hits)]
    return [
        f"{event},{r * math.cos(a):.2f},{r * math.sin(a):.2f},{time_ns}" for a, r in zip(angles, radii, strict=True)
    ]


def written(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(["event,x_mm,y_mm,time_ns", *lines]) + "\n")
    return path


@pytest.fixture
def hits(tmp_path: Path) -> Path:
    return written(tmp_path / "hits.csv", *ring(0, 12), *ring(1, 12))


@pytest.mark.parametrize(
    ("setting", "algorithm"),
    [
        ("trigger.acceptance.radius_max_mm=110", "multiring"),
        ("trigger.multiring.min_hits=64", "multiring"),
        ("trigger.single.window_mm=[1, 1, 1, 1, 1]", "single"),
        ("trigger.single.min_ring_hits=64", "single"),
        ("trigger.almagest.min_ring_hits=64", "almagest"),
        ("trigger.histogram.threshold=64", "histogram"),
    ],
)
def test_keys_of_each_finder_are_taken(hits: Path, setting: str, algorithm: str) -> None:
    more = ["trigger.single.max_hits=0"] if algorithm == "multiring" else []
    outputs = hits.with_name("before.csv"), hits.with_name("after.csv")
    rings(hits, algorithm=algorithm, settings=more, output=outputs[0])
    rings(hits, algorithm=algorithm, settings=[*more, setting], output=outputs[1])
    before, after = (output.read_text() for output in outputs)
    assert before.count("\n") > 1
    assert before != after


def test_the_algorithm_is_a_key_too(hits: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rings(hits, settings=["trigger.algorithm=crawford"])
    assert "algorithm crawford" in capsys.readouterr().out
    rings(hits, settings=["trigger.algorithm=crawford"], algorithm="taubin")
    assert "algorithm taubin" in capsys.readouterr().out


@pytest.mark.parametrize("setting", ["receive.n_buffers=64", "trigger.deadline_us=1"])
def test_a_key_that_no_finder_reads_is_refused(hits: Path, setting: str) -> None:
    with pytest.raises(ConfigError, match=r"^[a-z_.]+: is no key of the ring finders .* They read trigger\.algorithm"):
        rings(hits, settings=[setting])


def test_second_hits_of_a_photomultiplier_are_reported_and_make_no_ring(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rings(written(tmp_path / "hits.csv", *(ring(0, 3) * 3)))
    printed = capsys.readouterr()
    assert "6 hits are a second one of the same photomultiplier" in printed.err
    assert "3 of 9 hits used\n0 rings" in printed.out


def test_the_ring_is_found_among_more_hits_than_a_finder_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    noise = [f"0,{-300 + 7.1 * i:.2f},{(37 * i) % 400 - 200},{90 + i}" for i in range(60)]
    rings(written(tmp_path / "hits.csv", *noise, *ring(0, 40)), algorithm="multiring")
    printed = capsys.readouterr()
    assert "36 hits of events with more than 64: left out, the farthest in time" in printed.err
    assert "64 of 100 hits used" in printed.out
    path = tmp_path / "no-times.csv"
    path.write_text("event,x_mm,y_mm\n" + "\n".join(line.rpartition(",")[0] for line in [*noise, *ring(0, 40)]) + "\n")
    with pytest.raises(InputError, match=r"no-times\.csv: event 0: 100 hits, and ring finders take 64 at most"):
        rings(path)
