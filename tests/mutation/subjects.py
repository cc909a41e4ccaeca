# SPDX-License-Identifier: Apache-2.0
"""The sources that are mutated: the folders of the engine, each with its test program, and the ledgers in Python."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from mutation.trial import Outcome

COMPILE_TIMEOUT_S = 600


def _succeeds(command: list[str], cwd: Path) -> bool:
    done = subprocess.run(command, cwd=cwd, capture_output=True, timeout=COMPILE_TIMEOUT_S, check=False)
    return done.returncode == 0


@dataclass
class CppSubject:
    """A folder of the engine, or a detector. The mutated object is linked before the library with the sound one.

    compilers: for each file its command without -o and -c; link: the command that makes the test program, without -o.
    """

    name: str
    files: list[Path]
    build: Path
    compilers: dict[Path, list[str]]
    link: list[str]
    sound: dict[Path, bytes] = field(default_factory=dict)

    def make(self, path: Path, text: bytes, work: Path) -> Outcome | None:
        if path not in self.sound:
            if not self._compile(path, path.read_bytes(), work):
                raise RuntimeError(f"{path} does not compile as it is")
            self.sound[path] = (work / "mutant.o").read_bytes()
        if not self._compile(path, text, work):
            return Outcome.uncompilable
        if (work / "mutant.o").read_bytes() == self.sound[path] and text != path.read_bytes():
            return Outcome.equivalent
        compiler, *rest = self.link
        linked = _succeeds([compiler, "-o", str(work / "tests"), str(work / "mutant.o"), *rest], self.build)
        return None if linked else Outcome.uncompilable

    def _compile(self, path: Path, text: bytes, work: Path) -> bool:
        """One place for all, since a compiler may put the file's name into the object."""
        source = work / path.name
        source.write_bytes(text)
        return _succeeds([*self.compilers[path], "-c", str(source), "-o", str(work / "mutant.o")], self.build)

    def clang_options(self, path: Path) -> list[str]:
        """Options with which clang reads the file: folders of headers, macros, the widest registers we use."""
        words = self.compilers[path]
        systems = [word for before, word in pairwise(words) if before == "-isystem"]
        kept = [word for word in words[1:] if word.startswith(("-D", "-I", "-std"))]
        return [*kept, *(word for folder in systems for word in ("-isystem", folder)), "-march=skylake-avx512"]

    def command(self, work: Path) -> tuple[list[str], dict[str, str]]:
        return [str(work / "tests"), "--gtest_fail_fast", "--gtest_brief=1"], {}


def compile_options(command: list[str]) -> list[str]:
    """The command of compile_commands.json without launcher, input, output and dependency file."""
    if Path(command[0]).name == "ccache":
        command = command[1:]
    kept, rest = [], iter(command)
    for word in rest:
        if word in {"-o", "-MT", "-MF", "-c"}:
            next(rest)
        elif word != "-MD":
            kept.append(word)
    return kept


def cpp_folders(root: Path) -> list[str]:
    """Folders of the engine, then those of the detectors."""
    return [
        path.parent.name for top in ("engine", "detectors") for path in sorted((root / top).glob("*/CMakeLists.txt"))
    ]


def cpp_folder(root: Path, build: Path, name: str) -> CppSubject:
    """The folder NAME with test_NAME, as CMake and Ninja build them. RuntimeError without such a build."""
    database = json.loads((build / "compile_commands.json").read_text())
    folder = next(root / top / name for top in ("engine", "detectors") if (root / top / name).is_dir())
    compilers = {
        path: compile_options(shlex.split(entry["command"]))
        for entry in database
        if (path := Path(entry["file"])).is_relative_to(folder)
        and not {"tests", "bindings", "bindings.cpp"} & set(path.relative_to(folder).parts)
    }
    said = subprocess.run(
        ["ninja", "-C", str(build), "-t", "commands", f"tests/test_{name}"], capture_output=True, text=True, check=True
    ).stdout
    linked = re.search(r"^: && (.*?) && ", said.splitlines()[-1])
    if linked is None or not compilers:
        raise RuntimeError(f"{build}: knows no test program of {name}; ./dev mutants builds it")
    words = shlex.split(linked[1])
    at = words.index("-o")
    return CppSubject(name, sorted(compilers), build, compilers, words[:at] + words[at + 2 :])


NOT_COPIED = shutil.ignore_patterns("__pycache__", "*.cpp", "*.hpp")


@dataclass
class PythonSubject:
    """Python files of these folders with their tests. Folders are copied, a mutant replaces one file of the copy."""

    name: str
    files: list[Path]
    root: Path
    folders: tuple[str, ...]
    tests: list[Path]
    runner: tuple[str, ...] = ("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider")

    def make(self, path: Path, text: bytes, work: Path) -> Outcome | None:
        try:
            mutant, sound = compile(text, "x", "exec"), compile(path.read_bytes(), "x", "exec")
        except (SyntaxError, ValueError):
            return Outcome.uncompilable
        if mutant == sound and text != path.read_bytes():
            return Outcome.equivalent
        for folder in self.folders:
            shutil.rmtree(work / folder, ignore_errors=True)
            shutil.copytree(self.root / folder, work / folder, symlinks=True, ignore=NOT_COPIED)
        (work / path.relative_to(self.root)).write_bytes(text)
        return None

    def command(self, work: Path) -> tuple[list[str], dict[str, str]]:
        # -P: not the folder that it is started from, in which the sound package lies.
        command = [sys.executable, "-P", *self.runner, *(str(test) for test in self.tests)]
        return command, {"PYTHONPATH": str(work), "PYTHONDONTWRITEBYTECODE": "1"}


def ledgers(root: Path) -> PythonSubject:
    """The ledgers of all chains and commands, with the tests that are named after them."""
    folders = ("anello", "detectors")
    files = sorted(path for folder in folders for path in (root / folder).rglob("*.py")
                   if "tests" not in path.parts and ("ledger" in path.name or path.name == "farm.py"))  # fmt: skip
    tests = [*(root / "tests/python").glob("test_*ledger*.py"), *(root / "detectors").glob("*/tests/test_*ledger*.py")]
    return PythonSubject("ledger", files, root, folders, sorted(tests))
