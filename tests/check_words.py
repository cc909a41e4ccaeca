# SPDX-License-Identifier: Apache-2.0
"""Comments, docstrings, messages and pages say who does what: words that leave it open are found here.

Each folder of tests/words_left.txt has a number of such places that are still left; it may fall and never rise. A file
counts for the longest folder of that list that it lies in. Run as a program it prints the places of each folder that
has too many and exits 1 if there is one; `--list FOLDER` prints all of a folder, `--write` lowers the numbers.
"""

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import check_names

ROOT = Path(__file__).resolve().parent.parent
LEFT = "tests/words_left.txt"
# Decisions and the change log tell what was; this check and its test name the words.
NOT_READ = ("docs/decisions/", "CHANGELOG.md", "tests/check_words.py", "tests/python/test_check_words.py")
INSTEAD = {
    r"so long(?! as\b)": "for this time; or give the time and its unit",
    r"(?:go|goes|going) on": "continue",
    r"whoever|who (?:asks|looks|reads|speaks|watches)": "name the reader, caller, sender or thread",
    r"likewise": "say it again, or group the lines under one comment",
    r"beside": "next to, in addition to, or with",
    r"behind (?:each|it|that|the|them|this|those)": "after",
    r"(?:un)?told": "reported, notified, sent, or configured, with who does it",
    r"what (?:came|comes|goes|went|(?:is|was) there)": "name the things: datagrams, fragments, bytes",
    r"(?:became|becomes|become|came|comes|come) of": "the result or outcome of",
    r"of (?:such|these|those),": "begin with the thing that is counted",
    r"as (?:\w+ ){1,3}(?:has|have) it": "as in, or according to",
    r"dearest": "most expensive",
    r"let go": "release",
}
PATTERNS = {re.compile(rf"\b(?:{words})(?![\w(])", re.I): instead for words, instead in INSTEAD.items()}
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


def texts(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """Lines of comments, docstrings and pages, and strings of several words, with their line numbers."""
    yield from check_names.prose(path, text)
    sign = check_names.LINE_COMMENT.get(path.suffix)
    for number, line in enumerate(text.splitlines(), 1) if sign else ():
        yield from ((number, found) for found in STRING.findall(line) if " " in found)


def unclear(path: Path, text: str) -> list[tuple[int, str]]:
    """Line number and complaint of each place with an unclear word."""
    places = {
        (number, f'"{found.group()}": write {instead}')
        for number, line in texts(path, text)
        for pattern, instead in PATTERNS.items()
        for found in pattern.finditer(line)
    }
    return sorted(places)


def folder_of(name: str, folders: Mapping[str, int]) -> str:
    """The longest listed folder that holds the file; "." holds the rest."""
    return max((folder for folder in folders if name.startswith(f"{folder}/")), key=len, default=".")


def places_of(root: Path, folders: Mapping[str, int]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for name in check_names.tracked(root):
        if name.startswith(NOT_READ):
            continue
        try:
            text = (root / name).read_text()
        except UnicodeDecodeError:
            continue
        found[folder_of(name, folders)] += [f"{name}:{number}: {what}" for number, what in unclear(Path(name), text)]
    return found


def read_left(root: Path) -> dict[str, int]:
    lines = [line.split() for line in (root / LEFT).read_text().splitlines() if not line.startswith("#")]
    return {folder: int(number) for folder, number in lines}


def write_left(root: Path, left: Mapping[str, int], found: Mapping[str, list[str]]) -> None:
    """Lowers numbers and raises none."""
    head = [line for line in (root / LEFT).read_text().splitlines() if line.startswith("#")]
    lines = [f"{folder} {min(most, len(found.get(folder, ())))}" for folder, most in left.items()]
    (root / LEFT).write_text("\n".join([*head, *lines]) + "\n")


def complaints(left: Mapping[str, int], found: Mapping[str, list[str]]) -> Iterator[str]:
    for folder, places in found.items():
        if len(places) > (most := left.get(folder, 0)):
            yield from places
            yield f"{folder}: {len(places)} unclear words, {most} are allowed: rewrite those you added ({LEFT})"


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--list", metavar="FOLDER", help="print the places of this folder of the list")
    options.add_argument("--write", action="store_true", help="lower the numbers of the list to what is found")
    given = options.parse_args()
    left = read_left(ROOT)
    found = places_of(ROOT, left)
    if given.write:
        write_left(ROOT, left, found)
    if given.list:
        print("\n".join(found.get(given.list, [])))
        return 0
    wrong = list(complaints(left, found))
    print("\n".join(wrong) or "no folder has more unclear words than its list allows")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
