# SPDX-License-Identifier: Apache-2.0
"""Built programs keep to the hardening that SECURITY.md promises, as readelf sees it.

    check_binaries.py [--search-paths] PATH...     files, folders that are searched, wheels that are opened

--search-paths asks for no more than that: of programs that users build with options of their own.

Every program and library: no search path that depends on where it is started, addresses bound at start and read-only
from then on, no executable stack. The extension and libzmq also: stack protector and checked C library
calls. Prints one line for each violation and exits 1 if there is one, or if there was nothing to check.
"""

import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

MAGIC = b"\x7fELF"
EXECUTABLE, SHARED = 2, 3  # e_type; a position-independent program is of type SHARED too
SHIPPED = re.compile(r"^(_engine\..*\.so|libzmq\.so\.[\d.]+)$")  # compiled by us and run by users
OTHERS = {"CMakeFiles", "venv", ".venv", "peers", "site-packages"}  # trials of CMake, packages of others
SEARCH_PATH = re.compile(r"\((?:RPATH|RUNPATH)\)\s+Library (?:rpath|runpath): \[(.*)\]")


def is_linked(path: Path) -> bool:
    """An ELF file that the loader would take: a program or a shared library, not an object file."""
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(18)
    return head[:4] == MAGIC and len(head) == 18 and int.from_bytes(head[16:18], "little") in (EXECUTABLE, SHARED)


def linked_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if not OTHERS.intersection(path.relative_to(folder).parts) and is_linked(path):
            yield path


def readelf(path: Path) -> str:
    command = ["readelf", "--wide", "--dynamic", "--program-headers", "--dyn-syms", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def bad_search_path(said: str) -> Iterator[str]:
    """The loader looks up an empty or relative element in the operator's present folder."""
    for found in SEARCH_PATH.finditer(said):
        for element in found.group(1).split(":"):
            if not element.startswith(("/", "$ORIGIN", "${ORIGIN}")):
                yield f"search path [{found.group(1)}] has the element '{element}', which the current folder decides"


def missing_hardening(said: str) -> Iterator[str]:
    if "GNU_RELRO" not in said:
        yield "no GNU_RELRO: its tables of addresses stay writable (-Wl,-z,relro)"
    if not re.search(r"\(FLAGS(?:_1)?\).*\b(?:BIND_NOW|NOW)\b", said):
        yield "no BIND_NOW: functions are looked up while it runs (-Wl,-z,now)"
    if re.search(r"GNU_STACK.*\bRWE\b", said):
        yield "its stack is executable (-Wl,-z,noexecstack)"


def missing_watches(said: str) -> Iterator[str]:
    if "__stack_chk_fail" not in said:
        yield "no stack protector (-fstack-protector-strong)"
    if not re.search(r"\b__\w+_chk\b(?<!__stack_chk)", said):
        yield "no checked call of the C library (-D_FORTIFY_SOURCE=3)"


def problems(path: Path, search_paths_only: bool = False) -> Iterator[str]:
    """Complaints about one ELF file."""
    said = readelf(path)
    yield from bad_search_path(said)
    if search_paths_only:
        return
    yield from missing_hardening(said)
    if SHIPPED.match(path.name):
        yield from missing_watches(said)


def check(path: Path, search_paths_only: bool = False) -> tuple[int, list[str]]:
    """Number of ELF files below a path, and one line for each fault of one."""
    if path.suffix == ".whl":
        with tempfile.TemporaryDirectory() as folder:
            zipfile.ZipFile(path).extractall(folder)
            n_files, lines = check(Path(folder), search_paths_only)
        return n_files, [line.replace(folder, path.name) for line in lines]
    files = list(linked_files(path)) if path.is_dir() else [path]
    return len(files), [f"{file}: {problem}" for file in files for problem in problems(file, search_paths_only)]


def main(arguments: list[str]) -> int:
    n_files, lines = 0, []
    search_paths_only = "--search-paths" in arguments
    for argument in arguments:
        if argument == "--search-paths":
            continue
        if not Path(argument).exists():
            lines.append(f"{argument}: does not exist")
            continue
        n_here, found = check(Path(argument), search_paths_only)
        n_files += n_here
        lines += found if n_here else [f"{argument}: holds no program or library"]
    held = "search paths" if search_paths_only else "search paths, relro, bind now, stack, watches"
    print("\n".join(lines) or f"{n_files} programs and libraries: {held} hold")
    return 1 if lines or not n_files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
