# SPDX-License-Identifier: Apache-2.0
# Made by bindings/make_engine_keys.py from the tables of keys in C++; not written by hand.
"""Sections, and parts of sections, whose keys are declared in C++."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from anello.configuration.section import Section


class ExchangeKeys(Section):
    """Who builds which events, and how long one waits for another."""

    protocol: Literal["push", "pull", "shift"] = Field(default="push", description="push: the manager tells readout units where to send. pull: builders request what they have room for. shift: whole rounds, each readout unit starting at the builder after itself.")
    steps_ahead: int = Field(default=4, ge=0, le=64, description="shift: messages that a readout unit may be ahead of the slowest one; it has one more under way. 0: any number, and two under way.")
    packing: int = Field(default=600, ge=1, le=65_535, description="Events per multi-event packet.")
    n_meps: int = Field(default=0, ge=0, le=4_611_686_018_427_387_904, description="Multi-event packets in the run; 0: limited by duration_s.")
    credits: int = Field(default=20, ge=1, le=65_536, description="Multi-event packets that a builder has room for at a time.")
    verify_share: float = Field(default=0.01, ge=0, le=1, description="Share of the fragments whose checksum a builder verifies.")


class ExchangeTimeKeys(Section):
    """Who builds which events, and how long one waits for another."""

    timeout_ms: float = Field(default=500, ge=1, le=600_000, description="How long a multi-event packet waits for a missing source, ms.")
    peer_timeout_ms: float = Field(default=1_000, ge=10, le=600_000, description="A node suspended for less than this is not considered dead, one suspended for 1.5 times as long is, ms.")


class ExchangeWaitKeys(Section):
    """Who builds which events, and how long one waits for another."""

    wait: Literal["spin", "adaptive"] = Field(default="adaptive", description="What a thread does without work. spin: it uses a whole core; adaptive: it spins briefly, then sleeps.")


class GeneratorKeys(Section):
    """The emulated readout card of each readout unit."""

    rate_hz: float = Field(default=0, ge=0, le=1_000_000_000, description="Events/s; 0: as fast as buffers become free.")
    fragment_mean_bytes: float = Field(default=200, ge=1, le=65_528, description="Mean size of a fragment.")
    fragment_sigma_bytes: float = Field(default=20, ge=0, le=65_528, json_schema_extra={"expert": True}, description="Standard deviation of the size of a fragment.")
    fragment_min_bytes: int = Field(default=32, ge=1, le=65_528, json_schema_extra={"expert": True}, description="Smallest fragment.")
    fragment_max_bytes: int = Field(default=240, ge=1, le=65_528, json_schema_extra={"expert": True}, description="Largest fragment.")
    payload: Literal["prepared", "fresh"] = Field(default="prepared", description="prepared: bytes and checksums are made once, since writing a card's own memory costs no CPU time; fresh: every byte is written for every event.")
    when_full: Literal["wait", "drop"] = Field(default="wait", description="What the card does without a free buffer; drops are counted.")


class ReadoutRoomKeys(Section):
    """The emulated readout card of each readout unit."""

    n_buffers: int = Field(default=64, ge=2, le=65_536, description="Buffers of a readout unit, one multi-event packet each.")


class FabricKeys(Section):
    """How bytes move between nodes."""

    transport: Literal["ucx", "tcp", "udp"] = Field(default="ucx", description="ucx: shared memory, InfiniBand, RoCE or TCP, whichever is best; tcp; udp, which may lose. `anello doctor` says which of them work on this machine.")
    host: str = Field(default="127.0.0.1", min_length=1, description="Own address, at which the other nodes reach this one: where tcp, udp and the TCP of ucx listen. With loopback ucx uses shared memory, and does not listen.")
    port: int = Field(default=0, ge=0, le=65_535, description="Own port (tcp, udp); 0: any free one.")
    ucx_tls: str = Field(default="", description="UCX_TLS, such as tcp or rc,self; empty: UCX chooses.")
    ucx_net_devices: str = Field(default="", description="UCX_NET_DEVICES, such as mlx5_0:1; empty: the interface of host, and cards for RDMA.")
    max_message_bytes: int = Field(default=1048576, ge=4_096, le=1_073_741_824, description="Largest message; a readout unit's part of a multi-event packet.")


class RolesKeys(Section):
    """Who builds which events, and how long one waits for another."""

    roles: list[str] = Field(default=["all"], min_length=1, max_length=1024, description="Roles of the nodes: em (event manager), sb (standby, which takes over when the event manager is lost), ru (readout unit), bu (builder unit), joined by +; one entry for each node, or [\"all\"]: every node reads out and builds, and node 0 manages; [\"all+sb\"]: and node 1 stands by.")
    roles_parts: ClassVar[tuple[str, ...]] = ("em", "sb", "ru", "bu",)


class FrameKeys(Section):
    """Where the readout units' data comes from."""

    frame_ticks: int = Field(default=256, ge=16, le=65_536, description="Input merged by time: length of a time frame, which is the exchange's event, ticks of 24.951 ns.")


class StoredKeys(Section):
    """What is done with events that are built."""

    max_file_bytes: int = Field(default=0, ge=0, le=1_000_000_000_000_000, description="Size in bytes after which a new file (-0001, -0002 ...) begins; 0: one file.")


class ExchangePlacementKeys(Section):
    """Which stages share a thread, and where threads run."""

    layout: list[str] = Field(default=["generator+readout+builder+manager"], min_length=1, max_length=32, description="One entry per thread: its stages, joined by +. All stages, in the order of the data path.")
    layout_parts: ClassVar[tuple[str, ...]] = ("generator", "readout", "builder", "manager",)
    cores: list[Annotated[int, Field(ge=-1, le=4_095)]] = Field(default=[], max_length=256, description="Logical core of each thread of the layout, then of their second lanes, third lanes and so on; -1 or missing: any core.")
