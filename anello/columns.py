# SPDX-License-Identifier: Apache-2.0
"""Reading the HDF5 files of columns that a run has stored, also of a run that continues or was killed."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from anello.system.run_directory import series


def files(path: Path | str) -> Iterator[Any]:
    """The open h5py.File of path, then of those that follow it (-0001, -0002 ...), in order.

    Raises OSError where there is none, or one is no HDF5 file.
    """
    for part in series(Path(path)) or [Path(path)]:
        with _opened(part) as file:
            yield file


def _opened(path: Path) -> Any:
    """Opens a file, with a retry. HDF5 reads the file's size and then the size in its header: if the writer extends
    the file between the two, HDF5 reports it as truncated. The writer does not extend it again so soon."""
    import h5py

    try:
        return h5py.File(path, "r")
    except OSError as error:
        if "truncated file" not in str(error):
            raise
    return h5py.File(path, "r")


def cut(file: Any, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Columns that belong together, cut to the shortest: after a kill some columns may have more rows than others.

    Raises KeyError when one is missing.
    """
    columns = [file[name] for name in names]
    n_rows = min(len(column) for column in columns)
    return {name: column[:n_rows] for name, column in zip(names, columns, strict=True)}
