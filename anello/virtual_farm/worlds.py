# SPDX-License-Identifier: Apache-2.0
"""The systems that run in virtual time, one for each seed: farms of the exchange, or chains of a detector's node."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from anello.virtual_farm import books

LEDGERS_PER_CALL = 4  # runs of each call that are also judged by the ledger, which takes ten times as long

Sums = dict[str, Any]  # sums, and `failed` seeds
Run = dict[str, Any]  # scenario, lanes, faults, findings, trace (timeline.Line), digest


class World(Protocol):
    def judged(self, begin: int, n_seeds: int, *, all_ledgers: bool) -> Sums: ...
    def reduced(self, seed: int) -> list[str]:
        """The settings of a failing seed, without those that do not matter for its failure."""
        ...

    def replayed(self, seed: int, changes: Sequence[str], max_messages: int) -> Run: ...
    def words(self, sums: Counter[str]) -> str:
        """The sums in words; "{}" stands for whether the outcome is explained."""
        ...


class Farms:
    """Farms of the exchange. draw: _engine.FarmDraw."""

    def __init__(self, draw: Any) -> None:
        self._draw = draw

    def judged(self, begin: int, n_seeds: int, *, all_ledgers: bool) -> Sums:
        """Judges runs by their outcome, and the first ones also by the ledger."""
        sums: Sums = self._draw.search(begin, n_seeds)
        return _with_ledgers(sums, range(begin, begin + n_seeds), lambda seed: self._off(seed, []), all_ledgers)

    def reduced(self, seed: int) -> list[str]:
        changes: list[str] = self._draw.reduce(seed)
        return changes

    def replayed(self, seed: int, changes: Sequence[str], max_messages: int) -> Run:
        """Repeats a run: what the oracle finds, and the ledger."""
        run: Run = self._draw.replay(seed, list(changes), max_messages)
        return run | {"findings": run["findings"] + self._off(seed, changes)}

    def words(self, sums: Counter[str]) -> str:
        return (
            f"{sums['runs']:,} farms with {sums['faults']:,} faults, {{}}, {sums['ledgers']:,} also by their ledger: "
            f"{sums['built']:,} multi-event packets ({sums['incomplete']:,} incomplete), "
            f"{sums['fragments']:,} fragments"
        )

    def _off(self, seed: int, changes: Sequence[str]) -> list[str]:
        return books.what_is_off(self._draw.books(seed, list(changes)))


class Chains:
    """Chains of a detector. engine: the detector's part of the engine; chain: its description; settings:
    assignments, made after everything was drawn."""

    def __init__(self, engine: Any, chain: books.VirtualChain, settings: Sequence[str]) -> None:
        self._engine, self._chain, self._settings = engine, chain, list(settings)

    def judged(self, begin: int, n_seeds: int, *, all_ledgers: bool) -> Sums:
        """Judges runs in the same way as farms."""
        sums: Sums = self._engine.virtual_search(begin, n_seeds, self._settings)
        return _with_ledgers(sums, range(begin, begin + n_seeds), lambda seed: self._off(seed, []), all_ledgers)

    def reduced(self, seed: int) -> list[str]:
        changes: list[str] = self._engine.virtual_reduce(seed, self._settings)
        return changes

    def replayed(self, seed: int, changes: Sequence[str], max_messages: int) -> Run:
        """Repeats a run: what the oracle finds, and the ledger."""
        run: Run = self._engine.virtual_replay(seed, [*self._settings, *changes], max_messages)
        return run | {"findings": run["findings"] + self._off(seed, changes)}

    def words(self, sums: Counter[str]) -> str:
        return (
            f"{sums['runs']:,} chains with {sums['faults']:,} troubles, {{}}, {sums['ledgers']:,} also by their "
            f"ledger: {sums['events']:,} events that came, {sums['decided']:,} of them decided"
        )

    def _off(self, seed: int, changes: Sequence[str]) -> list[str]:
        return self._chain.what_is_off(self._engine.virtual_books(seed, [*self._settings, *changes]))


def _with_ledgers(sums: Sums, seeds: range, off: Callable[[int], list[str]], all_ledgers: bool) -> Sums:
    """Adds the ledgers' judgement. off: the rows of a seed's ledger that do not balance."""
    looked_at = seeds if all_ledgers else seeds[:LEDGERS_PER_CALL]
    failed = [seed for seed in looked_at if seed not in sums["failed"] and off(seed)]
    return sums | {"ledgers": len(looked_at), "failed": [*sums["failed"], *failed]}
