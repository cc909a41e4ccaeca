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
    cores: list[Annotated[int, Field(ge=-1, le=4_095)]] = Field(default=[], max_length=256, description="Logical core of each thread of the layout, then of their second lanes, third lanes and so on; -1 or missing: any core.")
    wait: Literal["auto", "spin", "spin_pinned", "sleep"] = Field(default="auto", description="What a thread does without work. sleep: new data wakes it; spin: it polls and takes a whole core; spin_pinned: threads with a core spin, the others sleep; auto: spin_pinned if that core is isolated or the other threads have enough idle cores, otherwise sleep.")
    placement: Literal["auto", "free"] = Field(default="auto", description="Placement of threads without a given core. auto: each thread on the data's way gets a core, with real-time priority if permitted, and all other threads share the rest; free: the operating system places them.")
    priority: Literal["usual", "realtime"] = Field(default="usual", description="Priority of threads with a core, and of simulated front ends; realtime: above all normal threads.")
    rest_us: float = Field(default=20, ge=0, le=10_000, json_schema_extra={"expert": True}, description="How long a sleeping thread rests after it found few datagrams (fewer than 16), so that it finds more next time, us. This saves CPU time per datagram and adds at most this latency, like interrupt moderation of a network card; 0: never.")
    probe_share: float = Field(default=0.004, ge=0, le=0.5, description="Share of each core of the run for measuring how late the machine wakes threads; 0: not measured.")
