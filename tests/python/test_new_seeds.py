# SPDX-License-Identifier: Apache-2.0
"""./dev search, with programs that stand in for those it starts: what each kind finds, reduces, writes and counts."""

import hashlib
import json
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from new_seeds import cases, examples, fuzzers, kills, properties, rounds, virtual
from new_seeds.__main__ import kinds, main
from new_seeds.account import Account
from new_seeds.cases import Case, Finding
from new_seeds.kind import Outcome
from new_seeds.program import NotRunError, Turn, in_turn, run

pytestmark = pytest.mark.process


def program(path: Path, text: str) -> Path:
    """Writes a Python program under the name that a test gives it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{sys.executable} -IS\nimport json, os, pathlib, signal, sys, time\nargs = sys.argv[1:]\n{text}")
    path.chmod(0o755)
    return path


def turn(seconds: float = 0.2) -> Turn:
    return Turn(seconds, threading.Event())


def interrupted_turn(after: Path) -> Turn:
    """Stops the search as soon as the file is there."""
    stop = threading.Event()

    def wait() -> None:
        while not after.exists():
            time.sleep(0.01)
        stop.set()

    threading.Thread(target=wait, daemon=True).start()
    return Turn(1000, stop)


def logged_call(name: str) -> str:
    """Python code that appends the program's arguments to a file, as a line."""
    return f"pathlib.Path({name!r}).open('a').write(json.dumps(args) + chr(10))\n"


# --- Farms and chains -------------------------------------------------------------------------------------------------
def simulated(**more: Any) -> str:
    sums = {"runs": 192, "faults": 200, "built": 7, "fragments": 9000, "ledgers": 12, "failed": [], "shown": []} | more
    return f"print(json.dumps({sums!r}))\n"


def farms(folder: Path, text: str) -> virtual.Virtual:
    fake = program(folder / "simulate", text)
    return virtual.Virtual("farms", [], virtual.FARM_COUNTS, folder / "farm_seeds.txt", share=1, program=[fake])


def shown(seed: int, finding: str) -> dict[str, Any]:
    return {"seed": seed, "findings": [finding], "command": f"anello simulate --replay {seed} --change faults=0"}


def test_farms_are_counted(tmp_path: Path) -> None:
    outcome = farms(tmp_path, logged_call(f"{tmp_path}/calls") + simulated()).search(turn())
    assert outcome.counts == Counter(farms=192, farm_faults=200, farm_packets=7, farm_fragments=9000, farm_ledgers=12)
    assert outcome.findings == []
    assert not (tmp_path / "farm_seeds.txt").exists()
    call = json.loads((tmp_path / "calls").read_text())
    assert call[0] == "--json"
    assert f"seeds from {call[call.index('--first') + 1]}:" in outcome.words


def test_of_each_fault_one_farm_becomes_a_case(tmp_path: Path) -> None:
    failed = [shown(12, "node 1: 34 taken, 32 sent"), shown(13, "node 2: 9 taken, 8 sent"), shown(14, "it # crashed")]
    found = farms(tmp_path, simulated(failed=[12, 13, 14, 15], shown=failed) + "sys.exit(4)\n")
    outcome = found.search(turn())
    assert "4 NOT explained" in outcome.words
    assert [one.what for one in outcome.findings] == ["node 1: 34 taken, 32 sent", "it # crashed"]
    assert outcome.findings[0].again == "anello simulate --replay 12 --change faults=0"
    lines = cases.read(tmp_path / "farm_seeds.txt")
    assert lines[0] == Case("12", "node 1: 34 taken, 32 sent; anello simulate --replay 12 --change faults=0")
    assert lines[1].words == "14"
    assert found.search(turn()).findings == [], "the same fault is reported once"


def test_a_simulator_that_cannot_run_finds_nothing(tmp_path: Path) -> None:
    with pytest.raises(NotRunError, match="no engine"):
        farms(tmp_path, "sys.stderr.write('no engine'); sys.exit(1)").search(turn())
    with pytest.raises(NotRunError, match="No such file"):
        virtual.Virtual("farms", [], {}, tmp_path / "x", share=1, program=[tmp_path / "none"]).search(turn())


def test_farms_that_were_judged_before_ctrl_c_are_counted(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    text = f"""
def end(*_):
    {simulated(runs=64)}
    sys.stdout.flush()
    os._exit(0)
signal.signal(signal.SIGINT, end)
pathlib.Path({str(begun)!r}).touch()
time.sleep(60)
"""
    outcome = farms(tmp_path, text).search(interrupted_turn(begun))
    assert outcome.counts["farms"] == 64


# --- Properties -------------------------------------------------------------------------------------------------------
PROPERTY = """
RC_GTEST_PROP(Wire, ReadsWhatItWrote, (int a)) { RC_ASSERT(a == a); }
TEST(Wire, HasAHeader) { EXPECT_TRUE(true); }
TEST_P(Wire, IsCutAnywhere) {
    EXPECT_TRUE(rc::check([] {}));
}
TEST(Wire, Throws) { std::mt19937 random(test::seed()); }
"""


def test_tests_with_dice_are_known_by_their_source(tmp_path: Path) -> None:
    for name, text in {
        "tests/property/wire/wire_property.cpp": PROPERTY,
        "tests/unit/wire/plain_test.cpp": "TEST(Wire, Plain) {}",
        "detectors/rich/tests/farm.cpp": "bool holds() { return rc::check([] {}); }\nTEST(Rich, One) { holds(); }",
        "detectors/rich/tests/rich_fuzz.cpp": PROPERTY,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    rich, wire = properties.properties(tmp_path, tmp_path / "build")
    assert wire.program == tmp_path / "build/test_wire"
    assert wire.tests == ("Wire.ReadsWhatItWrote", "Wire.IsCutAnywhere", "Wire.Throws")
    assert wire.rapidcheck == ("Wire.ReadsWhatItWrote",)
    assert (rich.program.name, rich.tests) == ("test_rich", ("Rich.One",))
    assert wire.filter.startswith("Wire.ReadsWhatItWrote:*/Wire.ReadsWhatItWrote/*:Wire.IsCut")


def test_the_project_s_own_properties_are_found() -> None:
    found = properties.properties()
    assert sum(len(one.tests) for one in found) > 50
    assert any("MergerProperty.ChaosBalancesAndEnds" in one.tests for one in found)


def cpp(folder: Path, text: str) -> properties.CppProperties:
    fake = program(folder / "test_wire", text)
    of = [properties.Properties(fake, ("Wire.Reads", "Wire.Cut"), ("Wire.Reads",))]
    return properties.CppProperties(of, folder / "properties.txt")


def test_cases_of_properties_are_counted(tmp_path: Path) -> None:
    outcome = cpp(tmp_path, "print('[       OK ] Wire.Reads (3 ms)\\nOK, passed 37 tests\\n')").search(turn())
    assert outcome.counts == Counter(property_cases=137)
    assert outcome.findings == []


def test_a_property_that_fails_is_kept_as_rapidcheck_shrank_it(tmp_path: Path) -> None:
    text = logged_call(f"{tmp_path}/calls") + (
        "print('[ RUN      ] Wire.Reads\\nFailure\\nFalsifiable after 23 tests and 3 shrinks\\n\\n(40)\\n"
        "[  FAILED  ] Wire.Reads (0 ms)\\n[  FAILED  ] Wire.Reads')\n"
        "seed = os.environ['ANELLO_SEED']\nassert os.environ['RC_PARAMS'] == 'seed=' + seed\n"
        "sys.stderr.write('RC_PARAMS=\"reproduce=CEhb11\"')\nsys.exit(1)\n"
    )
    one = cpp(tmp_path, text)
    (finding,) = one.search(turn()).findings
    assert finding.what.startswith("Wire.Reads: Falsifiable after 23 tests and 3 shrinks (40)")
    assert "RC_PARAMS=reproduce=CEhb11" in finding.again
    (case,) = cases.read(tmp_path / "properties.txt")
    assert case.words == "test_wire Wire.Reads reproduce=CEhb11"
    assert "Falsifiable after 23 tests" in case.what
    assert [json.loads(line)[0] for line in (tmp_path / "calls").read_text().splitlines()] == [
        "--gtest_filter=Wire.Reads:*/Wire.Reads/*:Wire.Cut:*/Wire.Cut/*", "--gtest_filter=Wire.Reads"]  # fmt: skip
    assert one.search(turn()).findings == [], "the same test is reported once"


def test_a_test_without_rapidcheck_is_kept_by_its_seed(tmp_path: Path) -> None:
    text = "print('[ RUN      ] Wire.Reads\\n[       OK ] Wire.Reads (1 ms)\\n[ RUN      ] Wire.Cut', flush=True)\n"
    (finding,) = cpp(tmp_path, text + "os.kill(os.getpid(), signal.SIGSEGV)").search(turn()).findings
    assert "ended by signal 11" in finding.what
    program_name, test, seed = cases.read(tmp_path / "properties.txt")[0].words.split()
    assert (program_name, test) == ("test_wire", "Wire.Cut")
    assert seed.startswith("seed=")
    with pytest.raises(NotRunError, match="ended with 2: ANELLO_SEED must be"):
        cpp(tmp_path, "print('ANELLO_SEED must be'); sys.exit(2)").search(turn())


def test_without_test_programs_there_are_no_properties(tmp_path: Path) -> None:
    none = [properties.Properties(tmp_path / "test_wire", ("Wire.Reads",), ())]
    assert "./dev search builds them" in properties.CppProperties(none).missing()


# --- Examples of Hypothesis -------------------------------------------------------------------------------------------
STATISTICS = "print('test_x.py::test_y:\\n\\n  - during generate phase:\\n    - 9 passing, 5 failing, and 0 invalid')\n"


def python(folder: Path, text: str) -> examples.Examples:
    return examples.Examples([folder / "test_x.py"], folder / "examples.txt", [program(folder / "pytest", text)])


def test_examples_are_counted(tmp_path: Path) -> None:
    outcome = python(tmp_path, STATISTICS + "assert os.environ['ANELLO_HYPOTHESIS'] == 'search'\n").search(turn())
    assert outcome.counts == Counter(examples=9)
    assert outcome.findings == []


def test_an_example_that_fails_is_kept_by_its_seed(tmp_path: Path) -> None:
    text = STATISTICS + (
        "print(\"@reproduce_failure('6.150', b'AXic')\\nFAILED test_x.py::test_y - assert 1000 < 1000\")\nsys.exit(1)\n"
    )
    one = python(tmp_path, text)
    (finding,) = one.search(turn()).findings
    (case,) = cases.read(tmp_path / "examples.txt")
    test, seed = case.words.split()
    assert test == "test_x.py::test_y"
    assert case.what == "assert 1000 < 1000; @reproduce_failure('6.150', b'AXic')"
    assert f"pytest 'test_x.py::test_y' --hypothesis-seed={seed}" in finding.again
    assert one.search(turn()).findings == [], "the same test is reported once"


def test_tests_that_cannot_be_collected_are_reported(tmp_path: Path) -> None:
    with pytest.raises(NotRunError, match="ended with 2"):
        python(tmp_path, "sys.exit(2)").search(turn())


# --- Fuzzers ----------------------------------------------------------------------------------------------------------
CRASHES = """
option = dict(one.lstrip('-').split('=', 1) for one in args if one.startswith('-'))
if option.get('minimize_crash') == '1':
    pathlib.Path(option['exact_artifact_path']).write_bytes(pathlib.Path(args[-1]).read_bytes()[:2])
    sys.exit(0)
pathlib.Path(option['artifact_prefix'] + 'crash-1234').write_bytes(b'many bytes')
print('==7==ERROR: AddressSanitizer: at 0x1234')
print('SUMMARY: AddressSanitizer: heap-buffer-overflow wire.cpp:7')
print('stat::number_of_executed_units: 1200')
sys.exit(77)
"""
SOUND = "print('stat::number_of_executed_units:  30\\nstat::peak_rss_mb: 3')\n"


def fuzz(folder: Path, **targets: str) -> fuzzers.Fuzzers:
    for name, text in targets.items():
        program(folder / f"fuzz/tests/fuzz/{name}_fuzz", text)
    return fuzzers.Fuzzers(folder / "fuzz/tests/fuzz", folder / "corpus", folder / "executions.json")


def test_executions_are_added_by_target(tmp_path: Path) -> None:
    for total in (30, 60):
        outcome = fuzz(tmp_path, mgp=SOUND, mep="print('it was ended')").search(turn(10))
        assert outcome.counts["fuzz_executions"] == 30
        assert json.loads((tmp_path / "executions.json").read_text()) == {"mep_fuzz": 0, "mgp_fuzz": total}


def test_each_target_has_its_turn(tmp_path: Path) -> None:
    names = [f"t{number}" for number in range(6)]
    one = fuzz(tmp_path, **dict.fromkeys(names, SOUND))
    for _ in range(3):
        assert one.search(turn(0.1)).counts["fuzz_executions"] == 60
    assert json.loads((tmp_path / "executions.json").read_text()) == {f"{name}_fuzz": 30 for name in names}


def test_what_a_fuzzer_finds_is_reduced_and_joins_its_corpus(tmp_path: Path) -> None:
    one = fuzz(tmp_path, mgp=CRASHES, mep=SOUND)
    outcome = one.search(turn(0.1))
    (finding,) = outcome.findings
    assert finding.what == "mgp_fuzz: AddressSanitizer: heap-buffer-overflow wire.cpp:7"
    kept = tmp_path / f"corpus/mgp/found_{hashlib.sha1(b'ma').hexdigest()[:12]}"
    assert kept.read_bytes() == b"ma"
    assert str(kept) in finding.again
    assert outcome.counts["fuzz_executions"] == 1230
    assert one.search(turn(0.1)).counts["fuzz_executions"] == 30, "a target that fails is left out"
    (again,) = fuzz(tmp_path, mgp=CRASHES.replace("b'many bytes'", "b'ma'")).search(turn(0.1)).findings
    assert again.where == f"its corpus had it: {kept}"
    assert len(list((tmp_path / "corpus/mgp").iterdir())) == 1


def test_without_clang_there_are_no_fuzzers(tmp_path: Path) -> None:
    assert "clang" in fuzzers.Fuzzers(tmp_path).missing()


# --- Kills ------------------------------------------------------------------------------------------------------------
def killed(folder: Path, condition: str) -> kills.Kills:
    crash = {"victim": 1, "what": "kill", "at_s": 0.5, "codes": [0, -9, -11], "crashed": 1, "balanced": None, "off": []}
    sound = crash | {"crashed": 0, "balanced": True}
    text = (
        logged_call(f"{folder}/calls") + f"print(json.dumps({crash!r} if {condition} else {sound!r}))\nprint('table')\n"
    )
    return kills.Kills(folder / "kills.txt", [program(folder / "bench", text)])


def test_moments_are_counted(tmp_path: Path) -> None:
    outcome = killed(tmp_path, "False").search(turn(0))
    assert outcome.counts == Counter(kills=1, kill_ledgers=1)
    assert outcome.findings == []


def test_a_moment_that_fails_is_kept_and_tried_again(tmp_path: Path) -> None:
    (finding,) = killed(tmp_path, "True").search(turn(0)).findings
    assert finding.what.startswith("node 1 kill at 0.500 s: exit codes [0, -9, -11], 1 survivors crashed")
    assert finding.what.endswith("3 of 3 times again")
    (case,) = cases.read(tmp_path / "kills.txt")
    words = case.words.split()
    assert [words[0], words[1], words[2], words[4]] == ["--seeds", "1", "--first", "--transports"]
    assert len(words) == 6, "what makes no difference is left out"
    assert finding.again == f"{kills.COMMAND} {case.words}"


def test_what_makes_a_difference_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kills, "FARMS", (("--standby",),))
    killed(tmp_path, "'--standby' in args").search(turn(0))
    assert cases.read(tmp_path / "kills.txt")[0].words.endswith(" --standby")


# --- Programs ---------------------------------------------------------------------------------------------------------
def test_a_program_that_does_not_end_is_ended(tmp_path: Path) -> None:
    said = run([program(tmp_path / "slow", "print('begun', flush=True); time.sleep(60)")], turn(), limit_s=0.5)
    assert said.code is None
    assert said.out == "begun\n"


def test_no_piece_begins_when_the_turn_is_over() -> None:
    assert list(in_turn(range(5), lambda number: number, turn(0))) == []
    assert sorted(in_turn(range(5), lambda number: number, turn(1000))) == [0, 1, 2, 3, 4]


# --- Rounds and their account -----------------------------------------------------------------------------------------
class Fake:
    """A kind of search that returns given findings, one in each turn."""

    def __init__(self, name: str, share: float, *, finds: list[Finding] | None = None, fails: bool = False) -> None:
        self.name, self.share, self._finds, self._fails = name, share, finds or [], fails
        self.seconds: list[float] = []
        self.is_missing = self.stops = False
        self.lasts_s = 0.0

    def missing(self) -> str:
        return "not here" if self.is_missing else ""

    def search(self, turn: Turn) -> Outcome:
        if self._fails:
            raise NotRunError("no engine")
        self.seconds.append(turn.seconds_left())
        time.sleep(self.lasts_s)
        if self.stops:
            turn.stop.set()
        return Outcome("1 thing", Counter({self.name: 1}), [self._finds.pop()] if self._finds else [])


def searched(account: Path, *of: Fake, seconds: float = 1.0) -> int:
    return rounds.Search(of, Account(account, n_fuzzed=5), threading.Event()).run(seconds)


def test_each_kind_has_its_share_and_what_others_leave(tmp_path: Path) -> None:
    one, other, absent = Fake("one", 0.1), Fake("other", 0.3), Fake("absent", 0.6)
    absent.is_missing = other.stops = True
    assert searched(tmp_path / "a.json", one, other, absent, seconds=100) == 0
    assert one.seconds[0] == pytest.approx(25, rel=0.01)
    assert other.seconds[0] == pytest.approx(100, rel=0.01), "the first took no time at all"
    assert absent.seconds == []


def test_each_kind_has_a_turn_however_short_the_search(tmp_path: Path) -> None:
    slow, last = Fake("slow", 0.5), Fake("last", 0.5)
    slow.lasts_s = 0.1
    searched(tmp_path / "a.json", slow, last, seconds=0.05)
    assert [len(slow.seconds), len(last.seconds)] == [1, 1]
    assert last.seconds[0] == pytest.approx(rounds.LEAST_TURN_S, rel=0.1)


def test_the_account_is_of_all_time_and_of_the_last_call(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    finding = Finding("it broke", "x.txt", "again")
    assert searched(path, Fake("farms", 1)) == 0
    assert searched(path, Fake("farms", 1, finds=[finding])) == 1
    report = json.loads(path.read_text())
    assert report["ever"] == {"farms": 2, "findings": 1, "fuzz_executions": 5, "seconds": 0}
    assert (report["last"]["farms"], report["last"]["findings"]) == (1, 1)
    assert set(report["last"]) >= {"commit", "changed", "utc"}


def test_what_could_not_be_searched_is_no_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = Fake("other", 1)
    assert searched(tmp_path / "a.json", Fake("broken", 1, fails=True), other) == 2
    assert len(other.seconds) == 1
    assert "broken     NOT searched: no engine" in capsys.readouterr().out
    other.is_missing = True
    assert searched(tmp_path / "a.json", other) == 2
    assert "other      skipped: not here\nnothing can be searched here" in capsys.readouterr().out


def test_told_to_stop_it_keeps_what_was_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    farms, never = Fake("farms", 1), Fake("never", 1)
    farms.stops = True
    assert searched(tmp_path / "a.json", farms, never, seconds=1000) == 0
    assert never.seconds == []
    assert json.loads((tmp_path / "a.json").read_text())["ever"]["farms"] == 1
    assert "nothing found, ended early" in capsys.readouterr().out


def test_findings_are_reported_with_case_and_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    searched(tmp_path / "a.json", Fake("farms", 1, finds=[Finding("it broke", "written to x.txt", "anello simulate")]))
    out = capsys.readouterr().out
    assert "FOUND    it broke\n    case     written to x.txt\n    shown by anello simulate\n" in out
    assert "1 FOUND" in out


def test_a_case_stands_in_its_file_once(tmp_path: Path) -> None:
    path = tmp_path / "cases.txt"
    path.write_text("# Seeds: SEED  # what it found\n\n7  # by hand")
    assert cases.add(path, "12", "a\nb") == f"written to {path}"
    assert cases.add(path, "12", "other words") == f"{path} had it"
    assert cases.read(path) == [Case("7", "by hand"), Case("12", "a b")]


def test_seeds_are_new() -> None:
    seeds = {cases.new_seed() for _ in range(50)}
    assert len(seeds) == 50
    assert all(0 < seed < 10**9 for seed in seeds)


def test_options_are_looked_at_before_anything_is_built(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--look", "--only", "fuzz", "--only", "farms"]) == 0
    assert capsys.readouterr().out == "farms fuzz\n"
    for wrong in (["--minutes", "0"], ["--only", "nothing"], ["--minutes", "x"]):
        with pytest.raises(SystemExit):
            main(wrong)
    assert sum(kind.share for kind in kinds()) == pytest.approx(1)
