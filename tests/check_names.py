# SPDX-License-Identifier: Apache-2.0
"""Every file that a comment or a page names exists.

All tracked files but those of tests, the change log and the decisions, which tell what was. A name may be cut at the
front, as includes are: `merger.hpp`, `events/merger.hpp`. Names with a word in capitals (NAME_fuzz.cpp) stand for many,
and what commands write is listed below. Run as a program it prints each name that leads nowhere and exits 1 if there is
one.
"""

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KINDS = "py|pyi|cpp|hpp|h|cu|cuh|sv|md|toml|sh|cmake|js|css|txt|hex|json"
NAME = re.compile(rf"(?<![\w/.{{}}$*<>-])((?:[\w.-]+/)*[\w-]+\.(?:{KINDS}))(?![\w/*])")
LINE_COMMENT = {**dict.fromkeys((".cpp", ".hpp", ".h", ".cu", ".cuh", ".sv", ".js"), "//"),
                **dict.fromkeys((".py", ".toml", ".txt", ".cmake", ".sh", ""), "#")}  # fmt: skip
NOT_READ = ("tests/", "docs/decisions/", "CHANGELOG.md")
# Files that commands write, that users write, and files of others.
WRITTEN = {"summary.json", "search.json", "plan.json", "curve.json", "control-tokens.json", "compile_commands.json",
           "truth.json", "fixes.sh", "rich.toml", "farm.toml", "telescope.toml", "my_module.py", "file.py", "file.cu",
           "precompiled.hpp"}  # fmt: skip
OF_OTHERS = ("linux/", "netinet/", "pcap/", "l0/", "build/", "runs/", "tests/cases/")


def tracked(root: Path = ROOT) -> list[str]:
    listed = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True, check=True).stdout
    return [name for name in listed.splitlines() if (root / name).is_file() and not (root / name).is_symlink()]


def endings(names: Iterable[str]) -> set[str]:
    """Each name, and what is left of it without its first folders."""
    return {"/".join(name.split("/")[i:]) for name in names for i in range(name.count("/") + 1)}


def prose(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """Lines of a page, or the comments and docstrings of a source, with their numbers."""
    if path.suffix == ".md":
        yield from enumerate(text.splitlines(), 1)
        return
    if sign := LINE_COMMENT.get(path.suffix):
        yield from ((n, line.partition(sign)[2]) for n, line in enumerate(text.splitlines(), 1) if sign in line)
    if path.suffix == ".py":
        for found in re.finditer(r'"""(.*?)"""', text, re.S):
            yield from enumerate(found.group(1).splitlines(), text.count("\n", 0, found.start()) + 1)


def is_there(name: str, known: set[str]) -> bool:
    plain = re.sub(r"^(\.\./)+", "", name)
    return (plain in known or plain.split("/")[-1] in WRITTEN or plain.startswith(OF_OTHERS)
            or any(re.fullmatch(r"[A-Z]{2,}", word) for word in re.split(r"[/_.]", plain)))  # fmt: skip


def missing(root: Path = ROOT) -> Iterator[str]:
    names = tracked(root)
    known = endings(names)
    for name in names:
        if name.startswith(NOT_READ):
            continue
        try:
            text = (root / name).read_text()
        except UnicodeDecodeError:
            continue
        for line, words in prose(Path(name), text):
            yield from (f"{name}:{line}: there is no {one}" for one in NAME.findall(words) if not is_there(one, known))


def main() -> int:
    found = sorted(set(missing()))
    print("\n".join(found) or "every file that is named exists")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
