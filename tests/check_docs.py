# SPDX-License-Identifier: Apache-2.0
"""Documents keep their word: every relative link leads somewhere, and every tutorial's code runs.

Links: all Markdown files that git tracks. Code, with --run: the `python` and `sh` blocks of docs/tutorial*.md,
docs/tutorial/*.md and RUNNING_PAGES, in order, from the project's root; the Python blocks of one page share their
names. A block after a line `<!-- not run: REASON -->` is left out and named.
"""

import os
import re
import subprocess
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)|!\[[^\]\n]*\]\(([^)\s]+)\)")
BLOCK = re.compile(r"(?:^<!-- not run: (?P<reason>.*?) -->\n+)?^```(?P<language>\w*)\n(?P<code>.*?)^```$", re.M | re.S)
TIMEOUT_S = 300
RUNNING_PAGES = ("docs/how-to/stream.md", "docs/how-to/subscribe.md")  # besides the tutorials


@dataclass(frozen=True)
class Block:
    language: str
    code: str
    line: int
    reason_not_run: str | None


def anchors(text: str) -> set[str]:
    """The anchors of a page, as the usual renderers make them from its headings."""
    headings = re.findall(r"^#+ (.*)$", BLOCK.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def broken_links(page: Path) -> Iterator[str]:
    """One line for each relative link of the page whose file or heading does not exist."""
    text = BLOCK.sub(lambda block: "\n" * block.group().count("\n"), page.read_text())
    for found in LINK.finditer(text):
        link = found.group(1) or found.group(2)
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        line = text.count("\n", 0, found.start()) + 1
        if not target.exists():
            yield f"{page}:{line}: {link}: no such file"
        elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text()):
            yield f"{page}:{line}: {link}: no such heading"


def blocks(text: str) -> list[Block]:
    return [
        Block(found["language"], found["code"], text.count("\n", 0, found.start("code")) + 1, found["reason"])
        for found in BLOCK.finditer(text)
    ]


def tutorial_failures(page: Path, root: Path) -> Iterator[str]:
    """Runs the page's blocks in order; one line for each that fails."""
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page.read_text()):
        where = f"{page}:{block.line}"
        if block.reason_not_run is not None:
            print(f"{where}: not run: {block.reason_not_run}")
            continue
        failure = {"sh": _run_shell, "python": _run_python}.get(block.language, _run_nothing)(block, page, root, names)
        if failure:
            yield f"{where}: {failure}"


def _run_python(block: Block, page: Path, root: Path, names: dict[str, object]) -> str:
    os.chdir(root)
    try:
        # Blank lines before the code, so that a traceback shows the line of the page.
        exec(compile("\n" * (block.line - 1) + block.code, str(page), "exec"), names)
    except Exception:
        return traceback.format_exc(limit=-3)
    return ""


def _run_shell(block: Block, page: Path, root: Path, names: dict[str, object]) -> str:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.code],
        cwd=root, env=os.environ | {"PATH": path}, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    return "" if done.returncode == 0 else f"exit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"


def _run_nothing(block: Block, page: Path, root: Path, names: dict[str, object]) -> str:
    return ""


def tracked_pages(root: Path) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=root, capture_output=True, text=True, check=True)
    return [root / name for name in listed.stdout.split() if (root / name).exists()]


def main() -> int:
    root = Path(__file__).parent.parent
    problems = [line for page in tracked_pages(root) for line in broken_links(page)]
    if "--run" in sys.argv[1:]:
        tutorials = sorted([*root.glob("docs/tutorial*.md"), *root.glob("docs/tutorial/*.md")])
        tutorials += [root / page for page in RUNNING_PAGES]
        problems += [line for page in tutorials for line in tutorial_failures(page, root)]
        print(f"{len(tutorials)} tutorials run")
    print("\n".join(problems) or f"links hold in {len(tracked_pages(root))} pages")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
