# SPDX-License-Identifier: Apache-2.0
# Made by bindings/make_engine_keys.py from the tables of keys in C++; not written by hand.
"""Sections, and parts of sections, whose keys are declared in C++."""

from typing import Annotated, Literal

from pydantic import Field

from anello.configuration.section import Section


class BackendKeys(Section):
    """Datagrams from the network, or from a file."""

    backend: Literal["socket", "io_uring", "af_xdp", "pcap", "nanet"] = Field(default="socket", description="How datagrams are received: from sockets, by recvmmsg or io_uring; from an interface, by AF_XDP; from a capture file; through the network card's model, which simulates it. `anello doctor` says which of them work on this machine.")
    interface: str = Field(default="lo", min_length=1, max_length=15, description="Backend af_xdp: the network interface.")
    host: str = Field(default="127.0.0.1", min_length=1, description="Local address to listen on; 0.0.0.0 means all, and :: all over IPv4 and IPv6; that of a multicast group: it is joined.")
    group_interface: str = Field(default="", max_length=15, description="Backends socket and io_uring, of a multicast group: the interface that it comes by; empty: as the system's routes say. The others join by receive.interface.")
    group_source: str = Field(default="", description="Of a multicast group: the one host to hear (SSM, IGMPv3 or MLDv2); empty: any (ASM).")
    pcap_file: str = Field(default="", description="Backend pcap: the file to read. Backend nanet: its frames go to the card; empty: datagrams of sockets do.")
    pcap_speed: float = Field(default=1, ge=0, le=1_000, description="Backends pcap and nanet, of the file: 1: as recorded, 0: as fast as it goes.")
    nanet_interface: str = Field(default="", max_length=15, description="Backend nanet: the network interface whose frames go to the card as they are; empty: those of pcap_file, or datagrams of sockets. Needs CAP_NET_RAW.")
    nanet_library: str = Field(default="", description="Backend nanet: the card's model, a shared library; empty: the one that `anello nanet library` makes in the source tree.")
    nanet_gathering_cycles: int = Field(default=200, ge=0, le=100_000, json_schema_extra={"expert": True}, description="Backend nanet: after its first record the card hands a buffer on at the latest so many cycles of 6.4 ns later; 0: with each record.")
    nanet_merge: bool = Field(default=False, description="Backend nanet, before a chain of one node that merges fragments by time: the card merges them, by the keys of the section build; false: the chain does.")
    nanet_timeout_cycles: int = Field(default=0, ge=0, le=1_073_741_823, json_schema_extra={"expert": True}, description="With nanet_merge: cycles of 6.4 ns that the card waits for a board, then it is silent; 0: as long as build.timeout_ms, by the card's clock, which goes some hundred times slower than ours.")
    gro: bool = Field(default=True, description="Ask the kernel for several datagrams of one board at a time (UDP_GRO).")
    batch_datagrams: int = Field(default=64, ge=1, le=1_024, json_schema_extra={"expert": True}, description="Maximum number of datagrams per system call.")
    busy_poll_us: int = Field(default=0, ge=0, le=10_000, description="Backends socket and af_xdp: whenever a thread looks for datagrams, it asks the card's queue itself for so long, us, with the card's interrupts off (SO_BUSY_POLL), for threads that spin; 0: never. Needs CAP_NET_ADMIN, and a card: no effect on loopback and virtual links.")
    socket_buffer_bytes: int = Field(default=67108864, ge=4_096, le=1_073_741_824, description="Kernel receive buffer requested per port; the size granted is reported.")


class BufferRulesKeys(Section):
    """Datagrams from the network, or from a file."""

    policy: Literal["wait", "drop_new", "overwrite_oldest"] = Field(default="wait", description="When no buffer is free: datagrams wait in the kernel's buffer, new ones are dropped, or the oldest full buffer is overwritten. Losses are counted.")
    memory: Literal["host", "huge", "pinned"] = Field(default="host", description="Kind of memory; pinned: page-locked for a CUDA device; falls back and says so.")


class PortsKeys(Section):
    """Datagrams from the network, or from a file."""

    ports: list[Annotated[int, Field(ge=0, le=65_535)]] = Field(default=[0], min_length=1, max_length=1024, description="UDP ports to listen on; 0: any free one.")


class SourcesKeys(Section):
    """Datagrams from the network, or from a file."""

    sources: list[str] = Field(default=[], max_length=1024, description="Sender of each board: ADDRESS, or ADDRESS:PORT; one entry applies to all boards, empty text leaves a board open. An open board is bound to the first address that sends for it; datagrams in its name from elsewhere are counted and not used.")


class PublishKeys(Section):
    """Results for programs that subscribe to them, while the run goes on."""

    to: Literal["nothing", "stream", "zmq_push", "zmq_pub"] = Field(default="nothing", description="stream: rings in shared memory, for programs on this machine, each of which gets all records; zmq_pub: the same over ZeroMQ; zmq_push: each record goes to one of the subscribers.")
    address: str = Field(default="", description="Address for subscribers; stream: @name, or a path; ZeroMQ: tcp://INTERFACE:PORT (*: any free port) or ipc://PATH. Exchange: {node} is the node's number.")
    when_full: Literal["wait", "drop"] = Field(default="drop", description="When a subscriber has no room, or there is none: the stages before it wait, too, or the record is dropped and counted.")
    max_subscribers: int = Field(default=8, ge=1, le=64, description="stream: subscribers at a time; ZeroMQ: each may have 1/max_subscribers of n_buffers waiting.")
    n_buffers: int = Field(default=64, ge=2, le=65_536, description="ZeroMQ: records in flight to all subscribers together. A stream's ring belongs to the subscriber.")
    allow_users: list[Annotated[int, Field(ge=0, le=4_294_967_295)]] = Field(default=[], description="stream: ids of other users that may subscribe, besides our own and root.")


class SeedKeys(Section):
    """The run as a whole."""

    seed: int = Field(default=1, ge=0, le=9_223_372_036_854_775_807, description="Seed of all random numbers: same seed, same bytes.")
