# SPDX-License-Identifier: Apache-2.0
"""The command line.

Exit codes: 0 all well; 1 it could not run (a port in use, no engine), or its front ends ended badly; 2 wrong use or
configuration; 3 the ledger does not balance; 4 the answer is negative (anello search confirmed no rate, anello doctor
found something bad); 5 data was lost for a cause that was not
configured; 130 cut short by a second Ctrl-C, or by one
before there was a result. A run that is stopped as ordered (Ctrl-C, SIGTERM) ends with 0 if nothing else is wrong.
"""

import json
import sys
import time
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from anello import registry
from anello.catalogue.cli import runs_app
from anello.control.cli import agent, control, ctl_app, metrics
from anello.errors import ConfigError, EngineMissingError, in_words
from anello.nanet.cli import nanet_app
from anello.plan.cli import plan
from anello.stream.command import stream_app
from anello.system import exit_codes, interruption, output
from anello.system.exit_codes import BAD_NEWS, FAILED, INTERRUPTED
from anello.virtual_farm.cli import simulate

if TYPE_CHECKING:
    from anello.catalogue.entry import Entry
    from anello.configuration.base import Config, FrontEndsConfig
    from anello.run.chain import GivenEvents
    from anello.run.run_control import RunControl
    from anello.run.run_output import RunOutput

app = typer.Typer(
    name="anello",
    help="Data acquisition and trigger: from UDP packets to decisions.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
config_app = typer.Typer(help="Show and explain the configuration.", no_args_is_help=True)
app.add_typer(config_app, name="config")
app.add_typer(stream_app, name="stream")
app.add_typer(ctl_app, name="ctl")
app.add_typer(runs_app, name="runs")
app.add_typer(nanet_app, name="nanet")

ConfigFile = Annotated[Path, typer.Argument(metavar="CONFIG", help="Configuration file (TOML).")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Any key, e.g. receive.n_buffers=128. Repeatable."),
]
EventsFile = Annotated[
    Path | None, typer.Option("--events", metavar="HITS.csv", help="Send these events instead of simulated ones.")
]
ReportDirectory = Annotated[
    Path | None, typer.Option("--report-dir", help="Report directory; default: a new one below run.directory.")
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace what a former run has left in the report directory.")
]
Trigger = Annotated[
    str | None,
    typer.Option("--trigger", metavar="FILE.py:FUNCTION", help="Same as trigger.python: decide with this function."),
]
AllRows = Annotated[
    bool, typer.Option("--ledger", help="Print every row of the ledger, and all tables; else one line says it.")
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print the summary as JSON, and all that is for people to standard error.")
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show details, too, as the log has them.")]
SingleFile = Annotated[
    bool, typer.Option("--single-file", help="The report needs no plotly.min.js next to it, and has 4.8 MB more.")
]
LogFile = Annotated[
    Path | None, typer.Option("--log-file", metavar="FILE", help="Append to it; default: run.log next to the report.")
]
Managed = Annotated[bool, typer.Option("--managed", hidden=True, help="Take orders at a socket in the directory.")]
Duration = Annotated[float | None, typer.Option("--duration", metavar="SECONDS", help="Same as run.duration_s.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"anello {_package_version() or 'run from its source folder'}")
        raise typer.Exit


def _package_version() -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("anello")
    except PackageNotFoundError:
        return None


@app.callback()
def _anello(
    *,
    version_too: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Data acquisition and trigger: from UDP packets to decisions."""


def main() -> int:
    """The command line: one line per error, no traceback for what users can fix."""
    output.shelter()
    try:
        command = typer.main.get_command(app)
        _let_raise_once_begun(command)
        result = command(standalone_mode=False)  # an exit code where a command raised typer.Exit
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except Exception as error:
        if interruption.is_cause(error):
            return INTERRUPTED
        code = exit_codes.of(error)
        if code is None:
            raise
        _complain(error, code)
        return code
    return result if isinstance(result, int) else 0


def _let_raise_once_begun(command: Any) -> None:
    """Ctrl-C of this command, or of those below it, is a KeyboardInterrupt from its own first line on."""
    for below in getattr(command, "commands", {}).values():
        _let_raise_once_begun(below)
        begin = below.callback

        def begun(*args: Any, begin: Any = begin, **given: Any) -> Any:
            interruption.raise_from_now_on()
            return begin(*args, **given)

        if not hasattr(below, "commands"):
            below.callback = begun


def _complain(error: Exception, code: int) -> None:
    message = in_words(error)
    if "--led" in sys.argv:
        print(json.dumps({"state": "failed", "error": message, "exit_code": code}), flush=True)
    else:
        print("\n".join(f"anello: {line}" for line in message.splitlines()), file=sys.stderr)


# --- Runs ---------------------------------------------------------------------------------------------------------
@app.command()
def run(
    config_file: ConfigFile,
    *,
    events: EventsFile = None,
    settings: Settings = None,
    duration: Duration = None,
    report_dir: ReportDirectory = None,
    overwrite: Overwrite = False,
    trigger: Trigger = None,
    all_rows: AllRows = False,
    as_json: AsJson = False,
    verbose: Verbose = False,
    log_file: LogFile = None,
    single_file: SingleFile = False,
    led: Annotated[bool, typer.Option("--led", hidden=True, help="Only print the summary, as JSON.")] = False,
    live: Annotated[
        bool, typer.Option("--live", help="With a page in the browser, which prints its address and stays.")
    ] = False,
    managed: Managed = False,
) -> None:
    """Front ends and node on this machine: simulate, send over UDP, build, find rings, decide, report."""
    interruption.remember_from_now_on()
    config = _load_with_front_ends(config_file, settings, duration, trigger)
    if live:
        if events or report_dir or led:
            rule = "must come without --events and --report-dir"
            raise ConfigError("--live", rule, "one of them", "The page starts further runs, each in a new directory")
        from anello.control import live_run

        changes = _settings(settings, duration, trigger)
        raise typer.Exit(live_run.run(config_file, changes, Path(config.run.directory), output.console()))
    given = _events(config, events)

    from anello.report import summary
    from anello.run import run as runs
    from anello.run.run_output import RunOutput

    directory = _directory(config, report_dir, overwrite=overwrite)
    arguments = [str(config_file), *(part for setting in settings or [] for part in ("--set", setting))]
    if given is not None:
        arguments += ["--events", str(events)]
    speech = RunOutput.of(
        directory,
        as_json=led or as_json,
        all_rows=all_rows,
        verbose=verbose,
        log_file=log_file,
        single_file=single_file,
    )
    with (
        _entry(config, directory, led=led) as entry,
        _lead(managed, directory, entry) as lead,
        speech.notices() as notices,
    ):
        record = runs.run(
            runs.RunPlan(config, arguments, directory, given and given.reference), speech.console, lead, notices
        )
        if led:
            print(summary.line(record), flush=True)
        else:
            _finish(record, directory, speech, lead)


@app.command()
def search(
    config_file: ConfigFile,
    *,
    settings: Settings = None,
    lowest: Annotated[
        float | None, typer.Option(metavar="HZ", help="Lowest rate; default: 0.1 x the file's rate.")
    ] = None,
    highest: Annotated[float | None, typer.Option(metavar="HZ", help="Highest rate; default: 10 x the file's.")] = None,
    step: Annotated[
        float | None, typer.Option(metavar="HZ", help="Resolution of the result; default: 0.1 x the file's rate.")
    ] = None,
    repeats: Annotated[int, typer.Option(help="Runs per rate; all must pass.")] = 3,
    confirm: Annotated[int, typer.Option(help="Further runs at the rate found.")] = 5,
    seconds: Annotated[float, typer.Option(help="Beam time of each run.")] = 2.0,
    deadline_us: Annotated[float | None, typer.Option(metavar="US", help="Upper limit on the quantile.")] = None,
    quantile: Annotated[str, typer.Option(help="Quantile of the latency from send to decision.")] = "p99.9",
    others: Annotated[
        float, typer.Option(metavar="CORES", help="CPU of other programs above which a run is repeated.")
    ] = 0.1,
    stop_ms: Annotated[
        float, typer.Option(metavar="MS", help="Stop of the machine itself above which a run is repeated.")
    ] = 10.0,
    tries: Annotated[int, typer.Option(help="Attempts per run if disturbed; the last one counts.")] = 3,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Directory for search.json and search.html.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print search.json, and all that is for people to standard error.")
    ] = False,
    overwrite: Overwrite = False,
) -> None:
    """Finds the highest rate without loss: bisection, several runs per rate, then confirmation."""
    from anello.search import command as search_command

    config = _load_with_front_ends(config_file, settings, None)
    options = search_command.Options(
        lowest, highest, step, repeats, confirm, seconds, deadline_us, quantile, others, stop_ms, tries
    )
    options.check(config)
    directory = _directory(config, out, "-search", overwrite=overwrite)
    found = search_command.search(
        config,
        config_file,
        settings or [],
        options,
        directory=directory,
        console=output.console(stderr=as_json),
    )
    if as_json:
        print((directory / "search.json").read_text(), end="", flush=True)
    raise typer.Exit(INTERRUPTED if found.interrupted else 0 if found.found else BAD_NEWS)


@app.command()
def node(
    config_file: ConfigFile,
    *,
    settings: Settings = None,
    duration: Duration = None,
    report_dir: ReportDirectory = None,
    overwrite: Overwrite = False,
    trigger: Trigger = None,
    all_rows: AllRows = False,
    as_json: AsJson = False,
    verbose: Verbose = False,
    log_file: LogFile = None,
    single_file: SingleFile = False,
    managed: Managed = False,
) -> None:
    """Runs the node alone: receives, builds, decides. Front ends elsewhere (anello source) send to its ports."""
    interruption.remember_from_now_on()
    config = _load_with_front_ends(config_file, settings, duration, trigger)

    from anello.run import run as runs
    from anello.run.run_output import RunOutput

    directory = _directory(config, report_dir, overwrite=overwrite)
    speech = RunOutput.of(
        directory, as_json=as_json, all_rows=all_rows, verbose=verbose, log_file=log_file, single_file=single_file
    )
    with (
        _entry(config, directory) as entry,
        _lead(managed, directory, entry) as lead,
        speech.notices() as notices,
    ):
        _finish(runs.run_node(config, directory, speech.console, lead, notices), directory, speech, lead)


def _lead(managed: bool, directory: Path, entry: "Entry | None" = None) -> "AbstractContextManager[RunControl]":
    from anello.control.managed import Managed as ManagedRunControl
    from anello.run.run_control import RunControl

    return ManagedRunControl(directory, entry) if managed else nullcontext(RunControl(entry))


def _entry(config: "Config", directory: Path, *, led: bool = False) -> "Entry":
    """The run in the catalogue; none of a run that another command makes for itself."""
    from anello.catalogue.entry import Entry

    return Entry.none(config, directory) if led else Entry.begin(config, directory)


@app.command()
def source(
    config_file: ConfigFile,
    *,
    events: EventsFile = None,
    settings: Settings = None,
    duration: Duration = None,
    truth: Annotated[
        Path | None, typer.Option("--truth", help="Write the simulation truth to this file (.npz).")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print every counter as JSON, and all that is for people to standard error.")
    ] = False,
) -> None:
    """Runs the front ends alone: they send to a node elsewhere (source.host, source.ports)."""
    config = _load_with_front_ends(config_file, settings, duration)
    given = _events(config, events)

    from anello.run.chain_of import chain_of

    _send(chain_of(config).make_source(given), truth, config.run, as_json=as_json)


def _send(sender: Any, truth: Path | None, settings: Any, *, as_json: bool) -> None:
    from anello.run import display, sending
    from anello.run.source_process import save_truth
    from anello.system.interruption import interruptible

    console = output.console(stderr=as_json)
    meter, began_s = sending.SendingMeter(), time.monotonic()
    with interruptible() as interrupted, display.make(settings.display, console) as shown:
        sender.start()
        while sender.running() and not interrupted.wait(settings.refresh_ms * 1e-3):
            sender.set_state("running")
            shown.show(meter.look(sender.counters()))
        sender.stop()
    seconds, counters = time.monotonic() - began_s, sender.counters()
    if truth:
        save_truth(truth, sender.truth())
    for line in sending.summary(counters, seconds):
        console.print(line, soft_wrap=True)
    if as_json:
        report = {"seconds": seconds, "interrupted": interrupted.is_set(), "counters": counters}
        print(json.dumps(report), flush=True)


def _load(
    path: Path | None, settings: list[str] | None, duration: float | None = None, trigger: str | None = None
) -> "Config":
    from anello.configuration.load import load

    return load(path, _settings(settings, duration, trigger))


def _settings(settings: list[str] | None, duration: float | None, trigger: str | None = None) -> list[str]:
    extra = [] if duration is None else [f"run.duration_s={duration}"]
    extra += [] if trigger is None else [f"trigger.python={trigger}"]
    return [*(settings or []), *extra]


def _load_with_front_ends(
    path: Path, settings: list[str] | None, duration: float | None, trigger: str | None = None
) -> "FrontEndsConfig":
    from anello.configuration.load import load_with_front_ends

    return load_with_front_ends(path, _settings(settings, duration, trigger))


def _events(config: "FrontEndsConfig", path: Path | None) -> "GivenEvents | None":
    if path is None:
        return None
    from anello.run.chain_of import chain_of

    return chain_of(config).events_of(path)


def _directory(config: "Config", wanted: Path | None, ending: str = "", *, overwrite: bool) -> Path:
    from anello.report import report
    from anello.system import run_directory

    if wanted is None:
        return report.new_directory(config.run.directory, config.run.name + ending)
    return run_directory.prepare(wanted, config.data_files, overwrite=overwrite)


def _report(record: Any, directory: Path, speech: "RunOutput") -> int:
    """Returns the exit code. The ledger is shown even if the report cannot be written."""
    from anello.report import report, summary

    problem, console = "", speech.console
    try:
        said = f"report: {report.write(record, directory, single_file=speech.single_file)}"
    except OSError as error:
        problem = said = f"the report could not be written: {error.strerror or error}: {error.filename or directory}"
    report.show(record, console, all_of_it=speech.all_rows)
    console.print(said, soft_wrap=True, highlight=False, style="bold red" if problem else "")
    if speech.as_json:
        print(summary.line(record), flush=True)
    code: int = record.verdict().exit_code
    return code or (FAILED if problem else 0)


def _finish(record: Any, directory: Path, speech: "RunOutput", lead: "RunControl") -> NoReturn:
    code = _report(record, directory, speech)
    if lead.entry:
        lead.entry.end(record, code, aborted=lead.is_aborted)
    raise typer.Exit(code)


# --- Many nodes ---------------------------------------------------------------------------------------------------
@app.command()
def exchange(
    config_file: Annotated[
        Path | None, typer.Argument(metavar="CONFIG", help="Configuration file (TOML) of the chain exchange.")
    ] = None,
    *,
    settings: Settings = None,
    duration: Duration = None,
    report_dir: ReportDirectory = None,
    overwrite: Overwrite = False,
    local: Annotated[
        str | None, typer.Option(metavar="N[,N...]", help="All N nodes on this machine; several N: one run each.")
    ] = None,
    message_sizes: Annotated[
        str | None,
        typer.Option(metavar="BYTES[,BYTES...]", help="With --local N: one run per message size, and a curve."),
    ] = None,
    rendezvous: Annotated[
        str | None, typer.Option(metavar="tcp://HOST:PORT", help="Where nodes meet: an address of node 0's machine.")
    ] = None,
    rank: Annotated[int | None, typer.Option(metavar="I", help="Number of this node, from 0.")] = None,
    nodes: Annotated[int | None, typer.Option(metavar="N", help="Number of nodes.")] = None,
    serve: Annotated[
        bool | None,
        typer.Option("--serve/--no-serve", help="Run only the rendezvous; --no-serve: node 0 does not run it."),
    ] = None,
    keys: Annotated[Path | None, typer.Option(metavar="DIR", help="The farm's keys: strangers are kept out.")] = None,
    make_keys: Annotated[
        Path | None, typer.Option("--make-keys", metavar="DIR", help="Make a farm's keys and exit.")
    ] = None,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long nodes wait for each other at start and end.")
    ] = 30.0,
    reference: Annotated[
        bool, typer.Option(help="First measure the transport's bandwidth between two idle local nodes (1 s).")
    ] = True,
    join: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Combine the results that nodes left in DIR uncollected; with --nodes."),
    ] = None,
    all_rows: AllRows = False,
    as_json: AsJson = False,
    verbose: Verbose = False,
    log_file: LogFile = None,
    single_file: SingleFile = False,
    started_by: Annotated[str, typer.Option("--started-by", hidden=True, help="Words for the report.")] = "",
    managed: Managed = False,
) -> None:
    """Builds events between nodes: --local N on this machine, under mpirun -n N, or --rendezvous on each machine."""
    from anello.exchange import command
    from anello.run.run_output import RunOutput

    speech = RunOutput.of(
        report_dir,
        as_json=as_json,
        all_rows=all_rows,
        verbose=verbose,
        log_file=log_file,
        log_name=f"node{rank}.log" if rank else "run.log",
        single_file=single_file,
    )
    console = speech.console
    if make_keys:
        command.make_keys(make_keys, console)
        return
    options = command.Options(
        local, rendezvous, rank, nodes, serve, None if managed else keys, timeout, reference, started_by, message_sizes
    )
    if not join:
        options.check()
    if serve:
        raise typer.Exit(command.serve(options, console))
    config = command.exchange_config(_load(_given(config_file), settings, duration))
    if join:
        raise typer.Exit(command.join(config, join, nodes, console, overwrite=overwrite))
    arguments = [str(config_file), *(part for setting in settings or [] for part in ("--set", setting))]
    if managed:
        from anello.exchange import led

        directory = _directory(config, report_dir, overwrite=overwrite)
        plan = led.plan_of(config, arguments, directory, timeout_s=timeout, keys=keys)
        with _lead(managed, directory) as lead:
            raise typer.Exit(led.run(plan, lead))
    if local:
        arguments += [] if duration is None else ["--duration", str(duration)]
        wanted = {"--ledger": all_rows, "--json": as_json, "--verbose": verbose, "--single-file": single_file}
        arguments += [option for option, is_wanted in wanted.items() if is_wanted]
        options.local_sizes()
        directory = _directory(config, report_dir, overwrite=overwrite)
        ended_with = command.run_local(
            config, arguments, options, directory=directory, console=console, overwrite=overwrite
        )
        raise typer.Exit(ended_with)
    with ExitStack() as entered, speech.notices() as notices:
        ended = command.run_node(
            config, options, report_dir=report_dir, overwrite=overwrite, console=console, notices=notices
        )
        if ended.entry:
            entered.enter_context(ended.entry)
        code = 0
        if ended.record:
            directory = report_dir or _directory(config, None, overwrite=overwrite)
            code = _report(ended.record, directory, speech)
            if ended.entry:
                ended.entry.end(ended.record, FAILED if ended.failure else code, directory=directory)
        command.raise_if_failed(ended)
        raise typer.Exit(code)


def _given(config_file: Path | None) -> Path:
    if config_file is None:
        raise ConfigError("CONFIG", "must be given", "nothing", "For example configs/lhcb-exchange.toml")
    return config_file


# --- Offline, and looking -----------------------------------------------------------------------------------------
@app.command()
def dump(
    targets: Annotated[
        list[str], typer.Argument(metavar="PCAP|PORT...", help="A capture file (-: standard input), or live UDP ports.")
    ],
    *,
    formats: Annotated[
        list[str] | None,
        typer.Option("--format", metavar="[PORT=]NAME", help="What packets are; else it is recognised. Repeatable."),
    ] = None,
    ports: Annotated[list[int] | None, typer.Option("--port", help="Of a capture: only these. Repeatable.")] = None,
    count: Annotated[int | None, typer.Option("--count", "-c", min=1, help="End after this many datagrams.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Live: end after this time.")] = None,
    address: Annotated[str, typer.Option(help="Live: the address to listen on.")] = "127.0.0.1",
    hex_too: Annotated[bool, typer.Option("--hex", "-x", help="The bytes too.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="All contents, not the first of each.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only what it was in all.")] = False,
    bad: Annotated[bool, typer.Option("--bad", help="Only packets that are not ok.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line.")] = False,
) -> None:
    """Prints packets of every format that Anello knows, each with its verdict, from a capture or live ports."""
    from anello.packets import dump as dumping

    options = dumping.Options(
        targets, formats or (), ports or (), count, seconds, address, hex_too, verbose, quiet, bad, as_json
    )
    raise typer.Exit(dumping.dump(options))


@app.command()
def counters(
    page: Annotated[
        str | None, typer.Argument(help="Page name, also of an ended process; default: all running processes.")
    ] = None,
    *,
    only: Annotated[
        list[str] | None, typer.Option(metavar="PATTERN", help='Only these, such as "build.*". Repeatable.')
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Again and again, with rates; what is 0 left out.")
    ] = False,
    every_s: Annotated[float, typer.Option("--every", metavar="SECONDS", min=0.05, help="With --watch.")] = 1.0,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per look.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Leave pages of processes that have ended.")] = False,
    with_reference: Annotated[
        bool, typer.Option("--reference", help="Print docs/reference/counters.md, as it must be.")
    ] = False,
) -> None:
    """Prints what running processes count, with meaning and unit; their latency, threads and buffers."""
    if with_reference:
        from anello.counters import reference as counter_reference

        print(counter_reference.reference(), end="")
        return

    from anello.counters import command as counters_command

    watch_s = every_s if watch else 0.0
    raise typer.Exit(counters_command.run(counters_command.Options(page, only or (), watch_s, as_json, keep)))


@app.command()
def doctor(
    config_file: Annotated[
        Path | None, typer.Argument(metavar="[CONFIG]", help="Configuration to check the host for; none: all defaults.")
    ] = None,
    *,
    settings: Settings = None,
    interface: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Network interface; default: that of receive.host or the default route."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Everything, for programs.")] = False,
    fix: Annotated[bool, typer.Option("--fix", help="Print the commands of all findings, as a shell script.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --fix: run them, as root.")] = False,
    topology: Annotated[
        bool, typer.Option("--topology", help="Only show cores, caches, memory and cards, and what is near what.")
    ] = False,
    traffic: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0,
            max=600,
            help="Only let each receive backend take the traffic that flows to CONFIG's ports, three turns of this "
            "length, and say which costs least. The node must not run.",
        ),
    ] = 0.0,
) -> None:
    """Reports what limits data acquisition on this host, what it costs, and the command that fixes it."""
    from anello.doctor import command

    config = _load(config_file, settings) if config_file or settings else None
    found_bad = command.run(config, command.Options(interface, as_json, fix, yes, topology, traffic))
    raise typer.Exit(BAD_NEWS if found_bad else 0)


app.command()(plan)
app.command()(simulate)
app.command()(control)
app.command()(metrics)
app.command()(agent)
for chain in registry.names():
    for command in registry.registration(chain).commands:
        app.command()(registry.load(command))


@app.command("version")
def show_version(
    *, as_json: Annotated[bool, typer.Option("--json", help="The same as JSON, for programs.")] = False
) -> None:
    """Prints the package version and what the engine supports on this machine."""
    package = _package_version()
    try:
        from anello.engine import _engine
    except EngineMissingError as error:
        print(json.dumps({"anello": package, "error": str(error)}) if as_json else f"anello {package or ''}\n{error}")
        raise typer.Exit(FAILED) from None
    chains = {chain: list(lines()) for chain, lines in registry.parts("versions").items()}
    if as_json:
        versions = {
            "anello": package,
            "engine": _engine.version(),
            "instruction_sets": _engine.isas(),
            "chains": chains,
        }
        print(json.dumps(versions))
        return
    print(f"anello {package or 'run from its source folder'}")
    print(f"engine {_engine.version()}")
    print(f"instruction sets: {', '.join(_engine.isas())}")
    for line in (line for lines in chains.values() for line in lines):
        print(line)


@config_app.command("show")
def config_show(
    config_file: Annotated[Path | None, typer.Argument(metavar="[CONFIG]", help="None: all defaults.")] = None,
    *,
    settings: Settings = None,
    with_expert_keys: Annotated[bool, typer.Option("--all", help="Also the keys for experts.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="All keys and values as JSON, for programs.")] = False,
) -> None:
    """Prints the effective configuration as a usable file with its keys explained."""
    from anello.configuration.text import as_toml

    config = _load(config_file, settings)
    as_text = (
        json.dumps(config.as_given(), indent=1) + "\n"
        if as_json
        else as_toml(config, with_expert_keys=with_expert_keys)
    )
    print(as_text, end="")


@config_app.command("reference")
def config_reference(
    *, expert: Annotated[bool, typer.Option("--expert", help="Prints docs/reference/expert-keys.md.")] = False
) -> None:
    """Prints docs/reference/configuration.md, generated from the key descriptions."""
    from anello.configuration.text import expert_reference, reference

    print(expert_reference() if expert else reference(), end="")
