# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C takes effect whenever it comes, also when the thread is just about to wait for it."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from anello.system.interruption import Interruption, interruptible

# Signals from another process fall anywhere, also where this thread holds what the wait needs. A lock that the handler
# wanted as well was met within 200 of these.
ANY_MOMENT = """
import os, random, signal, time
from anello.system.interruption import interruptible
randomness = random.Random(7)
for _ in range(1000):
    with interruptible() as interruption:
        parent, until = os.getpid(), time.perf_counter() + 1e-3 * randomness.random()
        child = os.fork()
        if child == 0:
            while time.perf_counter() < until:
                pass
            os.kill(parent, signal.SIGINT)
            os._exit(0)
        while not interruption.wait(1e-6):
            pass
        os.waitpid(child, 0)
"""


@pytest.mark.process
def test_a_signal_at_any_moment_is_heard() -> None:
    subprocess.run([sys.executable, "-c", ANY_MOMENT], timeout=120, check=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_wait(number: signal.Signals) -> None:
    with interruptible() as interruption:
        assert not interruption.wait(0)
        os.kill(os.getpid(), number)
        assert interruption.wait(3600)
        assert interruption.is_set()


def test_a_second_ctrl_c_ends_at_once_and_the_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with interruptible():
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_nap_is_a_wait_until_it_is_set_and_slept_out_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    interruption = Interruption()
    interruption.nap(0.001)
    assert slept == []
    interruption.set()
    interruption.nap(3600)
    assert slept == [3600]


def test_it_is_heard_in_another_thread() -> None:
    interruption = Interruption()
    waiter = threading.Thread(target=interruption.wait, args=[3600])
    waiter.start()
    interruption.set()
    waiter.join()
    assert interruption.is_set()
