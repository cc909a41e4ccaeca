# SPDX-License-Identifier: Apache-2.0
"""Makes times for the hits of real events whose file has only a flag for hits in time."""

import numpy as np
from numpy.typing import NDArray

from ..configuration.sections import SourceSection
from .events_csv import HitEvents
from .simulation import FINE_TIME_NS


def hit_times_fine(events: HitEvents, source: SourceSection, seed: int) -> NDArray[np.int16]:
    """int16[N], in 1/256 tick from the event's time: hits in time are around 0, others at the times of their particles.

    Hits out of time belong to accidental particles, which arrive at any time within the boards' readout window.
    """
    random = np.random.default_rng(seed)
    late = ~events.in_time
    particle, n_particles = _particle_of_late_hit(events)
    distance_ns = random.uniform(source.simulation.out_of_time_min_ns, source.out_of_time_reach_ns, n_particles)
    particle_ns = distance_ns * random.choice((-1.0, 1.0), n_particles)
    time_ns = random.normal(0.0, source.simulation.hit_time_sd_ns, len(late))
    time_ns[late] += particle_ns[particle]
    return np.rint(time_ns / FINE_TIME_NS).astype(np.int16)


def _particle_of_late_hit(events: HitEvents) -> tuple[NDArray[np.int64], int]:
    """int64[hits out of time]: the particle of each hit, numbered through all events; and the number of particles.

    A particle out of time gives as many hits as the mean event has in time. The true particle of a hit is not known.
    """
    hits_of_particle = max(1, round(int(events.in_time.sum()) / events.n_events))
    n_hits_of_event = np.diff(events.event_offset).astype(np.int64)
    event_of_hit = np.repeat(np.arange(events.n_events), n_hits_of_event)
    event = event_of_hit[~events.in_time]
    n_hits = np.bincount(event, minlength=events.n_events)
    n_particles = -(-n_hits // hits_of_particle)
    place = np.arange(len(event)) - (np.cumsum(n_hits) - n_hits)[event]
    first = np.cumsum(n_particles) - n_particles
    return (first[event] + place % n_particles[event]).astype(np.int64), int(n_particles.sum())
