# SPDX-License-Identifier: Apache-2.0
# Made by bindings/make_engine_keys.py from the tables of keys in C++; not written by hand.
"""Sections, and parts of sections, whose keys are declared in C++."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from anello.configuration.section import Section


class RichSimulationKeys(Section):
    """The simulated RICH: tracks, rings and background. Lengths in the fit frame."""

    sample: Literal["na62", "brief"] = Field(default="na62", description="na62: tracks, rings by Cherenkov's law; brief: rings of uniform radius, to compare ring finders.")
    ring_shares: list[Annotated[float, Field(ge=0, le=1)]] = Field(default=[0.1, 0.55, 0.15, 0.15, 0.05], min_length=1, max_length=9, description="Shares of events with 0, 1, 2, ... in-time tracks; scaled to sum 1.")
    out_of_time_rings: float = Field(default=0.3, ge=0, le=20, description="Mean number of accidental rings per event (Poisson).")
    noise_hits: float = Field(default=2.5, ge=0, le=200, description="Mean number of noise hits per event (Poisson), flat over PMTs and time.")
    n_pool_events: int = Field(default=20000, ge=1, le=1_000_000, json_schema_extra={"expert": True}, description="Number of different events that are made at the start, and sent in turn with new times; of a run that sends fewer, no more than it needs.")
    fit_frame: Literal["overlaid", "nominal", "run_2015", "run_2016"] = Field(default="run_2016", json_schema_extra={"expert": True}, description="Where the two disks lie in the common frame.")
    out_of_time_min_ns: float = Field(default=8, ge=0, le=1_000, json_schema_extra={"expert": True}, description="Minimum distance of accidental rings from the event's time, ns.")
    out_of_time_max_ns: float = Field(default=24, ge=0, le=1_000, json_schema_extra={"expert": True}, description="Maximum distance of accidental rings from the event's time, ns.")
    centre_x_mm: float = Field(default=-110.25, ge=-1_000, le=1_000, json_schema_extra={"expert": True}, description="Mean ring centre, x.")
    centre_y_mm: float = Field(default=1.14, ge=-1_000, le=1_000, json_schema_extra={"expert": True}, description="Mean ring centre, y.")
    centre_sd_mm: float = Field(default=80, ge=0, le=1_000, json_schema_extra={"expert": True}, description="Standard deviation of the ring centre, each axis.")
    centre_max_mm: float = Field(default=1_000, ge=0, le=10_000, json_schema_extra={"expert": True}, description="Maximum distance of a centre from the mean.")
    pion_share: float = Field(default=0.5, ge=0, le=1, json_schema_extra={"expert": True}, description="Share of tracks that are pions; shares are scaled to sum 1.")
    muon_share: float = Field(default=0.35, ge=0, le=1, json_schema_extra={"expert": True}, description="Share of tracks that are muons.")
    electron_share: float = Field(default=0.15, ge=0, le=1, json_schema_extra={"expert": True}, description="Share of tracks that are electrons.")
    kaon_share: float = Field(default=0, ge=0, le=1, json_schema_extra={"expert": True}, description="Share of tracks that are kaons.")
    momentum_mean_gev: float = Field(default=31.34, ge=0.1, le=1_000, json_schema_extra={"expert": True}, description="Mean track momentum, GeV/c.")
    momentum_sd_gev: float = Field(default=7.52, ge=0, le=1_000, json_schema_extra={"expert": True}, description="Standard deviation of the momentum, GeV/c.")
    momentum_min_gev: float = Field(default=15, ge=0.1, le=1_000, json_schema_extra={"expert": True}, description="Minimum track momentum, GeV/c.")
    momentum_max_gev: float = Field(default=75, ge=0.1, le=1_000, json_schema_extra={"expert": True}, description="Maximum track momentum, GeV/c.")
    electron_ring_radius_mm: float = Field(default=189.646, ge=50, le=400, json_schema_extra={"expert": True}, description="Radius of the ring of a particle at the speed of light.")
    electron_ring_hits: float = Field(default=18.15, ge=0, le=60, json_schema_extra={"expert": True}, description="Mean number of hits of such a ring if it lay entirely on the disks, before photons of one PMT merge.")
    mirror_x_mean_mm: float = Field(default=-200, ge=-10_000, le=10_000, json_schema_extra={"expert": True}, description="Mean position where tracks cross the mirrors; light beyond x = 0 goes to the Jura disk.")
    mirror_x_sd_mm: float = Field(default=450, ge=0, le=10_000, json_schema_extra={"expert": True}, description="Standard deviation of that position.")
    radius_min_mm: float = Field(default=100, ge=1, le=1_000, json_schema_extra={"expert": True}, description="Sample brief: minimum radius.")
    radius_max_mm: float = Field(default=195, ge=1, le=1_000, json_schema_extra={"expert": True}, description="Sample brief: maximum radius.")
    ring_photons: float = Field(default=20.5, ge=0, le=200, json_schema_extra={"expert": True}, description="Sample brief: mean photons of a ring at the plane of the PMTs.")
    split_share: float = Field(default=0.3, ge=0, le=1, json_schema_extra={"expert": True}, description="Sample brief: share of rings split over both disks.")
    smear_mm: float = Field(default=1.2, ge=0, le=50, json_schema_extra={"expert": True}, description="Optical smear per axis; with the light collector 4.7 mm per hit.")
    hit_time_sd_ns: float = Field(default=0.28, ge=0, le=25, json_schema_extra={"expert": True}, description="Resolution of a hit's time, ns.")
    merge_ns: float = Field(default=15, ge=0, le=1_000, json_schema_extra={"expert": True}, description="Photons of one PMT within this are one hit, ns.")
    max_hits: int = Field(default=64, ge=1, le=255, json_schema_extra={"expert": True}, description="Maximum number of hits of an event.")


class RichEndpointsKeys(Section):
    """The front ends: what they send, where to, and how fast."""

    host: str = Field(default="127.0.0.1", min_length=1, description="Address of the node.")
    ports: list[Annotated[int, Field(ge=0, le=65_535)]] = Field(default=[0, 0, 0, 0], min_length=1, max_length=32, description="UDP port of the node for each board; 0: what the node has bound (anello run only).")
    first_board: int = Field(default=0, ge=0, le=3, description="Number of the first board; earlier ones belong to another node.")
    n_boards: int = Field(default=4, ge=1, le=4, description="Number of boards; the others belong to another node.")


class RichSourceKeys(Section):
    """The front ends: what they send, where to, and how fast."""

    rate_hz: float = Field(default=250_000, ge=0.001, le=100_000_000, description="Mean event rate inside a burst (Poisson), events/s.")
    burst_ms: float = Field(default=2_000, ge=0.001, le=100_000, description="Length of a burst, ms.")
    gap_ms: float = Field(default=100, ge=0, le=100_000, description="Pause between two bursts, ms.")
    n_bursts: int = Field(default=0, ge=0, le=4_294_967_295, description="Number of bursts; 0: limited by run.duration_s.")
    first_burst_id: int = Field(default=0, ge=0, le=4_294_967_295, description="Number of the first burst.")
    n_end_markers: int = Field(default=5, ge=1, le=1_000, json_schema_extra={"expert": True}, description="Number of markers that announce the end of a burst; one may be lost.")
    end_marker_spacing_ms: float = Field(default=1, ge=0, le=1_000, json_schema_extra={"expert": True}, description="Time between these markers, ms.")
    dead_time_ticks: int = Field(default=4, ge=1, le=4_096, json_schema_extra={"expert": True}, description="Minimum distance of two events, ticks of 24.951 ns: they are distinguished by their tick.")
    time_jitter_fine: int = Field(default=0, ge=0, le=255, json_schema_extra={"expert": True}, description="Maximum error of each board's reading of an event's time, 1/256 tick.")
    paced: bool = Field(default=True, description="Send by the clock; false: as fast as possible, without gaps.")
    max_behind_ms: float = Field(default=10, ge=0.001, le=10_000, json_schema_extra={"expert": True}, description="Farther behind its clock, the source skips time instead of sending a flood, ms.")
    format: Literal["mgp", "mep"] = Field(default="mgp", description="Packets: Anello's own, mgp, or NA62's multi-event packet, mep.")
    mtu_bytes: int = Field(default=1500, ge=576, le=65_535, description="Maximum length of an IP packet; 28 bytes of it are headers.")
    max_events_per_packet: int = Field(default=0, ge=0, le=65_535, description="Maximum number of events in a packet; 0: as many as fit.")
    hit_times: bool = Field(default=True, description="mgp: 16-bit hits with their time; false: hits packed at 9 bits.")
    checksum: bool = Field(default=True, description="mgp: a CRC-32C in every packet.")
    flush_us: float = Field(default=100, ge=0, le=1_000_000, description="A packet is sent at the latest this long after its first event, us.")
    offload: Literal["none", "gso"] = Field(default="gso", description="gso: several packets per system call, cut apart by the kernel or the card.")
    core: int = Field(default=-1, ge=-1, le=4_095, description="Logical core of the sending thread; -1: any.")
    wait: Literal["spin", "sleep"] = Field(default="sleep", description="What the sending thread does until the next packet.")
    truth_prescale_log2: int = Field(default=0, ge=0, le=30, description="The truth of one event in 2^this is recorded, for the report.")
    max_truth_samples: int = Field(default=1048576, ge=0, le=268_435_456, json_schema_extra={"expert": True}, description="Room for recorded truths; 0: none.")


class RichFaultsKeys(Section):
    """Faults that the front ends make on purpose, by run.seed. Shares are per data packet and board."""

    loss: float = Field(default=0, ge=0, le=1, description="Share of packets that are not sent.")
    duplicate: float = Field(default=0, ge=0, le=1, description="Share of packets that are sent twice.")
    reorder: float = Field(default=0, ge=0, le=1, description="Share of packets that are sent after their successor.")
    corrupt: float = Field(default=0, ge=0, le=1, description="Share of packets with one byte changed.")
    truncate: float = Field(default=0, ge=0, le=1, description="Share of packets cut short.")
    dead_board: int = Field(default=-1, ge=-1, le=31, description="Board that falls silent; -1: none.")
    dead_from_burst: int = Field(default=1, ge=0, le=4_294_967_295, description="First burst without the dead board.")


class RichPortsKeys(Section):
    """Datagrams into persistent buffers, one stream per port."""

    ports: list[Annotated[int, Field(ge=0, le=65_535)]] = Field(default=[0, 0, 0, 0], min_length=1, max_length=32, description="UDP port of each board; 0: any free one.")


class StreamKeys(Section):
    """Datagrams into persistent buffers, one stream per port."""

    gathering_time_us: float = Field(default=0, ge=0, le=1_000_000, description="Gathering time: longest time from the first datagram of a buffer until the buffer is handed on, us; 0: after each batch of datagrams.")


class BlockRoomKeys(Section):
    """Datagrams into persistent buffers, one stream per port."""

    lanes: int = Field(default=1, ge=1, le=32, description="Threads that share the ports, each with neighbouring ones; for rates that are too high for one core.")
    n_buffers: int = Field(default=64, ge=2, le=65_536, description="Persistent buffers per board.")
    events_per_buffer: int = Field(default=256, ge=1, le=65_536, json_schema_extra={"expert": True}, description="A buffer is passed on when it has this many events.")
    hits_per_event: int = Field(default=16, ge=1, le=255, json_schema_extra={"expert": True}, description="Room for hits in a buffer, as a mean per event and board.")


class MergerKeys(Section):
    """Fragments of all boards into events."""

    window_ticks: int = Field(default=1, ge=0, le=100, description="Fragments at most this far after an event's first fragment belong to it, ticks of 24.951 ns; 0: equal timestamps only. Hit times reach +-127 ticks.")
    timeout_ms: float = Field(default=20, ge=0.1, le=10_000, description="A board counts as silent when the others have waited this long for it; events are then built without it until it sends again, ms.")
    batch_time_us: float = Field(default=100, ge=1, le=1_000_000, description="Longest time from the first event of a batch until it is handed on, us.")
    close_when_idle: bool = Field(default=True, description="Hands a batch on as soon as there is nothing to merge.")
    keep_incomplete: bool = Field(default=True, description="Hands on events that lack some boards; false: rejects and counts them.")


class BatchRoomKeys(Section):
    """Fragments of all boards into events."""

    batch_events: int = Field(default=256, ge=1, le=65_536, json_schema_extra={"expert": True}, description="A batch is passed on when it has this many events.")
    hits_per_event: int = Field(default=48, ge=1, le=1_024, json_schema_extra={"expert": True}, description="Room for hits in a batch, as a mean per event.")
    n_batches: int = Field(default=64, ge=2, le=65_536, json_schema_extra={"expert": True}, description="Batches that circulate between build and emit.")


class DeciderKeys(Section):
    """Events into rings, rings into decisions."""

    algorithm: Literal["crawford", "taubin", "histogram8x8", "histogram", "almagest", "single", "multiring"] = Field(default="multiring", description="Algorithm that finds rings.")
    isa: Literal["automatic", "scalar", "sse42", "avx2", "avx512"] = Field(default="automatic", json_schema_extra={"expert": True}, description="Instruction set; automatic: the widest of this processor.")
    backend: Literal["auto", "cpu", "cuda"] = Field(default="auto", description="Where rings are found; auto: on a CUDA device where one can be used.")
    in_time_window_ns: float = Field(default=8, ge=0, le=3_000, description="Hits within +- this of the event's time are used, ns; 0: all hits.")
    min_likelihood_ratio: float = Field(default=0, ge=0, le=1_000, description="A ring that makes its event's hits less than so much likelier (natural logarithm) is dropped before the decision; 0: none. By the detector's description in trigger.multiring; not where a deadline makes the decision cheaper.")
    min_assigned_hits: int = Field(default=0, ge=0, le=64, description="A ring is dropped before the decision, too, if fewer hits than this are likelier its own than another's or noise; 0: none.")
    quality: bool = Field(default=False, description="Every ring is judged by its event's hits, and its number of hits, likelihood ratio and covariance are stored and published. A microsecond an event or more; not known where a deadline makes the decision cheaper, or a plugin decides.")
    primitive_ids: list[Annotated[int, Field(ge=0, le=65_535)]] = Field(default=[0, 257, 258, 260, 264], min_length=1, max_length=9, description="Primitive sent for 0, 1, 2, ... rings, the last also for more; 0: none is sent.")


class NodeTriggerKeys(Section):
    """Events into rings, rings into decisions."""

    threads: int = Field(default=1, ge=1, le=256, description="Threads that share the events of a batch.")
    fit_frame: Literal["overlaid", "nominal", "run_2015", "run_2016"] = Field(default="run_2016", description="Where the two disks lie in the common frame.")


class DeadlineKeys(Section):
    """Events into rings, rings into decisions."""

    deadline_us: float = Field(default=0, ge=0, le=1_000_000, description="What is decided later counts as late, us; 0: no deadline.")
    cheaper_after: float = Field(default=0.5, ge=0, le=1, description="Events older than this share of the deadline are decided by the finder `single`.")
    pass_after: float = Field(default=0.75, ge=0, le=1, description="Events older than this share of it pass without a look, with pass_primitive.")
    pass_primitive: int = Field(default=384, ge=0, le=65_535, description="Primitive of events that pass without a look; 0: none.")


class PluginKeys(Section):
    """Events into rings, rings into decisions."""

    plugin: str = Field(default="", description="Your own shared library, which decides instead of the ring finder; empty: none.")
    plugin_parameters: str = Field(default="", description="Text passed to that library unchanged.")
    python: str = Field(default="", description="file.py:function, your own Python function instead; for prototypes; empty: none.")


class AcceptanceKeys(Section):
    """Only circles in this region are rings."""

    centre_x_mm: float = Field(default=0, ge=-2_000, le=2_000, json_schema_extra={"expert": True}, description="Middle of the region of ring centres, x.")
    centre_y_mm: float = Field(default=0, ge=-2_000, le=2_000, json_schema_extra={"expert": True}, description="Middle of the region of ring centres, y.")
    centre_max_mm: float = Field(default=450, ge=1, le=2_000, json_schema_extra={"expert": True}, description="Maximum distance of a centre from that middle.")
    radius_min_mm: float = Field(default=88, ge=20, le=1_000, json_schema_extra={"expert": True}, description="Minimum radius.")
    radius_max_mm: float = Field(default=208, ge=21, le=2_000, json_schema_extra={"expert": True}, description="Maximum radius.")


class HistogramKeys(Section):
    """Algorithm histogram: an 8x8 grid of trial centres, then 2x2."""

    half_width_mm: float = Field(default=160, ge=1, le=2_000, json_schema_extra={"expert": True}, description="Half the side of the grid.")
    bin_mm: float = Field(default=26, ge=1, le=500, json_schema_extra={"expert": True}, description="Bin of the distance histogram, 8x8 stage.")
    fine_bin_mm: float = Field(default=15, ge=1, le=500, json_schema_extra={"expert": True}, description="Bin of the distance histogram, 2x2 stage.")
    threshold: int = Field(default=6, ge=3, le=64, json_schema_extra={"expert": True}, description="Minimum number of hits in a bin that make a ring.")


class AlmagestKeys(Section):
    """Algorithm almagest: Ptolemy's theorem on triplets; NA62's offline values."""

    min_pair_mm: float = Field(default=90, ge=0, le=1_000, json_schema_extra={"expert": True}, description="Minimum distance between two hits of a triplet.")
    max_triplet_radius_mm: float = Field(default=200, ge=1, le=2_000, json_schema_extra={"expert": True}, description="Maximum circumradius of a triplet.")
    ptolemy_mm2: float = Field(default=40, ge=0, le=100_000, json_schema_extra={"expert": True}, description="Maximum Ptolemy value of a fourth hit, mm^2.")
    attach_mm: float = Field(default=29, ge=0, le=500, json_schema_extra={"expert": True}, description="Hits this close to the fitted circle join.")
    sigma_mm: float = Field(default=4.7, ge=0.1, le=100, json_schema_extra={"expert": True}, description="Resolution of a single hit.")
    max_pull2: float = Field(default=16, ge=0.1, le=1_000_000, json_schema_extra={"expert": True}, description="The worst hit is dropped while its squared pull exceeds this.")
    max_drops: int = Field(default=5, ge=0, le=64, json_schema_extra={"expert": True}, description="Maximum number of hits dropped from a ring.")
    min_ring_hits: int = Field(default=4, ge=3, le=64, json_schema_extra={"expert": True}, description="Minimum number of hits of a ring.")


class SingleKeys(Section):
    """Algorithm single, and the first part of multiring: Crawford's fit on all hits, fits with weights in narrowing windows, geometric steps."""

    window_mm: list[Annotated[float, Field(ge=1, le=500)]] = Field(default=[60, 36, 24, 18, 15], json_schema_extra={"expert": True}, min_length=5, max_length=5, description="Distance from the ring where a hit's weight is 0, for each of the five fits.")
    final_window_mm: float = Field(default=15, ge=1, le=500, json_schema_extra={"expert": True}, description="The same for the geometric steps.")
    flatness: float = Field(default=3, ge=0.1, le=100, json_schema_extra={"expert": True}, description="A hit weighs min(1, flatness * (1 - (miss / window)^2)).")
    geometric_steps: int = Field(default=1, ge=1, le=20, json_schema_extra={"expert": True}, description="Geometric steps after the fits.")
    count_window_mm: float = Field(default=12, ge=1, le=500, json_schema_extra={"expert": True}, description="The ring explains hits this close to it.")
    min_ring_hits: int = Field(default=6, ge=3, le=64, json_schema_extra={"expert": True}, description="Minimum number of hits of a ring.")
    max_hits: int = Field(default=32, ge=0, le=64, json_schema_extra={"expert": True}, description="Events of more hits go to the search for several rings at once.")
    max_unexplained: int = Field(default=5, ge=0, le=64, json_schema_extra={"expert": True}, description="Events with more unexplained hits go there afterwards.")
    max_unexplained_share: float = Field(default=0.5, ge=0, le=100, json_schema_extra={"expert": True}, description="The same, as a share of the explained hits.")


class MultiRingKeys(Section):
    """Algorithm multiring, for events that a single ring does not explain: candidates, the set that explains most, a common refit."""

    min_hits: int = Field(default=6, ge=3, le=64, json_schema_extra={"expert": True}, description="Events of fewer hits have no ring.")
    groups: int = Field(default=1, ge=1, le=4, json_schema_extra={"expert": True}, description="Groups of 16 candidates.")
    groups_many: int = Field(default=4, ge=1, le=4, json_schema_extra={"expert": True}, description="The same for events of more than many_hits hits.")
    many_hits: int = Field(default=44, ge=0, le=64, json_schema_extra={"expert": True}, description="Above this many hits an event has many.")
    triplets_per_lane: int = Field(default=4, ge=1, le=64, json_schema_extra={"expert": True}, description="Triplets tried for each candidate.")
    triplets_many: int = Field(default=4, ge=1, le=64, json_schema_extra={"expert": True}, description="The same for events of more than many_hits hits.")
    draws_per_triplet: int = Field(default=2, ge=1, le=8, json_schema_extra={"expert": True}, description="Draws for one triplet that may be a ring.")
    seed_window_mm: float = Field(default=11, ge=1, le=500, json_schema_extra={"expert": True}, description="Hits this close to a triplet's circle support it.")
    refine_window_mm: float = Field(default=14, ge=1, le=500, json_schema_extra={"expert": True}, description="Distance where a hit's weight is 0 when candidates are refined.")
    flatness: float = Field(default=3, ge=0.1, le=100, json_schema_extra={"expert": True}, description="Of these weights, as trigger.single.flatness.")
    distinct_mm: float = Field(default=3.5, ge=0.01, le=500, json_schema_extra={"expert": True}, description="Candidates closer than this, centre and radius together, are one.")
    min_strength: float = Field(default=3.5, ge=0.1, le=64, json_schema_extra={"expert": True}, description="Hits that a candidate must explain.")
    pool_size: int = Field(default=32, ge=1, le=32, json_schema_extra={"expert": True}, description="Maximum number of candidates that are kept.")
    score_unit: int = Field(default=10, ge=1, le=15, json_schema_extra={"expert": True}, description="Steps of a hit's score.")
    score_window_mm: float = Field(default=11.5, ge=1, le=500, json_schema_extra={"expert": True}, description="A hit scores 1 - (miss / window)^2.")
    ring_cost_hits: float = Field(default=5, ge=0.1, le=16, json_schema_extra={"expert": True}, description="Hits that a ring must explain beyond the others.")
    beam_width: int = Field(default=2, ge=1, le=4, json_schema_extra={"expert": True}, description="Sets of rings that are followed at a time.")
    beam_margin_hits: float = Field(default=1.5, ge=0, le=64, json_schema_extra={"expert": True}, description="A set that scores this many hits less than the best of its size is given up.")
    refit_steps: int = Field(default=2, ge=1, le=20, json_schema_extra={"expert": True}, description="Steps of the common refit.")
    refit_stride: float = Field(default=1.2, ge=0.1, le=2, json_schema_extra={"expert": True}, description="Length of a step: rings that share hits draw each other along.")
    refit_widening: float = Field(default=0.5, ge=0, le=3, json_schema_extra={"expert": True}, description="The first step sees rings wider by this share, the last as they are.")
    min_own_hits: float = Field(default=4.5, ge=0, le=64, json_schema_extra={"expert": True}, description="Hits that a ring must explain by itself after the refit.")
    retry_hits: int = Field(default=5, ge=3, le=255, json_schema_extra={"expert": True}, description="With this many hits unexplained they are searched, and the rings are chosen again.")
    max_retries: int = Field(default=1, ge=0, le=8, json_schema_extra={"expert": True}, description="Maximum number of such searches.")
    retry_strength: float = Field(default=3.5, ge=0, le=64, json_schema_extra={"expert": True}, description="Unexplained hits that a candidate must explain, or the search ends.")
    doubt_share: float = Field(default=0.9, ge=0, le=10, json_schema_extra={"expert": True}, description="Rings of fewer hits than this share of yield_hits are looked for anew.")
    doubt_rest_hits: float = Field(default=2, ge=0, le=64, json_schema_extra={"expert": True}, description="They are where at least so many hits belong to no ring.")
    max_restarts: int = Field(default=1, ge=0, le=6, json_schema_extra={"expert": True}, description="Maximum number of rings looked for anew, the poorest first.")
    max_exchanges: int = Field(default=3, ge=0, le=8, json_schema_extra={"expert": True}, description="Maximum number of candidates that take a ring's place, or are added to the rings, where the hits are likelier then.")
    exchange_loss: float = Field(default=5, ge=0, le=100, json_schema_extra={"expert": True}, description="A candidate is tried that makes the hits this much less likely before it is fitted (natural logarithm).")
    twin_mm: float = Field(default=10, ge=0, le=500, json_schema_extra={"expert": True}, description="Rings closer than this, centre and radius together, are one.")
    single_steps: int = Field(default=2, ge=0, le=20, json_schema_extra={"expert": True}, description="Steps of the fit by likelihood for an event that one ring may explain.")
    max_work: int = Field(default=100, ge=0, le=1_000_000, json_schema_extra={"expert": True}, description="Thousands of times that a hit may be compared with a circle for one event; comparisons beyond that are left out, and the event is flagged. 0: no limit.")
    yield_hits: float = Field(default=15.8, ge=1, le=64, json_schema_extra={"expert": True}, description="Hits of a ring, on average.")
    noise_hits: float = Field(default=2.5, ge=0.01, le=64, json_schema_extra={"expert": True}, description="Hits of no ring in an event, on average.")
    smear_mm: float = Field(default=2, ge=0, le=100, json_schema_extra={"expert": True}, description="Standard deviation of photons from their ring.")
    pmt_radius_mm: float = Field(default=9, ge=0.5, le=100, json_schema_extra={"expert": True}, description="Radius of a photomultiplier's light collector.")
    ring_prior: float = Field(default=13, ge=0, le=50, json_schema_extra={"expert": True}, description="A ring must make the hits this much likelier, and by its yield (natural logarithm).")
    radius_mean_mm: float = Field(default=175, ge=1, le=10_000, json_schema_extra={"expert": True}, description="Radius that rings are expected to have.")
    radius_sd_mm: float = Field(default=0, ge=0, le=10_000, json_schema_extra={"expert": True}, description="How far rings are from that, standard deviation; 0: any radius is as likely. Radii that the hits hardly determine are drawn to the mean.")


class EmitKeys(Section):
    """Decisions as NA62 level-0 primitives over UDP."""

    enabled: bool = Field(default=True, description="Send primitive packets.")
    host: str = Field(default="127.0.0.1", min_length=1, description="Host that the packets are sent to.")
    port: int = Field(default=0, ge=0, le=65_535, description="Port that they are sent to; 0: the run's own listener, which checks every packet.")
    source_id: int = Field(default=28, ge=0, le=255, description="Source of the packets; 0x1C is the RICH.")


class StoreKeys(Section):
    """Decisions to a file."""

    decisions: str = Field(default="", description="HDF5 file, relative to the report directory; empty: none.")
    prescale_log2: int = Field(default=0, ge=0, le=30, description="One decision in 2^this is stored.")
    waiting_events: int = Field(default=131072, ge=1, le=16_777_216, description="Decisions that may wait in memory for the file (about 200 B each); beyond that, the trigger waits.")
    max_file_bytes: int = Field(default=0, ge=0, le=1_000_000_000_000_000, description="A new file (-0001, -0002 ...) once one has so many bytes; 0: one file.")


class RichThreadsKeys(Section):
    """Which stages share a thread, and where threads run."""

    layout: list[str] = Field(default=["receive+build+trigger+emit", "store"], min_length=1, max_length=32, description="One entry per thread: its stages, joined by +. All stages, in the order of the data path.")
    layout_parts: ClassVar[tuple[str, ...]] = ("receive", "build", "trigger", "emit", "store",)
    cores: list[Annotated[int, Field(ge=-1, le=4_095)]] = Field(default=[], max_length=256, description="Logical core of each thread of the layout, then of their second lanes, third lanes and so on; -1 or missing: any core.")
    wait: Literal["auto", "spin", "spin_pinned", "sleep"] = Field(default="auto", description="What a thread does without work. sleep: new data wakes it; spin: it polls and takes a whole core; spin_pinned: threads with a core spin, the others sleep; auto: spin_pinned if that core is isolated or the other threads have enough idle cores, otherwise sleep.")
    placement: Literal["auto", "free"] = Field(default="auto", description="Placement of threads without a given core. auto: each thread on the data's way gets a core, with real-time priority if permitted, and all other threads share the rest; free: the operating system places them.")
    priority: Literal["usual", "realtime"] = Field(default="usual", description="Priority of threads with a core, and of simulated front ends; realtime: above all normal threads.")
    rest_us: float = Field(default=20, ge=0, le=10_000, json_schema_extra={"expert": True}, description="How long a sleeping thread rests after it found few datagrams (fewer than 16), so that it finds more next time, us. This saves CPU time per datagram and adds at most this latency, like interrupt moderation of a network card; 0: never.")
    probe_share: float = Field(default=0.004, ge=0, le=0.5, description="Share of each core of the run for measuring how late the machine wakes threads; 0: not measured.")
