# SPDX-License-Identifier: Apache-2.0
"""The Group of nodes that `mpirun` started. MPI ends the whole job when a process dies: no node can return.

Everything passes rank 0 in single messages that the code polls for and never waits for inside MPI: a node that does not
answer is then named instead of blocking all others.
"""

import os
import secrets
import time
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from anello.account.notices import printable
from anello.errors import ConfigError
from anello.exchange.rendezvous.group import Hello, News, StartError, disagreement, named
from anello.exchange.rendezvous.protocol import WORDS, Pace

if TYPE_CHECKING:
    from mpi4py import MPI

STEP, ANSWER, REPORT, STOP = 1, 2, 3, 4  # tags
POLL_S = 0.001
SIZE_VARIABLES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE")


def was_started_by_mpi(environment: Mapping[str, str] = os.environ) -> bool:
    """True if mpirun of OpenMPI or MPICH, or a compatible launcher, has started this process."""
    return any(name in environment for name in SIZE_VARIABLES)


def world() -> "MPI.Intracomm":
    """All processes of this job, with a communicator of our own. Raises ConfigError without mpi4py."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        remedy = "pip install 'anello[mpi]', and install an MPI; or use --rendezvous"
        raise ConfigError("mpirun", "needs the Python package mpi4py", str(error), remedy) from error
    return MPI.COMM_WORLD.Dup()


def abort() -> None:
    """Ends all processes of the job: MPI's own end would wait for processes that never arrive."""
    from mpi4py import MPI

    MPI.COMM_WORLD.Abort(StartError.exit_code)


class MpiGroup:
    """Satisfies anello.exchange.rendezvous.group.Group."""

    def __init__(self, world: "MPI.Intracomm", hello: Hello, pace: Pace) -> None:
        """Joins the group. Raises StartError where nodes are missing or disagree."""
        self._world, self._pace = world, pace
        self._reports: dict[int, bytes] = {}
        self._sent: list[Any] = []  # requests in progress: MPI needs them to be kept
        self._stop_wanted = ""
        self._farm_id = 0
        self._agree(hello)

    @property
    def rank(self) -> int:
        return int(self._world.Get_rank())

    @property
    def size(self) -> int:
        return int(self._world.Get_size())

    @property
    def farm_id(self) -> int:
        return self._farm_id

    @property
    def comes_again(self) -> bool:
        return False

    @property
    def leads(self) -> bool:
        return self.rank == 0

    @property
    def may_leave(self) -> bool:
        return False

    def meet(self, address: bytes) -> dict[int, bytes]:
        met: dict[int, bytes] = self._together("meet", address, lambda given: (given, ""))
        return met

    def barrier(self) -> None:
        self._together("barrier", None, lambda given: (None, ""))

    def gather(self, content: bytes) -> list[tuple[int, bytes]]:
        """All nodes end within the timeout of node 0, which sends all of them the order to stop."""
        if self.rank:
            self._send(content, 0, STEP)
            self._finish_sends()
            return []
        return sorted(self._of_all(content, "gather").items())

    def leave(self, content: bytes, why: str) -> None:
        """A node that leaves early still owes its record, and MPI keeps the others running."""
        self.gather(content)

    def report(self, content: bytes) -> None:
        if self.rank:
            self._send(content, 0, REPORT)
        else:
            self._reports[0] = content

    def reports(self) -> dict[int, bytes]:
        while arrived := self._arrived(REPORT):
            self._reports |= dict(arrived)
        return dict(self._reports)

    def stop_all(self, why: str) -> None:
        self._stop_wanted = why
        for rank in range(1, self.size):
            self._send(why, rank, STOP)

    def stop_wanted(self) -> str:
        for _, why in self._arrived(STOP):
            self._stop_wanted = printable(why)
        return self._stop_wanted

    def news(self) -> list[News]:
        return []

    def notices(self) -> list[str]:
        return []

    def counters(self) -> dict[str, int]:
        return {}

    def close(self) -> None:
        """Leaves MPI's own end to mpi4py, which waits for all processes."""
        self._finish_sends()

    # --- Steps that all do together ---------------------------------------------------------------------------------
    def _agree(self, hello: Hello) -> None:
        def judge(said: dict[int, Any]) -> tuple[Any, str]:
            hellos = {rank: Hello.from_dict(fields) for rank, fields in said.items()}
            whys = [(hellos[rank], disagreement(hellos[rank], hellos[0])) for rank in hellos]
            return secrets.randbits(64), "; ".join(f"{one} {why}" for one, why in whys if why)

        self._farm_id = self._together("welcome", hello.as_dict(), judge)

    def _together(self, step: str, given: Any, judge: Callable[[dict[int, Any]], tuple[Any, str]]) -> Any:
        """Does a step that all nodes do together. judge: at rank 0, from the nodes' contributions to (the answer for
        all, why the run cannot continue)."""
        if self.rank:
            self._send(given, 0, STEP)
            answer, why = self._awaited(ANSWER, f"node 0 did not answer at the {words_of(step)}")
        else:
            try:
                answer, why = judge(self._of_all(given, step))
            except StartError as error:
                answer, why = None, str(error)
            for rank in range(1, self.size):
                self._send((answer, why), rank, ANSWER)
        if why:
            self._finish_sends()
            raise StartError(why)
        return answer

    def _of_all(self, own: Any, step: str) -> dict[int, Any]:
        """The contributions of all nodes. Raises StartError with the missing ones; at the end of the run they are
        only left out."""
        given: dict[int, Any] = {0: own}
        deadline_s = time.monotonic() + self._pace.timeout_s
        while len(given) < self.size and time.monotonic() < deadline_s:
            given |= dict(self._arrived(STEP, but=given))
            time.sleep(POLL_S)
        missing = sorted(set(range(self.size)) - given.keys())
        if missing and step != "gather":
            raise StartError(f"{named(missing)} did not come to the {words_of(step)} in {self._pace.timeout_s:g} s")
        return given

    def _awaited(self, tag: int, why: str) -> Any:
        deadline_s = time.monotonic() + self._pace.patience_s
        while time.monotonic() < deadline_s:
            for _, content in self._arrived(tag):
                return content
            time.sleep(POLL_S)
        raise StartError(f"{why} within {self._pace.timeout_s:g} s")

    # --- Messages ---------------------------------------------------------------------------------------------------
    def _send(self, content: Any, to: int, tag: int) -> None:
        self._sent = [request for request in self._sent if not request.Test()]
        self._sent.append(self._world.isend(content, dest=to, tag=tag))

    def _finish_sends(self) -> None:
        deadline_s = time.monotonic() + self._pace.timeout_s
        while self._sent and time.monotonic() < deadline_s:
            self._sent = [request for request in self._sent if not request.Test()]
            time.sleep(POLL_S)

    def _arrived(self, tag: int, but: Collection[int] = ()) -> list[tuple[int, Any]]:
        """(rank, content) of each message that has arrived; at most one of a rank, and none of the ranks in `but`."""
        arrived = []
        for rank in range(self.size):
            if rank not in but:
                message = self._world.improbe(source=rank, tag=tag)
                if message is not None:
                    arrived.append((rank, message.recv()))
        return arrived


def words_of(step: str) -> str:
    return WORDS.get(step, "start of the run")
