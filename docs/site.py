# SPDX-License-Identifier: Apache-2.0
"""Hooks of MkDocs: every Markdown file of the repository is a page of the site, at the place where it lies.

Pages keep their relative links, so that each link works on the site and in the repository. The menu is the index of
docs/README.md: a page that the index does not name ends the build. Files that a page links to go along.
"""

import re
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
INDEX = Path("docs/README.md")
LINK = re.compile(r"\]\(([^)\s#]+)(#[^)\s]*)?\)")
ENTRY = re.compile(r"^(?:(?P<level>#{2,3}) (?P<section>.+)|- \[(?P<title>.+?)\]\((?P<path>[^)#]+)\).*)$", re.MULTILINE)
CODE = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)

Menu = list[dict[str, Any]]


def tracked(*patterns: str) -> list[str]:
    """Files of the repository, also those that are not committed yet."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", *patterns]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return sorted({name for name in names if (ROOT / name).is_file()})


def target_of(page: str, link: str) -> str:
    """The file that a relative link of a page leads to; of a folder its README.md."""
    path = (ROOT / page).parent.joinpath(link).resolve()
    path = path / "README.md" if path.is_dir() else path
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else ""


def relative_links(text: str) -> list[str]:
    return [found[1] for found in LINK.finditer(CODE.sub("", text)) if not re.match(r"[a-z]+:", found[1])]


def menu(index: str) -> Menu:
    """The menu that an index stands for: `## Section`, `### Group`, `- [title](path)`."""
    sections: Menu = []
    here: Menu = sections
    for found in ENTRY.finditer(index):
        if found["section"]:
            above = sections if found["level"] == "##" else next(iter(sections[-1].values()))
            here = []
            above.append({found["section"]: here})
        else:
            here.append({found["title"]: target_of(str(INDEX), found["path"])})
    return sections


def with_files_of_folders(page: str, text: str) -> str:
    """The text with each link to a folder as one to its README.md, since a site has no folders to show."""

    def lead(found: re.Match[str]) -> str:
        is_folder = not re.match(r"[a-z]+:", found[1]) and (ROOT / page).parent.joinpath(found[1]).is_dir()
        return f"]({found[1].rstrip('/')}/README.md{found[2] or ''})" if is_folder else found[0]

    return LINK.sub(lead, text)


def on_config(config: Any) -> Any:
    config.nav = [{"Anello": "README.md"}, {"Index": str(INDEX)}, *menu((ROOT / INDEX).read_text())]
    return config


def on_files(files: Any, *, config: Any) -> Any:
    from mkdocs.structure.files import File, Files

    pages = tracked("*.md")
    linked = {target_of(page, link) for page in pages for link in relative_links((ROOT / page).read_text())}
    attached = sorted(linked.intersection(tracked()) - set(pages))
    theme = [file for file in files if file.src_dir != config.docs_dir]
    ours = [File.generated(config, name, abs_src_path=str(ROOT / name)) for name in (*pages, *attached)]
    return Files([*theme, *ours])


def on_page_markdown(text: str, *, page: Any, **_: Any) -> str:
    return with_files_of_folders(page.file.src_uri, text)
