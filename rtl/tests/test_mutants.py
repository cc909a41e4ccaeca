# SPDX-License-Identifier: Apache-2.0
"""Puts faults into copies of the sources, one at a time: the test named for each must find it."""

import re
import sys
from pathlib import Path

import pytest
from simulation import LONG, RTL

sys.path.insert(0, str(RTL.parent))
from anello.nanet.card import CardSources
from anello.nanet.mutants import Mutant, check, mutants_of, try_each
from anello.nanet.tools import Tools

CARD = CardSources(RTL)
MUTANTS = mutants_of(CARD)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_fault_and_its_test_exist(mutant: Mutant) -> None:
    check(CARD, mutant)
    file, function = mutant.test.split("::")
    text = (RTL / "tests" / file).read_text()
    assert f"def {function.split('[')[0]}(" in text
    names = re.findall(r"passes\(\s*\"(\w+)\"", text)
    benches = "".join((RTL / f"tests/cocotb_{name}.py").read_text() for name in names)
    assert not mutant.only or re.search(rf"async def \w*{mutant.only}", benches), mutant.only


@LONG
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_fault_is_caught(mutant: Mutant) -> None:
    (trial,) = try_each(CARD, Tools(Path(sys.executable).parent.parent), [mutant])
    assert trial.is_good, trial
