# SPDX-License-Identifier: Apache-2.0
"""The figures of the RICH's report. Each function takes plain values and returns a figure, or None when there is
nothing to draw."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anello.report import plot
from anello.report.drawing import Figure
from anello.report.share import Share

from ..account.record import RichRecord, found_rings
from ..analysis.physics import Missed, Score, Scores
from ..analysis.plot import draw_event
from ..analysis.rings import Rings
from ..analysis.simulation import FINE_TIME_NS

N_DISPLAYS = 6


def execution(samples: Mapping[str, NDArray[Any]]) -> Figure | None:
    """Execution time of merging and ring finding against the number of events in a batch: median and range 10 to 90
    %."""
    if not len(samples.get("n_events", ())):
        return None
    figure = Figure()
    series = (("merge", "build_ns", plot.BLUE), ("ring finding", "trigger_ns", plot.ORANGE))
    for label, name, colour in series:
        x, low, middle, high = _bands(samples["n_events"], samples[name] * 1e-3)
        figure.add_scatter(
            x=x,
            y=middle,
            name=label,
            mode="lines+markers",
            line={"color": colour, "width": 2},
            marker={"size": 6},
            error_y={"type": "data", "symmetric": False, "array": high, "arrayminus": low, "width": 3},
        )
    plot.styled(figure, x="events in the batch", y="time per batch, µs")
    figure.update_xaxes(type="log", dtick=np.log10(2), tickformat=",d")
    figure.update_yaxes(type="log", dtick=1, exponentformat="power")
    return figure


def _bands(x: NDArray[Any], y: NDArray[Any]) -> tuple[list[float], list[float], list[float], list[float]]:
    """For each bin in x (two bins per factor of 2): centre, median - 10 % quantile, median, 90 % quantile - median."""
    bins = np.round(2 * np.log2(np.maximum(x, 1))).astype(int)
    rows = []
    for one in np.unique(bins):
        here = bins == one
        low, middle, high = np.quantile(y[here], (0.1, 0.5, 0.9))
        rows.append((float(np.mean(x[here])), middle - low, middle, high - middle))
    return tuple(list(column) for column in zip(*rows, strict=True))  # type: ignore[return-value]


def efficiency(scores: Scores) -> Figure:
    """Efficiency within 5 and 10 mm, and fraction of ghosts, against the number of true rings."""
    figure = Figure()
    by_n = {n: score for n, score in scores.by_n_rings.items() if n > 0}
    add = _add_shares
    add(figure, "efficiency, 10 mm", plot.TEAL, {n: s.efficiency_10mm for n, s in by_n.items()})
    add(figure, "efficiency, 5 mm", plot.BLUE, {n: s.efficiency_5mm for n, s in by_n.items()})
    add(figure, "ghosts", plot.RED, {n: s.ghosts for n, s in scores.by_n_rings.items()})
    plot.styled(figure, x="true rings in time", y="share, %")
    figure.update_xaxes(dtick=1)
    figure.update_yaxes(range=[0, 104], dtick=20)
    return figure


def _add_shares(figure: Figure, name: str, colour: str, shares: Mapping[int, Share]) -> None:
    known = {n: share for n, share in shares.items() if share.total}
    figure.add_scatter(
        x=list(known),
        y=[100 * share.value for share in known.values()],
        name=name,
        mode="lines+markers",
        line={"color": colour, "width": 2},
        marker={"size": 8},
        error_y={
            "type": "data",
            "symmetric": False,
            "width": 4,
            "array": [100 * (share.high - share.value) for share in known.values()],
            "arrayminus": [100 * (share.value - share.low) for share in known.values()],
        },
    )


def resolution(scores: Scores) -> Figure:
    """Differences of matched rings from the truth."""
    figure = Figure()
    bins = np.linspace(-20, 20, 81)
    for name, values, colour in (
        ("radius, found − true", scores.radius_mm, plot.BLUE),
        ("distance of the centres", scores.centre_mm, plot.ORANGE),
    ):
        counts, edges = np.histogram(values, bins)
        line = {"color": colour, "width": 2, "shape": "hvh"}
        figure.add_scatter(x=(0.5 * (edges[1:] + edges[:-1])).tolist(), y=counts.tolist(), name=name, line=line)
    return plot.styled(figure, x="difference, mm", y="matched rings per 0.5 mm")


def displays(record: RichRecord) -> list["EventDisplay"]:
    """Displays of some decided events: hits, true (or reference) rings, found rings. They are chosen by how found and
    true rings agree or, when the truth is not known, by the number of found rings."""
    events, positions = record.events, record.positions
    if positions is None or not len(events.get("event_key", ())):
        return []
    kept = record.kept_events()
    chosen = np.arange(len(events["event_key"])) if kept is None else kept.index
    judged = kept.missed() if kept else None
    rows = _varied(chosen, events) if judged is None else _by_truth(judged)
    return [
        EventDisplay(
            _display(record, int(chosen[row]), kept.known_rings(int(row)) if kept else None, positions),
            _judgement(judged, int(row)) if judged else "",
        )
        for row in rows
    ]


@dataclass(frozen=True)
class EventDisplay:
    """words: text about the rings that were found and missed; empty when the truth is not known."""

    figure: Figure
    words: str


def _by_truth(judged: Missed) -> NDArray[np.int64]:
    """Positions of two events with all rings found, two with a missed ring, and two with a ghost; of each kind the
    event with fewest and with most rings. Other events fill up when there are too few."""
    is_clean = (judged.n_missed == 0) & (judged.n_ghosts == 0)
    kinds = (is_clean & (judged.n_wanted > 0), (judged.n_missed > 0) & (judged.n_ghosts == 0), judged.n_ghosts > 0)
    rows: list[int] = []
    for kind in kinds:
        here = np.flatnonzero(kind)
        by_size = here[np.argsort(judged.n_wanted[here], kind="stable")]
        rows += [int(row) for row in dict.fromkeys((*by_size[:1], *by_size[-1:]))]
    others = [int(row) for row in np.flatnonzero(~np.isin(np.arange(len(is_clean)), rows))[: N_DISPLAYS - len(rows)]]
    return np.array([*rows, *others][:N_DISPLAYS], np.int64)


def _judgement(judged: Missed, row: int) -> str:
    n, n_missed, n_ghosts = (int(counts[row]) for counts in (judged.n_wanted, judged.n_missed, judged.n_ghosts))
    ghosts = f"{n_ghosts} found that {'is' if n_ghosts == 1 else 'are'} none" if n_ghosts else ""
    if not n:
        return ghosts or "no ring, and none found"
    found = f"all {n} found" if not n_missed else f"{n_missed} of {n} missed"
    return f"{found}, {ghosts}" if ghosts else found


def _varied(chosen: NDArray[np.int64], events: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
    """Positions in `chosen` of events with 1, 2, 3 and 4 found rings, then of any others."""
    n_rings = (events["ring_offset"][1:].astype(int) - events["ring_offset"][:-1])[chosen]
    wanted = [np.flatnonzero(n_rings == n)[:count] for n, count in ((1, 2), (2, 2), (3, 1), (4, 1))]
    rows = np.concatenate(wanted)
    others = np.setdiff1d(np.arange(len(chosen)), rows)
    return np.concatenate((rows, others))[:N_DISPLAYS]


def _display(record: RichRecord, index: int, known: Rings | None, positions: NDArray[np.float32]) -> Figure:
    events, window_ns = record.events, record.config.trigger.in_time_window_ns
    hits = slice(int(events["event_offset"][index]), int(events["event_offset"][index + 1]))
    pmt, time_ns = events["hit_pmt"][hits], events["hit_time_fine"][hits] * FINE_TIME_NS
    key = int(events["event_key"][index])
    return draw_event(
        positions[pmt, 0],
        positions[pmt, 1],
        true=known,
        found=found_rings(events).of_event(index),
        in_time=np.abs(time_ns) <= window_ns if window_ns else None,
        reference_name="true ring" if record.reference is None else "NA62 ring",
        title=f"burst {key >> 32}, tick {key & 0xFFFFFFFF:,}",
        height=380,
        legend=False,
    )


def table_of_scores(scores: Scores) -> list[tuple[str, Score]]:
    """Rows of the quality table."""
    rows = [(f"{n} ring{'s' * (n != 1)}", score) for n, score in scores.by_n_rings.items()]
    return [*rows, ("all", scores.all_events)]
