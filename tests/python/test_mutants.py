# SPDX-License-Identifier: Apache-2.0
"""The mutation run itself: its changes, and that it distinguishes killed, surviving, equivalent and broken mutants."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from mutation.__main__ import Drawer, Run, resource_folder
from mutation.cpp_mutants import cpp_mutants
from mutation.mutant import Mutant
from mutation.python_mutants import python_mutants
from mutation.subjects import CppSubject, PythonSubject, compile_options
from mutation.trial import Bench, Outcome, alone, first_failed

CPP = """\
#include <cstddef>
// a < b in a comment
int clamp(int value, int most) {
    static_assert(sizeof(int) == 4);
    if (value > most) return most;
    int unused = 0;
    unused += value;
    return value;
}
int first_above(const int* values, std::size_t n, int limit) {
    std::size_t at = 0;
    while (at < n && !(values[at] > limit)) ++at;
    return static_cast<int>(at);
}
struct Box {
    int value;
    bool operator==(const Box&) const = default;
};
bool differ(const Box& a, const Box& b) { return a != b; }
"""
CPP_TEST = """\
int clamp(int, int);
int first_above(const int*, unsigned long, int);
int main() {
    const int values[] = {1, 2, 3};
    return clamp(3, 2) == 2 && clamp(1, 2) == 1 && first_above(values, 3, 1) == 1 ? 0 : 1;
}
"""
PYTHON = """\
def total(rows: list[int] | None, limit: int = 3) -> int:
    kept = [row for row in rows or [] if row < limit and not row < 0]
    return sum(kept) + 1


import dataclasses


@dataclasses.dataclass(frozen=True)
class Row:
    n: int
"""

isolated = pytest.mark.skipif(
    subprocess.run([*alone(Path("/mnt"), 1), "true"], capture_output=True, check=False).returncode != 0,
    reason="no namespaces of processes, networks and mounts here",
)
with_clang = pytest.mark.skipif(
    not Path("/usr/lib/llvm-16/lib/clang").exists(), reason="no libclang-common-16-dev; ./dev mutants installs it"
)


def described(mutants: list[Mutant]) -> set[tuple[int, str]]:
    return {(one.line(one.path.read_bytes()), one.words(one.path.read_bytes())) for one in mutants}


@pytest.fixture
def cpp_file(tmp_path: Path) -> Path:
    path = tmp_path / "clamp.cpp"
    path.write_text(CPP)
    return path


@pytest.fixture
def python_file(tmp_path: Path) -> Path:
    path = tmp_path / "package/total.py"
    path.parent.mkdir()
    (path.parent / "__init__.py").touch()
    path.write_text(PYTHON)
    return path


@with_clang
def test_mutants_of_cpp(cpp_file: Path) -> None:
    found = described(cpp_mutants(cpp_file, ["-std=c++20", *resource_folder()]))
    assert {line for line, _ in found} == {5, 6, 7, 11, 12, 19}, (
        "no comment, no static_assert, nothing that a return needs"
    )
    assert {words for line, words in found if line == 5} == {
        "'>' -> '>='", "'>' -> '<='", "'value > most' -> 'true'", "'value > most' -> 'false'",
    }  # fmt: skip
    assert {words for line, words in found if line == 7} == {"'+=' -> '-='", "'unused += value' -> ''"}
    assert (12, "'&&' -> '||'") in found
    assert (12, "'!' -> ''") in found
    assert (12, "'++' -> '--'") in found
    assert {words for line, words in found if line == 19} == {"'!=' -> '=='"}, "and no assignment"


def test_mutants_of_python(python_file: Path) -> None:
    found = described(python_mutants(python_file))
    assert found == {
        (1, "'3' -> '4'"), (2, "'or' -> 'and'"), (2, "'<' -> '<='"), (2, "'<' -> '>='"), (2, "'and' -> 'or'"),
        (2, "'not' -> ''"), (2, "'0' -> '1'"), (3, "'+' -> '-'"), (3, "'1' -> '2'"),
    }  # fmt: skip


def test_lines_keep_their_numbers(tmp_path: Path) -> None:
    source = b"a(1,\n  2);\nb();\n"
    assert Mutant(tmp_path, 0, 9, "", "statement").applied(source) == b"\n;\nb();\n"


def test_compile_options_keep_what_matters() -> None:
    command = ["ccache", "g++", "-DX", "-I/a", "-O3", "-MD", "-MT", "x.o", "-MF", "x.d", "-o", "x.o", "-c", "x.cpp"]
    assert compile_options(command) == ["g++", "-DX", "-I/a", "-O3"]


def cpp_subject(cpp_file: Path) -> CppSubject:
    folder = cpp_file.parent
    (folder / "test.cpp").write_text(CPP_TEST)
    subprocess.run(["g++", "-c", "test.cpp", "-o", "test.o"], cwd=folder, check=True)
    return CppSubject("clamp", [cpp_file], folder, {cpp_file: ["g++", "-std=c++20", "-O2"]}, ["g++", "test.o"])


def judged(bench: Bench, path: Path, old: str, new: str, work: Path) -> Outcome:
    source = path.read_text()
    assert source.count(old) == 1
    return bench.judge(path, source.replace(old, new).encode(), work).outcome


@isolated
@pytest.mark.process
def test_outcomes_of_cpp(cpp_file: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    bench = Bench.of(cpp_subject(cpp_file), tmp_path, work)
    for old, new, expected in (
        ("value > most)", "value < most)", Outcome.killed),
        ("value > most)", "value >= most)", Outcome.equivalent),
        ("at < n", "at <= n", Outcome.survived),
        ("+= value", "-= value", Outcome.equivalent),
        ("+= value", "+= other", Outcome.uncompilable),
    ):
        assert judged(bench, cpp_file, old, new, work) == expected, (old, new)
    bench.timeout_s = 1
    assert judged(bench, cpp_file, "++at;", "at -= 0 * at + static_cast<std::size_t>(values == nullptr);", work) in {
        Outcome.timed_out, Outcome.killed,
    }  # fmt: skip


@isolated
@pytest.mark.process
def test_what_waits_for_ever_is_ended(tmp_path: Path) -> None:
    assert shutil.which("unshare")
    subject = PythonSubject("sleep", [], tmp_path, ("package",), [])
    bench = Bench(subject, tmp_path, timeout_s=0.5)
    subject.make = lambda path, text, work: None  # type: ignore[method-assign]
    subject.command = lambda work: (["sh", "-c", "sleep 1000 & wait"], {})  # type: ignore[method-assign]
    assert bench.judge(tmp_path / "x.py", b"", tmp_path / "work").outcome == Outcome.timed_out


@isolated
@pytest.mark.process
def test_the_killer_is_found_among_many_words(tmp_path: Path) -> None:
    subject = PythonSubject("talk", [], tmp_path, ("package",), [])
    subject.make = lambda path, text, work: None  # type: ignore[method-assign]
    talk = "seq 5000; echo '[  FAILED  ] Clamp.Low (0 ms)'; seq 5000; exit 1"
    subject.command = lambda work: (["sh", "-c", talk], {})  # type: ignore[method-assign]
    judged = Bench(subject, tmp_path, timeout_s=60).judge(tmp_path / "x.py", b"", tmp_path / "work")
    assert judged == (Outcome.killed, "Clamp.Low")


@isolated
@pytest.mark.process
def test_run_over_python_keeps_the_account(
    python_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    test = tmp_path / "total_test.py"
    test.write_text("from package.total import total\n\nassert total([1, 2, 5, -1]) == 4\n")
    subject = PythonSubject("total", [python_file], tmp_path, ("package",), [test], runner=())
    run = Run(Drawer([subject], seed=1), tmp_path / "results.jsonl", tmp_path / "work", root=tmp_path)
    run.all(iter(run.drawer), number=100, jobs=1)
    rows = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    # Nothing that is 0 or 3 is asked about.
    survived = {(row["line"], row["words"]) for row in rows if row["outcome"] == Outcome.survived}
    assert survived == {(1, "'3' -> '4'"), (2, "'<' -> '<='"), (2, "'0' -> '1'")}
    assert {row["outcome"] for row in rows} == {Outcome.survived, Outcome.killed}
    assert run.share_killed() == pytest.approx(1 - sum(row["outcome"] == "survived" for row in rows) / len(rows))


@isolated
@pytest.mark.process
def test_a_run_that_was_ended_continues(python_file: Path, tmp_path: Path) -> None:
    test = tmp_path / "total_test.py"
    test.write_text("from package.total import total\n\nassert total([1, 2, 5, -1]) == 4\n")
    subject = PythonSubject("total", [python_file], tmp_path, ("package",), [test], runner=())
    results = tmp_path / "results.jsonl"
    for resume in (False, True):
        run = Run(Drawer([subject], seed=1), results, tmp_path / "work", root=tmp_path, resume=resume)
        run.all(iter(run.drawer), number=8 if resume else 5, jobs=1)
        rows = results.read_text().splitlines()
        assert len(rows) == len(set(rows)) == run.outcomes.total()
    assert run.outcomes.total() >= 8


@pytest.mark.parametrize(
    ("said", "by"),
    [
        ("x.cpp:3: Failure\n[  FAILED  ] Clamp.Low (0 ms)\n[  FAILED  ] Clamp.High\n", "Clamp.Low"),
        ("[  FAILED  ] All/Clamp.Low/udp, where GetParam() = udp (1 ms)\n", "All/Clamp.Low/udp"),
        ("=== summary ===\nFAILED tests/test_x.py::test_total - assert 1\n", "tests/test_x.py::test_total"),
        ("Segmentation fault\n", ""),
    ],
)  # fmt: skip
def test_the_first_test_that_failed_is_named(said: str, by: str) -> None:
    assert first_failed(said) == by


@pytest.mark.process
def test_tests_that_fail_on_sound_sources_tell_nothing(python_file: Path, tmp_path: Path) -> None:
    test = tmp_path / "test_total.py"
    test.write_text("def test_total():\n    assert False\n")
    with pytest.raises(RuntimeError, match="sound sources"):
        Bench.of(PythonSubject("total", [python_file], tmp_path, ("package",), [test]), tmp_path, tmp_path / "work")


@with_clang
def test_same_seed_draws_the_same(cpp_file: Path) -> None:
    subject = CppSubject("clamp", [cpp_file], cpp_file.parent, {cpp_file: ["g++", "-std=c++20"]}, [])
    one, same, other = ([next(iter(Drawer([subject], seed))) for _ in range(1)] for seed in (1, 1, 2))
    assert one == same
    assert other
