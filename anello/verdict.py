# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a run, in one line, and the exit code that goes with it.

Every chain lists its flaws (Record.flaws); line and exit code come from here alone, wherever they are shown.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anello import exit_codes
from anello.ledger import Ledger

MOST_IN_LINE = 8


@dataclass(frozen=True)
class Flaw:
    """One way in which a run delivered less than was made, or otherwise than was asked.

    words: after the number, e.g. "fragments late"; n is None where nothing is counted. ordered: by the configuration
    (faults, drop policies). costs_data: False for flaws that are only reported, such as time that the source skipped.
    """

    words: str
    n: int | None = None
    ordered: bool = False
    costs_data: bool = True

    @property
    def in_words(self) -> str:
        return self.words if self.n is None else f"{self.n:,} {self.words}"


@dataclass(frozen=True)
class Verdict:
    """ended_badly: why the run could not be led to its end, e.g. that the front ends were killed."""

    flaws: tuple[Flaw, ...]
    balanced: bool
    interrupted: bool = False
    ended_badly: str = ""

    @property
    def is_whole(self) -> bool:
        """Nothing is wrong, and nothing was left out."""
        return self.balanced and not self.flaws and not self.interrupted and not self.ended_badly

    @property
    def is_as_ordered(self) -> bool:
        """Nothing is wrong but what the configuration wanted so."""
        return self.balanced and not self.ended_badly and all(flaw.ordered for flaw in self.flaws)

    @property
    def line(self) -> str:
        """For people."""
        wrong = [self.ended_badly] if self.ended_badly else []
        wrong += [] if self.balanced else ["the ledger does not balance"]
        wrong += _listed([flaw for flaw in self.flaws if not flaw.ordered])
        ordered = _listed([flaw for flaw in self.flaws if flaw.ordered])
        said = "problems: " + "; ".join(wrong) if wrong else "all data was delivered"
        said += "; stopped as ordered" if self.interrupted else ""
        return said + ("; as configured: " + ", ".join(ordered) if ordered else "")

    @property
    def exit_code(self) -> int:
        if self.ended_badly:
            return exit_codes.FAILED
        if not self.balanced:
            return exit_codes.LEDGER
        if any(flaw.costs_data and not flaw.ordered for flaw in self.flaws):
            return exit_codes.LOST
        return 0  # also where the run was stopped as ordered

    def as_dict(self) -> dict[str, Any]:
        flaws = [
            {"words": one.words, "n": one.n, "ordered": one.ordered, "costs_data": one.costs_data} for one in self.flaws
        ]
        return {"line": self.line, "whole": self.is_whole, "exit_code": self.exit_code, "flaws": flaws}


def _listed(flaws: Sequence[Flaw]) -> list[str]:
    more = len(flaws) - MOST_IN_LINE
    return [flaw.in_words for flaw in flaws[:MOST_IN_LINE]] + ([f"and {more} more"] if more > 0 else [])


def judged(ledger: Ledger, flaws: Iterable[Flaw], *, interrupted: bool, ended_badly: str = "") -> Verdict:
    """Flaws with the same words are added up; the ledger's own losses come first."""
    return Verdict(_summed([*losses_of(ledger), *flaws]), ledger.balanced, interrupted, ended_badly)


def losses_of(ledger: Ledger) -> list[Flaw]:
    return [Flaw(f"{loss.level} {loss.words}", loss.n, ordered=loss.ordered) for loss in ledger.losses if loss.n]


def _summed(flaws: Iterable[Flaw]) -> tuple[Flaw, ...]:
    by_words: dict[tuple[str, bool, bool], int | None] = {}
    for flaw in flaws:
        key = (flaw.words, flaw.ordered, flaw.costs_data)
        before = by_words.get(key)
        by_words[key] = flaw.n if before is None else before + (flaw.n or 0)
    return tuple(Flaw(words, n, ordered, costs) for (words, ordered, costs), n in by_words.items() if n != 0)


# --- Of every chain -----------------------------------------------------------------------------------------------
def source_flaws(source: Mapping[str, Mapping[str, int]] | None, asked_s: float = 0.0) -> list[Flaw]:
    """What the front ends could not keep up with. asked_s: the time that they were to send, where it is known."""
    forgone_s = ((source or {}).get("source") or {}).get("time_forgone_ns", 0) * 1e-9
    if not forgone_s:
        return []
    of = f" of {asked_s:.3g} s" if asked_s else ""
    words = f"not at rate: the front ends were too slow, they reset their clock by {forgone_s:.2g} s{of}"
    return [Flaw(words, costs_data=False)]


DROP_POLICIES = ("drop_new", "overwrite_oldest")  # of receive.policy


def is_reordered(source: Mapping[str, Mapping[str, int]] | None) -> bool:
    """Front ends sent out of order on purpose, so that what is late was ordered."""
    return any(block.get("packets_reordered_injected") for block in (source or {}).values())


def incomplete_flaws(n: int, ledger: Ledger, others: Iterable[Flaw]) -> list[Flaw]:
    """n events without a board's fragment: as configured if only configured losses can have caused them."""
    losses = [flaw for flaw in (*losses_of(ledger), *others) if flaw.n]
    return [Flaw("events incomplete", n, ordered=bool(losses) and all(one.ordered for one in losses))] if n else []


PUBLISH_FLAWS = {  # counter -> words, whether the configuration orders it
    "records_dropped_full": ("records not published, subscribers had no room", True),
    "records_dropped_too_large": ("records not published, too large", False),
    "records_dropped_failed": ("records not published, refused by libzmq", False),
    "records_dropped_at_end": ("records not published by the end", False),
}


def publish_flaws(node: Mapping[str, Mapping[str, int]], publisher: str = "publish") -> list[Flaw]:
    """Records that subscribers did not get. That nobody subscribed is no flaw. publisher: its block of counters."""
    block = node.get(publisher, {})
    flaws = [Flaw(words, block.get(name, 0), ordered) for name, (words, ordered) in PUBLISH_FLAWS.items()]
    return [flaw for flaw in flaws if flaw.n]
