# SPDX-License-Identifier: Apache-2.0
"""`anello runs`: what the catalogue knows."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anello.errors import ConfigError
from anello.system import output

if TYPE_CHECKING:
    from anello.catalogue.catalogue import Catalogue

runs_app = typer.Typer(help="What the catalogue knows of runs, and what people say of them.", no_args_is_help=True)

Directory = Annotated[
    Path, typer.Option("--in", metavar="DIR", help="The runs' directory, as run.directory has it.")
]  # fmt: skip
Number = Annotated[int, typer.Argument(metavar="RUN", help="Its number.")]
AsJson = Annotated[bool, typer.Option("--json", help="Everything, for programs.")]
HERE = Path("runs")  # the default of run.directory, written here so that the library that declares keys is not loaded


@runs_app.command("list")
def list_runs(
    *,
    state: Annotated[str | None, typer.Option(help="Only these: running, ended, failed, aborted, crashed.")] = None,
    quality: Annotated[str | None, typer.Option(help="Only these: good, bad, test, unknown.")] = None,
    chain: Annotated[str | None, typer.Option(help="Only these.")] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Begun then or later, UTC: 2026-03-01 or 2026-03-01T12:00.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most so many.")] = 20,
    directory: Directory = HERE,
    as_json: AsJson = False,
) -> None:
    """Runs, newest first."""
    from anello.account.run_state import RunState
    from anello.catalogue.end import Quality
    from anello.catalogue.show import runs
    from anello.catalogue.tables.runs import Filter

    wanted = Filter(
        state=_one_of(RunState, state, "--state"), quality=_one_of(Quality, quality, "--quality"), chain=chain,
        since_ns=None if since is None else _time_ns(since), limit=limit,
    )  # fmt: skip
    with _catalogue(directory) as catalogue:
        found = catalogue.runs.find(wanted)
    if as_json:
        _print_json(found)
    elif found:
        runs.listed(found, output.console())
    else:
        print("no such run")


@runs_app.command("show")
def show_run(number: Number, *, directory: Directory = HERE, as_json: AsJson = False) -> None:
    """Everything of one run."""
    from anello.catalogue.show import runs

    with _catalogue(directory) as catalogue:
        found = catalogue.runs.get(number)
    if as_json:
        _print_json(found)
    else:
        runs.shown(found, output.console())


@runs_app.command("compare")
def compare(
    first: Number, second: Annotated[int, typer.Argument(metavar="OTHER", help="Its number.")],
    *, directory: Directory = HERE, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Two runs: configuration, rates, losses, latency, quality, and which differences chance does not explain."""
    from anello.catalogue.show import comparison
    from anello.catalogue.tables.compare import compare_runs

    with _catalogue(directory) as catalogue:
        found = compare_runs(catalogue.runs, first, second)
    _print_json(found) if as_json else comparison.shown(found, output.console())


@runs_app.command("log")
def log(
    number: Annotated[int | None, typer.Argument(metavar="[RUN]", help="Only of this run.")] = None,
    *,
    message: Annotated[str | None, typer.Option("--message", "-m", metavar="TEXT", help="Add this entry.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most so many.")] = 20,
    directory: Directory = HERE,
    as_json: AsJson = False,
) -> None:
    """The log book, newest first; with -m: adds an entry."""
    from anello.catalogue.show import runs
    from anello.configuration.origin import user

    with _catalogue(directory) as catalogue:
        if message is not None:
            catalogue.log.add(message, author=user(), run=number)
        found = catalogue.log.newest(1 if message is not None else limit, number)
    _print_json(found) if as_json else runs.logged(found, output.console())


@runs_app.command("mark")
def mark(
    number: Number,
    quality: Annotated[str, typer.Argument(metavar="good|bad|test|unknown", help="What it is.")],
    *,
    message: Annotated[str, typer.Option("--message", "-m", metavar="WHY", help="Why.")] = "",
    directory: Directory = HERE,
    as_json: AsJson = False,
) -> None:
    """Says what a run is good for; the log book says who said so."""
    from anello.catalogue.end import Quality
    from anello.catalogue.show import runs
    from anello.configuration.origin import user

    _one_of(Quality, quality, "QUALITY")
    with _catalogue(directory) as catalogue:
        catalogue.log.mark(number, quality, message, author=user())
        found = catalogue.log.newest(1, number)
    _print_json(found) if as_json else runs.logged(found, output.console())


configs_app = typer.Typer(help="Configurations that runs had.", invoke_without_command=True)
runs_app.add_typer(configs_app, name="configs")
Digest = Annotated[
    str, typer.Argument(metavar="DIGEST", help="Its digest, or as much of it as no other one begins with.")
]


@configs_app.callback()
def list_configurations(
    context: typer.Context,
    *,
    chain: Annotated[str | None, typer.Option(help="Only these.")] = None,
    directory: Directory = HERE,
    as_json: AsJson = False,
) -> None:
    """Configurations that runs had, newest first."""
    from anello.catalogue.show import runs

    if context.invoked_subcommand:
        return
    with _catalogue(directory) as catalogue:
        found = catalogue.configurations.find(chain)
    _print_json(found) if as_json else runs.configured(found, output.console())


@configs_app.command("show")
def show_configuration(digest: Digest, *, directory: Directory = HERE, as_json: AsJson = False) -> None:
    """One of them, as a file that can be run again."""
    with _catalogue(directory) as catalogue:
        found = catalogue.configurations.get(digest)
    _print_json(found) if as_json else print(found["toml"], end="")


@configs_app.command("diff")
def difference(
    first: Digest, second: Annotated[str, typer.Argument(metavar="OTHER", help="Likewise.")],
    *, directory: Directory = HERE, as_json: AsJson = False,
) -> None:  # fmt: skip
    """The keys in which two of them differ."""
    from anello.catalogue.show import comparison
    from anello.catalogue.tables.compare import compare_configurations

    with _catalogue(directory) as catalogue:
        found = compare_configurations(catalogue.configurations, first, second)
    _print_json(found) if as_json else comparison.configurations(found, first, second, output.console())


def _catalogue(directory: Path) -> "Catalogue":
    from anello.catalogue.catalogue import Catalogue, of_runs_in

    return Catalogue.to_look_at(of_runs_in(directory))


def _print_json(value: Any) -> None:
    from anello.report.summary import no_nan

    print(json.dumps(no_nan(value), indent=1))


def _one_of(words: Any, given: str | None, option: str) -> str | None:
    """Checks that `given` is one of the words. Raises ConfigError."""
    if given is not None and given not in list(words):
        raise ConfigError(option, f"must be one of {', '.join(words)}", given, "See --help")
    return given


def _time_ns(text: str) -> int:
    """Reads a time given in words. Raises ConfigError."""
    try:
        time = datetime.fromisoformat(text)
        return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()) * 1_000_000_000
    except (ValueError, OverflowError) as error:
        raise ConfigError("--since", "must be a date or a time", text, "For example 2026-03-01T12:00") from error
