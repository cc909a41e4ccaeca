# SPDX-License-Identifier: Apache-2.0
"""The sample of events that the ring benchmark scores the finders on."""

import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import anello.rich
from anello.rich.analysis import physics

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "bench/system"))

import ring_sample  # noqa: E402

PROGRAM = ROOT / "build/release/bench/rings/rings_score"


def content() -> bytes:
    """Two events: a ring of 3 hits, then noise alone."""
    header = b"ANELRING" + struct.pack("<3I", 2, 4, 1) + struct.pack("<3I", 0, 3, 4) + struct.pack("<3I", 0, 1, 1)
    return header + struct.pack("<4f", 1, 2, 3, 4) + struct.pack("<4f", 5, 6, 7, 8) + struct.pack("<3fi", 9, 10, 150, 3)


def test_a_sample_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "sample"
    path.write_bytes(content())
    sample = ring_sample.read(path)
    assert sample.n_events == 2
    assert sample.x_mm.tolist() == [1, 2, 3, 4]
    assert sample.hits_of(1)[1].tolist() == [8]
    assert sample.truth.n_rings.tolist() == [1, 0]
    assert (sample.truth.radius_mm[0], sample.truth.n_hits[0]) == (150, 3)
    second = sample.part(1, 2)
    assert (second.hit_offset.tolist(), second.x_mm.tolist(), len(second.truth)) == ([0, 1], [4], 0)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [(lambda good: b"SOMETHING" + good, "is no sample of rings"), (lambda good: good[:-1], "has 91 bytes: .*: 92")],
)
def test_another_file_is_refused(tmp_path: Path, spoil: object, message: str) -> None:
    path = tmp_path / "sample"
    path.write_bytes(spoil(content()))  # type: ignore[operator]
    with pytest.raises(ValueError, match=message):
        ring_sample.read(path)


@pytest.mark.process
def test_both_scorers_agree(tmp_path: Path) -> None:
    """The C++ program's score and anello.rich.analysis.physics', on the same events with the same finder."""
    pytest.importorskip("anello._engine", reason="the compiled engine is not built")
    if not PROGRAM.exists():
        pytest.skip("rings_score is not built: ./dev bench rings builds it")
    path = tmp_path / "sample"
    command = [PROGRAM, "--json", "--algorithms", "taubin", "--rings-per-event", "mix", "--seed", "3", "--seeds", "1",
               "--n-events", "500", "--passes", "0", "--dump", path]  # fmt: skip
    line = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    sample = ring_sample.read(path)
    found = anello.rich.find_rings(sample.x_mm, sample.y_mm, sample.hit_offset, algorithm="taubin")
    score = physics.score(sample.truth, found).all_events
    assert 100 * score.efficiency_5mm.value == pytest.approx(line["eff5"], abs=0.3)
    assert 100 * score.ghosts.value == pytest.approx(line["ghost"], abs=0.3)
