# SPDX-License-Identifier: Apache-2.0
"""The registers: what is made from registers.yaml, and the register file itself."""

import runpy
from pathlib import Path
from typing import Any

import pytest
import yaml
from simulation import RTL, passes, sources_of

MAKE = runpy.run_path(str(RTL / "registers/make_registers.py"))
SOURCE = (RTL / "registers/registers.yaml").read_text()


def test_what_is_made_is_up_to_date() -> None:
    for path, text in MAKE["texts"](MAKE["Card"].read(SOURCE)).items():
        assert (RTL.parent / path).read_text() == text, "python rtl/registers/make_registers.py"


def changed(block: str, **values: Any) -> str:
    """registers.yaml with something else in a block."""
    card = yaml.safe_load(SOURCE)
    next(one for one in card["blocks"] if one["name"] == block).update(values)
    return yaml.safe_dump(card)


@pytest.mark.parametrize(
    ("block", "values", "words"),
    [
        ("address", {"base": 0x40}, "is control.enable"),
        ("count", {"base": 0x2000}, "beyond the end"),
        ("list", {"stride": 16}, "do not fit into the stride"),
        ("tlb", {"base": 0x840}, "a base to match"),
        ("clock", {"registers": [{"name": "now", "access": "r", "about": ""}]}, "access must be one of"),
        ("clock", {"registers": [{"name": "n", "access": "rw", "width": 1, "reset": 2, "about": ""}]}, "does not fit"),
    ],
)  # fmt: skip
def test_mistakes_are_reported(block: str, values: dict[str, Any], words: str) -> None:
    with pytest.raises(MAKE["MistakeError"], match=words):
        MAKE["Card"].read(changed(block, **values))


def test_a_record_whose_fields_do_not_fill_it_is_reported() -> None:
    with pytest.raises(MAKE["MistakeError"], match="completion: its fields do not fill it"):
        MAKE["Card"].read(SOURCE.replace("{name: phase, bits: 8,", "{name: phase, bits: 16,"))


def test_the_register_file() -> None:
    passes("registers", [*sources_of("registers"), Path(RTL / "common/count_bank.sv")], "nanet_io_registers")
