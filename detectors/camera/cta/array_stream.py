# SPDX-License-Identifier: Apache-2.0
"""Sends a run's published events to the array's data handler: R1v1 messages (Protobuf) over ZeroMQ PUSH.

    anello r1-stream stream://@anello tcp://127.0.0.1:9100 --camera LSTCam

Each ZeroMQ message is one CTAMessage with one payload: data stream, camera configuration, events, end of stream. The
receiver parses the fields itself and accepts only this order: type, source, count, payloads.
"""

from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

import numpy as np
import zmq
from numpy.typing import NDArray

from anello.errors import ConfigError
from anello.subscribe import Record

from ..event import BOARD_HEADER, DRAGON_DRS4, GAIN_SELECTED, N_CHIPS, CameraEvent, shapes_of
from .r1v1 import Messages

DATA_STREAM, CAMERA_CONFIGURATION, EVENT, END_OF_STREAM = 20, 21, 22, -1  # payload_type
HIGH_WATER_MARK, KEEPALIVE_S, KEEPALIVE_INTERVAL_S = 1000, 10_000, 300  # values of the array's own senders
SOURCE = "anello"
LONGEST_WAIT_MS = 10_000  # time for a receiver to take the last messages


def framed(kind: int, payload: bytes, count: int, source: str = SOURCE) -> bytes:
    """A CTAMessage: fields 1 (type), 2 (source), 3 (count, fixed), 4 (payload)."""
    name = source.encode()
    head = b"\x08" + _varint(kind % 2**64) + b"\x12" + _varint(len(name)) + name
    return head + b"\x1d" + (count % 2**32).to_bytes(4, "little") + b"\x22" + _varint(len(payload)) + payload


def _varint(value: int) -> bytes:
    groups = bytearray()
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*groups, value])


class Sender:
    """Connects to a receiver, or listens if the address has a `*`, and sends one run after the other.

    n_refused: events that cannot be in the stream and were not sent; why_refused: the error of the first of them.
    Raises ConfigError if the address cannot be used; sending raises TimeoutError if no receiver takes the messages.
    """

    def __init__(self, address: str, messages: Messages, timeout_ms: int = LONGEST_WAIT_MS) -> None:
        self._messages, self._timeout_ms, self._count = messages, timeout_ms, 0
        self.n_refused, self.why_refused = 0, ""
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.PUSH)
        # fmt: off
        settings = {
            zmq.SNDHWM: HIGH_WATER_MARK, zmq.IMMEDIATE: 1, zmq.LINGER: timeout_ms, zmq.SNDTIMEO: timeout_ms,
            zmq.TCP_KEEPALIVE: 1, zmq.TCP_KEEPALIVE_IDLE: KEEPALIVE_S, zmq.TCP_KEEPALIVE_INTVL: KEEPALIVE_INTERVAL_S,
        }
        # fmt: on
        for option, value in settings.items():
            self._socket.setsockopt(option, value)
        try:
            (self._socket.bind if "*" in address else self._socket.connect)(address)
        except zmq.ZMQError as error:
            raise ConfigError("TO", f"cannot be used ({error})", address, "For example tcp://127.0.0.1:9100.") from None

    @property
    def address(self) -> str:
        """The address on which it listens, or to which it connects."""
        return str(self._socket.getsockopt_string(zmq.LAST_ENDPOINT))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self._socket.close()

    def send(self, events: Iterator[CameraEvent]) -> int:
        """Sends a run and its end; returns the number of events sent. Events unfit for the stream are counted."""
        n_sent = sum(self._send(event) for event in events)
        self._push(END_OF_STREAM)
        self._count = 0
        return n_sent

    def _send(self, event: CameraEvent) -> bool:
        head = []
        try:
            if self._count == 0:
                head = [
                    (DATA_STREAM, self._messages.data_stream(event)),
                    (CAMERA_CONFIGURATION, self._messages.configuration(event)),
                ]
            message = self._messages.event(event)
        except ValueError as error:
            self.n_refused += 1
            self.why_refused = self.why_refused or str(error)
            return False
        for kind, described in head:
            self._push(kind, described)
        self._push(EVENT, message)
        return True

    def _push(self, kind: int, message: Any = None) -> None:
        payload = message.SerializeToString() if message is not None else b""
        try:
            self._socket.send(framed(kind, payload, self._count), copy=False)
        except zmq.Again:
            raise TimeoutError(f"{self.address}: nobody took a message for {self._timeout_ms / 1e3:g} s") from None
        self._count += 1


def event_of(record: Record) -> CameraEvent:
    """A published record as an event. Boards of another shape than its array have no samples (payload_bytes 0), as the
    array does not hold all of them: a board that could not be calibrated has two gains while the others have one.
    Raises ValueError if the record has no waveforms: publish.what must be event."""
    arrays = record.arrays
    if record.kind != "camera_event" or "waveforms" not in arrays:
        raise ValueError(f'record {record.sequence} has no waveforms: set publish.what = "event"')
    headers = np.ascontiguousarray(arrays["board_header"]).view(BOARD_HEADER).reshape(-1).copy()
    if arrays["waveforms"].ndim == 4:
        payloads = _of_one_shape(headers, arrays["waveforms"], arrays.get("first_cells"))
    else:
        payloads = _without_padding(headers, arrays["waveforms"])
    return CameraEvent(
        run_id=record.run,
        event_number=int(arrays["event_number"]),
        timestamp_ns=int(arrays["timestamp_ns"]),
        first_ns=int(arrays["first_ns"]),
        closed_ns=int(arrays["closed_ns"]),
        n_boards=int(arrays["n_boards"]),
        boards=arrays["board"],
        headers=headers,
        payloads=payloads,
    )


def _of_one_shape(
    headers: NDArray[Any], waveforms: NDArray[np.uint16], cells: NDArray[np.uint16] | None
) -> NDArray[np.uint8]:
    """Payloads of the boards whose samples are present, as they sent them; sets the headers' payload_bytes to that.
    If one of two gains was sent, it is in the place of the high one."""
    shapes, whole = shapes_of(headers), np.array(waveforms.shape[1:])
    is_one = ((headers["flags"] >> 2 & GAIN_SELECTED) != 0) & (shapes[:, 0] == 1)
    fits = (shapes[:, 1:] == whole[1:]).all(axis=1) & (is_one | (shapes[:, 0] == whole[0]))
    n_bytes = np.where(fits, 2 * shapes.prod(axis=1, dtype=np.int64), 0)
    has_cells = fits & (headers["counters_kind"] == DRAGON_DRS4) & (cells is not None)
    headers["payload_bytes"] = n_bytes + np.where(has_cells, 2 * N_CHIPS, 0)
    sent = np.ascontiguousarray(waveforms, "<u2").reshape(len(headers), -1).view(np.uint8)
    is_used = np.arange(sent.shape[1]) < n_bytes[:, np.newaxis]
    if cells is None:
        return sent[is_used]
    own = np.ascontiguousarray(cells, "<u2").view(np.uint8)
    has_own = np.broadcast_to(has_cells[:, np.newaxis], own.shape)
    payloads: NDArray[np.uint8] = np.concatenate([sent, own], axis=1)[np.concatenate([is_used, has_own], axis=1)]
    return payloads


def _without_padding(headers: NDArray[Any], payloads: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """payloads: uint8[B, n], where zeros follow the shorter ones."""
    headers["payload_bytes"] = np.minimum(headers["payload_bytes"], payloads.shape[1])
    pieces = [payload[:n] for payload, n in zip(payloads, headers["payload_bytes"].tolist(), strict=True)]
    return np.concatenate(pieces) if pieces else payloads.reshape(-1)
