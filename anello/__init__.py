# SPDX-License-Identifier: Apache-2.0
"""Anello: detector data from the wire to a decision. This package is the control plane; `anello --help` lists it.

anello.simulate.CHAIN(n_events=1000, seed=1)          simulated events of a chain, with their truth
anello.physics.score(truth, found)                    efficiency, ghosts and resolution
anello.plot.event(...)                                a picture of one event
anello.subscribe("stream://@anello")                  what a running chain publishes, as NumPy arrays
"""

from anello import events_csv, physics, plot, simulate
from anello.rings import Rings
from anello.subscribe import subscribe

__all__ = [
    "Rings",
    "events_csv",
    "physics",
    "plot",
    "simulate",
    "subscribe",
]
