# SPDX-License-Identifier: Apache-2.0
"""`anello tune`: its options, and how it prints the result."""

import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from anello.report.share import Share
from anello.report.summary import percent
from anello.run import display
from anello.system import output
from rich.console import Console
from rich.table import Table

from ..configuration.config import RichConfig
from ..configuration.of_config import detector, finder_params, load_rich
from .tuning import SECTION, TUNED, Side, Tuned, tune


@dataclass(frozen=True)
class Options:
    config_file: Path | None
    settings: tuple[str, ...]
    n_events: int
    seed: int
    ghost_weight: float
    keys: tuple[str, ...]
    output: Path | None
    as_json: bool


def run(order: Options) -> None:
    """Runs the command. Raises ConfigError, OSError."""
    config = load_rich(order.config_file, order.settings)
    tuned = _tuned(config, order)
    if order.as_json:
        print(json.dumps(asdict(tuned) | {"changed": tuned.changed}))
    else:
        _show(tuned, order, output.console())
    if order.output:  # last, so that a full disk does not hide the result
        order.output.write_text(_as_toml(tuned, order))
        if not order.as_json:
            output.console().print(f"parameters: {order.output}", soft_wrap=True, highlight=False)


def _tuned(config: RichConfig, order: Options) -> Tuned:
    began_s = time.monotonic()
    with display.make("off" if order.as_json else "auto", Console(stderr=True)) as shown:

        def hear(n_tried: int, n_all: int, worth: float) -> None:
            items = (display.Item("tried", f"{n_tried} of at most {n_all}"), display.Item("best", f"{worth:.4f}"))
            shown.show(display.Progress(time.monotonic() - began_s, items))

        return tune(
            finder_params(config),
            detector(config),
            n_events=order.n_events,
            seed=order.seed,
            ghost_weight=order.ghost_weight,
            in_time_window_ns=config.trigger.in_time_window_ns,
            keys=order.keys or TUNED,
            heard=hear,
        )


def _show(tuned: Tuned, order: Options, console: Console) -> None:
    table = Table(title=f"{order.n_events:,} events of seed {tuned.judge_seed}, which nothing was fitted to")
    for head in ("", "within 5 mm", "within 10 mm", "ghosts", "ns an event"):
        table.add_column(head, justify="left" if not head else "right")
    for name, side in (("before", tuned.before), ("after", tuned.after)):
        table.add_row(name, *_columns(side))
    console.print(table)
    if not tuned.changed:
        console.print(f"nothing is better among {tuned.n_tried} sets of parameters")
    for key, value in tuned.changed.items():
        console.print(f"trigger.{key} = {value:g}  (was {tuned.before.params[key]:g})", highlight=False)


def _columns(side: Side) -> tuple[str, str, str, str]:
    score = side.score
    return (
        _with_error(score.efficiency_5mm),
        _with_error(score.efficiency_10mm),
        _with_error(score.ghosts),
        f"{side.ns_per_event:.0f}",
    )


def _with_error(share: Share) -> str:
    return percent(share)


def _as_toml(tuned: Tuned, order: Options) -> str:
    words = " ".join(["anello", *sys.argv[1:]])
    before, after = (side.score.efficiency_5mm.value for side in (tuned.before, tuned.after))
    lines = [
        f"# {words}",
        f"# within 5 mm of seed {tuned.judge_seed}: {before:.4f} before, {after:.4f} after",
        f"[trigger.{SECTION}]",
    ]
    lines += [f"{key.removeprefix(f'{SECTION}.')} = {value:g}" for key, value in tuned.changed.items()]
    return "\n".join(lines) + "\n"
