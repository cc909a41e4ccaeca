# SPDX-License-Identifier: Apache-2.0
"""Records that a running chain publishes, as NumPy arrays without a copy: docs/how-to/subscribe.md.

    for record in anello.subscribe("stream://@anello"):
        print(record.sequence, record.arrays["event_key"])

The format is specified in docs/reference/publish.md.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType, TracebackType
from typing import Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from anello import registry, stream
from anello.errors import ConfigError

MAGIC = b"ANELRECD"
VERSION = 1
KINDS = {0: "end", 1: "decisions", 3: "mep"}  # kinds of a chain's own are in its registration
MAX_ARRAYS, MAX_DIMENSIONS, ALIGNMENT = 64, 4, 8
# fmt: off
HEADER = np.dtype(
    [
        ("magic", "S8"), ("version", "<u2"), ("kind", "<u2"), ("n_arrays", "<u2"), ("reserved", "<u2"),
        ("sequence", "<u8"), ("run", "<u4"), ("reserved_too", "<u4"), ("length_bytes", "<u8"),
        ("published_ns", "<i8"), ("reserved_at_end", "<u8", 2),
    ]
)
# fmt: on
# fmt: off
ENTRY = np.dtype(
    [
        ("name", "S32"), ("type", "u1"), ("n_dimensions", "u1"), ("reserved", "<u2"), ("reserved_too", "<u4"),
        ("shape", "<u4", MAX_DIMENSIONS), ("offset_bytes", "<u8"),
    ]
)
# fmt: on
TYPES = dict(enumerate(map(np.dtype, ("u1", "<u2", "<u4", "<u8", "i1", "<i2", "<i4", "<i8", "<f4", "<f8")), start=1))

Pattern = Literal["sub", "pull"]


@cache
def kinds() -> dict[int, str]:
    """Names of records by their number."""
    chains = (registry.registration(chain).record_kinds for chain in registry.names())
    return KINDS | {number: name for of_chain in chains for number, name in of_chain.items()}


class RecordError(ValueError):
    """The bytes received are no record, or contradict themselves. None of them was used."""


@dataclass(frozen=True)
class Record:
    """One published record. arrays: by name, read-only, each a view of the record's bytes; a single value has shape ().

    With a stream the arrays lie in the ring and are valid until the next record is requested: copy() what is kept
    longer.
    """

    kind: str  # end, decisions, mep, or what a chain registers
    sequence: int  # counts the publisher's records from 0; a dropped record leaves a gap
    run: int  # the run's number, or the burst's where the chain has bursts
    published_ns: int  # Unix time
    arrays: Mapping[str, NDArray[Any]]

    def copy(self) -> "Record":
        """The same record with arrays of its own."""
        arrays = MappingProxyType({name: array.copy() for name, array in self.arrays.items()})
        return Record(self.kind, self.sequence, self.run, self.published_ns, arrays)


def parse(data: "memoryview | bytes | NDArray[np.uint8]") -> Record:
    """A record from its bytes, without copying them. Raises RecordError."""
    if len(data) < HEADER.itemsize:
        raise RecordError(f"{len(data)} bytes are fewer than a header's {HEADER.itemsize}")
    content = np.frombuffer(data, np.uint8)
    content.flags.writeable = False
    header = content[: HEADER.itemsize].view(HEADER)[0]
    if header["magic"] != MAGIC:
        raise RecordError(f"it does not begin with {MAGIC.decode()}: no record of Anello's")
    if header["version"] != VERSION:
        raise RecordError(f"version {header['version']} is not {VERSION}: publisher and subscriber are of two releases")
    kind = kinds().get(int(header["kind"]))
    if kind is None:
        raise RecordError(f"kind {header['kind']} is none")
    n_arrays = int(header["n_arrays"])
    begin = HEADER.itemsize + n_arrays * ENTRY.itemsize
    if n_arrays > MAX_ARRAYS:
        raise RecordError(f"{n_arrays} arrays are announced: more than {MAX_ARRAYS}")
    if int(header["length_bytes"]) != content.size or begin > content.size:
        raise RecordError(f"a length of {header['length_bytes']} bytes is announced, and {content.size} came")
    entries = content[HEADER.itemsize : begin].view(ENTRY)
    arrays = dict(_array(entry, content, begin) for entry in entries)
    if len(arrays) < n_arrays:
        raise RecordError("two arrays have one name")
    return Record(
        kind,
        int(header["sequence"]),
        int(header["run"]),
        int(header["published_ns"]),
        MappingProxyType(arrays),
    )


def _array(entry: Any, content: NDArray[np.uint8], begin: int) -> tuple[str, NDArray[Any]]:
    """Name and view of one array, which must lie within the record and after its entries."""
    try:
        name = bytes(entry["name"]).decode("ascii")
    except UnicodeDecodeError as error:
        raise RecordError(f"an array's name is not ASCII: {entry['name']!r}") from error
    kind, n_dimensions, offset = TYPES.get(int(entry["type"])), int(entry["n_dimensions"]), int(entry["offset_bytes"])
    if not name.isidentifier() or len(name) == ENTRY["name"].itemsize or kind is None or n_dimensions > MAX_DIMENSIONS:
        raise RecordError(f"array {name!r} of type {entry['type']} and {n_dimensions} dimensions cannot be")
    if entry["reserved"] or entry["reserved_too"]:
        raise RecordError(f"array {name!r} has reserved fields that are not 0")
    shape = tuple(map(int, entry["shape"][:n_dimensions]))
    n_bytes = kind.itemsize
    for n in shape:
        n_bytes *= n
    if offset % ALIGNMENT or offset < begin or offset + n_bytes > content.size:
        raise RecordError(f"array {name!r}, {n_bytes} bytes from {offset} on, does not lie within the record")
    try:
        return name, content[offset : offset + n_bytes].view(kind).reshape(shape)
    except ValueError as error:  # the array has no values, and yet dimensions beyond all addresses
        raise RecordError(f"array {name!r} cannot have the shape {shape}") from error


# --- The ways -----------------------------------------------------------------------------------------------------
class _Way(Protocol):
    def next(self, timeout: float | None) -> "memoryview | NDArray[np.uint8] | None":
        """The next record's bytes, valid until the next call; None at the end of a stream. Raises TimeoutError."""

    def close(self) -> None: ...


class _StreamWay:
    def __init__(self, address: str, ring_bytes: int, connect_s: float, allow_users: Sequence[int | str]) -> None:
        self._stream = stream.connect(
            address, ring_bytes=ring_bytes, direction="receive", connect_s=connect_s, allow_users=allow_users
        )
        self._held: AbstractContextManager[NDArray[np.uint8] | None] | None = None

    def next(self, timeout: float | None) -> NDArray[np.uint8] | None:
        self._give_back()
        message = self._stream.message(timeout)
        found = message.__enter__()
        self._held = message
        return found

    def close(self) -> None:
        self._give_back()
        self._stream.close()

    def _give_back(self) -> None:
        held, self._held = self._held, None
        if held:
            held.__exit__(None, None, None)


class _ZmqWay:
    def __init__(self, address: str, pattern: Pattern, high_water_mark: int) -> None:
        import zmq

        self._address, self._pattern = address, pattern
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.SUB if pattern == "sub" else zmq.PULL)
        self._socket.set_hwm(high_water_mark)
        self._socket.linger = 0
        if pattern == "sub":
            self._socket.subscribe(MAGIC)
        try:
            self._socket.connect(address)
        except zmq.ZMQError as error:
            self.close()
            raise ConfigError("address", f"cannot be connected to: {error}", address, "Check it") from error

    def next(self, timeout: float | None) -> memoryview:
        if not self._socket.poll(None if timeout is None else round(timeout * 1e3)):
            raise TimeoutError(
                f"nothing came from {self._address} as {self._pattern}: publish.to must be "
                f"{'zmq_pub' if self._pattern == 'sub' else 'zmq_push'} there"
            )
        return self._socket.recv(copy=False).buffer

    def close(self) -> None:
        self._socket.close()
        self._context.term()


# --- Subscriptions ------------------------------------------------------------------------------------------------
class Subscription:
    """Iterates over records until the publisher has ended. Made by subscribe()."""

    def __init__(self, way: _Way, timeout: float | None) -> None:
        self._way: _Way | None = way
        self._timeout = timeout
        self._next_sequence: int | None = None
        self.n_records = 0
        self.n_missed = 0  # gaps between sequence numbers; with pull also records that other subscribers received

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Record:
        """Raises TimeoutError, RecordError, ConnectionResetError (the publisher died)."""
        record = self.next(self._timeout)
        if record is None:
            raise StopIteration
        return record

    def next(self, timeout: float | None = None) -> Record | None:
        """The next record; None: there are no more. With streams, the previous record becomes invalid."""
        content = self._way.next(timeout) if self._way else None
        record = None if content is None else parse(content)
        if record is None or record.kind == "end":
            if record is not None:
                self._count_missed(record)
            self.close()
            return None
        self._count_missed(record)
        self._next_sequence = record.sequence + 1
        self.n_records += 1
        return record

    def _count_missed(self, record: Record) -> None:
        if self._next_sequence is not None:
            self.n_missed += max(0, record.sequence - self._next_sequence)

    def close(self) -> None:
        """Safe to call twice."""
        way, self._way = self._way, None
        if way:
            way.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def subscribe(
    address: str,
    *,
    pattern: Pattern = "sub",
    timeout: float | None = None,
    ring_bytes: int = 16 << 20,
    high_water_mark: int = 64,
    connect_s: float = 5.0,
    allow_users: Sequence[int | str] = (),
) -> Subscription:
    """Subscribes to what a chain publishes at publish.address.

    address: stream://@NAME or stream:///PATH; tcp://HOST:PORT or ipc://PATH.
    pattern: of ZeroMQ: sub where publish.to is zmq_pub, pull where it is zmq_push.
    timeout: s; TimeoutError if no record arrives in time, after which the next call may wait again; None: no limit.
    ring_bytes: of a stream: bytes that may be on their way to us, a power of two, and no record may be larger.
    high_water_mark: of ZeroMQ: records that may wait here.
    connect_s: of a stream: how long to try until a publisher listens. ZeroMQ tries for ever.
    allow_users: of a stream: users whose chain may be subscribed to, besides our own and root.

    Raises ConfigError (a wrong address), OSError (nobody listens).
    """
    way, _, place = address.partition("://")
    if way == "stream" and place:
        return Subscription(_StreamWay(place, ring_bytes, connect_s, allow_users), timeout)
    if way in ("tcp", "ipc") and place:
        return Subscription(_ZmqWay(address, pattern, high_water_mark), timeout)
    rule = "must be stream://@NAME, stream:///PATH, tcp://HOST:PORT or ipc://PATH"
    raise ConfigError("address", rule, address, "It is publish.address of the chain; a stream's behind stream://")
