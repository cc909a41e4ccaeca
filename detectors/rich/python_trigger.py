# SPDX-License-Identifier: Apache-2.0
"""Runs a Python function as trigger algorithm, for prototypes: `anello run CONFIG --trigger my_module.py:decide`.

The function gets a Batch and returns one of
- rings: anello.Rings, or the arrays (ring_offset[E + 1], x_mm[R], y_mm[R], radius_mm[R]); event e has the rings
  ring_offset[e] to ring_offset[e + 1] - 1;
- primitive ids: one whole number per event, 0 for none, else 0x100 to 0xffff;
- None: no rings.
It runs in the trigger stage's thread with Python's lock held, once per batch. An exception does not stop the run:
the batch has no rings, and is counted as trigger.plugin_failed_batches.
"""

import importlib.util
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anello.errors import ConfigError

from .analysis.rings import Rings

FIELD = "trigger.python"
FINE_TIME_NS = 24.950971341 / 256
DEFAULT_PRIMITIVE = 0xFFFFFFFF
NO_PRIMITIVE = 1  # the engine counts it as invalid and decides by the number of rings


@dataclass(frozen=True)
class Batch:
    """E events with N hits, as read-only views of the engine's memory: copy data that you keep after the call.

    event_key: uint64[E], burst_id << 32 | timestamp_ticks. hit_offset: uint32[E + 1]; event e has the hits
    hit_offset[e] to hit_offset[e + 1] - 1: those inside trigger.in_time_window_ns. hit_id: uint16[N], PMT number.
    x_mm, y_mm: float32[N], fit frame. hit_time_fine: int16[N], from the event's time, 1/256 tick = 97.46 ps.
    """

    event_key: NDArray[np.uint64]
    hit_offset: NDArray[np.uint32]
    hit_id: NDArray[np.uint16]
    x_mm: NDArray[np.float32]
    y_mm: NDArray[np.float32]
    hit_time_fine: NDArray[np.int16]

    @property
    def n_events(self) -> int:
        return len(self.event_key)

    @cached_property
    def hit_time_ns(self) -> NDArray[np.float32]:
        """float32[N]: times relative to the event's time; computed at the first use."""
        return self.hit_time_fine * np.float32(FINE_TIME_NS)

    @cached_property
    def n_hits(self) -> NDArray[np.int64]:
        """int64[E]: number of hits of each event."""
        offset = self.hit_offset.astype(np.int64)
        return offset[1:] - offset[:-1]


Decide = Callable[[Batch], Any]
Columns = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]


class PythonTrigger:
    """The object that the engine calls. It catches the function's exceptions; the first traceback becomes a notice."""

    def __init__(self, function: Decide, name: str) -> None:
        self._function, self.name = function, name
        self._lock = threading.Lock()
        self._has_noted = False
        self._notices: list[str] = []

    def __call__(self, *columns: NDArray[Any]) -> Columns | None:
        try:
            batch = Batch(*columns)
            return as_columns(self._function(batch), batch.n_events)
        except Exception:
            self._note(traceback.format_exc().rstrip())
            return None

    def _note(self, text: str) -> None:
        with self._lock:
            if not self._has_noted:
                self._notices.append(f"{self.name} raised an exception; the batch has no rings. The first one:\n{text}")
            self._has_noted = True

    def take_notices(self) -> list[str]:
        """Notices since the last call."""
        with self._lock:
            notices, self._notices = self._notices, []
        return notices


def load(name: str) -> PythonTrigger:
    """Loads `file.py:function`. Raises ConfigError if file or function do not exist, or if importing the file fails."""
    path, colon, function_name = name.rpartition(":")
    if not colon or not path.endswith(".py") or not function_name.isidentifier():
        raise ConfigError(FIELD, "must be file.py:function", name, "For example my_trigger.py:decide")
    module = _import(Path(path), name)
    function = getattr(module, function_name, None)
    if not callable(function):
        has = ", ".join(key for key, value in vars(module).items() if callable(value) and key[0] != "_") or "none"
        raise ConfigError(FIELD, f"{path} must have the function {function_name}", name, f"It has: {has}")
    return PythonTrigger(function, name)


def _import(path: Path, name: str) -> Any:
    """Imports the file as a separate module; like a script, it may import modules from its folder."""
    if not path.is_file():
        raise ConfigError(
            FIELD, "must name a file that exists", name, "A relative path begins at the working directory"
        )
    spec = importlib.util.spec_from_file_location(f"anello_trigger_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = error.lineno if isinstance(error, SyntaxError) else last.lineno
        raise ConfigError(
            FIELD, "must name a file that Python can run", name, f"{type(error).__name__}: {error} (line {where})"
        ) from error
    finally:
        sys.path.pop(0)
    return module


def as_columns(result: Any, n_events: int) -> Columns:
    """Converts the function's result for the engine. Raises ValueError when a shape or a type is wrong."""
    if result is None:
        return _columns(n_events, np.zeros(n_events + 1, np.uint32), ())
    if isinstance(result, Rings):
        lengths = (result.x_mm, result.y_mm, result.radius_mm)
        return _columns(n_events, result.event_offset, lengths, result.n_hits)
    if isinstance(result, tuple) and len(result) == 2:
        return (*as_columns(result[0], n_events)[:5], _ids(result[1], n_events))
    if isinstance(result, tuple):
        if len(result) != 4:
            raise ValueError(
                "a tuple is (rings, primitive ids), or rings as (ring_offset, x_mm, y_mm, radius_mm), and not of "
                f"{len(result)}"
            )
        return _columns(n_events, result[0], result[1:])
    columns = _columns(n_events, np.zeros(n_events + 1, np.uint32), ())
    return (*columns[:5], _ids(result, n_events))


def _ids(given: Any, n_events: int) -> NDArray[np.uint32]:
    ids = np.asarray(given)
    if ids.shape != (n_events,) or ids.dtype.kind not in "iu":
        raise ValueError(
            f"primitive ids must be whole numbers of shape ({n_events},), not {ids.dtype} of shape {ids.shape}"
        )
    return np.where((ids < 0) | (ids > 0xFFFF), NO_PRIMITIVE, ids).astype(np.uint32)


def _columns(n_events: int, offset: Any, lengths: Any, n_hits: Any = None) -> Columns:
    arrays = [np.ascontiguousarray(length, np.float32) for length in lengths] or [np.zeros(0, np.float32)] * 3
    shapes = {array.shape for array in arrays}
    if len(shapes) > 1 or arrays[0].ndim != 1:
        raise ValueError(f"x_mm, y_mm and radius_mm must have one shape, not {', '.join(map(str, shapes))}")
    n_rings = len(arrays[0])
    offset = np.asarray(offset)
    if offset.shape != (n_events + 1,) or offset.dtype.kind not in "iu":
        raise ValueError(
            f"ring_offset must be whole numbers of shape ({n_events + 1},), not {offset.dtype} of shape {offset.shape}"
        )
    if offset[0] != 0 or offset[-1] != n_rings or np.any(offset[1:] < offset[:-1]):
        raise ValueError(f"ring_offset must rise from 0 to the number of rings, {n_rings}")
    n_hits = np.zeros(n_rings) if n_hits is None else n_hits
    primitive_id = np.full(n_events, DEFAULT_PRIMITIVE, np.uint32)
    x_mm, y_mm, radius_mm = arrays
    return (
        np.ascontiguousarray(offset, np.uint32),
        x_mm,
        y_mm,
        radius_mm,
        np.ascontiguousarray(n_hits, np.uint32),
        primitive_id,
    )
