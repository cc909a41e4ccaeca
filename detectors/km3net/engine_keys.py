# SPDX-License-Identifier: Apache-2.0
# Made by bindings/make_engine_keys.py from the tables of keys in C++; not written by hand.
"""Sections, and parts of sections, whose keys are declared in C++."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from anello.configuration.section import Section


class Km3netLineKeys(Section):
    """The line of optical modules (DOMs), and how their boards send."""

    doms: int = Field(default=18, ge=1, le=4_096, description="DOMs, above each other, 31 PMTs each.")
    first_dom_id: int = Field(default=805306369, ge=0, le=4_294_963_199, description="Id of the lowest one; those above count on.")
    first_height_m: float = Field(default=65, ge=0, le=10_000, description="Height of the lowest DOM, m.")
    spacing_m: float = Field(default=36, ge=0.1, le=1_000, description="Distance of two DOMs, m; ARCA 36, ORCA about 9.")
    detector_id: int = Field(default=1, ge=0, le=2_147_483_647, description="Number of the detector, in its messages.")
    t0_spread_ns: float = Field(default=15, ge=0, le=1_000, json_schema_extra={"expert": True}, description="Delay of a PMT against the others, at most, to both sides, ns.")
    t0_seed: int = Field(default=1, ge=0, le=4_000_000_000_000_000_000, json_schema_extra={"expert": True}, description="Seed of these delays: boards and node must have the same.")
    long_header: bool = Field(default=True, description="Headers of 40 bytes, and trailers, as in the sea; false: 28 bytes, older boards, no trailers.")


class Km3netRunKeys(Section):
    """The run as a whole."""

    n_slices: int = Field(default=0, ge=0, le=4_294_967_295, description="Slices of 100 ms in the run; 0: as duration_s says.")


class Km3netBoardsKeys(Section):
    """The front ends: what a simulated sea lets the PMTs see, and how the boards send it."""

    singles_hz: float = Field(default=7_000, ge=0, le=1_000_000, description="Mean rate of a PMT without coincidences, Hz; PMTs differ by 10 %.")
    k40_hz: float = Field(default=656, ge=0, le=100_000, json_schema_extra={"expert": True}, description="Coincidences from 40K decays, Hz per DOM.")
    afterpulse_share: float = Field(default=0.005, ge=0, le=1, json_schema_extra={"expert": True}, description="Share of hits with another of the same PMT 6 to 25 ns later.")
    time_spread_ns: float = Field(default=2, ge=0, le=100, json_schema_extra={"expert": True}, description="Spread of a PMT's times (sigma), ns.")
    muon_hz: float = Field(default=5, ge=0, le=10_000, description="Muons that pass within muon_radius_m of the line, nearly downwards, /s.")
    muon_radius_m: float = Field(default=30, ge=0.1, le=1_000, json_schema_extra={"expert": True}, description="Greatest distance of a muon, m.")
    host: str = Field(default="127.0.0.1", min_length=1, description="Address of the node.")
    ports: list[Annotated[int, Field(ge=0, le=65_535)]] = Field(default=[0], min_length=1, max_length=1024, description="UDP ports of the node, which DOMs take in turn; 0: what the node has bound (anello run only).")
    first_dom: int = Field(default=0, ge=0, le=4_095, description="First DOM that sends; nodes of a farm start their share.")
    doms: int = Field(default=0, ge=0, le=4_096, description="How many DOMs send; 0: all from first_dom on.")
    run_number: int = Field(default=1, ge=0, le=4_294_967_295, description="Number of the run, in every datagram.")
    first_slice: int = Field(default=0, ge=0, le=40_000_000_000, description="Number of the first slice, in 100 ms since 1970; 0: that of the start. A farm counts from it, also where boards are real: slices before it are not used.")
    pool_slices: int = Field(default=10, ge=1, le=1_000, json_schema_extra={"expert": True}, description="Different slices made at start, 2.3 MB each; sent in turn.")
    hits_per_datagram: int = Field(default=670, ge=1, le=10_000, json_schema_extra={"expert": True}, description="Most hits of a datagram, 6 bytes each; 229 fit into 1500 bytes.")
    paced: bool = Field(default=True, description="Send by the clock; false: as fast as it goes.")
    max_behind_ms: float = Field(default=50, ge=0.001, le=10_000, json_schema_extra={"expert": True}, description="Farther behind, time is forgone instead of sending a flood, ms.")
    core: int = Field(default=-1, ge=-1, le=4_095, description="Logical core of the sending thread; -1: any.")


class Km3netFaultsKeys(Section):
    """Faults that the boards make on purpose, by run.seed. Shares are per datagram and DOM."""

    loss: float = Field(default=0, ge=0, le=1, description="Share of datagrams that are not sent.")
    duplicate: float = Field(default=0, ge=0, le=1, description="Share of datagrams that are sent twice.")
    reorder: float = Field(default=0, ge=0, le=1, description="Share of datagrams that are sent after their successor.")
    dead_board: int = Field(default=-1, ge=-1, le=4_095, description="DOM that falls silent; -1: none.")
    dead_from_slice: int = Field(default=0, ge=0, le=4_294_967_295, description="First slice without it, from 0.")


class Km3netSlicesKeys(Section):
    """Datagrams of all DOMs into slices of 100 ms."""

    run_number: int = Field(default=1, ge=0, le=4_294_967_295, description="Run that is used, others are counted; 0: of each slice that which at least half of the DOMs say.")
    window: int = Field(default=8, ge=2, le=1_000, description="Slices open at a time: how far DOMs may be apart.")
    max_lag: int = Field(default=3, ge=0, le=1_000, description="A slice is passed on when half of the DOMs are this far beyond it.")
    n_slices: int = Field(default=24, ge=4, le=2_000, description="Slices in memory, 7 MB each for a line; above window + 1.")
    max_hits: int = Field(default=65536, ge=1, le=10_000_000, json_schema_extra={"expert": True}, description="Room for hits of a DOM in a slice; at 20 kHz per PMT 62,000.")
    timeout_ms: float = Field(default=1_000, ge=1, le=1_000_000, description="A slice is passed on at most this long after its first datagram, ms.")


class Km3netCoincidencesKeys(Section):
    """What is looked for in a slice: coincidences of a DOM (L1, L2, supernova), and events of several DOMs."""

    l1_ns: float = Field(default=25, ge=0, le=1_000, description="L1: two hits of a DOM so close in time, ns.")
    different_pmts: bool = Field(default=True, description="An L1 needs two PMTs; false: two hits of one PMT do too. Both are counted.")
    l2_ns: float = Field(default=10, ge=0, le=1_000, description="L2 and supernova: hits so close in time, ns.")
    l2_cos_min: float = Field(default=0, ge=-1, le=1, json_schema_extra={"expert": True}, description="L2: least cosine of the angle between two PMTs; 0: within 90 degrees.")
    sn_pmts: int = Field(default=4, ge=2, le=31, description="Supernova: least number of PMTs of a DOM.")
    min_hits: int = Field(default=4, ge=2, le=1_000, description="Event: least number of L1.")
    min_doms: int = Field(default=4, ge=2, le=1_000, description="Event: least number of DOMs.")
    road_m: float = Field(default=90, ge=0, le=1_000, json_schema_extra={"expert": True}, description="Event: greatest distance between a DOM and the muon, m; ORCA 43.")
    reach_m: float = Field(default=500, ge=0, le=10_000, json_schema_extra={"expert": True}, description="Event: greatest distance of two DOMs, m; ORCA 165.")
    extra_ns: float = Field(default=25, ge=0, le=1_000, json_schema_extra={"expert": True}, description="Event: tolerance of the causal window, ns.")
    limit: int = Field(default=100, ge=2, le=1_000, json_schema_extra={"expert": True}, description="More L1 in one neighbourhood are an event without looking further.")
    snapshot_ns: float = Field(default=1_000, ge=0, le=1_000_000, description="Hits shown this long before and behind an event, ns.")


class Km3netStoreKeys(Section):
    """Slices and events to a file."""

    messages: str = Field(default="", description="File of the experiment's own messages (L1 slices, summary slices, events), relative to the report directory; empty: none.")
    max_file_bytes: int = Field(default=0, ge=0, le=1_000_000_000_000_000, description="A new file (-0001, -0002 ...) once one has so many bytes; 0: one file.")


class Km3netThreadsKeys(Section):
    """Which stages share a thread, and where threads run."""

    layout: list[str] = Field(default=["receive", "trigger", "store"], min_length=1, max_length=32, description="One entry per thread: its stages, joined by +. All stages, in the order of the data path.")
    layout_parts: ClassVar[tuple[str, ...]] = ("receive", "trigger", "store",)
    cores: list[Annotated[int, Field(ge=-1, le=4_095)]] = Field(default=[], max_length=256, description="Logical core of each thread of the layout, then of their second lanes, third lanes and so on; -1 or missing: any core.")
    wait: Literal["auto", "spin", "spin_pinned", "sleep"] = Field(default="auto", description="What a thread does without work. sleep: new data wakes it; spin: it polls and takes a whole core; spin_pinned: threads with a core spin, the others sleep; auto: spin_pinned if that core is isolated or the other threads have enough idle cores, otherwise sleep.")
    placement: Literal["auto", "free"] = Field(default="auto", description="Placement of threads without a given core. auto: each thread on the data's way gets a core, with real-time priority if permitted, and all other threads share the rest; free: the operating system places them.")
    priority: Literal["usual", "realtime"] = Field(default="usual", description="Priority of threads with a core, and of simulated front ends; realtime: above all normal threads.")
    rest_us: float = Field(default=20, ge=0, le=10_000, json_schema_extra={"expert": True}, description="How long a sleeping thread rests after it found few datagrams (fewer than 16), so that it finds more next time, us. This saves CPU time per datagram and adds at most this latency, like interrupt moderation of a network card; 0: never.")
    probe_share: float = Field(default=0.004, ge=0, le=0.5, description="Share of each core of the run for measuring how late the machine wakes threads; 0: not measured.")
