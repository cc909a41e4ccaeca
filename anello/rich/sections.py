# SPDX-License-Identifier: Apache-2.0
"""The sections of the NA62 RICH chain's configuration; those that several chains have are in anello/sections.py."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator

from anello.sections import FrontEndsRunSection, Port, ReceiveSection, Section, Share, ThreadsSection, layout_field

N_RICH_BOARDS = 4
FitFrame = Literal["overlaid", "nominal", "run_2015", "run_2016"]


class RichRunSection(FrontEndsRunSection):
    """The run as a whole."""

    name: str = Field(
        default="na62-rich", pattern=r"^[\w.-]+$", description="Name of the run; its report directory begins so."
    )


class SimulationSection(Section):
    """The simulated RICH: tracks, rings and background. Lengths in the fit frame."""

    n_pool_events: int = Field(
        default=20_000, ge=1, le=1_000_000, description="Different events made at start; sent in turn with new times."
    )
    sample: Literal["na62", "brief"] = Field(
        default="na62",
        description="na62: tracks, rings by Cherenkov's law; brief: rings of uniform radius, to compare ring finders.",
    )
    fit_frame: FitFrame = Field(default="run_2016", description="Where the two disks lie in the common frame.")
    ring_shares: list[Share] = Field(
        default=[0.10, 0.55, 0.15, 0.15, 0.05],
        min_length=1,
        max_length=9,
        description="Shares of events with 0, 1, 2, ... in-time tracks; scaled to sum 1.",
    )
    out_of_time_rings: float = Field(
        default=0.3, ge=0, le=20, description="Mean number of accidental rings per event (Poisson)."
    )
    out_of_time_min_ns: float = Field(
        default=8, ge=0, le=1000, description="Accidental rings are at least so far from the event's time."
    )
    out_of_time_max_ns: float = Field(
        default=24, ge=0, le=1000, description="Accidental rings are at most so far from the event's time."
    )
    noise_hits: float = Field(
        default=2.5, ge=0, le=200, description="Mean number of noise hits per event (Poisson), flat."
    )
    centre_x_mm: float = Field(default=-110.25, ge=-1000, le=1000, description="Mean ring centre, x.")
    centre_y_mm: float = Field(default=1.14, ge=-1000, le=1000, description="Mean ring centre, y.")
    centre_sd_mm: float = Field(
        default=80, ge=0, le=1000, description="Standard deviation of the ring centre, each axis."
    )
    centre_max_mm: float = Field(
        default=1000, gt=0, le=10_000, description="Greatest distance of a centre from the mean."
    )
    pion_share: Share = Field(default=0.50, description="Share of tracks that are pions; shares are scaled to sum 1.")
    muon_share: Share = Field(default=0.35, description="Share of tracks that are muons.")
    electron_share: Share = Field(default=0.15, description="Share of tracks that are electrons.")
    kaon_share: Share = Field(default=0, description="Share of tracks that are kaons.")
    momentum_mean_gev: float = Field(default=31.34, ge=0.1, le=1000, description="Mean track momentum, GeV/c.")
    momentum_sd_gev: float = Field(
        default=7.52, ge=0, le=1000, description="Standard deviation of the momentum, GeV/c."
    )
    momentum_min_gev: float = Field(default=15, ge=0.1, le=1000, description="Least track momentum, GeV/c.")
    momentum_max_gev: float = Field(default=75, ge=0.1, le=1000, description="Greatest track momentum, GeV/c.")
    electron_ring_radius_mm: float = Field(
        default=189.646, ge=50, le=400, description="Radius of the ring of a particle at the speed of light."
    )
    electron_ring_hits: float = Field(
        default=14, ge=0, le=60, description="Mean hits of such a ring if it lay wholly on the disks."
    )
    mirror_x_mean_mm: float = Field(
        default=-200,
        ge=-10_000,
        le=10_000,
        description="Mean place where tracks cross the mirrors; light beyond x = 0 goes to the Jura disk.",
    )
    mirror_x_sd_mm: float = Field(default=450, ge=0, le=10_000, description="Its standard deviation.")
    radius_min_mm: float = Field(default=100, ge=1, le=1000, description="Sample brief: least radius.")
    radius_max_mm: float = Field(default=195, ge=1, le=1000, description="Sample brief: greatest radius.")
    ring_photons: float = Field(
        default=20.5, ge=0, le=200, description="Sample brief: mean photons of a ring at the plane of the PMTs."
    )
    split_share: Share = Field(default=0.3, description="Sample brief: share of rings split over both disks.")
    smear_mm: float = Field(
        default=1.2, ge=0, le=50, description="Optical smear per axis; with the light collector 4.7 mm per hit."
    )
    hit_time_sd_ns: float = Field(default=0.28, ge=0, le=25, description="Resolution of a hit's time, ns.")
    merge_ns: float = Field(default=15, ge=0, le=1000, description="Photons of one PMT within this are one hit, ns.")
    max_hits: int = Field(default=64, ge=1, le=255, description="Greatest number of hits of an event.")


class FaultsSection(Section):
    """Faults that the front ends make on purpose, by run.seed. Shares are per data packet and board."""

    loss: Share = Field(default=0, description="Share of packets that are not sent.")
    duplicate: Share = Field(default=0, description="Share of packets that are sent twice.")
    reorder: Share = Field(default=0, description="Share of packets that are sent after their successor.")
    corrupt: Share = Field(default=0, description="Share of packets with one byte changed.")
    truncate: Share = Field(default=0, description="Share of packets cut short.")
    dead_board: int = Field(default=-1, ge=-1, le=31, description="Board that falls silent; -1: none.")
    dead_from_burst: int = Field(default=1, ge=0, description="First burst without the dead board.")


class SourceSection(Section):
    """The front ends: what they send, where to, and how fast."""

    rate_hz: float = Field(
        default=250_000, gt=0, le=1e8, description="Mean event rate inside a burst (Poisson), events/s."
    )
    burst_ms: float = Field(default=2000, ge=1, le=100_000, description="Length of a burst, ms.")
    gap_ms: float = Field(default=100, ge=0, le=100_000, description="Pause between two bursts, ms.")
    n_bursts: int = Field(default=0, ge=0, le=2**32 - 1, description="Number of bursts; 0: as run.duration_s says.")
    first_burst_id: int = Field(default=0, ge=0, le=2**32 - 1, description="Number of the first burst.")
    n_end_markers: int = Field(
        default=5, ge=1, le=1000, description="How often the end of a burst is told, since a marker may be lost."
    )
    end_marker_spacing_ms: float = Field(default=1, ge=0, le=1000, description="Time between these markers, ms.")
    dead_time_ticks: int = Field(
        default=4, ge=0, le=4096, description="Least distance of two events, ticks of 24.951 ns."
    )
    time_jitter_fine: int = Field(
        default=0, ge=0, le=255, description="Each board reads an event's time wrong by at most this, 1/256 tick."
    )
    paced: bool = Field(default=True, description="Send by the clock; false: as fast as it goes, without gaps.")
    max_behind_ms: float = Field(
        default=10, ge=0, le=10_000, description="Farther behind, time is forgone instead of sending a flood, ms."
    )
    host: str = Field(default="127.0.0.1", min_length=1, description="Address of the node.")
    ports: list[Port] = Field(
        default=[0] * N_RICH_BOARDS, min_length=1, max_length=32,
        description="UDP port of the node for each board; 0: what the node has bound (anello run only).",
    )  # fmt: skip
    first_board: int = Field(
        default=0, ge=0, le=N_RICH_BOARDS - 1, description="Number of the first board; those before are another node's."
    )
    n_boards: int = Field(
        default=N_RICH_BOARDS, ge=1, le=N_RICH_BOARDS, description="Boards; the others are another node's."
    )
    format: Literal["mgp", "mep"] = Field(default="mgp", description="Packets: our multi-event packet, or NA62's own.")
    mtu_bytes: int = Field(
        default=1500, ge=576, le=65_535, description="Greatest IP packet; 28 bytes of it are headers."
    )
    max_events_per_packet: int = Field(
        default=0, ge=0, le=65_535, description="Most events in a packet; 0: as many as fit."
    )
    hit_times: bool = Field(default=True, description="mgp: 16-bit hits with their time; false: hits packed at 9 bits.")
    checksum: bool = Field(default=True, description="mgp: a CRC-32C in every packet.")
    flush_us: float = Field(
        default=100, ge=0, le=1e6, description="A packet is sent at the latest so long after its first event, us."
    )
    offload: Literal["none", "gso"] = Field(
        default="gso", description="gso: several packets per system call, cut apart by the kernel or the card."
    )
    core: int = Field(default=-1, ge=-1, le=4095, description="Logical core of the sending thread; -1: any.")
    wait: Literal["spin", "sleep"] = Field(
        default="sleep", description="What the sending thread does until the next packet."
    )
    truth_prescale_log2: int = Field(
        default=0, ge=0, le=30, description="The truth of one event in 2^this is noted, for the report."
    )
    max_truth_samples: int = Field(default=1 << 20, ge=0, le=1 << 28, description="Room for noted truths; 0: none.")
    out_of_time_reach_ns: float = Field(
        default=212,
        ge=0,
        le=1000,
        description="--events: hits that the file marks as out of time come from particles up to so far from the "
        "event's time, ns; TEL62 boards read 17 ticks.",
    )
    simulation: SimulationSection = SimulationSection()
    faults: FaultsSection = FaultsSection()


class RichReceiveSection(ReceiveSection):
    """Datagrams into persistent buffers, one stream per port."""

    ports: list[Port] = Field(
        default=[0] * N_RICH_BOARDS, min_length=1, max_length=32, description="UDP port of each board; 0: any free one."
    )
    n_buffers: int = Field(default=64, ge=2, le=65_536, description="Persistent buffers per board.")
    events_per_buffer: int = Field(default=256, ge=1, le=65_536, description="A buffer is handed on at so many events.")
    hits_per_event: int = Field(
        default=16, ge=1, le=255, description="Room for hits in a buffer, mean per event and board."
    )
    gathering_time_us: float = Field(
        default=100,
        ge=1,
        le=1e6,
        description="A buffer is handed on at the latest so long after its first datagram, us.",
    )


class BuildSection(Section):
    """Fragments of all boards into events."""

    window_ticks: int = Field(
        default=1, ge=0, le=4096, description="Fragments at most so far apart are one event, ticks of 24.951 ns."
    )
    timeout_ms: float = Field(
        default=20, ge=0.1, le=10_000, description="A silent board holds the others up for so long at most, ms."
    )
    batch_events: int = Field(default=256, ge=1, le=65_536, description="A batch is handed on at so many events.")
    batch_time_us: float = Field(
        default=100, ge=1, le=1e6, description="A batch is handed on at the latest so long after its first event, us."
    )
    hits_per_event: int = Field(default=48, ge=1, le=1024, description="Room for hits in a batch, mean per event.")
    close_when_idle: bool = Field(
        default=False, description="A batch is handed on as soon as there is nothing to merge."
    )
    keep_incomplete: bool = Field(
        default=True, description="Events that lack a board are decided too; false: they are rejected and counted."
    )
    n_batches: int = Field(default=64, ge=2, le=65_536, description="Batches that circulate between build and emit.")


class AcceptanceSection(Section):
    """Only circles in this region are rings."""

    centre_x_mm: float = Field(default=0, ge=-1000, le=1000, description="Middle of the region of ring centres, x.")
    centre_y_mm: float = Field(default=0, ge=-1000, le=1000, description="Middle of the region of ring centres, y.")
    centre_max_mm: float = Field(
        default=450, gt=0, le=3000, description="Greatest distance of a centre from that middle."
    )
    radius_min_mm: float = Field(default=88, gt=0, le=3000, description="Least radius.")
    radius_max_mm: float = Field(default=208, gt=0, le=3000, description="Greatest radius.")


class HistogramSection(Section):
    """Algorithm histogram: an 8x8 grid of trial centres, then 2x2."""

    half_width_mm: float = Field(default=160, gt=0, le=3000, description="Half the side of the grid.")
    bin_mm: float = Field(default=26, gt=0, le=400, description="Bin of the distance histogram, 8x8 stage.")
    fine_bin_mm: float = Field(default=15, gt=0, le=400, description="Bin of the distance histogram, 2x2 stage.")
    threshold: int = Field(default=6, ge=3, le=64, description="Least hits in a bin that make a ring.")


class AlmagestSection(Section):
    """Algorithm almagest: Ptolemy's theorem on triplets; NA62's offline values."""

    min_pair_mm: float = Field(default=90, ge=0, le=1000, description="Least distance between two hits of a triplet.")
    max_triplet_radius_mm: float = Field(default=200, gt=0, le=3000, description="Greatest circumradius of a triplet.")
    ptolemy_mm2: float = Field(default=40, ge=0, le=1e6, description="Greatest Ptolemy value of a fourth hit, mm^2.")
    attach_mm: float = Field(default=29, ge=0, le=400, description="Hits so close to the fitted circle join.")
    sigma_mm: float = Field(default=4.7, gt=0, le=100, description="Resolution of a single hit.")
    max_pull2: float = Field(
        default=16, ge=0, le=1e4, description="The worst hit is dropped while its squared pull exceeds this."
    )
    max_drops: int = Field(default=5, ge=0, le=64, description="Most hits dropped from a ring.")
    min_ring_hits: int = Field(default=4, ge=3, le=64, description="Least hits of a ring.")


class TriggerSection(Section):
    """Events into rings, rings into decisions."""

    algorithm: Literal["crawford", "taubin", "histogram8x8", "histogram", "almagest", "single", "multiring"] = Field(
        default="multiring", description="Ring finder."
    )
    isa: Literal["automatic", "scalar", "sse42", "avx2", "avx512"] = Field(
        default="automatic", description="Instruction set; automatic: the widest of this processor."
    )
    backend: Literal["auto", "cpu", "cuda"] = Field(
        default="auto", description="Where rings are found; auto: on a CUDA device where one can be used."
    )
    threads: int = Field(default=1, ge=1, le=256, description="Threads that share the events of a batch.")
    plugin: str = Field(
        default="", description="A shared library of your own that decides instead of the ring finder; empty: none."
    )
    plugin_parameters: str = Field(default="", description="Text handed to that library as it is.")
    python: str = Field(
        default="", description="file.py:function, a Python function of your own instead; for prototypes; empty: none."
    )
    in_time_window_ns: float = Field(
        default=8, ge=0, le=50, description="Hits within +- this of the event's time are used, ns; 0: all hits."
    )
    fit_frame: FitFrame = Field(default="run_2016", description="Where the two disks lie in the common frame.")
    primitive_ids: list[Annotated[int, Field(ge=0, le=0xFFFF)]] = Field(
        default=[0, 0x101, 0x102, 0x104, 0x108], min_length=1, max_length=9,
        description="Primitive sent for 0, 1, 2, ... rings, the last also for more; 0: none is sent.",
    )  # fmt: skip
    acceptance: AcceptanceSection = AcceptanceSection()
    histogram: HistogramSection = HistogramSection()
    almagest: AlmagestSection = AlmagestSection()

    @field_validator("primitive_ids")
    @classmethod
    def _high_byte_tells_primitives_from_timestamps(cls, primitive_ids: list[int]) -> list[int]:
        if any(0 < primitive_id < 0x100 for primitive_id in primitive_ids):
            raise ValueError("must be 0 or from 0x100 (256) on: a word without high byte would read as a timestamp")
        return primitive_ids


class EmitSection(Section):
    """Decisions as NA62 level-0 primitives over UDP."""

    enabled: bool = Field(default=True, description="Send primitive packets.")
    host: str = Field(default="127.0.0.1", min_length=1, description="Where to.")
    port: Port = Field(default=0, description="Where to; 0: our own listener, which checks every packet.")
    source_id: int = Field(default=0x1C, ge=0, le=255, description="Source of the packets; 0x1C is the RICH.")


class StoreSection(Section):
    """Decisions to a file."""

    decisions: str = Field(default="", description="HDF5 file, relative to the report directory; empty: none.")
    prescale_log2: int = Field(default=0, ge=0, le=30, description="One decision in 2^this is stored.")


class RichThreadsSection(ThreadsSection):
    """Which stages share a thread, and where threads run."""

    stages: ClassVar = ("receive", "build", "trigger", "emit", "store")
    layout: list[str] = layout_field(["receive+build", "trigger+emit", "store"])
