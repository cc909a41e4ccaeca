# SPDX-License-Identifier: Apache-2.0
"""The figures of the camera's report. Each takes plain values and returns a figure, or None when there is
nothing."""

import math

import numpy as np
from numpy.typing import NDArray

from anello.report import plot
from anello.report.drawing import Figure
from anello.report.share import share_by_event

from ..account.record import CameraImage, KeptByTruth, SampledEvents

N_BINS = 60
IMAGE_WIDTH_PX = 285  # of the camera in its picture


def spectrum(events: SampledEvents) -> Figure | None:
    """Charge of the events that the filter kept and of those that it rejected, in equal steps of the logarithm.

    Events with less than a count are in the first bin.
    """
    if not len(events.charge):
        return None
    charge = np.maximum(events.charge, 1)
    edges = np.geomspace(1, 2 * charge.max(), N_BINS + 1)
    figure = Figure()
    for name, chosen, colour in (("rejected", ~events.kept, plot.SOFT), ("kept", events.kept, plot.BLUE)):
        counts, _ = np.histogram(charge[chosen], edges)
        line = {"color": colour, "width": 2, "shape": "hvh"}
        middles = np.sqrt(edges[1:] * edges[:-1])
        figure.add_scatter(x=middles.tolist(), y=counts.tolist(), name=name, line=line, fill="tozeroy")
    plot.styled(figure, x="charge of the pixels above threshold, counts", y="events per bin")
    figure.update_xaxes(type="log", dtick=1, exponentformat="power")
    figure.update_yaxes(type="log", dtick=1, exponentformat="power")
    return figure


def efficiency(by_truth: KeptByTruth) -> Figure | None:
    """Share of the showers that the filter kept, against their true photo-electrons, three bins to a factor of ten."""
    n_pe, kept = by_truth.n_pe[by_truth.has_shower], by_truth.kept[by_truth.has_shower]
    if not len(n_pe):
        return None
    bins = np.floor(3 * np.log10(np.maximum(n_pe, 1))).astype(int)
    pool = by_truth.pool_index[by_truth.has_shower]
    shares = [share_by_event(kept[bins == one], pool[bins == one]) for one in np.unique(bins)]
    figure = Figure()
    figure.add_scatter(
        x=[float(n_pe[bins == one].mean()) for one in np.unique(bins)],
        y=[100 * one.value for one in shares],
        mode="lines+markers",
        line={"color": plot.BLUE, "width": 2},
        marker={"size": 8},
        error_y={
            "type": "data",
            "symmetric": False,
            "width": 4,
            "array": [100 * (one.high - one.value) for one in shares],
            "arrayminus": [100 * (one.value - one.low) for one in shares],
        },
    )
    plot.styled(figure, x="true photo-electrons of the shower", y="kept, %")
    figure.update_xaxes(type="log", dtick=1, exponentformat="power")
    figure.update_yaxes(range=[0, 104], dtick=20)
    return figure


def completeness(missing: NDArray[np.int64], n_events: int) -> Figure | None:
    """Share of the events in which each board is missing. missing: int[n_boards]."""
    if not n_events or not missing.any():
        return None
    figure = Figure()
    figure.add_bar(y=(100 * missing / n_events).tolist(), marker={"color": plot.RED, "line": {"width": 0}})
    plot.styled(figure, x="board", y="missing from, % of events", height=260)
    figure.update_yaxes(rangemode="tozero")
    return figure


def image(event: CameraImage, positions: NDArray[np.float32]) -> Figure:
    """Charges at the places of the pixels. positions: float[n_pixels, 2], mm. Raises ValueError when shapes differ."""
    if positions.shape != (len(event.charge), 2):
        raise ValueError(f"positions {positions.shape} must have the shape ({len(event.charge)}, 2)")
    x_mm, y_mm = positions[:, 0], positions[:, 1]
    figure = Figure()
    figure.add_scatter(
        x=x_mm.round(1).tolist(),
        y=y_mm.round(1).tolist(),
        mode="markers",
        text=[f"pixel {pixel}: {charge:,.0f}" for pixel, charge in enumerate(event.charge)],
        hoverinfo="text",
        marker={
            "symbol": "hexagon",
            "size": _marker_size(positions),
            "color": event.charge.round(1).tolist(),
            "colorscale": plot.VIRIDIS,
            "colorbar": {"thickness": 10, "title": {"text": "counts"}},
        },
    )
    plot.styled(figure, x="x, mm", y="y, mm", height=380)
    figure.update_yaxes(scaleanchor="x", scaleratio=1, showgrid=False, constrain="domain")
    figure.update_xaxes(constrain="domain", showgrid=False)
    words = f"event {event.event_number:,}, {'kept' if event.kept else 'rejected'}"
    title = {"text": words, "x": 0.5, "y": 1, "yanchor": "top", "pad": {"t": 8}, "font": {"size": 13}}
    figure.update_layout(title=title, margin={"t": 32}, showlegend=False)
    return figure


def _marker_size(positions: NDArray[np.float32]) -> float:
    """Size of a marker for which neighbours nearly touch: the pixels fill a disk."""
    return max(2.0, IMAGE_WIDTH_PX / math.sqrt(max(len(positions), 1)))
