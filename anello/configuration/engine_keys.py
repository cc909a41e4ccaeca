# SPDX-License-Identifier: Apache-2.0
# Made by bindings/make_engine_keys.py from the tables of keys in C++; not written by hand.
"""Sections, and parts of sections, whose keys are declared in C++."""

from typing import Annotated, Literal

from pydantic import Field

from anello.configuration.section import Section


class BackendKeys(Section):
    """Datagrams from the network, or from a file."""

    backend: Literal["socket", "io_uring", "af_xdp", "pcap", "nanet"] = Field(default="socket", description="How datagrams are received: from sockets, by recvmmsg or io_uring; from an interface, by AF_XDP; from a capture file; through the simulated network card. `anello doctor` shows which of them work on this machine.")
    interface: str = Field(default="lo", min_length=1, max_length=15, description="Backend af_xdp: the network interface.")
    host: str = Field(default="127.0.0.1", min_length=1, description="Local address to listen on; 0.0.0.0: all, ::: all over IPv4 and IPv6; the address of a multicast group: the group is joined.")
    group_interface: str = Field(default="", max_length=15, description="Backends socket and io_uring, with a multicast group: the interface of its datagrams; empty: by the system's routes. The other backends join by receive.interface.")
    group_source: str = Field(default="", description="With a multicast group: the only accepted sender (SSM, IGMPv3 or MLDv2); empty: any (ASM).")
    pcap_file: str = Field(default="", description="Backend pcap: the file to read. Backend nanet: the file whose frames the card gets; empty: it gets datagrams of sockets.")
    pcap_speed: float = Field(default=1, ge=0, le=1_000, description="Backends pcap and nanet: speed of the file's replay; 1: as recorded, 0: as fast as possible.")
    nanet_interface: str = Field(default="", max_length=15, description="Backend nanet: the network interface whose frames the card gets unchanged; empty: those of pcap_file, or datagrams of sockets. Needs CAP_NET_RAW.")
    nanet_library: str = Field(default="", description="Backend nanet: the card's model, a shared library; empty: the one that `anello nanet library` makes in the source tree.")
    nanet_gathering_cycles: int = Field(default=200, ge=0, le=100_000, json_schema_extra={"expert": True}, description="Backend nanet: longest time from the first record of a buffer until the card hands the buffer on, cycles of 6.4 ns; 0: after each record.")
    nanet_merge: bool = Field(default=False, description="Backend nanet, for a chain of one node that merges fragments by time: true: the card merges them, by the keys of the section build; false: the chain does.")
    nanet_timeout_cycles: int = Field(default=0, ge=0, le=1_073_741_823, json_schema_extra={"expert": True}, description="With nanet_merge: time after which a board that the card waits for is silent, cycles of 6.4 ns; 0: build.timeout_ms, by the card's clock, which is some hundred times slower than real time.")
    gro: bool = Field(default=True, description="Receives several datagrams of one board at a time from the kernel (UDP_GRO).")
    batch_datagrams: int = Field(default=64, ge=1, le=1_024, json_schema_extra={"expert": True}, description="Maximum number of datagrams per system call.")
    busy_poll_us: int = Field(default=0, ge=0, le=10_000, description="Backends socket and af_xdp: a thread that looks for datagrams polls the card's queue for this time, us, with the card's interrupts off (SO_BUSY_POLL), for threads that spin; 0: never. Needs CAP_NET_ADMIN and a card: no effect on loopback and virtual links.")
    socket_buffer_bytes: int = Field(default=67108864, ge=4_096, le=1_073_741_824, description="Kernel receive buffer requested per port; the size granted is reported.")


class BufferRulesKeys(Section):
    """Datagrams from the network, or from a file."""

    policy: Literal["wait", "drop_new", "overwrite_oldest"] = Field(default="wait", description="What happens if no buffer is free: datagrams wait in the kernel's buffer, new datagrams are dropped, or the oldest full buffer is overwritten. Losses are counted.")
    memory: Literal["host", "huge", "pinned"] = Field(default="host", description="Kind of memory; pinned: page-locked for a CUDA device. If it is not available, another kind is used and reported.")


class PortsKeys(Section):
    """Datagrams from the network, or from a file."""

    ports: list[Annotated[int, Field(ge=0, le=65_535)]] = Field(default=[0], min_length=1, max_length=1024, description="UDP ports to listen on; 0: any free one.")


class SourcesKeys(Section):
    """Datagrams from the network, or from a file."""

    sources: list[str] = Field(default=[], max_length=1024, description="Sender of each board: ADDRESS, or ADDRESS:PORT; one entry applies to all boards, empty text leaves a board open. An open board is bound to the first address that sends for it; its datagrams from other addresses are counted and not used.")


class PublishKeys(Section):
    """Results for programs that subscribe to them during the run."""

    to: Literal["nothing", "stream", "zmq_push", "zmq_pub"] = Field(default="nothing", description="stream: rings in shared memory, for programs on this machine, each of which gets all records; zmq_pub: the same over ZeroMQ; zmq_push: each record goes to one of the subscribers.")
    address: str = Field(default="", description="Address for subscribers; stream: @name, or a path; ZeroMQ: tcp://INTERFACE:PORT (*: any free port) or ipc://PATH. Exchange: {node} is the node's number.")
    when_full: Literal["wait", "drop"] = Field(default="drop", description="What happens if a subscriber has no room, or there is none. wait: the previous stages wait, too; drop: the record is dropped and counted.")
    max_subscribers: int = Field(default=8, ge=1, le=64, description="stream: most subscribers at a time; ZeroMQ: a subscriber may use 1/max_subscribers of n_buffers.")
    n_buffers: int = Field(default=64, ge=2, le=65_536, description="ZeroMQ: records in flight to all subscribers together. A stream's ring belongs to the subscriber.")
    allow_users: list[Annotated[int, Field(ge=0, le=4_294_967_295)]] = Field(default=[], description="stream: ids of users that may subscribe, besides this user and root.")


class SeedKeys(Section):
    """The run as a whole."""

    seed: int = Field(default=1, ge=0, le=9_223_372_036_854_775_807, description="Seed of all random numbers: same seed, same bytes.")
