# SPDX-License-Identifier: Apache-2.0
"""Directories that commands write into. Files that a run has left in one are replaced only with --overwrite."""

import fcntl
import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from anello.errors import InputError

RESULTS = ("summary.json", "report.html", "search.json", "search.html", "plan.json", "plan.html", "curve.json")
CONTROL_LOCK = "control.lock"  # in the runs' directory: locked by its control room
LEFT_BEHIND = "node{node}/record.json"  # written by a farm's node whose record was not collected


def private(name: str, flags: int) -> int:
    """An opener: a file that it makes can only be read and written by its owner."""
    return os.open(name, flags, 0o600)


def prepare(directory: Path, data_files: Sequence[str] = (), *, overwrite: bool) -> Path:
    """Makes the directory of a run if it is missing. Raises InputError as claim() does."""
    claim(directory, (*RESULTS, LEFT_BEHIND, *data_files), overwrite=overwrite)
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def claim(directory: Path, names: Sequence[str], *, overwrite: bool) -> None:
    """Removes files of these names that a former run left; {node} stands for any node. Raises InputError where there
    are any and --overwrite is not given: a file that cannot be made again is worth more than a run that starts."""
    found = sorted({path for name in names for path in _former(directory, name)})
    if found and not overwrite:
        raise InputError(f"a run has left {found[0]}. Name another directory, or give --overwrite to replace that run")
    for path in found:
        path.unlink()


def has_control_room(runs: Path) -> bool:
    """True if a control room now uses this directory of runs."""
    try:
        with (runs / CONTROL_LOCK).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def series(path: Path) -> list[Path]:
    """The existing files of a series (decisions.h5, decisions-0001.h5 ...), in order."""
    behind = f"{glob.escape(path.stem)}-[0-9][0-9][0-9][0-9]{glob.escape(path.suffix)}"
    return [path] * path.exists() + sorted(path.parent.glob(behind))


def beside(file: Path) -> Path:
    """The file that names the run of a raw data file: messages.dat.json."""
    return file.with_name(f"{file.name}.json")


def of_node(file: str, node: int | str) -> str:
    """The name of a farm's node's data file: decisions.h5 becomes decisions-node3.h5."""
    path = Path(file)
    return str(path.with_stem(f"{path.stem}-node{node}"))


def _former(directory: Path, name: str) -> Iterator[Path]:
    any_node = "*".join(map(glob.escape, str(directory / name).split("{node}")))
    for place in glob.glob(any_node):  # noqa: PTH207 - the path may be absolute
        yield from series(Path(place))
    yield from series(directory / name)
    yield from map(Path, glob.glob(str(beside(Path(any_node)))))  # noqa: PTH207
