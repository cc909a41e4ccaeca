# SPDX-License-Identifier: Apache-2.0
"""Faults that ./dev bench planted_faults plants: each can still be planted where the code has changed since."""

import pathlib
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_sound_text_of_each_fault_stands_once_in_its_file() -> None:
    with (ROOT / "bench/system/planted_faults.toml").open("rb") as file:
        faults = tomllib.load(file)["fault"]
    assert len(faults) > 40
    counts = {fault["words"]: (ROOT / fault["file"]).read_text().count(fault["sound"]) for fault in faults}
    assert {words: n for words, n in counts.items() if n != 1} == {}
