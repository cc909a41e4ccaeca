# SPDX-License-Identifier: Apache-2.0
"""A folder of the engine includes only itself and the folders before it on the data path.

The order is the list in engine/CMakeLists.txt. The parts of a folder, its own folders, have no list: of two parts only
one includes the other. Run as a program it prints each violation and exits 1 if there is one.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCES = {".hpp", ".cpp", ".h", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def folder_order(engine: Path) -> list[str]:
    """The folders in the order of the data path, as engine/CMakeLists.txt adds them."""
    found = re.search(r"foreach\(folder ([a-z_ \n]+)\)", (engine / "CMakeLists.txt").read_text())
    if found is None:
        raise ValueError(f"{engine}/CMakeLists.txt has no foreach(folder ...)")
    return found.group(1).split()


def violations(engine: Path) -> Iterator[str]:
    """One line for each include or link that goes against the order, and for each folder without a place in it."""
    order = folder_order(engine)
    for folder in sorted(path.name for path in engine.iterdir() if path.is_dir()):
        if folder in order:
            yield from _folder_violations(engine / folder, order)
            yield from _mutual_includes(engine / folder)
        elif any((engine / folder).iterdir()):
            yield f"{engine.name}/{folder}: has no place in the order of {engine.name}/CMakeLists.txt"


def _folder_violations(folder: Path, order: list[str]) -> Iterator[str]:
    allowed = order[: order.index(folder.name) + 1]
    for source in sorted(path for path in folder.rglob("*") if path.suffix in SOURCES):
        where = source.relative_to(folder.parent.parent)
        text = source.read_text()
        for include in INCLUDE.finditer(text):
            line = text.count("\n", 0, include.start(1)) + 1
            target = include.group(1).split("/")[0]
            if target not in order:
                yield f'{where}:{line}: "{include.group(1)}" does not begin with a folder of the engine'
            elif target not in allowed:
                yield f'{where}:{line}: {folder.name} includes "{include.group(1)}", but {target} comes after it'
    yield from _link_violations(folder, order, allowed)


def _mutual_includes(folder: Path) -> Iterator[str]:
    """Complaints about parts that include each other."""
    used = {part.name: set(_parts_used(part)) for part in folder.iterdir() if part.is_dir()}
    for part, others in sorted(used.items()):
        for other in sorted(others):
            if part < other and part in used.get(other, ()):
                yield f"{folder.parent.name}/{folder.name}: {part} and {other} include each other"


def _parts_used(part: Path) -> Iterator[str]:
    for source in (path for path in part.rglob("*") if path.suffix in SOURCES):
        for target in INCLUDE.findall(source.read_text()):
            folders = target.split("/")[:-1]
            if folders[:1] == [part.parent.name] and len(folders) > 1 and folders[1] != part.name:
                yield folders[1]


def _link_violations(folder: Path, order: list[str], allowed: list[str]) -> Iterator[str]:
    cmake = folder / "CMakeLists.txt"
    found = re.search(r"DEPS([^)]*?)(?:LIBS|\))", cmake.read_text()) if cmake.exists() else None
    for target in found.group(1).split() if found else []:
        if target in order and target not in allowed[:-1]:
            yield f"{folder.parent.name}/{folder.name}/CMakeLists.txt: {folder.name} links {target}, not before it"


def main() -> int:
    engine = Path(__file__).parent.parent / "engine"
    found = list(violations(engine))
    print("\n".join(found) or f"include order holds: {' '.join(folder_order(engine))}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
