# SPDX-License-Identifier: Apache-2.0
"""Findings for people, worst first: one line for each good one; for the rest, why it matters and how to fix it."""

from collections import Counter
from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from anello.doctor.finding import Finding, Grade, Price
from anello.doctor.fixing import FixOutcome

STYLES = {
    Grade.BAD: "bold red",
    Grade.COULD_BE_BETTER: "yellow",
    Grade.CANNOT_TELL: "magenta",
    Grade.GOOD: "green",
}


def show(findings: Sequence[Finding], interface: str, console: Console) -> None:
    table = Table(
        box=box.SIMPLE_HEAD,
        title=f"This host, interface {interface}",
        title_justify="left",
        title_style="bold",
        pad_edge=False,
    )
    for column in ("result", "check", "p99.9", "found"):
        table.add_column(column)
    for finding in (one for one in findings if one.result != Grade.NOT_APPLICABLE):
        style = STYLES[finding.result]
        table.add_row(
            Text(finding.result, style=style),
            Text(finding.check, style=style),
            Text(str(finding.cost or ""), style="bold"),
            _text(finding),
        )
    console.print(table)
    left_out = ", ".join(one.check for one in findings if one.result == Grade.NOT_APPLICABLE)
    if left_out:
        console.print(Text(f"not applicable: {left_out} (--json tells why)", style="dim"), soft_wrap=True)
    counts = Counter(finding.result for finding in findings)
    parts = ", ".join(f"{counts[result]} {result}" for result in Grade if counts[result])
    hint = "; anello doctor --fix prints the commands" if any(one.fix and one.fix.commands for one in findings) else ""
    console.print(Text(f"{parts}{hint}"), soft_wrap=True)


def _text(finding: Finding) -> Text:
    text = Text(finding.what)
    if finding.prices:
        text.append(f"; {_prices(finding.prices)}", style="bold")
    if finding.result in (Grade.BAD, Grade.COULD_BE_BETTER):
        text.append(f"\n{finding.why}", style="dim")
    if finding.fix is not None:
        for line in (*finding.fix.commands[:1], *(["..."] if len(finding.fix.commands) > 1 else [])):
            text.append(f"\n$ {line}", style="cyan")
        if finding.fix.advice:
            text.append(f"\n{finding.fix.advice}", style="cyan")
    return text


def _prices(prices: Iterable[Price]) -> str:
    return ", ".join(str(price) for price in prices)


def show_outcomes(outcomes: Sequence[FixOutcome], findings: Sequence[Finding], console: Console) -> None:
    """Shows what each command did, and the new result of its check."""
    now = {finding.check: finding.result for finding in findings}
    for outcome in outcomes:
        done = f"failed: {outcome.failure}" if outcome.failure else "done"
        text = Text(f"{outcome.check}: {outcome.command}: {done}; now {now[outcome.check]}")
        text.stylize("red" if outcome.failure else "green")
        console.print(text, soft_wrap=True)
    if not outcomes:
        console.print("there is nothing to run")
