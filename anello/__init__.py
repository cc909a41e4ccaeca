# SPDX-License-Identifier: Apache-2.0
"""Anello: detector data from the wire to a decision. This package is the control plane; `anello --help` lists it.

anello.find_rings(hit_x_mm, hit_y_mm, event_offset)   rings of a batch of events
anello.time_clusters(hit_time_ns, event_offset)       hits of each event in groups by time
anello.simulate.CHAIN(n_events=1000, seed=1)          simulated events of a chain, with their truth
anello.physics.score(truth, found)                    efficiency, ghosts and resolution
anello.plot.event(...)                                a picture of one event
anello.subscribe("stream://@anello")                  what a running chain publishes, as NumPy arrays
"""

from anello import events_csv, physics, plot, simulate
from anello.clusters import TimeClusters, time_clusters
from anello.rings import Rings, find_rings
from anello.subscribe import subscribe

__all__ = [
    "Rings",
    "TimeClusters",
    "events_csv",
    "find_rings",
    "physics",
    "plot",
    "simulate",
    "subscribe",
    "time_clusters",
]
