# SPDX-License-Identifier: Apache-2.0
"""Unmodified ZeroMQ programs over rings: that messages are right, and what happens when a side is old, full or gone."""

import errno
import random
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from subprocess import Popen

import pytest
import seeds
import zmq
from zmq.utils.monitor import recv_monitor_message
from zmq_peers import PATIENCE_MS, Spawn, n_lent, n_rings

pytestmark = pytest.mark.process

Make = Callable[..., zmq.Socket]
OFFER = "X-Anello-Ring"


def payload(n_bytes: int, seed: int) -> bytes:
    return random.Random(seed).randbytes(n_bytes)


def failed_handshake(monitor: zmq.Socket) -> int:
    """The error number of the first handshake that failed."""
    monitor.RCVTIMEO = PATIENCE_MS
    while True:
        event = recv_monitor_message(monitor)
        if event["event"] == zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL:
            return int(event["value"])


@pytest.mark.parametrize("scheme", ["ipc", "ring"])
def test_messages_of_all_sizes_come_as_they_were(make: Make, spawn: Spawn, endpoint: str, scheme: str) -> None:
    """From none to more than a ring holds, in several parts, by zmq_send and from memory of the sender's."""
    seed = seeds.seed()
    pull = make(zmq.PULL)
    pull.bind(f"{scheme}://{endpoint}")
    sizes = [0, 1, 63, 255, 256, 8191, 8192, 8193, 32767, 32768, 1 << 20, (16 << 20) + 1, 40 << 20]
    sizes += [random.Random(seed + i).randrange(300_000) for i in range(100)]
    spawn(f"""
import random
push = make(zmq.PUSH)
push.connect("{scheme}://{endpoint}")
for i, n_bytes in enumerate({sizes}):
    data = random.Random({seed} + i).randbytes(n_bytes)
    push.send_multipart([data, b"second", data[:100]], copy=i % 2 == 0)
push.close()
context.term()
""")
    for i, n_bytes in enumerate(sizes):
        frames = pull.recv_multipart(copy=False)
        expected = payload(n_bytes, seed + i)
        assert [bytes(frame) for frame in frames] == [expected, b"second", expected[:100]], f"message {i}"
        assert frames[0].get(OFFER) == "2"
        assert n_rings() > 0 or i > 0  # the sender may have ended since


@pytest.mark.parametrize("anello_binds", [True, False])
def test_an_old_peer_is_talked_to_over_the_socket(make: Make, spawn: Spawn, endpoint: str, anello_binds: bool) -> None:
    anello_end, stock_end = ("bind", "connect") if anello_binds else ("connect", "bind")
    before = n_rings()
    pair = make(zmq.PAIR)
    getattr(pair, anello_end)(f"ipc://{endpoint}")
    spawn(f"""
pair = make(zmq.PAIR)
assert not zmq.has("ring")
pair.{stock_end}("ipc://{endpoint}")
while True:
    pair.send(pair.recv())
""", stock=True)  # fmt: skip
    for n_bytes in (1, 70_000, 3_000_000):
        data = payload(n_bytes, n_bytes)
        pair.send(data)
        frame = pair.recv(copy=False)
        assert bytes(frame) == data
        with pytest.raises(zmq.ZMQError):
            frame.get(OFFER)
    assert n_rings() == before


@pytest.mark.parametrize("anello_binds", [True, False])
def test_ring_refuses_an_old_peer_and_says_so(make: Make, spawn: Spawn, endpoint: str, anello_binds: bool) -> None:
    anello_end, stock_end = ("bind", "connect") if anello_binds else ("connect", "bind")
    push = make(zmq.PUSH)
    monitor = push.get_monitor_socket(zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL)
    getattr(push, anello_end)(f"ring://{endpoint}")
    spawn(f"""
pull = make(zmq.PULL)
pull.{stock_end}("ipc://{endpoint}")
say(pull.recv())
""", stock=True)  # fmt: skip
    assert failed_handshake(monitor) == errno.EPROTONOSUPPORT


def test_a_stock_libzmq_knows_no_ring(spawn: Spawn) -> None:
    peer = spawn("""
try:
    make(zmq.PUSH).connect("ring:///nowhere")
except zmq.ZMQError as error:
    say(error.errno)
""", stock=True)  # fmt: skip
    assert peer.stdout is not None
    assert int(peer.stdout.readline()) == errno.EPROTONOSUPPORT


def test_the_switch_turns_it_off(make: Make, spawn: Spawn, endpoint: str) -> None:
    before = n_rings()
    pull = make(zmq.PULL)
    pull.bind(f"ipc://{endpoint}")
    peer = spawn(f"""
push = make(zmq.PUSH)
push.connect("ipc://{endpoint}")
push.send(b"x" * 100000)
say(zmq.has("ring"))
try:
    make(zmq.PUSH).connect("ring://{endpoint}")
except zmq.ZMQError as error:
    say(error.errno)
sys.stdin.read()
""", ZMQ_ANELLO_RING="0")  # fmt: skip
    assert peer.stdout is not None
    assert pull.recv() == b"x" * 100_000
    assert n_rings() == before
    assert peer.stdout.readline() == "False\n"
    assert int(peer.stdout.readline()) == errno.EPROTONOSUPPORT


@pytest.mark.parametrize("who", ["connecter", "listener"])
def test_without_memory_for_rings_the_socket_serves(make: Make, spawn: Spawn, endpoint: str, who: str) -> None:
    """Either side may have none; both still offer it."""
    before = n_rings()
    pair = make(zmq.PAIR)
    getattr(pair, "bind" if who == "connecter" else "connect")(f"ipc://{endpoint}")
    peer = spawn(f"""
pair = make(zmq.PAIR)
pair.{"connect" if who == "connecter" else "bind"}("ipc://{endpoint}")
while True:
    pair.send(pair.recv())
""", ZMQ_ANELLO_ALL_RINGS_BYTES="1000")  # fmt: skip
    for n_bytes in (10, 1_000_000):
        pair.send(payload(n_bytes, 1))
        frame = pair.recv(copy=False)
        assert bytes(frame) == payload(n_bytes, 1)
        assert frame.get(OFFER) == "2"
    assert n_rings() == before
    assert n_rings(peer.pid) == 0


def test_ring_without_memory_says_so(spawn: Spawn, endpoint: str) -> None:
    peer = spawn(f"""
from zmq.utils.monitor import recv_monitor_message
pull, push = make(zmq.PULL), make(zmq.PUSH, LINGER=0)
monitor = push.get_monitor_socket(zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL)
pull.bind("ring://{endpoint}")
push.connect("ring://{endpoint}")
say(recv_monitor_message(monitor)["value"])
os._exit(0)
""", ZMQ_ANELLO_ALL_RINGS_BYTES="1000")  # fmt: skip
    assert peer.stdout is not None
    assert int(peer.stdout.readline()) == errno.ENOMEM


def test_a_wrong_setting_is_reported_and_the_default_holds(spawn: Spawn, endpoint: str) -> None:
    peer = spawn(f"""
os.dup2(1, 2)
pull, push = make(zmq.PULL), make(zmq.PUSH)
pull.bind("ring://{endpoint}")
push.connect("ring://{endpoint}")
push.send(b"through")
say(pull.recv().decode())
""", ZMQ_ANELLO_RING_BYTES="100000")  # fmt: skip
    assert peer.stdout is not None
    error = peer.stdout.readline()
    assert "ZMQ_ANELLO_RING_BYTES: must be a power of two" in error
    assert "100000" in error
    assert peer.stdout.readline() == "through\n"


def test_both_ways_at_once_through_rings_smaller_than_a_message(spawn: Spawn, endpoint: str) -> None:
    """Both rings are full most of the time and each side waits for the other's space: neither may wait for ever."""
    code = f"""
pair = make(zmq.PAIR, SNDHWM=2, RCVHWM=2)
pair.{{role}}("ring://{endpoint}")
n_sent = n_received = 0
while n_sent < 60 or n_received < 60:
    wish = zmq.POLLIN if n_sent == 60 else zmq.POLLIN | zmq.POLLOUT
    ready = pair.poll({PATIENCE_MS}, wish)
    assert ready, (n_sent, n_received)
    if ready & zmq.POLLOUT and n_sent < 60:
        pair.send(bytes([n_sent]) * 1_000_000)
        n_sent += 1
    if ready & zmq.POLLIN:
        assert pair.recv() == bytes([n_received]) * 1_000_000
        n_received += 1
say("done")
pair.close()
context.term()  # the other side may still wait for the last ones
"""
    peers = [spawn(code.replace("{role}", role), ZMQ_ANELLO_RING_BYTES="65536") for role in ("bind", "connect")]
    for peer in peers:
        assert peer.stdout is not None
        assert peer.stdout.readline() == "done\n"


def test_a_sender_is_held_back_by_the_high_water_marks(make: Make, spawn: Spawn, endpoint: str) -> None:
    """What fits into the marks, the ring and twice that lent goes out, then the sender must wait; nothing is lost or
    out of turn."""
    pull = make(zmq.PULL, RCVHWM=5)
    pull.bind(f"ring://{endpoint}")
    peer = spawn(f"""
push = make(zmq.PUSH, SNDHWM=5)
push.connect("ring://{endpoint}")
push.send((0).to_bytes(8, "little") * 12500)
push.SNDTIMEO = 1000
n_sent = 1
try:
    while n_sent < 1000:
        push.send(n_sent.to_bytes(8, "little") * 12500)
        n_sent += 1
except zmq.Again:
    pass
say(n_sent)
push.SNDTIMEO = {PATIENCE_MS}
for i in range(n_sent, n_sent + 100):
    push.send(i.to_bytes(8, "little") * 12500)
push.close()
context.term()
""", ZMQ_ANELLO_RING_BYTES="1048576")  # fmt: skip
    assert peer.stdout is not None
    n_held = int(peer.stdout.readline())
    assert 10 <= n_held <= 60  # 5 + 5 by the marks, 10 in the ring, 20 lent, and what the engines hold
    for i in range(n_held + 100):
        assert pull.recv() == i.to_bytes(8, "little") * 12500


def test_nothing_is_lost_that_a_sender_left_behind_in_the_ring(make: Make, spawn: Spawn, endpoint: str) -> None:
    """The sender ends in order while the receiver has hardly begun and its marks are reached."""
    pull = make(zmq.PULL, RCVHWM=1)
    pull.bind(f"ring://{endpoint}")
    peer = spawn(f"""
push = make(zmq.PUSH)
push.connect("ring://{endpoint}")
for i in range(100):
    push.send(bytes([i]) * 100000)
push.close()
context.term()
""", ZMQ_ANELLO_RING_BYTES="16777216")  # fmt: skip
    assert pull.recv() == bytes([0]) * 100_000
    assert peer.wait(PATIENCE_MS / 1000) == 0
    for i in range(1, 100):
        assert pull.recv() == bytes([i]) * 100_000


def test_a_sender_that_dies_within_a_message_leaves_no_half_and_another_may_come(
    make: Make, spawn: Spawn, endpoint: str
) -> None:
    pull = make(zmq.PULL, RCVHWM=1)
    pull.bind(f"ring://{endpoint}")
    sends = f"""
push = make(zmq.PUSH, SNDHWM=1)
push.connect("ring://{endpoint}")
i = 0
while True:
    push.send(bytes([i % 256]) * 30_000_000)
    i += 1
    say(i)
"""
    for _ in range(3):
        peer = spawn(sends)
        assert peer.stdout is not None
        assert pull.recv() == bytes(30_000_000)
        peer.send_signal(signal.SIGKILL)  # a message is always under way: each is twice the ring
        peer.wait()
        last = 0
        pull.RCVTIMEO = 300
        try:
            while True:
                message = pull.recv()
                assert len(message) == 30_000_000
                assert message == message[:1] * 30_000_000
                last += 1
                assert message[0] == last
        except zmq.Again:
            pull.RCVTIMEO = PATIENCE_MS


def test_a_receiver_that_dies_is_replaced(make: Make, spawn: Spawn, endpoint: str) -> None:
    push = make(zmq.PUSH, SNDHWM=1, RECONNECT_IVL=10)
    push.connect(f"ring://{endpoint}")
    receives = f"""
pull = make(zmq.PULL)
pull.bind("ring://{endpoint}")
while True:
    message = pull.recv()
    assert message == message[:1] * 200_000
    say(message[0])
"""
    for i in range(3):
        peer = spawn(receives)
        assert peer.stdout is not None
        for _ in range(200):  # those under way when the former receiver died may be lost
            push.send(bytes([i]) * 200_000)
        while int(peer.stdout.readline()) != i:
            pass
        peer.send_signal(signal.SIGKILL)
        peer.wait()


def test_heartbeats_and_security_work_over_rings(make: Make, endpoint: str) -> None:
    public, secret = zmq.curve_keypair()
    client_public, client_secret = zmq.curve_keypair()
    server = make(zmq.REP, CURVE_SERVER=1, HEARTBEAT_IVL=20, HEARTBEAT_TIMEOUT=PATIENCE_MS)
    server.curve_secretkey = secret
    server.bind(f"ring://{endpoint}")
    client = make(zmq.REQ, HEARTBEAT_IVL=20, HEARTBEAT_TIMEOUT=PATIENCE_MS)
    client.curve_serverkey, client.curve_publickey, client.curve_secretkey = public, client_public, client_secret
    client.connect(f"ring://{endpoint}")
    for i in range(200):
        data = payload(10_000 if i % 2 else 100_000, i)
        client.send(data)
        assert server.recv() == data
        server.send(b"answer")
        assert client.recv() == b"answer"
    assert n_rings() > 0


def test_publishers_and_subscribers(make: Make, endpoint: str) -> None:
    publisher = make(zmq.PUB)
    publisher.bind(f"ring://{endpoint}")
    subscribers = [make(zmq.SUB) for _ in range(3)]
    for subscriber in subscribers:
        subscriber.connect(f"ring://{endpoint}")
        subscriber.subscribe(b"yes")
    received = [0] * len(subscribers)
    for i in range(1000):  # until every subscription has come
        publisher.send(b"yes" + i.to_bytes(4, "little") + payload(40_000, 5))
        publisher.send(b"no" + bytes(100))
        for which, subscriber in enumerate(subscribers):
            if subscriber.poll(1):
                message = subscriber.recv()
                assert message[:3] == b"yes"
                assert message[7:] == payload(40_000, 5)
                received[which] += 1
        if min(received) > 10:
            break
    assert min(received) > 10


def test_names_of_endpoints_are_those_that_were_given(make: Make, endpoint: str) -> None:
    pull, push = make(zmq.PULL), make(zmq.PUSH)
    pull.bind("ring://*")
    bound = pull.LAST_ENDPOINT.decode()
    assert bound.startswith("ring://")
    push.connect(bound)
    push.send(b"1")
    assert pull.recv() == b"1"
    push.disconnect(bound)
    pull.unbind(bound)
    with pytest.raises(zmq.ZMQError) as refused:
        make(zmq.STREAM).connect(f"ring://{endpoint}")
    assert refused.value.errno == errno.EPROTONOSUPPORT


def test_a_closed_connection_gives_its_memory_and_descriptors_back(make: Make, endpoint: str) -> None:
    pull = make(zmq.PULL)
    pull.bind(f"ring://{endpoint}")
    counts = []
    for _ in range(20):
        push = make(zmq.PUSH)
        push.connect(f"ring://{endpoint}")
        push.send(b"x")
        assert pull.recv() == b"x"
        push.close()
        counts.append((len(list(Path("/proc/self/fd").iterdir())), n_rings()))
    # The end of the last connections may still be under way in the I/O thread.
    assert counts[-1][0] < counts[0][0] + 30
    assert counts[-1][1] <= 12 * 4


LENT_BYTES = 16 << 20
SENDS_NUMBERED = """
push = make(zmq.PUSH)
push.connect("ipc://{endpoint}")
for i in range({n_messages}):
    push.send(i.to_bytes(4, "little") * ({n_bytes} // 4), copy=i % 2 == 0)
push.close()
context.term()
"""


def numbered(index: int, n_bytes: int) -> bytes:
    return index.to_bytes(4, "little") * (n_bytes // 4)


def send_numbered(spawn: Spawn, endpoint: str, n_messages: int, n_bytes: int) -> Popen[str]:
    code = SENDS_NUMBERED.format(endpoint=endpoint, n_messages=n_messages, n_bytes=n_bytes)
    return spawn(code, ZMQ_ANELLO_LENT_BYTES=str(LENT_BYTES))


def test_messages_that_the_program_keeps_stay_as_they_are(make: Make, spawn: Spawn, endpoint: str) -> None:
    """More than the lent memory holds, kept beyond the end of the sender, the socket and the context's I/O."""
    n_bytes, n_messages = 500_000, 100
    pull = make(zmq.PULL)
    pull.bind(f"ipc://{endpoint}")
    peer = send_numbered(spawn, endpoint, n_messages, n_bytes)
    kept = [pull.recv(copy=False) for _ in range(n_messages)]
    assert n_lent() == 1
    assert peer.wait(PATIENCE_MS / 1000) == 0
    pull.close()
    for i, frame in enumerate(kept):
        assert bytes(frame) == numbered(i, n_bytes), i
    del frame
    kept.clear()
    assert n_lent() == 0, "the last message lets it go"


def test_messages_may_be_given_back_in_any_order_by_any_thread(make: Make, spawn: Spawn, endpoint: str) -> None:
    n_bytes, n_messages = 200_000, 2000
    order = random.Random(seeds.seed())
    pull = make(zmq.PULL)
    pull.bind(f"ipc://{endpoint}")
    send_numbered(spawn, endpoint, n_messages, n_bytes)
    kept: list[tuple[int, zmq.Frame]] = []
    lock = threading.Lock()
    ended = threading.Event()
    wrong: list[int] = []

    def close_any() -> None:
        while not ended.is_set() or kept:
            with lock:
                chosen = kept.pop(order.randrange(len(kept))) if kept else None
            if chosen is not None and bytes(chosen[1]) != numbered(chosen[0], n_bytes):
                wrong.append(chosen[0])

    closing = [threading.Thread(target=close_any) for _ in range(2)]
    for thread in closing:
        thread.start()
    for i in range(n_messages):
        frame = pull.recv(copy=False)
        with lock:
            kept.append((i, frame))
    ended.set()
    for thread in closing:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("lends", ["sender", "receiver"])
def test_who_lends_nothing_gets_copies(spawn: Spawn, endpoint: str, lends: str) -> None:
    sends = f"""
push = make(zmq.PUSH)
push.connect("ring://{endpoint}")
for i in range(50):
    push.send(bytes([i]) * 1_000_000)
push.close()
context.term()
"""
    receives = f"""
pull = make(zmq.PULL)
pull.bind("ring://{endpoint}")
for i in range(50):
    assert pull.recv() == bytes([i]) * 1_000_000
say(open("/proc/self/maps").read().count("anello-lent"))
"""
    none = {"ZMQ_ANELLO_LENT_BYTES": "0"}
    peer = spawn(receives, **({} if lends == "receiver" else none))
    spawn(sends, **({} if lends == "sender" else none))
    assert peer.stdout is not None
    assert peer.stdout.readline() == "0\n"


def test_a_lent_message_may_not_be_larger_than_allowed(make: Make, spawn: Spawn, endpoint: str) -> None:
    pull = make(zmq.PULL, MAXMSGSIZE=100_000)
    pull.bind(f"ipc://{endpoint}")
    spawn(f"""
push = make(zmq.PUSH, RECONNECT_IVL=10)
push.connect("ipc://{endpoint}")
i = 0
while True:
    i += 1
    push.send(i.to_bytes(4, "little") * (12_500 if i % 20 else 50_000))
""")
    # Each message that is too large costs the messages under way after it.
    received = [pull.recv() for _ in range(50)]
    assert all(len(message) == 50_000 for message in received)
    numbers = [int.from_bytes(message[:4], "little") for message in received]
    assert numbers == sorted(numbers)
    assert not any(number % 20 == 0 for number in numbers)
