# SPDX-License-Identifier: Apache-2.0
"""Streams as Python sees them; the protocol's own tests are in tests/{unit,property,conformance}/stream."""

import asyncio
import gc
import itertools
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from opened import opened

from anello import stream
from anello.errors import ConfigError
from anello.system.secret_keys import make as make_keys

_engine = pytest.importorskip("anello._engine", reason="the compiled engine is not built")

SMALL = 1 << 16
PEER_TIMEOUT_S = 1.0
_numbers = itertools.count()

Pair = tuple[stream.Stream, stream.Stream]


def unused_address() -> str:
    return f"@anello-python-{os.getpid()}-{next(_numbers)}"


def joined() -> Pair:
    with stream.listen(unused_address(), ring_bytes=SMALL, wait="block") as listener, ThreadPoolExecutor(1) as other:
        accepted = other.submit(listener.accept, 20)
        return stream.connect(listener.address, ring_bytes=SMALL, wait="block"), accepted.result()


@pytest.fixture
def pair() -> Iterator[Pair]:
    near, far = joined()
    yield near, far
    near.close()
    far.close()


def test_bytes_arrays_and_the_end_of_stream(pair: Pair) -> None:
    near, far = pair
    assert near.send(b"bytes") == 5
    assert near.send(np.arange(4, dtype=np.int64)) == 32
    assert far.recv(5) == b"bytes"
    room = np.zeros(4, np.int64)
    far.recv_exactly(room, timeout=20)
    assert room.tolist() == [0, 1, 2, 3]
    near.finish()
    assert far.recv(1) == b""
    with pytest.raises(EOFError):
        far.recv_exactly(bytearray(3))


def test_what_was_peeked_at_is_the_ring_itself(pair: Pair) -> None:
    near, far = pair
    room = near.reserve(800)
    room.view(np.float64)[:] = np.linspace(0, 1, 100)
    near.commit(800)
    found = far.peek(800, timeout=20)
    assert found.dtype == np.uint8
    assert not found.flags.owndata
    assert not found.flags.writeable
    np.testing.assert_array_equal(found.view(np.float64), np.linspace(0, 1, 100))
    far.release(800)
    with pytest.raises(ValueError, match="more than the 0 peeked"):
        far.release(1)
    with pytest.raises(ValueError, match="more than the 0 reserved"):
        near.commit(1)


def test_views_outlive_the_stream(pair: Pair) -> None:
    near, far = joined()
    near.send(b"still here")
    found = far.peek(10, timeout=20)
    far.close()
    del near, far
    assert found.tobytes() == b"still here"


def test_messages(pair: Pair) -> None:
    near, far = pair
    for n in range(3):
        near.send_message(np.full(n, n, np.uint16))
    near.finish()
    assert [found.view(np.uint16).tolist() for found in far.messages(timeout=20)] == [[], [1], [2, 2]]
    assert far.recv_message() is None
    assert far.counters()["messages_received"] == 3


def test_every_status_is_an_exception_of_its_own(pair: Pair) -> None:
    near, far = pair
    with pytest.raises(BlockingIOError):
        far.recv(1, timeout=0)
    with pytest.raises(TimeoutError):
        far.recv(1, timeout=0.001)
    with pytest.raises(stream.MessageTooLargeError):
        near.send_message(bytes(SMALL))
    with pytest.raises(TimeoutError) as late:
        near.send(bytes(SMALL + 100), timeout=0.001)
    assert late.value.n_bytes == SMALL  # type: ignore[attr-defined]
    far.close()
    with pytest.raises(BrokenPipeError):
        near.send(b"x")


def test_a_broken_frame_is_corrupt(pair: Pair) -> None:
    near, far = pair
    near.send(b"\xff" * 8)
    with pytest.raises(stream.StreamCorruptError):
        far.recv_message(timeout=20)


def test_a_block_that_fails_leaves_no_end_of_stream() -> None:
    near, far = joined()

    def fail_halfway() -> None:
        with near:
            near.send(b"half")
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        fail_halfway()
    assert far.recv(100, timeout=20) == b"half"
    with pytest.raises(ConnectionResetError):
        far.recv(100, timeout=20)


def test_only_one_thread_at_a_time_for_each_way(pair: Pair) -> None:
    near, far = pair

    def look_again_and_again() -> None:
        for _ in range(1_000_000):
            with suppress(BlockingIOError):
                far.recv(1, timeout=0)

    with ThreadPoolExecutor(1) as other:
        waiting = other.submit(far.recv, 1)
        with pytest.raises(RuntimeError, match="another thread receives"):
            look_again_and_again()
        near.send(b"!")
        assert waiting.result(20) == b"!"


def test_the_descriptor_in_poll(pair: Pair) -> None:
    near, far = pair
    poll = select.poll()
    poll.register(far, select.POLLIN)
    with pytest.raises(BlockingIOError):
        far.recv(1, timeout=0)
    assert poll.poll(0) == []
    near.send(b"x")
    assert poll.poll(20_000)
    assert far.recv(1, timeout=0) == b"x"


def test_asyncio(pair: Pair) -> None:
    near, far = pair
    n_total = 5 * SMALL

    async def receive() -> int:
        n_received = 0
        readable = asyncio.Event()
        asyncio.get_running_loop().add_reader(far, readable.set)
        while True:
            try:
                n_bytes = len(far.recv(SMALL, timeout=0))
            except BlockingIOError:
                await asyncio.wait_for(readable.wait(), 20)
                readable.clear()
                continue
            if not n_bytes:
                asyncio.get_running_loop().remove_reader(far)
                return n_received
            n_received += n_bytes

    def send() -> None:
        near.send(bytes(n_total))
        near.finish()

    sender = threading.Thread(target=send)
    sender.start()
    assert asyncio.run(receive()) == n_total
    sender.join()


def test_wrong_use_names_the_field() -> None:
    with pytest.raises(ConfigError, match=r"^ring_bytes"):
        stream.listen(unused_address(), ring_bytes=100)
    with pytest.raises(ConfigError, match=r"^wait"):
        stream.listen(unused_address(), wait="nap")  # type: ignore[arg-type]
    with pytest.raises(OSError, match="cannot connect"):
        stream.connect(unused_address(), connect_s=0.001)
    with stream.listen(unused_address()) as listener, pytest.raises(TimeoutError):
        listener.accept(timeout=0)
    with pytest.raises(ValueError, match="closed"):
        listener.accept()


KILLED = """
import os, signal, sys
from anello import stream
with stream.connect(sys.argv[1]) as out:
    out.send(b"last words")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.process
def test_a_killed_process_is_found_after_its_last_words() -> None:
    with stream.listen(unused_address(), wait="block") as listener:
        with subprocess.Popen([sys.executable, "-c", KILLED, listener.address]) as process:
            far = listener.accept(timeout=60)
            assert far.recv(100) == b"last words"
            with pytest.raises(ConnectionResetError):
                far.recv(100, timeout=60)
        assert process.returncode == -signal.SIGKILL


INTERRUPTED = """
import signal, sys
from anello import stream
signal.signal(signal.SIGINT, signal.default_int_handler)  # who starts the tests may ignore it
with stream.connect(sys.argv[1], wait=sys.argv[2]) as out:
    try:
        out.send(b"ready")
        out.recv(1)
    except KeyboardInterrupt:
        sys.exit(7)
"""


@pytest.mark.parametrize("wait", ["spin", "block"])
@pytest.mark.process
def test_ctrl_c_ends_a_wait(wait: str) -> None:
    with stream.listen(unused_address(), wait="block") as listener:
        with subprocess.Popen([sys.executable, "-c", INTERRUPTED, listener.address, wait]) as process:
            far = listener.accept(timeout=60)
            assert far.recv(5) == b"ready"
            process.send_signal(signal.SIGINT)
            try:
                process.wait(60)
            finally:
                process.kill()
        assert process.returncode == 7


@pytest.mark.parametrize("scheme", ["tcp", "ucx"])
@pytest.mark.parametrize("carry", ["message", "put"])
def test_over_a_network(scheme: str, carry: stream.Carry) -> None:
    values = np.arange(100_000, dtype=np.uint32)
    try:
        listener = stream.listen(f"{scheme}://127.0.0.1:0", ring_bytes=SMALL, carry=carry, ucx_tls="tcp")
        with listener, ThreadPoolExecutor() as pool:
            accepting = pool.submit(listener.accept, 20)
            near = stream.connect(listener.address, ring_bytes=SMALL, carry=carry, ucx_tls="tcp")
            far = accepting.result()
            sending = pool.submit(near.send, values, 20)
            got = np.empty_like(values)
            far.recv_exactly(got, timeout=20)
            assert sending.result() == values.nbytes
    except ConfigError as error:
        pytest.skip(str(error))
    assert (got == values).all()
    near.close()
    assert far.recv(1, timeout=20) == b""
    far.close()
    assert far.counters()["bytes_received"] == values.nbytes
    assert near.counters()["pieces_sent"] > 0


SEVERAL = """
import os, sys
from anello import stream
streams = [stream.connect(sys.argv[1]) for _ in range(int(sys.argv[2]))]
for each in streams:
    each.send(b"last words")
sys.stdin.read()
"""


def ring_bytes_mapped() -> int:
    spans = [
        line.split()[0].split("-") for line in Path("/proc/self/maps").read_text().splitlines() if "anello-ring" in line
    ]
    return sum(int(end, 16) - int(begin, 16) for begin, end in spans)


@pytest.mark.process
def test_what_dead_peers_held_goes_back_at_once() -> None:
    n_peers = 20
    gc.collect()  # streams that earlier tests left
    with stream.listen(unused_address(), ring_bytes=SMALL, wait="block") as listener:
        before, mapped_before = opened(), ring_bytes_mapped()
        code = [sys.executable, "-c", SEVERAL, listener.address, str(n_peers)]
        with subprocess.Popen(code, stdin=subprocess.PIPE) as process:
            streams = [listener.accept(timeout=60) for _ in range(n_peers)]
            for each in streams:
                assert each.recv(10, timeout=60) == b"last words"
            process.kill()
        assert ring_bytes_mapped() >= mapped_before + n_peers * SMALL
        for each in streams:
            with pytest.raises(ConnectionResetError):
                each.recv(10, timeout=60)
        assert (opened() - before, ring_bytes_mapped()) == (set(), mapped_before)
        for each in streams:  # and stays as it was
            assert each.fileno() == -1
            with pytest.raises(ConnectionResetError):
                each.send(b"x")
            each.close()


def test_a_view_outlives_its_peer_and_its_stream() -> None:
    near, far = joined()
    near.send(b"still here")
    found = far.peek(10, timeout=20)
    near.abandon()
    far.release(10)
    with pytest.raises(ConnectionResetError):
        far.recv(1, timeout=20)
    assert far.fileno() == -1
    assert found.tobytes() == b"still here"


CLOSES_AND_EXITS = """
import os, sys
from anello import stream
out = stream.connect(sys.argv[1], ucx_tls="tcp", wait="block")
out.send(bytes(range(256)) * (3 << 12))
out.close()
os._exit(0)
"""


@pytest.mark.parametrize("scheme", ["shm", "tcp", "ucx"])
@pytest.mark.process
def test_what_was_sent_before_close_comes_though_the_process_ends_at_once(scheme: str) -> None:
    """The reader begins when the sender's process is no more."""
    content = bytes(range(256)) * (3 << 12)
    with (
        stream.listen(unused_address()) if scheme == "shm" else listen_over(scheme, ring=4 << 20) as listener,
        program(CLOSES_AND_EXITS, listener.address) as process,
    ):
        far = listener.accept(timeout=60)
        process.wait(60)
        got = bytearray(len(content))
        far.recv_exactly(got, timeout=60)
        assert got == content
        assert far.recv(1, timeout=60) == b""
        far.close()


def listen_over(scheme: str, ring: int = SMALL, **options: Any) -> stream.Listener:
    try:
        return stream.listen(f"{scheme}://127.0.0.1:0", ring_bytes=ring, ucx_tls="tcp", **options)
    except ConfigError as error:
        pytest.skip(str(error))


def program(code: str, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", code, *arguments])


HALF_A_MESSAGE = """
import sys
from anello import stream
out = stream.connect(sys.argv[1], ucx_tls="tcp", wait="block")
out.send_message(b"whole")
out.send((40_000).to_bytes(8, "little") + bytes(1000))
out.recv(1)
"""


@pytest.mark.parametrize("scheme", ["tcp", "ucx"])
@pytest.mark.process
def test_a_process_killed_within_a_message(scheme: str) -> None:
    with listen_over(scheme, wait="block") as listener, program(HALF_A_MESSAGE, listener.address) as process:
        far = listener.accept(timeout=60)
        assert far.recv_message(timeout=60) == b"whole"
        far.peek(1008, timeout=60)
        process.kill()
        with pytest.raises(ConnectionResetError):
            far.recv_message(timeout=60)
        with pytest.raises(ConnectionResetError):
            far.send(bytes(8 << 20), timeout=60)  # more than the ring: a few bytes would go unnoticed
    assert far.counters()["messages_received"] == 1


STANDS_STILL = """
import sys
from anello import stream
out = stream.connect(sys.argv[1], ucx_tls="tcp", wait="block", ring_bytes=1 << 16)
out.send(b"ready")
try:
    out.recv_exactly(bytearray(1 << 20))
except ConnectionResetError:
    sys.exit(7)
"""


@pytest.mark.parametrize("scheme", ["tcp", "ucx"])
@pytest.mark.parametrize("sends", [False, True])
@pytest.mark.process
def test_a_process_that_stands_still_is_dead_and_knows_it_when_it_moves_again(scheme: str, *, sends: bool) -> None:
    with (
        listen_over(scheme, wait="block", peer_timeout_s=PEER_TIMEOUT_S) as listener,
        program(STANDS_STILL, listener.address) as process,
    ):
        far = listener.accept(timeout=60)
        assert far.recv(5, timeout=60) == b"ready"
        process.send_signal(signal.SIGSTOP)
        stopped_s = time.monotonic()
        with pytest.raises(ConnectionResetError):
            far.send(bytes(1 << 20), timeout=60) if sends else far.recv(1, timeout=60)
        silent_s = time.monotonic() - stopped_s
        process.send_signal(signal.SIGCONT)
        process.wait(60)
    assert process.returncode == 7
    assert silent_s > PEER_TIMEOUT_S / 2, "given up too soon"
    assert far.counters()["courier_lost_peer"] == 1


def test_an_address_that_cannot_be() -> None:
    with pytest.raises(ConfigError, match=r"^address"):
        stream.listen("tcp://localhost")


@pytest.mark.process
def test_what_does_not_leave_before_close_is_said() -> None:
    """The peer's process stands still: its kernel takes a part."""
    code = STANDS_STILL.replace("1 << 16", "32 << 20")
    with (
        listen_over("tcp", wait="block", peer_timeout_s=PEER_TIMEOUT_S) as listener,
        program(code, listener.address) as process,
    ):
        far = listener.accept(timeout=60)
        assert far.recv(5, timeout=60) == b"ready"
        process.send_signal(signal.SIGSTOP)
        assert far.send(bytes(24 << 20), timeout=0) == 24 << 20
        with pytest.raises(ConnectionResetError, match="are lost") as late:
            far.close()
        process.kill()
    n_left = far.counters()["bytes_left_behind"]
    assert late.value.n_bytes == n_left  # type: ignore[attr-defined]
    assert 0 < n_left < 24 << 20
    far.close()  # says nothing twice


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Keys of two farms."""
    for name in ("ours", "theirs"):
        make_keys(tmp_path / name)
    return tmp_path / "ours", tmp_path / "theirs"


def test_keys_of_a_folder_join_both_sides_over_a_network(folders: tuple[Path, Path]) -> None:
    ours, _ = folders
    with listen_over("tcp", keys=ours) as listener, ThreadPoolExecutor(1) as pool:
        accepting = pool.submit(listener.accept, 20)
        near = stream.connect(listener.address, keys=ours)
        far = accepting.result()
    near.send(b"known")
    assert far.recv(5, timeout=20) == b"known"
    near.close()
    far.close()


@pytest.mark.parametrize("connects_with_keys", [True, False])
def test_strangers_over_a_network_are_refused_and_reported(
    folders: tuple[Path, Path], *, connects_with_keys: bool
) -> None:
    ours, theirs = folders
    with listen_over("tcp", keys=ours) as listener, ThreadPoolExecutor(1) as pool:
        refused = pool.submit(stream.connect, listener.address, keys=theirs if connects_with_keys else None)
        with pytest.raises(TimeoutError):
            listener.accept(timeout=0.5)
        with pytest.raises(ConfigError, match="no stream was established"):
            refused.result()
        assert listener.counters()["refused_key"] == 1


def test_an_address_of_the_network_needs_keys_or_a_word() -> None:
    with pytest.raises(ConfigError, match=r"^keys"):
        stream.listen("tcp://0.0.0.0:0")
    with pytest.raises(ConfigError, match=r"^keys"):
        stream.connect("tcp://192.0.2.1:9")
    stream.listen("tcp://0.0.0.0:0", without_keys=True).close()
    with pytest.raises(ConfigError, match="--make-keys"):
        stream.listen("tcp://127.0.0.1:0", keys=Path("/nowhere"))
