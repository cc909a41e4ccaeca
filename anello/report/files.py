# SPDX-License-Identifier: Apache-2.0
"""Reports on disk. The plotting library is stored once, in the reports' folder; with `--single-file` it is in the
page itself, which then needs no other file."""

import os
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

LIBRARY = "plotly.min.js"  # 4.8 MB: reports in a folder share one copy
LINK = f'<script src="{LIBRARY}"></script>'  # as html.document writes it
_ANY_LINK = re.compile(rf'<script src="[^"]*{re.escape(LIBRARY)}"></script>')


def save(page: Path, html: str, *, shared: Path | None = None, single_file: bool = False) -> Path:
    """Writes the page. shared: a folder for the library of all pages below it; None: the page's folder. Raises
    OSError."""
    if single_file:
        text = with_library(html)
    else:
        folder = page.parent
        if shared and page.resolve().is_relative_to(shared.resolve()):
            folder = shared
        _provide_library(folder)
        source = os.path.relpath((folder / LIBRARY).resolve(), page.parent.resolve())
        text = html.replace(LINK, f'<script src="{source}"></script>')
    page.write_text(text, encoding="utf-8")
    return page


def with_library(html: str) -> str:
    """The same page with the library in it, so that it needs no other file."""
    from plotly.offline import get_plotlyjs

    library = get_plotlyjs()
    return _ANY_LINK.sub(lambda _: f"<script>{library}</script>", html)


def _provide_library(folder: Path) -> None:
    """Writes the library in one step, so that a browser never loads an incomplete file."""
    target = folder / LIBRARY
    plotly = find_spec("plotly")  # finds the package without loading it
    assert plotly is not None
    assert plotly.origin is not None
    ours = Path(plotly.origin).parent / "package_data" / LIBRARY
    if target.exists() and target.stat().st_size == ours.stat().st_size:
        return
    partial = target.with_name(f"{LIBRARY}.{os.getpid()}")
    shutil.copyfile(ours, partial)
    partial.replace(target)
