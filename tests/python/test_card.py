# SPDX-License-Identifier: Apache-2.0
"""The card from Python: buffers in place, all ways to wait, counters, and the example."""

import asyncio
import gc
import re
import select
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from packet_files import vectors, write_capture

pytest.importorskip("anello._engine", reason="the compiled engine is not built")
from anello import card as cards
from anello import packets
from anello.card import Card
from anello.errors import ConfigError

ROOT = Path(__file__).parents[2]
MGP = vectors()["mgp_16bit_checksum"][0]


class Sender:
    """A stranger's plain socket."""

    def __init__(self, port: int) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.connect(("127.0.0.1", port))
        self.address = self._socket.getsockname()

    def __call__(self, *datagrams: bytes) -> None:
        for datagram in datagrams:
            self._socket.send(datagram)

    def __del__(self) -> None:
        self._socket.close()


def small(**more: object) -> Card:
    return Card(socket_buffer_bytes=4 << 20, **more)  # type: ignore[arg-type]


def test_datagrams_where_they_lie_with_stamps_and_verdicts() -> None:
    with small() as card:
        board = card.register(format_name="mgp", gathering_time_us=100_000)
        send = Sender(board.port)
        send(MGP, MGP[:-1] + b"\xff", b"?")
        with board.wait(60) as buffer:
            assert [bytes(each) for each in buffer] == [MGP, MGP[:-1] + b"\xff", b"?"]
            assert [buffer.verdict(i) for i in range(len(buffer))] == ["ok", "wrong_checksum", "too_short"]
            assert buffer.datagrams["sequence"][0] == packets.decode(MGP).header["sequence"]
            assert list(buffer.datagrams["has_sequence"]) == [True, False, False]
            assert buffer.datagrams["kernel_ns"].min() > 0
            host, port = buffer.source(0)
            assert (str(host), port) == send.address
            assert np.shares_memory(buffer[0], buffer.bytes)
            assert not buffer.bytes.flags.writeable
        assert board.verdicts()["wrong_checksum"] == 1
        assert board.counters()["datagrams"] == 3


def test_what_finds_no_buffer_is_counted() -> None:
    with small() as card:
        stream = card.register(n_buffers=2, max_datagrams=1, when_full="drop_new")
        send = Sender(stream.port)
        held = []
        for i in range(5):
            send(bytes([i]))
            if i < 2:
                held.append(stream.wait(60))
        while stream.counters()["datagrams"] < 5:
            select.select([], [], [], 0.001)
        assert stream.take() is None
        assert [bytes(buffer[0]) for buffer in held] == [b"\0", b"\1"]
        assert stream.counters()["blocks_dropped"] == 3
        held[1].give_back()
        held[1].give_back()  # once is enough
        send(b"again")
        assert bytes(stream.wait(60)[0]) == b"again"


def test_the_oldest_buffer_that_was_not_taken_is_overwritten() -> None:
    with small() as card:
        stream = card.register(n_buffers=2, max_datagrams=1, when_full="overwrite_oldest")
        send = Sender(stream.port)
        send(*(bytes([i]) for i in range(5)))
        while stream.counters()["datagrams"] < 5:
            select.select([], [], [], 0.001)
        assert [bytes(stream.wait(60)[0]) for _ in range(2)] == [b"\3", b"\4"]  # counted a moment before it is there
        assert stream.take() is None
        counters = stream.counters()
        assert (counters["overwritten"], counters["blocks_dropped"]) == (3, 0)


def numbered(sequence: int, board: int = 3) -> bytes:
    """A packet of mgp without checksum, with one event without hits."""
    return struct.pack("<4sBBHHHIIIQ", b"MGP1", 1, 0, 38, board, 1, sequence, 0, 0, 0) + bytes(6)


def test_what_is_missing_shows_by_the_numbers_of_a_format() -> None:
    with small() as card:
        stream = card.register(format_name="mgp", gathering_time_us=100_000, max_sources=2)
        first, second = Sender(stream.port), Sender(stream.port)
        first(*(numbered(i) for i in (1000, 1003, 1001, 1001)))
        second(numbered(5), numbered(6, board=4), b"?")
        while stream.counters()["datagrams"] < 7:
            select.select([], [], [], 0.001)
        for _ in range(7):
            if stream.counters()["numbered"] < 6:
                with stream.wait(60):
                    pass
        counters = stream.counters()
        fates = {name: counters[name] for name in ("in_order", "late", "duplicates", "strays", "restarts", "untracked")}
        assert fates == {"in_order": 3, "late": 1, "duplicates": 1, "strays": 0, "restarts": 0, "untracked": 1}
        assert (counters["numbered"], counters["lost"], counters["sources"]) == (6, 1, 2)
        one, other = stream.sources()
        assert (one.source_id, one.packets, one.late, one.duplicates, one.lost) == (3, 4, 1, 1, 1)
        assert (str(one.address), one.port) == first.address
        assert ((str(other.address), other.port), other.lost) == (second.address, 0)


def test_nothing_comes_in_time_and_nothing_will_come() -> None:
    with small() as card:
        stream = card.register()
        assert stream.take() is None
        with pytest.raises(TimeoutError, match=f"port {stream.port}"):
            stream.wait(0.01)
        received: list[object] = []
        waiting = threading.Thread(target=lambda: received.extend(stream))
        waiting.start()
        card.stop()
        waiting.join()
        assert (received, stream.finished, stream.wait()) == ([], True, None)


def test_asyncio_takes_turns_with_other_tasks() -> None:
    async def receive(card: Card) -> list[bytes]:
        stream = card.register()
        send = Sender(stream.port)
        asyncio.get_running_loop().call_later(0, send, b"one")
        first = await stream.next()
        assert first is not None
        with first:
            received = [bytes(each) for each in first]
        asyncio.get_running_loop().call_later(0, send, b"two")
        async for buffer in stream:
            received += [bytes(each) for each in buffer]
            break
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await stream.next()
        return received

    with small() as card:
        assert asyncio.run(receive(card)) == [b"one", b"two"]


def test_a_capture_ends(tmp_path: Path) -> None:
    path = write_capture(tmp_path / "mgp.pcap", 1000 * [(6000, MGP * 2)] + [(6001, MGP)])
    with Card(capture=path) as card:
        first, second = card.register(6000, format_name="mgp"), card.register(6001)
        assert sum(len(buffer) for buffer in first) == 2000
        assert sum(len(buffer) for buffer in second) == 1
        assert first.verdicts()["ok"] == 2000
    assert first.counters()["super_packets"] == 1000


def test_arrays_outlive_the_card() -> None:
    card = small()
    stream = card.register()
    Sender(stream.port)(b"still here")
    content = stream.wait(60)[0]
    card.stop()
    del card, stream
    gc.collect()
    assert bytes(content) == b"still here"


def test_memory_that_is_not_there_is_host_memory() -> None:
    stream = small().register(memory="pinned")
    kind, why = stream.memory()
    assert kind == "pinned" or why


@pytest.mark.parametrize(
    ("wrong", "word"),
    [({"format_name": "ogg"}, "ogg"), ({"when_full": "throw_away"}, "wait, drop_new or overwrite_oldest"),
     ({"max_sources": 0, "format_name": "mgp"}, "max_sources: must be 1 to 4096"), ({"n_buffers": 1}, "2"),
     ({"memory": "device"}, "pinned"), ({"buffer_bytes": 10}, "65536")],
)  # fmt: skip
def test_wrong_use_is_named(wrong: dict[str, object], word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        small().register(**wrong)  # type: ignore[arg-type]


def test_a_port_in_use_and_one_too_late() -> None:
    with small() as card:
        port = card.register().port
        with pytest.raises(ConfigError, match="before the card is opened"):
            card.register()
        other = small()
        other.register(port)
        with pytest.raises(OSError, match=str(port)):
            other.start()


def test_buffers_lie_in_memory_of_the_callers() -> None:
    memory = bytearray(4 * 200_000)
    with small() as card:
        board = card.register(n_buffers=4, memory=memory, gathering_time_us=1)
        assert board.memory() == ("given", "")
        Sender(board.port)(b"a stranger's bytes")
        with board.wait(60) as buffer:
            assert b"a stranger's bytes" in memory
            assert np.shares_memory(buffer[0], np.frombuffer(memory, np.uint8))


def test_memory_that_cannot_be_used_is_refused() -> None:
    with small() as card:
        with pytest.raises(ConfigError, match="memory: must be writable"):
            card.register(memory=bytes(1 << 20))
        with pytest.raises(ConfigError, match="65536"):
            card.register(n_buffers=17, memory=bytearray(1 << 20))


def test_records_are_as_the_engine_has_them() -> None:
    assert cards.RECORD.fields is not None
    assert cards.RECORD.fields["kernel_ns"][1] + 8 == cards.RECORD.itemsize


@pytest.mark.process
def test_the_example_receives_a_strangers_stream() -> None:
    """The example gets all datagrams, or says what was lost where: the kernel's buffer may be small here."""
    program = subprocess.Popen(
        [sys.executable, "examples/card/receive.py"], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert program.stdout is not None
    send = Sender(int(program.stdout.readline().split()[-1]))
    sizes = [1 + i % 1400 for i in range(30_000)]
    content = bytes(1400)
    for size in sizes:
        send(content[:size])
    said = program.communicate(timeout=120)[0]
    n_datagrams, n_bytes, n_kernel, n_dropped = map(int, re.findall(r"\d+", said))
    assert n_datagrams + n_kernel == len(sizes)
    assert n_dropped == 0
    assert n_bytes == sum(sizes) or n_kernel > 0
