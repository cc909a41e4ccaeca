# SPDX-License-Identifier: Apache-2.0
"""Output of a search: lines on the terminal, search.json, search.html."""

import json
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from anello.account.quantiles import rounded
from anello.report import html, plot
from anello.report.drawing import Figure
from anello.report.files import save
from anello.search.bisection import (
    Bracket,
    Culprit,
    Outcome,
    Quiet,
    RateVerdict,
    Rules,
    SearchResult,
    failure_chance_limit,
)
from anello.search.trial import Trial, spread

CONFIDENCE = 0.95
TOLD_STOP_MS = 1.0


# --- Words --------------------------------------------------------------------------------------------------------
def rate(hz: float) -> str:
    return f"{hz:,.0f} /s"


def passed(verdict: RateVerdict, rules: Rules) -> str:
    """What n clean runs prove (an upper bound on the chance of loss), and what they do not prove (that a rate never
    loses)."""
    n_bad = sum(rules.judge(trial) is not Outcome.PASSES for trial in verdict.trials)
    n_runs = len(verdict.trials)
    name, _ = rules.lateness(verdict.trials[-1])
    late = f" and {name} within {rules.deadline_us:g} µs" if rules.deadline_us is not None else ""
    limit = failure_chance_limit(n_bad, n_runs, CONFIDENCE)
    event = "loses or is late" if late else "loses"
    return (
        f"no loss{late} in {n_runs - n_bad} of {n_runs} run{'s' * (n_runs != 1)} of {verdict.trials[0].seconds:g} s "
        f"({CONFIDENCE * 100:.0f} % upper limit on the chance that a run {event}: {limit * 100:.0f} %)"
    )


def reason(trial: Trial, rules: Rules, quiet: Quiet) -> str:
    """Why a run does not pass, in numbers, and the cause."""
    outcome = rules.judge(trial)
    details = {
        Outcome.PASSES: "",
        Outcome.BROKEN: trial.error or "no event was decided",
        Outcome.LEDGER: "; ".join(trial.problems),
        Outcome.LOSS: ", ".join(f"{n:,} {cause}" for cause, n in trial.losses.items()),
        Outcome.SOURCE: f"behind its clock by up to {trial.behind_s * 1e3:,.0f} ms, "
        f"{trial.forgone_s * 1e3:,.0f} ms forgone",
        Outcome.BACKLOG: f"half of the decisions later than {rounded(trial.latency_us.get('p50'))} µs",
        Outcome.DEADLINE: _late_words(*rules.lateness(trial), rules.quantile),
    }[outcome]
    cause = quiet.cause(trial, outcome)
    what = f"{outcome}: {details}" if details else str(outcome)
    return what if cause is None else f"{what}; cause: {_cause_words(cause, trial)}"


def _cause_words(cause: Culprit, trial: Trial) -> str:
    """The cause in words. The machine's own stops are named for every run that they may have disturbed."""
    numbers = {
        Culprit.MACHINE: f" for {rounded(trial.stop_ms)} ms",
        Culprit.OTHERS: f" took {trial.other_cores:.2f} cores",
    }.get(
        cause,
        f" (the machine's own longest stop: {rounded(trial.stop_ms)} ms)" if trial.stop_ms >= TOLD_STOP_MS else "",
    )
    return f"{cause}{numbers}"


def _late_words(name: str, value_us: float, wanted: str) -> str:
    few = "" if name == wanted else f"; so few events tell no {wanted}"
    return f"{name} is {rounded(value_us) if math.isfinite(value_us) else 'not known'} µs{few}"


def verdict_words(verdict: RateVerdict, rules: Rules, quiet: Quiet) -> str:
    """One line for a verdict, during the search."""
    what = "confirmation" if verdict.confirms else "search"
    runs = f"{len(verdict.trials)} of {verdict.n_wanted} runs"
    again = f"; {verdict.n_thrown_away} disturbed, repeated" if verdict.n_thrown_away else ""
    tried_again = "; the lowest rate is tried again" if verdict.is_overruled else ""
    said = reason(verdict.trials[-1], rules, quiet)
    return f"{rate(verdict.rate_hz):>14}  {what:<12}  {runs}: {said}{again}{tried_again}"


def headline(result: SearchResult) -> str:
    found, candidate = result.found, result.candidate
    if found:
        return f"{rate(found.rate_hz)}: {passed(found, result.rules)}"
    if result.interrupted and candidate:
        so_far = passed(candidate, result.rules)
        return f"interrupted; the highest rate that passed so far, not confirmed: {rate(candidate.rate_hz)}, {so_far}"
    if result.interrupted:
        return "interrupted; no rate has passed so far"
    if candidate:
        return (
            "no rate was confirmed: at each one that passed, a later run failed; try longer runs or a quieter machine"
        )
    return f"no rate passes: the lowest, {rate(result.grid.lowest_hz)}, fails"


def lines(result: SearchResult) -> list[str]:
    """The result for people, the headline first."""
    return [headline(result), *(f"  {line}" for line in _details(result))]


def _details(result: SearchResult) -> Iterator[str]:
    best = result.found or result.candidate
    if best:
        yield from _measured(best.trials)
    yield from _above(result)
    last = best or (result.verdicts[-1] if result.verdicts else None)
    if last:
        yield f"mode: {mode_words(last.trials)}"
    if result.n_thrown_away or result.n_counted_disturbed:
        yield (
            f"other programs took more than {result.quiet.other_cores:g} cores, or the machine stood still for more "
            f"than {result.quiet.stop_ms:g} ms: {result.n_thrown_away} runs were repeated for that, "
            f"{result.n_counted_disturbed} counted anyway"
        )


def _above(result: SearchResult) -> Iterator[str]:
    failing, best = result.first_failing, result.found or result.candidate
    if failing:
        why = reason(failing.trials[-1], result.rules, result.quiet)
        yield f"lowest rate that failed: {rate(failing.rate_hz)}, {why}"
        if failing.outcome is Outcome.SOURCE:
            yield "the node may do more than these front ends could offer"
    elif best and best.rate_hz >= result.grid.rate_hz(result.grid.n_steps):
        yield "this was the highest rate asked for: the limit lies above"


def _measured(trials: Sequence[Trial]) -> Iterator[str]:
    achieved = [trial.achieved_hz for trial in trials]
    yield (
        f"decided {min(achieved):,.0f} to {max(achieved):,.0f} /s, median {statistics.median(achieved):,.0f}, "
        f"spread {spread(achieved) * 100:.2f} %"
    )
    timed = [trial.latency_us for trial in trials if trial.latency_us]
    if timed:
        yield "sent to decided, µs, " + ", ".join(
            f"{name} {_rounded_range([one[name] for one in timed if name in one])}" for name in ("p50", "p99.9", "max")
        )
    yield "CPU in cores, " + ", ".join(
        f"{label} {_range([getattr(trial, name) for trial in trials], '.2f')}"
        for label, name in (("front ends", "source_cores"), ("node", "node_cores"), ("others", "other_cores"))
    )


def _range(values: Sequence[float], form: str) -> str:
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def _rounded_range(values: Sequence[float]) -> str:
    if not values:
        return "-"
    return f"{rounded(statistics.median(values))} ({rounded(min(values))} to {rounded(max(values))})"


def offload_words(trials: Sequence[Trial]) -> str:
    """The offloads that were active, from what was counted, not from what was configured."""
    asked = trials[-1].mode.get("offload_asked", "none")
    counted = [trial.n_super_packets for trial in trials if trial.n_super_packets is not None]
    if not counted:
        return "plain" if asked == "none" else f"{asked} asked for, super-packets not counted"
    n_super, n_datagrams = sum(counted), sum(trial.n_datagrams for trial in trials)
    if n_super:
        return f"{asked}, {n_super:,} super-packets counted among {n_datagrams:,} datagrams"
    return "plain" if asked == "none" else f"plain ({asked} asked for, no super-packet was received)"


def mode_words(trials: Sequence[Trial]) -> str:
    mode = trials[-1].mode
    rest = [mode[name] for name in ("interface", "machines") if name in mode]
    receive = [f"receive backend {mode['backend']}: {mode['receive']}"] if "receive" in mode else []
    return "; ".join([offload_words(trials), *rest, *receive]) if mode else "not known, the run failed"


# --- The terminal -------------------------------------------------------------------------------------------------
class ConsoleWatcher:
    """Prints one line per verdict; on a terminal also the present trial."""

    def __init__(self, console: Console, rules: Rules, quiet: Quiet) -> None:
        self._console, self._rules, self._quiet = console, rules, quiet
        self._live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None

    def __enter__(self) -> "ConsoleWatcher":
        if self._live:
            self._live.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.__exit__(None, None, None)

    def trying(self, rate_hz: float, number: int, n_wanted: int, bracket: Bracket, confirms: bool) -> None:
        if self._live:
            doing = "confirming" if confirms else "trying"
            text = f"{doing} {rate(rate_hz)}, run {number} of {n_wanted}; {bracket_words(bracket)}"
            self._live.update(Text(text, style="dim"), refresh=True)

    def decided(self, verdict: RateVerdict) -> None:
        style = "red" if verdict.fails else "green"
        self._console.print(Text(verdict_words(verdict, self._rules, self._quiet), style=style), soft_wrap=True)


def bracket_words(bracket: Bracket) -> str:
    low = "none passes yet" if bracket.passes_hz is None else f"{rate(bracket.passes_hz)} passes"
    high = "none fails yet" if bracket.fails_hz is None else f"{rate(bracket.fails_hz)} fails"
    return f"{low}, {high}"


def show(result: SearchResult, console: Console) -> None:
    console.print()
    if result.verdicts:
        console.print(_table(result))
    style = "bold green" if result.found else "bold yellow"
    first, *rest = lines(result)
    console.print(Text(first, style=style), soft_wrap=True)
    for line in rest:
        console.print(Text(line), soft_wrap=True)


COLUMNS = ("offered /s", "runs", "decided /s", "p50 µs", "p99.9 µs", "source", "node", "verdict")


def _table(result: SearchResult) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for name in COLUMNS[:-1]:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(COLUMNS[-1])
    for row, verdict in _rows(result):
        table.add_row(*row, style="red" if verdict.fails else "")
    return table


def _rows(result: SearchResult) -> Iterator[tuple[list[str], RateVerdict]]:
    """Rows by rate; rates, latencies and CPU (cores) are medians of the runs."""
    for verdict in sorted(result.verdicts, key=lambda one: (one.rate_hz, one.confirms)):
        trials = verdict.trials

        def median(name: str, form: str, trials: tuple[Trial, ...] = trials) -> str:
            return f"{statistics.median(getattr(trial, name) for trial in trials):{form}}"

        def quantile(name: str, trials: tuple[Trial, ...] = trials) -> str:
            values = [trial.latency_us[name] for trial in trials if name in trial.latency_us]
            return rounded(statistics.median(values)) if values else "-"

        said = ("again: " if verdict.confirms else "") + verdict.outcome.name.lower()
        said += ", tried again" if verdict.is_overruled else ""
        cells = [f"{verdict.rate_hz:,.0f}", f"{len(trials)}/{verdict.n_wanted}", median("achieved_hz", ",.0f")]
        yield (
            [
                *cells,
                quantile("p50"),
                quantile("p99.9"),
                median("source_cores", ".2f"),
                median("node_cores", ".2f"),
                said,
            ],
            verdict,
        )


# --- Files --------------------------------------------------------------------------------------------------------
def as_dict(result: SearchResult) -> dict[str, Any]:
    """The values of search.json; docs/reference/search.md explains them."""
    best, failing = result.found or result.candidate, result.first_failing
    return {
        "found_hz": result.found.rate_hz if result.found else None,
        "interrupted": result.interrupted,
        "words": lines(result),
        "best": _verdict_dict(best, result) if best else None,
        "first_failing": _verdict_dict(failing, result) if failing else None,
        "grid": asdict(result.grid),
        "rules": asdict(result.rules),
        "seconds": result.seconds,
        "disturbed": {
            **asdict(result.quiet),
            "n_thrown_away": result.n_thrown_away,
            "n_counted": result.n_counted_disturbed,
        },
        "verdicts": [_verdict_dict(verdict, result) for verdict in result.verdicts],
    }


def _verdict_dict(verdict: RateVerdict, result: SearchResult) -> dict[str, Any]:
    rules = result.rules
    cause = result.quiet.cause(verdict.trials[-1], verdict.outcome)
    n_bad = sum(rules.judge(trial) is not Outcome.PASSES for trial in verdict.trials)
    return {
        "rate_hz": verdict.rate_hz,
        "confirms": verdict.confirms,
        "passes": verdict.passes,
        "outcome": verdict.outcome.name.lower(),
        "reason": reason(verdict.trials[-1], rules, result.quiet),
        "cause": cause.name.lower() if cause else None,
        "is_overruled": verdict.is_overruled,
        "n_runs": len(verdict.trials),
        "n_wanted": verdict.n_wanted,
        "n_failed": n_bad,
        "failure_chance_limit": failure_chance_limit(n_bad, len(verdict.trials), CONFIDENCE),
        "confidence": CONFIDENCE,
        "n_thrown_away": verdict.n_thrown_away,
        "offload": offload_words(verdict.trials),
        "trials": [asdict(trial) for trial in verdict.trials],
    }


def write(result: SearchResult, directory: Path, title: str, shared: Path | None = None) -> Path:
    """Writes search.json and search.html; returns the latter's path."""
    (directory / "search.json").write_text(json.dumps(as_dict(result), indent=1) + "\n")
    return save(directory / "search.html", page(result, title), shared=shared)


def page(result: SearchResult, title: str) -> str:
    first, *rest = lines(result)
    said = "".join(f"<p class='about'>{escape(line)}</p>" for line in rest)
    drawn = html.words("No run finished.")
    if result.verdicts:
        drawn = html.figure(figure(result), first)
    late = html.section(
        "Latency against rate",
        "From send to decision, a point for each run and quantile that its events can tell; "
        "lines join their medians. Both axes are logarithmic.",
        html.figure(latency_figure(result), _latency_words(result)),
    )
    head = f"<header><h1>{escape(title)}</h1><p>{escape(first)}</p></header>"
    about = "Each point is one run; a cross is a run that failed. What was decided, against what was offered."
    return html.document(
        f"Anello: {title}", f"{head}<section>{said}</section>" + html.section("Rate", about, drawn) + late
    )


SHOWN_QUANTILES = (("p50", plot.BLUE), ("p99.9", plot.ORANGE), ("max", plot.SOFT))


def latency_figure(result: SearchResult) -> Figure | None:
    """Latency of the runs over the offered rate; None where none was measured."""
    trials = [trial for verdict in result.verdicts for trial in verdict.trials if trial.latency_us]
    if not trials:
        return None
    drawn = Figure()
    for name, colour in SHOWN_QUANTILES:
        by_rate = _by_rate(trials, name)
        points = [(hz, value) for hz, values in by_rate.items() for value in values]
        drawn.add_scatter(
            x=[hz for hz, _ in points],
            y=[value for _, value in points],
            mode="markers",
            showlegend=False,
            marker={"color": colour, "size": 7, "symbol": "circle-open"},
            name=name,
        )
        middles = [statistics.median(values) for values in by_rate.values()]
        drawn.add_scatter(x=list(by_rate), y=middles, mode="lines", name=name, line={"color": colour, "width": 2})
    if result.rules.deadline_us is not None:
        drawn.add_hline(y=result.rules.deadline_us, line={"color": plot.RED, "dash": "dash"})
    plot.styled(drawn, x="offered, events/s", y="sent to decided, µs")
    drawn.update_xaxes(type="log")
    drawn.update_yaxes(type="log", dtick=1, tickformat=",")
    return drawn


def _by_rate(trials: Sequence[Trial], name: str) -> dict[float, list[float]]:
    """Rising rate -> values of this quantile, for the runs with enough events for it."""
    known = sorted((trial.offered_hz, trial.latency_us[name]) for trial in trials if name in trial.latency_us)
    found: dict[float, list[float]] = {}
    for hz, value in known:
        found.setdefault(hz, []).append(value)
    return found


def _latency_words(result: SearchResult) -> str:
    best = result.found or result.candidate or (result.verdicts[-1] if result.verdicts else None)
    trials = [trial for trial in best.trials if trial.latency_us] if best else []
    if not best or not trials:
        return ""
    latencies = ", ".join(
        f"{name} {_rounded_range([trial.latency_us[name] for trial in trials if name in trial.latency_us])}"
        for name, _ in SHOWN_QUANTILES
    )
    return f"At {rate(best.rate_hz)}, µs: {latencies}."


def figure(result: SearchResult) -> Figure:
    """A figure of the runs against the offered rate: decided rate, passing and failing."""
    drawn = Figure()
    rates_hz = [verdict.rate_hz for verdict in result.verdicts]
    ends = [min(rates_hz), max(rates_hz)]
    drawn.add_scatter(x=ends, y=ends, mode="lines", name="the rate offered", line={"color": plot.SOFT, "dash": "dot"})
    for outcome in Outcome:
        trials = [trial for verdict in result.verdicts for trial in verdict.trials]
        chosen = [trial for trial in trials if result.rules.judge(trial) is outcome]
        if chosen:
            good = outcome is Outcome.PASSES
            colour = plot.GREEN if good else plot.SERIES[list(Outcome).index(outcome) % len(plot.SERIES)]
            drawn.add_scatter(
                x=[trial.offered_hz for trial in chosen],
                y=[trial.achieved_hz for trial in chosen],
                mode="markers",
                name=str(outcome),
                text=[reason(trial, result.rules, result.quiet) for trial in chosen],
                marker={"color": colour, "size": 9, "symbol": "circle-open" if good else "x"},
            )
    if result.found:
        drawn.add_vline(x=result.found.rate_hz, line={"color": plot.GREEN, "dash": "dash"})
    return plot.styled(drawn, x="offered, events/s", y="decided, events/s")
