# SPDX-License-Identifier: Apache-2.0
"""Documents keep their word: every relative link leads somewhere, every command and every piece of Python runs.

All Markdown files that git tracks. Links are always checked, and so is every `anello ...` in running text: its
subcommand and options exist. No shell block hides a command in a comment. With --run the blocks of `sh` and `python`
are run, from the project's root, page by page; the Python blocks of one page share their names. Every block names its
language, and what is not run is `text`, `toml`, `cpp`. Before a block may stand

    *Not run by the tests: REASON.*          for all to read; the block is left out and named
    <!-- tests add: OPTIONS -->              each `anello` command of the block gets these too: shorter, smaller
    *File `build/PATH`:*                     the block is that file, whatever its language

A page may be chosen: check_docs.py --run docs/how-to/stream.md
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)|!\[[^\]\n]*\]\(([^)\s]+)\)")
BLOCK = re.compile(
    r"(?:^\*Not run by the tests: (?P<reason>[^\n]+)\.\*\n+)?(?:^<!-- tests add: (?P<added>[^\n]+) -->\n+)?"
    r"(?:^\*File `(?P<file>build/[^`\n]+)`:\*\n+)?"
    r"^(?P<indent> *)```(?P<language>\w*)\n(?P<code>.*?)^(?P=indent)```$",
    re.M | re.S,
)
COMMAND = re.compile(r"^(\s*)(anello (?:[^#\n\\>|&;]|\\\n)+)", re.M)  # to the comment, the pipe or the end of its line
INLINE = re.compile(r"`(anello (?!\.\.\.)[^`]+)`")
# What an editor that fills paragraphs leaves: a command within the comment of the line before, options alone.
HIDDEN = re.compile(
    r"(?:^|\s)#.*(?<![\w`/.-])"
    r"(?:anello [a-z]|\./dev [a-z]|pip install|python3? (?:-\w|\S+\.py)|cmake -|[A-Z_]{3,}=\S*[^:,\s](?:\s|$))"
)
FIRST_OF_LIST = re.compile(r"(?:- |\d+\. |\|)")
RUNS = re.compile(r"--(?:report-dir|in|out) (build/[\w-]+)")
TIMEOUT_S = 300
# Time that a run waits for a board, since a busy machine stops simulated boards for longer than a real one is late;
# and no deadline for the trigger, which such a machine would not keep.
PATIENCE = {
    "anello run detectors/rich/na62-rich.toml": ("build.timeout_ms=500", "trigger.deadline_us=0"),
    "anello run detectors/camera/cta-camera.toml": ("camera_build.timeout_ms=500",),
}


@dataclass(frozen=True)
class Block:
    language: str
    code: str
    line: int
    reason_not_run: str | None
    added: str | None
    file: str | None


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
        Block(
            found["language"],
            found["code"],
            text.count("\n", 0, found.start("code")) + 1,
            found["reason"],
            found["added"],
            found["file"],
        )
        for found in BLOCK.finditer(text)
    ]


def nameless_blocks(page: Path) -> Iterator[str]:
    """One line for each block without a language: nobody could tell whether it is to be run."""
    for block in blocks(page.read_text()):
        if not block.language:
            yield f"{page}:{block.line}: the block has no language; sh and python are run, text is not"


def hidden_commands(page: Path) -> Iterator[str]:
    """One line for each line of a shell block that hides a command in a comment, or is only options of another."""
    for block in blocks(page.read_text()):
        lines = block.code.splitlines() if block.language == "sh" else []
        for number, (before, line) in enumerate(pairwise(["", *lines]), block.line):
            if HIDDEN.search(line):
                yield f"{page}:{number}: a command stands in a comment, where no shell runs it: one command a line"
            elif re.match(r"\s*--?\w", line) and not before.endswith("\\"):
                yield f"{page}:{number}: the line is only options: end the line before it with a backslash"


def joined_lists(page: Path) -> Iterator[str]:
    """One line for each list or table without an empty line above it: the site would draw it as a part of the text."""
    text = BLOCK.sub(lambda block: "\n" * block.group().count("\n") + f"{block['indent']}```", page.read_text())
    for number, (before, line) in enumerate(pairwise(text.splitlines()), 2):
        if FIRST_OF_LIST.match(line) and before.strip() and not re.match(rf"\s|#|{FIRST_OF_LIST.pattern}", before):
            yield f"{page}:{number}: a list or table begins without an empty line above it"


def unknown_commands(page: Path) -> Iterator[str]:
    """One line for each `anello ...` in running text whose subcommand or options do not exist."""
    text = BLOCK.sub(lambda block: "\n" * block.group().count("\n"), page.read_text())
    for found in INLINE.finditer(text):
        wrong = _wrong_with(found.group(1))
        if wrong:
            yield f"{page}:{text.count(chr(10), 0, found.start()) + 1}: `{found.group(1)}`: {wrong}"


def _wrong_with(command: str) -> str:
    """Why the command line would be refused, as far as a parser finds out without running it."""
    import typer

    from anello.cli import app

    level: Any = typer.main.get_command(app)
    words = shlex.split(command.replace("...", "").replace("\\|", "|"))[1:]
    while hasattr(level, "commands") and words and not words[0].startswith("-"):
        name = words.pop(0)
        if name not in level.commands:
            return f"there is no command {name}" if name.isidentifier() and name.islower() else ""
        level = level.commands[name]
    known = {option for parameter in level.params for option in (*parameter.opts, *parameter.secondary_opts)} | {
        "--help"
    }
    unknown = [word for word in words if word.startswith("--") and word.split("=")[0] not in known]
    return f"there is no option {unknown[0]}" if unknown else ""


def page_failures(page: Path, root: Path) -> Iterator[str]:
    """Runs the page's blocks in order; one line for each that fails."""
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page.read_text()):
        run = _write_file if block.file else {"sh": _run_shell, "python": _run_python}.get(block.language)
        where = f"{page.relative_to(root) if page.is_relative_to(root) else page}:{block.line}"
        if run is None:
            continue
        if block.reason_not_run is not None:
            print(f"{where}: not run: {block.reason_not_run}")
            continue
        begin = time.monotonic()
        failure = run(block, page, root, names)
        print(f"{where}: {time.monotonic() - begin:.1f} s{', FAILED' if failure else ''}", flush=True)
        if failure:
            yield f"{where}: {failure}"


def lasting_failures(page: Path, root: Path) -> list[str]:
    """Failures that occur twice on a page: a stall of a busy machine is printed, but is no fault of the page."""
    first = list(page_failures(page, root))
    if not first:
        return []
    print("\n".join((f"{page.relative_to(root)}: failed, so the whole page once more:", *first)), flush=True)
    again = list(page_failures(page, root))
    print(f"{page.relative_to(root)}: {'failed again' if again else 'held the second time'}", flush=True)
    return again


def _write_file(block: Block, page: Path, root: Path, names: dict[str, object]) -> str:
    path = root / str(block.file)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.code)
    return ""


def _run_python(block: Block, page: Path, root: Path, names: dict[str, object]) -> str:
    os.chdir(root)
    try:
        # Blank lines before the code, so that a traceback shows the line of the page.
        exec(compile("\n" * (block.line - 1) + block.code, str(page), "exec"), names)
    except Exception:
        return traceback.format_exc(limit=-3)
    return ""


def shell_code(block: Block) -> str:
    """The block as the tests run it, which may be a repetition: a run replaces another only with --overwrite."""
    return COMMAND.sub(lambda found: f"{found[1]}{_as_run(found[2], block.added or '')}", block.code)


def _as_run(command: str, added: str) -> str:
    more = ["--overwrite" if "--report-dir" in command or "--out " in command else ""]
    patient = (one for run, settings in PATIENCE.items() if command.startswith(run) for one in settings)
    more += [f"--set {one}" for one in patient if one.partition("=")[0] not in command + added]
    more += [added]  # last: it may say what the exit code must be
    return " ".join((command.rstrip(), *filter(None, more), "")) if any(more) else command


def _run_shell(block: Block, page: Path, root: Path, names: dict[str, object]) -> str:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    command = ["timeout", "--kill-after=10", str(TIMEOUT_S), "bash", "-euo", "pipefail", "-c", shell_code(block)]
    done = subprocess.run(
        command, cwd=root, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False
    )
    if done.returncode == 124:
        return f"not done after {TIMEOUT_S} s: give it shorter options (tests add), or say why it is not run"
    return "" if done.returncode == 0 else f"exit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"


def tracked_pages(root: Path) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=root, capture_output=True, text=True, check=True)
    return [root / name for name in listed.stdout.split() if (root / name).exists()]


CHECKS = (broken_links, nameless_blocks, hidden_commands, joined_lists, unknown_commands)


def forget_runs(pages: list[Path], root: Path) -> None:
    """Removes the files that the pages' commands left the last time, as no run replaces another."""
    for page in pages:
        for folder in RUNS.findall(page.read_text()):
            shutil.rmtree(root / folder, ignore_errors=True)


def main(arguments: list[str]) -> int:
    root = Path(__file__).parent.parent
    chosen = [root / name for name in arguments if name != "--run"]
    pages = chosen or tracked_pages(root)
    problems = [line for page in pages for check in CHECKS for line in check(page)]
    if "--run" in arguments:
        forget_runs(pages, root)
        problems += [line for page in pages for line in lasting_failures(page, root)]
    print("\n".join(problems) or f"links and commands hold in {len(pages)} pages")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
