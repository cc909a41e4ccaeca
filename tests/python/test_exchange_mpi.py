# SPDX-License-Identifier: Apache-2.0
"""Nodes that mpirun starts. Skipped where there is no MPI; the run itself needs the engine and is in
test_exchange_run.py."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from anello.exchange.rendezvous.mpi import was_started_by_mpi

ROOT = Path(__file__).parents[2]
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

NODE = """
import sys
import exchange_synthetic as synthetic
from anello.exchange.rendezvous.group import Hello, StartError
from anello.exchange.rendezvous.mpi import MpiGroup, abort, world
from anello.exchange.rendezvous.protocol import Pace

every = world()
rank, size = every.Get_rank(), every.Get_size()
settings = ["exchange.credits=3"] if sys.argv[1] == "disagree" and rank == 1 else []
if sys.argv[1] == "late" and rank == 1:
    every.recv(source=0, tag=99)  # which nobody sends
try:
    group = MpiGroup(every, Hello.of(synthetic.config(*settings), rank, size), Pace(timeout_s=float(sys.argv[2])))
except StartError as error:
    print(f"{rank}: {error}", flush=True)
    if rank == 0:
        abort()
    sys.exit(1)
assert group.meet(b"address %d" % rank) == {other: b"address %d" % other for other in range(size)}
group.barrier()
group.report(b"built %d" % rank)
if rank == 0:
    group.stop_all("the time is over")
while not group.stop_wanted():
    pass
records = group.gather(b"record %d" % rank)
assert records == ([(other, b"record %d" % other) for other in range(size)] if rank == 0 else [])
if rank == 0:
    assert group.reports() == {other: b"built %d" % other for other in range(size)}
assert not group.comes_again and group.news() == []
group.close()
print(f"<{rank} of {size} in farm {group.farm_id}>", flush=True)
"""


def mpirun(n: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    if shutil.which("mpirun") is None or importlib.util.find_spec("mpi4py") is None:
        pytest.skip("mpirun or mpi4py is not installed")
    paths = f"{ROOT}:{ROOT / 'tests/python'}"
    return subprocess.run(
        ["mpirun", "--oversubscribe", "-n", str(n), sys.executable, "-c", NODE, *arguments],
        env=os.environ | AS_ROOT | {"PYTHONPATH": paths}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.process
def test_nodes_meet_start_and_end() -> None:
    done = mpirun(3, "well", "60")
    assert done.returncode == 0, done.stderr
    said = re.findall(r"<(\d) of 3 in farm (\d+)>", done.stdout)  # mpirun may put two on one line, with nothing between
    assert sorted(rank for rank, _ in said) == ["0", "1", "2"]
    assert len({farm for _, farm in said}) == 1


@pytest.mark.process
def test_another_configuration_is_refused_everywhere() -> None:
    done = mpirun(2, "disagree", "60")
    assert done.returncode != 0
    assert "has another configuration than node 0" in done.stdout
    assert "exchange.credits is 3, and 20 there" in done.stdout


@pytest.mark.process
def test_a_node_that_does_not_come_is_named() -> None:
    done = mpirun(2, "late", "1")
    assert done.returncode != 0
    assert "0: node 1 did not come to the start of the run in 1 s" in done.stdout


def test_mpi_is_told_by_its_environment() -> None:
    assert was_started_by_mpi({"OMPI_COMM_WORLD_SIZE": "2"})
    assert was_started_by_mpi({"PMI_SIZE": "2"})
    assert not was_started_by_mpi({"PATH": "/bin"})
