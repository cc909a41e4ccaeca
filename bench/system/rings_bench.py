# SPDX-License-Identifier: Apache-2.0
"""Quality and speed of the ring finders, side by side.

    python bench/record.py rings [--quick] [--sample brief|phys|na62] [--seed 101] [--rounds 5]
                                 [--config detectors/rich/na62-rich.toml] [--set KEY=VALUE]...

--config: the finders' parameters are a configuration's, with --set changed.

Simulated events with 1, 2, 3, 4 rings and the mix, the same for all. Scores are anello.physics' for all, with 95 %
intervals; times are CPU time of one thread. Finders take turns, round by round: a slow moment of the machine hits all,
and the ratio in speed is the median of the rounds' ratios.
"""

import argparse
import json
import statistics
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import ring_sample
from ring_sample import RingSample
from trials import table

from anello import Rings
from anello.rich import find_rings
from anello.rich.analysis import physics
from anello.rich.configuration.of_config import finder_params, load_rich
from anello.search.trial import spread

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "build/release/bench/rings/rings_score"
KINDS = ("1", "2", "3", "4", "mix")
REFERENCE = "multiring"
Z_95 = 1.96
HEAD = ("rings", "finder", "events", "eff5 %", "eff10 %", "ghost %", "ns/event", "times multiring")


@dataclass
class Row:
    """One finder on events of one kind."""

    kind: str
    finder: str
    score: physics.Score
    ns_per_event: list[float] = field(default_factory=list)  # of each round


def main() -> None:
    options = parse()
    if not options.program.exists():
        raise SystemExit(f"there is no {options.program}: cmake --build --preset release --target rings_score")
    print(
        f"{options.n_events} events of each kind; sample {options.sample}, seed {options.seed}, {options.rounds} rounds"
    )
    rows: list[Row] = []
    for kind in KINDS:
        of_kind = measure(kind, options)
        print("\n" + table(HEAD, [words(row, of_kind[0]) for row in of_kind]), flush=True)
        rows += of_kind
    for row in rows:
        print(json.dumps(as_line(row, next(one for one in rows if one.kind == row.kind), options)))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Quality and speed of the ring finders.")
    parser.add_argument("--sample", choices=("brief", "phys", "na62"), default="brief")
    parser.add_argument("--seed", type=int, default=101)
    parser.add_argument("--algorithms", default="multiring,single,almagest,histogram,taubin,crawford")
    parser.add_argument("--n-events", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--program", type=Path, default=PROGRAM)
    parser.add_argument("--quick", action="store_true", help="2000 events, 3 rounds")
    parser.add_argument("--config", type=Path)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    if options.quick:
        options.n_events, options.rounds = 2000, 3
    options.params = finder_params(load_rich(options.config, options.set)) if options.config or options.set else {}
    return options


def measure(kind: str, options: argparse.Namespace) -> list[Row]:
    """The reference first, then the other finders."""
    algorithms = [REFERENCE, *(name for name in options.algorithms.split(",") if name != REFERENCE)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sample.bin"
        score_program(kind, algorithms[:1], options, n_passes=0, dump=path)
        sample = ring_sample.read(path)
    rows = [Row(kind, name, score(sample, found(sample, name, options.params))) for name in algorithms]
    for _ in range(options.rounds):
        for row, line in zip(rows, score_program(kind, algorithms, options, n_passes=1), strict=True):
            row.ns_per_event.append(line["ns_per_event"])
    return rows


def score_program(
    kind: str, algorithms: list[str], options: argparse.Namespace, n_passes: int, dump: Path | None = None
) -> list[dict[str, Any]]:
    """The lines of rings_score: no Python in its times. Every call makes the same events anew."""
    command = [str(options.program), "--json", "--sample", options.sample, "--seed", str(options.seed), "--seeds", "1",
               "--n-events", str(options.n_events if dump else 5000), "--rings-per-event", kind,
               "--passes", str(n_passes), "--algorithms", ",".join(algorithms),
               *(word for key, value in options.params.items() for word in ("--set", f"{key}={value}"))]  # fmt: skip
    if dump:
        command += ["--dump", str(dump)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def found(sample: RingSample, algorithm: str, params: dict[str, float]) -> Rings:
    return find_rings(sample.x_mm, sample.y_mm, sample.hit_offset, algorithm=algorithm, params=params, threads=1)


def score(sample: RingSample, rings: Rings) -> physics.Score:
    return physics.score(sample.truth, rings).all_events


def half_width(share: physics.Share) -> float:
    """Half of the 95 % interval (Wilson), per cent."""
    if not share.total:
        return 0.0
    p, n, z2 = share.value, share.total, Z_95**2
    return float(100 * Z_95 / (1 + z2 / n) * np.sqrt(p * (1 - p) / n + z2 / (4 * n * n)))


def ratios(row: Row, reference: Row) -> list[float]:
    """Ratio of its time to that of the reference, round by round."""
    return [ours / theirs for ours, theirs in zip(row.ns_per_event, reference.ns_per_event, strict=True)]


def words(row: Row, reference: Row) -> tuple[str, ...]:
    eff5, eff10, ghosts = row.score.efficiency_5mm, row.score.efficiency_10mm, row.score.ghosts
    return (row.kind, row.finder, f"{row.score.n_events}", *(f"{100 * share.value:.1f} ±{half_width(share):.1f}"
            for share in (eff5, eff10, ghosts)), f"{statistics.median(row.ns_per_event):,.0f}",
            f"{statistics.median(ratios(row, reference)):,.2f}")  # fmt: skip


def as_line(row: Row, reference: Row, options: argparse.Namespace) -> dict[str, Any]:
    ratio = ratios(row, reference)
    shares = {"eff5": row.score.efficiency_5mm, "eff10": row.score.efficiency_10mm, "ghost": row.score.ghosts}
    return {
        "case": f"{row.finder}, {row.kind}", "sample": options.sample, "seed": options.seed, "rings": row.kind,
        "finder": row.finder, "n_events": row.score.n_events,
        **{name: round(100 * share.value, 2) for name, share in shares.items()},
        **{f"{name}_95": round(half_width(share), 2) for name, share in shares.items()},
        "ns_per_event": statistics.median(row.ns_per_event), "spread": spread(row.ns_per_event),
        "samples": row.ns_per_event,
        "times_multiring": statistics.median(ratio), "times_multiring_range": [min(ratio), max(ratio)],
        "n_rounds": len(ratio),
    }  # fmt: skip


if __name__ == "__main__":
    main()
