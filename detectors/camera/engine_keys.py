# SPDX-License-Identifier: Apache-2.0
# Made by bindings/make_engine_keys.py from the tables of keys in C++; not written by hand.
"""Sections, and parts of sections, whose keys are declared in C++."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from anello.configuration.section import PowerOfTwo, Section


class CameraKeys(Section):
    """The camera: its boards, and what each sends of an event."""

    boards: int = Field(default=265, ge=1, le=1_024, description="Front-end boards.")
    pixels_per_board: int = Field(default=7, ge=1, le=255, description="Pixels of a board.")
    gains: int = Field(default=2, ge=1, le=2, description="Gains read out for each pixel.")
    samples: int = Field(default=60, ge=1, le=4_096, description="Samples for each pixel and gain, 2 bytes each.")
    pixels_file: str = Field(default="", description="CSV file that says where the pixels stand, a line pixel,module,channel,x_m,y_m for each; empty: those of camera.model, or a made-up camera.")
    payload_bytes: int = Field(default=0, ge=0, le=8_908, description="Bytes of a fragment after its header, without shape; 0: as pixels, gains and samples require.")


class CameraRunKeys(Section):
    """The run as a whole."""

    n_events: int = Field(default=0, ge=0, le=4_294_967_295, description="Events in the run; 0: limited by duration_s, at the rate set.")


class CameraSourceKeys(Section):
    """The camera's front ends: what they send, where to, and how fast."""

    rate_hz: float = Field(default=300, ge=0.001, le=1_000_000, description="Mean rate of triggers, events/s.")
    poisson: bool = Field(default=True, description="Triggers at random times; false: at equal distances.")
    burst: bool = Field(default=True, description="All boards send at once, as real cameras do; false: spread over spread_us.")
    spread_us: float = Field(default=100, ge=0, le=1_000_000, json_schema_extra={"expert": True}, description="Time over which the boards of a trigger send when burst is false, us.")
    paced: bool = Field(default=True, description="Send by the clock; false: as fast as possible.")
    max_behind_ms: float = Field(default=10, ge=0.001, le=10_000, json_schema_extra={"expert": True}, description="Farther behind its clock, the source skips time instead of sending a flood, ms.")
    host: str = Field(default="127.0.0.1", min_length=1, description="Address of the node.")
    ports: list[Annotated[int, Field(ge=0, le=65_535)]] = Field(default=[0], min_length=1, max_length=1024, description="UDP ports of the node, one per board or fewer: the boards share them evenly, in order; 0: those that the node has bound (anello run only).")
    first_board: int = Field(default=0, ge=0, le=1_023, description="First board of this process.")
    n_boards: int = Field(default=0, ge=0, le=1_024, description="Boards of this process; 0: all from first_board on.")
    payload: Literal["waveforms", "pattern"] = Field(default="waveforms", description="waveforms: pulses of a shower's image on pedestal and noise; pattern: bytes that can be checked.")
    pool_events: int = Field(default=64, ge=1, le=100_000, description="Number of different events that are made at the start, and sent in turn with new numbers.")
    signal_share: float = Field(default=0.3, ge=0, le=1, description="Share of events with a shower; the others are noise.")
    pedestal_share: float = Field(default=0, ge=0, le=1, description="Share of events that are pedestals: no light, and tagged.")
    flatfield_share: float = Field(default=0, ge=0, le=1, description="Share of events that are flat fields: a flash on all pixels, and tagged.")
    flatfield_pe: float = Field(default=60, ge=0, le=1_000, description="Photo-electrons of a flat field in each pixel, on average.")
    counters: Literal["none", "dragon", "nectarcam_16", "nectarcam_20", "dragon_drs4"] = Field(default="nectarcam_16", description="The board's own counters that each fragment carries; dragon_drs4: also the first cells of its DRS4 chips.")
    checksum: bool = Field(default=True, description="A CRC-32C in every fragment.")
    offload: Literal["none", "gso"] = Field(default="gso", description="gso: several fragments per system call, cut apart by the kernel or the card.")
    run_id: int = Field(default=1, ge=0, le=4_294_967_295, description="Number of the run, in every fragment.")
    first_event: int = Field(default=0, ge=0, le=4_294_967_295, description="Number of the first event; numbers wrap.")
    n_end_markers: int = Field(default=5, ge=1, le=1_000, json_schema_extra={"expert": True}, description="Number of markers that announce the end of the run; one may be lost.")
    end_marker_spacing_ms: float = Field(default=2, ge=0, le=1_000, json_schema_extra={"expert": True}, description="Time between these markers, ms.")
    start_at_ns: int = Field(default=0, ge=0, le=4_000_000_000_000_000_000, description="Wall-clock time of the first trigger, ns since 1970, so that several processes start together; 0: at once.")
    core: int = Field(default=-1, ge=-1, le=4_095, description="Logical core of the sending thread; -1: any.")
    wait: Literal["spin", "sleep"] = Field(default="sleep", description="What the sending thread does until the next trigger.")


class CameraFaultsKeys(Section):
    """Faults that the front ends make on purpose, by run.seed. Shares are per fragment, a packet each, and board."""

    loss: float = Field(default=0, ge=0, le=1, description="Share of packets that are not sent.")
    duplicate: float = Field(default=0, ge=0, le=1, description="Share of packets that are sent twice.")
    reorder: float = Field(default=0, ge=0, le=1, description="Share of packets that are sent after their successor.")
    corrupt: float = Field(default=0, ge=0, le=1, description="Share of packets with one byte changed.")
    truncate: float = Field(default=0, ge=0, le=1, description="Share of packets cut short.")
    dead_board: int = Field(default=-1, ge=-1, le=1_023, description="Board that falls silent; -1: none.")
    dead_from_event: int = Field(default=0, ge=0, le=4_294_967_295, description="First event without the dead board.")


class CameraGroupsKeys(Section):
    """Fragments of all boards into camera events, by event number."""

    groups: int = Field(default=1, ge=1, le=8, description="Number of builders that share the boards, each with its own ports and thread.")


class CameraBuilderKeys(Section):
    """Fragments of all boards into camera events, by event number."""

    window_events: Annotated[int, PowerOfTwo] = Field(default=64, ge=2, le=32_768, json_schema_extra={"power_of_two": True}, description="Number of events open at a time, and so how far apart boards may be.")
    n_events: int = Field(default=256, ge=4, le=65_536, description="Event buffers of each builder: for open events and those that wait to be sent; at least twice window_events.")
    timeout_ms: float = Field(default=20, ge=0.1, le=10_000, description="Maximum time that an event waits for a missing board, ms.")
    event_number_bits: int = Field(default=32, ge=10, le=32, description="How many bits boards count events with; beyond them the builder counts on.")
    verify_checksum: bool = Field(default=True, description="Check the CRC-32C of fragments that carry one.")
    copy_: Literal["auto", "plain", "ahead", "non_temporal"] = Field(default="auto", alias="copy", description="How fragments are copied to event memory; auto: the method, and with sockets the bytes per system call, with the lowest cost, measured on live traffic and reported.")
    in_place: bool = Field(default=False, json_schema_extra={"expert": True}, description="The kernel writes a fragment directly into its slot if the next one can be predicted; needs receive.gro = false.")


class CameraCalibrateKeys(Section):
    """Samples above their baselines (R1) in place of raw ones (R0), before the filter."""

    file: str = Field(default="", description="FITS file of the camera's baselines and spikes, as anello calibrate makes one, relative to where the run starts; empty: samples stay as boards send them.")
    time_lapse_file: str = Field(default="", description="FITS file of the time lapse of DRS4 cells; empty: what `file` says of it, else the first LST's at 20 degC.")
    time_lapse: bool = Field(default=True, description="Correct DRS4 cells for the time since they were last read.")
    spikes: bool = Field(default=True, description="Correct spikes of DRS4 chips, where `file` has their heights.")
    gain_threshold: int = Field(default=0, ge=0, le=65_535, description="Counts above the baseline beyond which a pixel's low gain is kept in place of its high one, in counts of the high gain; 3500 is usual. 0: both gains are kept.")
    flatfield: bool = Field(default=False, description="Multiply samples so that all pixels answer alike, as `file` says. Of two gains one must be chosen by gain_threshold.")


class CameraFilterKeys(Section):
    """The second filter: which events are handed on. Charges are sums of samples above the baseline, in counts."""

    enabled: bool = Field(default=True, description="Reject events without signal; false: keep all.")
    pixel_threshold: float = Field(default=60, ge=0.001, le=1_000_000_000, description="Charge above which a pixel counts: above the noise of the simulated front ends; light of the night sky may take 250.")
    charge_threshold: float = Field(default=500, ge=0, le=1_000_000_000, description="Minimum total charge of those pixels; the neighbour condition must hold as well.")
    neighbours: int = Field(default=3, ge=1, le=7, description="Minimum number of such pixels within one pixel and its direct neighbours; 1 switches the neighbour condition off.")
    prescale: int = Field(default=0, ge=0, le=2_147_483_647, description="One in this many events without signal is kept too; 0: none.")
    fraction: float = Field(default=0, ge=0, le=1, description="This share of the events without signal is kept too, chosen by event number.")
    keep_calibration: bool = Field(default=True, description="Pedestals, flat fields and single photo-electrons, by their trigger tag, are kept whatever their pixels show.")
    incomplete: Literal["judge", "keep", "reject"] = Field(default="judge", description="Events with missing boards: judged by the pixels that are there, kept, rejected.")
    threads: int = Field(default=0, ge=-1, le=32, description="Threads that calibrate and integrate each event side by side, each its boards; 0: the one that filters; -1: one for each core.")


class CompressionKeys(Section):
    """What is done with the events that the filter keeps."""

    zstd_level: int = Field(default=1, ge=0, le=19, description="Compression level of events; 0: none.")
    shuffle: Literal["none", "byte", "bit"] = Field(default="byte", json_schema_extra={"expert": True}, description="How the samples of a record are reordered before compression.")
    table_shuffle: Literal["none", "byte", "bit"] = Field(default="bit", json_schema_extra={"expert": True}, description="The same for a file of the format table.")
    compression: Literal["given", "auto"] = Field(default="given", description="given: as zstd_level and shuffle say, records by differences; auto: the smallest of several ways that stay within compress_budget_us, tried on the run's first events.")
    compress_budget_us: float = Field(default=2_000, ge=10, le=1_000_000, description="What compression = auto may take of a core for an event, us.")
    compress_threads: int = Field(default=0, ge=-1, le=64, description="Threads that compress kept events side by side, in their order; 0: the one that sends; -1: one for each core.")


class CameraSendKeys(Section):
    """What is done with the events that the filter keeps."""

    file: str = Field(default="", description="HDF5 file, relative to the report directory; empty: none.")
    file_format: Literal["table", "records"] = Field(default="table", description="How the file holds what boards sent. table: arrays, for h5py and all that reads HDF5; records: bytes that Anello reads, smaller.")
    max_file_bytes: int = Field(default=0, ge=0, le=1_000_000_000_000_000, description="A new file (-0001, -0002 ...) once one has so many bytes; 0: one file.")
    tcp_host: str = Field(default="", description="Host that receives the event stream; empty: none.")
    tcp_port: int = Field(default=0, ge=0, le=65_535, description="Its TCP port.")


class CameraPublishKeys(Section):
    """Results for programs that subscribe to them during the run."""

    what: Literal["event", "pixels"] = Field(default="event", description="What is published of each kept event. event: waveforms, and charges where there are pixels; pixels: charges without waveforms.")


class CameraPortsKeys(Section):
    """Datagrams from the network, or from a file."""

    ports: list[Annotated[int, Field(ge=0, le=65_535)]] = Field(default=[0], min_length=1, max_length=1024, description="UDP ports to listen on, one per board or fewer: the boards share them evenly, in order; 0: any free one.")


class CameraThreadsKeys(Section):
    """Which stages share a thread, and where threads run."""

    layout: list[str] = Field(default=["receive+build+filter", "send"], min_length=1, max_length=32, description="One entry per thread: its stages, joined by +. All stages, in the order of the data path.")
    layout_parts: ClassVar[tuple[str, ...]] = ("receive", "build", "filter", "send",)
    cores: list[Annotated[int, Field(ge=-1, le=4_095)]] = Field(default=[], max_length=256, description="Logical core of each thread of the layout, then of their second lanes, third lanes and so on; -1 or missing: any core.")
    wait: Literal["auto", "spin", "spin_pinned", "sleep"] = Field(default="auto", description="What a thread does without work. sleep: new data wakes it; spin: it polls and takes a whole core; spin_pinned: threads with a core spin, the others sleep; auto: spin_pinned if that core is isolated or the other threads have enough idle cores, otherwise sleep.")
    placement: Literal["auto", "free"] = Field(default="auto", description="Placement of threads without a given core. auto: each thread on the data's way gets a core, with real-time priority if permitted, and all other threads share the rest; free: the operating system places them.")
    priority: Literal["usual", "realtime"] = Field(default="usual", description="Priority of threads with a core, and of simulated front ends; realtime: above all normal threads.")
    rest_us: float = Field(default=100, ge=0, le=10_000, json_schema_extra={"expert": True}, description="How long a sleeping thread rests after it found few datagrams (fewer than 16), so that it finds more next time, us. This saves CPU time per datagram and adds at most this latency, like interrupt moderation of a network card; 0: never.")
    probe_share: float = Field(default=0.004, ge=0, le=0.5, description="Share of each core of the run for measuring how late the machine wakes threads; 0: not measured.")
