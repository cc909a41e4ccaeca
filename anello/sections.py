# SPDX-License-Identifier: Apache-2.0
"""The sections of a configuration file that several chains have: every key with its unit, default, bounds and meaning.

Those of one chain are in its folder: keys that the engine has too in engine_keys.py, which is made from the engine's
tables (bindings/make_engine_keys.py), all others in sections.py. `anello config show`,
docs/reference/configuration.md, `--set` and the checks are made from them. Keys are handed to the engine under the
same names (config_base.Config.flat).
"""

from ipaddress import IPv4Address
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, GetCoreSchemaHandler, field_validator
from pydantic_core import CoreSchema, core_schema

from anello.section import Section

Share = Annotated[float, Field(ge=0, le=1)]
Port = Annotated[int, Field(ge=0, le=65535)]


def _source(text: str) -> str:
    host, colon, port = text.partition(":")
    try:
        known = not text or (IPv4Address(host) and (not colon or 0 < int(port) <= 65535))
    except ValueError:
        known = False
    if not known:
        raise ValueError("must be an IPv4 address, with or without a port, or empty")
    return text


Source = Annotated[str, AfterValidator(_source)]


class OneOf:
    """One of these words, which are known once the program runs: a Literal, for pydantic."""

    def __init__(self, *words: str) -> None:
        self._words = words

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.literal_schema(list(self._words))


class RunSection(Section):
    """The run as a whole."""

    name: str = Field(
        default="anello",
        pattern=r"^[\w.-]+$",
        description="Name of the run, with which its report directory's name begins.",
    )
    directory: str = Field(
        default="runs", min_length=1, description="Directory in which report directories are created."
    )
    seed: int = Field(default=1, ge=0, le=2**63 - 1, description="Seed of all random numbers: same seed, same bytes.")
    duration_s: float = Field(
        default=20,
        ge=0,
        le=1e6,
        description="Time the front ends send, gaps included, rounded up to whole bursts; 0: endless.",
    )
    display: Literal["auto", "live", "plain", "off"] = Field(
        default="auto", description="Progress while running; auto: live on a terminal, plain lines elsewhere."
    )
    refresh_ms: int = Field(default=500, ge=50, le=60_000, description="Time between two updates of the display, ms.")


class FrontEndsRunSection(RunSection):
    """The run as a whole."""

    n_report_events: int = Field(
        default=20_000, ge=0, le=1_000_000, description="Events kept for efficiency, resolution and displays."
    )


class ReceiveSection(Section):
    """Datagrams from the network, or from a file."""

    backend: Literal["socket", "io_uring", "af_xdp", "tpacket", "pcap"] = Field(
        default="socket",
        description="How datagrams are received: from sockets, by recvmmsg or io_uring; from an interface, by AF_XDP "
        "or TPACKET_V3; from a capture file. `anello doctor` says which of them work on this machine.",
    )
    interface: str = Field(
        default="lo", min_length=1, max_length=15, description="Backends af_xdp and tpacket: the network interface."
    )
    host: str = Field(default="127.0.0.1", min_length=1, description="Local address to listen on; 0.0.0.0: all.")
    ports: list[Port] = Field(default=[0], min_length=1, description="UDP ports to listen on; 0: any free one.")
    sources: list[Source] = Field(
        default=[], max_length=1024,
        description="Sender of each board: ADDRESS, or ADDRESS:PORT; one entry applies to all boards, empty text "
        "leaves a board open. An open board is bound to the first address that sends for it; datagrams in its name "
        "from elsewhere are counted and not used.",
    )  # fmt: skip
    pcap_file: str = Field(default="", description="Backend pcap: the file to read.")
    pcap_speed: float = Field(
        default=1, ge=0, le=1000, description="Backend pcap: 1: as recorded, 0: as fast as it goes."
    )
    gro: bool = Field(
        default=True, description="Ask the kernel for several datagrams of one board at a time (UDP_GRO)."
    )
    batch_datagrams: int = Field(default=32, ge=1, le=1024, description="Maximum number of datagrams per system call.")
    socket_buffer_bytes: int = Field(
        default=64 * 2**20,
        ge=4096,
        le=2**31 - 1,
        description="Kernel receive buffer requested per port; the size granted is reported.",
    )
    policy: Literal["wait", "drop_new", "overwrite_oldest"] = Field(
        default="wait",
        description="When no buffer is free: datagrams wait in the kernel's buffer, new ones are dropped, or the "
        "oldest full buffer is overwritten. Losses are counted.",
    )
    memory: Literal["host", "huge", "pinned"] = Field(
        default="host", description="Kind of memory; pinned: page-locked for a CUDA device; falls back and says so."
    )


class PublishSection(Section):
    """Results for programs that subscribe to them, while the run goes on."""

    to: Literal["nothing", "stream", "zmq_push", "zmq_pub"] = Field(
        default="nothing",
        description="stream: rings in shared memory, for programs on this machine, each of which gets all records; "
        "zmq_pub: the same over ZeroMQ; zmq_push: each record goes to one of the subscribers.",
    )
    address: str = Field(
        default="",
        description="Address for subscribers; stream: @name, or a path; ZeroMQ: tcp://INTERFACE:PORT (*: any free "
        "port) or ipc://PATH. Exchange: {node} is the node's number.",
    )
    when_full: Literal["wait", "drop"] = Field(
        default="drop",
        description="When a subscriber has no room, or there is none: the stages before it wait, too, or the record "
        "is dropped and counted.",
    )
    max_subscribers: int = Field(
        default=8, ge=1, le=64,
        description="stream: subscribers at a time; ZeroMQ: each may have 1/max_subscribers of n_buffers waiting.",
    )  # fmt: skip
    n_buffers: int = Field(
        default=64, ge=2, le=65_536,
        description="ZeroMQ: records in flight to all subscribers together. A stream's ring belongs to the subscriber.",
    )  # fmt: skip
    allow_users: list[Annotated[int, Field(ge=0, lt=2**32)]] = Field(
        default=[], description="stream: ids of other users that may subscribe, besides our own and root.",
    )  # fmt: skip


MAX_THREADS = 32


def layout_field(default: list[str]) -> Any:
    """threads.layout of one chain."""
    return Field(
        default=default, min_length=1, max_length=MAX_THREADS,
        description="One entry per thread: its stages, joined by +. All stages, in the order of the data path.",
    )  # fmt: skip


class PlacementSection(Section):
    """Which stages share a thread, and where threads run."""

    stages: ClassVar[tuple[str, ...]] = ()
    layout: list[str]
    cores: list[Annotated[int, Field(ge=-1, le=4095)]] = Field(
        default=[],
        max_length=MAX_THREADS,
        description="Logical core of each thread of the layout; -1 or left out: any.",
    )

    @field_validator("layout")
    @classmethod
    def _each_stage_once_in_order(cls, layout: list[str]) -> list[str]:
        if [stage.strip() for thread in layout for stage in thread.split("+")] != list(cls.stages):
            raise ValueError(f"must name {', '.join(cls.stages)}, each once and in this order")
        return layout


class ThreadsSection(PlacementSection):
    """Which stages share a thread, and where threads run."""

    wait: Literal["spin", "sleep"] = Field(
        default="sleep", description="What a thread does when there is nothing to do."
    )
