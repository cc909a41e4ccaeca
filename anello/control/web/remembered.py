# SPDX-License-Identifier: Apache-2.0
"""The catalogue as the web server's Memory."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import wraps
from typing import ParamSpec, TypeVar

from anello.catalogue.catalogue import Catalogue
from anello.catalogue.tables.compare import compare_runs
from anello.catalogue.tables.database import NoSuchError
from anello.catalogue.tables.runs import Filter
from anello.control.web.memory import NotThereError, Row, Wanted

P = ParamSpec("P")
T = TypeVar("T")


def _or_not_there(method: Callable[P, T]) -> Callable[P, T]:
    @wraps(method)
    def asked(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            return method(*arguments, **named)
        except NoSuchError as error:
            raise NotThereError(str(error)) from None

    return asked


class Remembered:
    """A Memory on the catalogue. Each call may also raise CatalogueError."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def runs(self, wanted: Wanted) -> Sequence[Row]:
        return self._catalogue.runs.find(Filter(**asdict(wanted)))

    @_or_not_there
    def run(self, number: int) -> Row:
        return self._catalogue.runs.get(number) | {"log": self._catalogue.log.newest(1000, number)}

    @_or_not_there
    def compare(self, first: int, second: int) -> Row:
        return compare_runs(self._catalogue.runs, first, second)

    @_or_not_there
    def mark(self, number: int, quality: str, comment: str, author: str) -> None:
        self._catalogue.log.mark(number, quality, comment, author=author)

    def configurations(self) -> Sequence[Row]:
        return self._catalogue.configurations.find()

    @_or_not_there
    def configuration(self, digest: str) -> Row:
        return self._catalogue.configurations.get(digest)

    def history(self, metric: str, from_ns: int, to_ns: int, step_s: float) -> Sequence[tuple[int, float]]:
        return self._catalogue.history.get(metric, from_ns, to_ns, step_s)

    def notices(self, limit: int) -> Sequence[Row]:
        return self._catalogue.notices.newest(limit)

    def alarms(self, limit: int) -> Sequence[Row]:
        return self._catalogue.alarms.newest(limit)

    @_or_not_there
    def acknowledge(self, alarm: int, author: str) -> None:
        self._catalogue.alarms.acknowledge(alarm, author)

    def log(self, limit: int, run: int | None) -> Sequence[Row]:
        return self._catalogue.log.newest(limit, run)

    @_or_not_there
    def write(self, text: str, author: str, run: int | None) -> None:
        self._catalogue.log.add(text, author=author, run=run)

    def news(self) -> Mapping[str, Sequence[Row]]:
        return self._catalogue.news.since_last_call()
