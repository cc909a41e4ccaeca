# SPDX-License-Identifier: Apache-2.0
# Made by bindings/make_engine_keys.py from the tables of keys in C++; not written by hand.
"""Sections, and parts of sections, whose keys are declared in C++."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from anello.configuration.section import Section


class PacketRunKeys(Section):
    """The run as a whole."""

    n_packets: int = Field(default=0, ge=0, le=4_294_967_295, description="Packets of each board in the run; 0: as duration_s says.")


class PacketBoardsKeys(Section):
    """The front ends: each board sends packets with the numbers 0, 1, 2, ..."""

    count: int = Field(default=4, ge=1, le=1_024, description="Number of boards.")
    rate_hz: float = Field(default=1_000, ge=0.001, le=1_000_000, description="Packets of each simulated board, /s.")
    host: str = Field(default="127.0.0.1", min_length=1, description="Address of the node.")
    ports: list[Annotated[int, Field(ge=0, le=65_535)]] = Field(default=[0], min_length=1, max_length=1024, description="UDP ports of the node, which boards take in turn; 0: what the node has bound (anello run only).")
    max_behind_ms: float = Field(default=50, ge=0.001, le=10_000, json_schema_extra={"expert": True}, description="Farther behind, time is forgone instead of sending a flood, ms.")
    core: int = Field(default=-1, ge=-1, le=4_095, description="Logical core of the sending thread; -1: any.")


class PacketFaultsKeys(Section):
    """Faults that the boards make on purpose, by run.seed. Shares are per packet."""

    loss: float = Field(default=0, ge=0, le=1, description="Share of packets that are not sent.")
    duplicate: float = Field(default=0, ge=0, le=1, description="Share of packets that are sent twice.")
    reorder: float = Field(default=0, ge=0, le=1, description="Share of packets that are sent after their successor.")
    dead_board: int = Field(default=-1, ge=-1, le=1_023, description="Board that sends nothing; -1: none.")


class PacketThreadsKeys(Section):
    """Which stages share a thread, and where threads run."""

    layout: list[str] = Field(default=["receive"], min_length=1, max_length=32, description="One entry per thread: its stages, joined by +. All stages, in the order of the data path.")
    layout_parts: ClassVar[tuple[str, ...]] = ("receive",)
    cores: list[Annotated[int, Field(ge=-1, le=4_095)]] = Field(default=[], max_length=256, description="Logical core of each thread of the layout, then of their second lanes, their third and so on; -1 or left out: any.")
    wait: Literal["auto", "spin", "spin_pinned", "sleep"] = Field(default="auto", description="What a thread does when there is nothing to do. sleep: it is woken by what comes; spin: it looks again, at the cost of a core; spin_pinned: so do those that have a core; auto: the same, where that core is isolated or everything else has idle cores enough, otherwise sleep.")
    placement: Literal["auto", "free"] = Field(default="auto", description="Where cores are not given; auto: threads on the data's way on cores of their own, at real-time priority where permitted, everything else on the others; free: wherever the system puts them.")
    priority: Literal["usual", "realtime"] = Field(default="usual", description="Of threads that have a core, and of simulated front ends; realtime: before all usual threads.")
    rest_us: float = Field(default=20, ge=0, le=10_000, json_schema_extra={"expert": True}, description="How long a thread that sleeps rests after it found few datagrams (below 16), so that it finds more next time, us: less CPU time per datagram, so much more latency at most, as interrupt moderation of a network card; 0: never.")
    probe_share: float = Field(default=0.004, ge=0, le=0.5, description="Of each core of the run, that may go into measuring how late the machine wakes a thread; 0: not measured.")
