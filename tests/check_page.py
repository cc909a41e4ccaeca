# SPDX-License-Identifier: Apache-2.0
"""The page's JavaScript, which no formatter of ours reads: lines of 120 columns, and no function above 50 lines.

Run as a program it prints each violation and exits 1 if there is one.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

STATIC = Path(__file__).resolve().parent.parent / "anello/control/web/static"
MOST_COLUMNS, MOST_LINES = 120, 50
FUNCTION = re.compile(r"^(?:export )?(?:async )?function\*? (\w+).*?^}$", re.MULTILINE | re.DOTALL)


def violations(name: str, text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > MOST_COLUMNS:
            yield f"{name}:{number}: has {len(line)} columns; {MOST_COLUMNS} are the limit: break the line"
    for found in FUNCTION.finditer(text):
        n_lines = found.group().count("\n") + 1
        if n_lines > MOST_LINES:
            where = text.count("\n", 0, found.start()) + 1
            yield f"{name}:{where}: {found.group(1)} has {n_lines} lines; {MOST_LINES} are the limit: divide it"


def main() -> int:
    found = [line for path in sorted(STATIC.glob("*.js")) for line in violations(path.name, path.read_text())]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
