# SPDX-License-Identifier: Apache-2.0
"""The command line.

Exit codes: 0 all well; 1 it could not run (a port in use, no engine), or its front ends ended badly; 2 wrong use or
configuration; 3 the ledger does not balance; 4 the answer is negative (anello search confirmed no rate, anello doctor
found something bad); 5 data was lost for a cause that was not
configured; 130 stopped by Ctrl-C, and none of the above (the ledger is always printed).
"""

import json
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

from anello import output, registry
from anello.config import Config, FrontEndsConfig, load
from anello.config_text import as_toml, reference
from anello.errors import ConfigError, EngineMissingError, InputError
from anello.exit_codes import BAD_NEWS, FAILED, INTERRUPTED, USAGE
from anello.plan.cli import plan
from anello.stream_command import stream_app

app = typer.Typer(
    name="anello", help="Data acquisition and trigger: from UDP packets to decisions.", no_args_is_help=True,
    add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None,
)  # fmt: skip
config_app = typer.Typer(help="Show and explain the configuration.", no_args_is_help=True)
app.add_typer(config_app, name="config")
app.add_typer(stream_app, name="stream")

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
Trigger = Annotated[
    str | None,
    typer.Option("--trigger", metavar="FILE.py:FUNCTION", help="Same as trigger.python: decide with this function."),
]
Duration = Annotated[float | None, typer.Option("--duration", metavar="SECONDS", help="Same as run.duration_s.")]


def main() -> int:
    """Entry of the `anello` command: one line per error, no traceback for what users can fix."""
    output.shelter()
    try:
        result = app(standalone_mode=False)  # an exit code where a command raised typer.Exit
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except Exception as error:
        code = _exit_code(error)
        if code is None:
            raise
        _complain(error, code)
        return code
    return result if isinstance(result, int) else 0


def _exit_code(error: Exception) -> int | None:
    """None for a bug of ours, which keeps its traceback."""
    if isinstance(error, ConfigError | InputError):
        return USAGE
    if isinstance(error, EngineMissingError | OSError):
        return FAILED
    code = getattr(error, "exit_code", None)  # wrong use, as reported by typer, or a failed front end
    return code if isinstance(code, int) else None


def _complain(error: Exception, code: int) -> None:
    message = str(error) or type(error).__name__
    if hasattr(error, "format_message"):
        message = error.format_message()
    elif isinstance(error, OSError) and error.strerror:
        message = f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    if "--led" in sys.argv:
        print(json.dumps({"state": "failed", "error": message, "exit_code": code}), flush=True)
    else:
        print(f"anello: {message}", file=sys.stderr)


# --- Runs ---------------------------------------------------------------------------------------------------------
@app.command()
def run(
    config_file: ConfigFile,
    *,
    events: EventsFile = None,
    settings: Settings = None,
    duration: Duration = None,
    report_dir: ReportDirectory = None,
    trigger: Trigger = None,
    led: Annotated[bool, typer.Option("--led", hidden=True, help="Only print the summary, as JSON.")] = False,
) -> None:
    """Front ends and node on this machine: simulate, send over UDP, build, find rings, decide, report."""
    config = _load_with_front_ends(config_file, settings, duration, trigger)
    hits, rings = _events(events)

    from anello import run as runs
    from anello import summary

    directory = _directory(config, report_dir)
    arguments = [str(config_file), *(part for setting in settings or [] for part in ("--set", setting))]
    if hits is not None:
        arguments += ["--events", str(events)]
    console = Console(stderr=led)
    record = runs.run(runs.Plan(config, arguments, directory, rings), console)
    if led:
        print(summary.line(record), flush=True)
    else:
        _finish(record, directory, console)


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
    tries: Annotated[int, typer.Option(help="Attempts per run if disturbed; the last one counts.")] = 3,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Directory for search.json and search.html.")] = None,
) -> None:
    """Finds the highest rate without loss: bisection, several runs per rate, then confirmation."""
    from anello.search import command as search_command

    config = _load_with_front_ends(config_file, settings, None)
    options = search_command.Options(
        lowest, highest, step, repeats, confirm, seconds, deadline_us, quantile, others, tries
    )
    options.check(config)
    directory = _directory(config, out, "-search")
    found = search_command.search(config, config_file, settings or [], options, directory=directory, console=Console())
    raise typer.Exit(INTERRUPTED if found.interrupted else 0 if found.found else BAD_NEWS)


@app.command()
def node(
    config_file: ConfigFile,
    settings: Settings = None,
    duration: Duration = None,
    report_dir: ReportDirectory = None,
    trigger: Trigger = None,
) -> None:
    """Runs the node alone: receives, builds, decides. Front ends elsewhere (anello source) send to its ports."""
    config = _load_with_front_ends(config_file, settings, duration, trigger)

    from anello import run as runs

    directory = _directory(config, report_dir)
    console = Console()
    _finish(runs.run_node(config, directory, console), directory, console)


@app.command()
def source(
    config_file: ConfigFile,
    *,
    events: EventsFile = None,
    settings: Settings = None,
    duration: Duration = None,
    led: Annotated[bool, typer.Option("--led", hidden=True, help="Talk to anello run over standard input.")] = False,
    truth: Annotated[
        Path | None, typer.Option("--truth", help="Write the simulation truth to this file (.npz).")
    ] = None,
) -> None:
    """Runs the front ends alone: they send to a node elsewhere (source.host, source.ports)."""
    config = _load_with_front_ends(config_file, settings, duration)
    hits, _ = _events(events)

    from anello import source_process
    from anello.chain_of import chain_of

    sender = chain_of(config).make_source(hits)
    if led:
        source_process.serve(sender, truth, config.run.refresh_ms * 1e-3, first=config.front_ends_go_first)
    else:
        _send(sender, truth, config.run.refresh_ms * 1e-3)


def _send(sender: Any, truth: Path | None, refresh_s: float) -> None:
    from anello.interruption import interruptible
    from anello.source_process import save_truth

    with interruptible() as interrupted:
        sender.start()
        while sender.running() and not interrupted.wait(refresh_s):
            pass
        sender.stop()
    if truth:
        save_truth(truth, sender.truth())
    _print_counters(sender.counters())
    if interrupted.is_set():
        raise typer.Exit(INTERRUPTED)


def _load(path: Path, settings: list[str] | None, duration: float | None, trigger: str | None = None) -> Config:
    extra = [] if duration is None else [f"run.duration_s={duration}"]
    extra += [] if trigger is None else [f"trigger.python={trigger}"]
    return load(path, [*(settings or []), *extra])


def _load_with_front_ends(
    path: Path, settings: list[str] | None, duration: float | None, trigger: str | None = None
) -> FrontEndsConfig:
    config = _load(path, settings, duration, trigger)
    if not isinstance(config, FrontEndsConfig):
        rule = "must be a chain with front ends for this command"
        raise ConfigError("chain", rule, f'"{config.chain}"', f"anello {config.chain} runs this configuration")
    return config


def _events(path: Path | None) -> tuple[Any, Any]:
    """Hits of --events and, if there is a rings file next to it, the rings of another reconstruction."""
    if path is None:
        return None, None
    from anello import events_csv

    hits = events_csv.read(events_csv.read_hits, path)
    beside = events_csv.rings_beside(path)
    return hits, None if beside is None else events_csv.read(events_csv.read_rings, beside, hits.event_id)


def _directory(config: Config, wanted: Path | None, ending: str = "") -> Path:
    from anello import report

    if wanted is None:
        return report.new_directory(config.run.directory, config.run.name + ending)
    wanted.mkdir(parents=True, exist_ok=True)
    return wanted


def _report(record: Any, directory: Path, console: Console) -> int:
    """Returns the exit code. The ledger is shown even if the report cannot be written."""
    from anello import report

    problem = ""
    try:
        said = f"report: {report.write(record, directory)}"
    except OSError as error:
        problem = said = f"the report could not be written: {error.strerror or error}: {error.filename or directory}"
    report.show(record, console)
    console.print(said, soft_wrap=True, highlight=False, style="bold red" if problem else "")
    code: int = record.verdict().exit_code
    return code or (FAILED if problem else 0)


def _finish(record: Any, directory: Path, console: Console) -> NoReturn:
    raise typer.Exit(_report(record, directory, console))


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
    started_by: Annotated[str, typer.Option("--started-by", hidden=True, help="Words for the report.")] = "",
) -> None:
    """Builds events between nodes: --local N on this machine, under mpirun -n N, or --rendezvous on each machine."""
    from anello.exchange import command

    console = Console()
    if make_keys:
        command.make_keys(make_keys, console)
        return
    options = command.Options(
        local, rendezvous, rank, nodes, serve, keys, timeout, reference, started_by, message_sizes
    )
    if not join:
        options.check()
    if serve:
        raise typer.Exit(command.serve(options, console))
    config = command.exchange_config(_load(_given(config_file), settings, duration))
    if join:
        raise typer.Exit(command.join(config, join, nodes, console))
    if local:
        arguments = [str(config_file), *(part for setting in settings or [] for part in ("--set", setting))]
        arguments += [] if duration is None else ["--duration", str(duration)]
        options.local_sizes()
        directory = _directory(config, report_dir)
        raise typer.Exit(command.run_local(config, arguments, options, directory=directory, console=console))
    ended = command.run_node(config, options, directory=report_dir or Path(config.run.directory), console=console)
    code = INTERRUPTED if ended.interrupted else 0
    if ended.record:
        code = _report(ended.record, _directory(config, report_dir), console)
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
    from anello import dump as dumping

    options = dumping.Options(targets, formats or (), ports or (), count, seconds, address, hex_too, verbose, quiet,
                              bad, as_json)  # fmt: skip
    raise typer.Exit(dumping.dump(options))


@app.command()
def counters(
    page: Annotated[
        str | None, typer.Argument(help="Page name, also of an ended process; default: all running processes.")
    ] = None,
    *,
    with_reference: Annotated[
        bool, typer.Option("--reference", help="Print docs/reference/counters.md, as it must be.")
    ] = False,
) -> None:
    """Prints the current counters of running processes."""
    if with_reference:
        from anello import counter_reference

        print(counter_reference.reference(), end="")
        return

    from anello import counter_pages

    pages = [counter_pages.look_at(page)] if page else counter_pages.of_this_machine()
    running = [each for each in pages if each.runs or page]
    for each in pages:
        if not each.runs:
            print(f"{each.name}: its process, {each.process}, has ended; to print it: anello counters {each.name}; "
                  f"to remove it: rm /dev/shm/{each.name}", file=sys.stderr)  # fmt: skip
    if not running:
        print("no anello process is running on this machine", file=sys.stderr)
        raise typer.Exit(FAILED)
    for each in running:
        print(f"[{each.name}]")
        _print_counters(each.counters())


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
) -> None:
    """Reports what limits data acquisition on this host, what it costs, and the command that fixes it."""
    from anello.doctor import command

    config = load(config_file, settings or []) if config_file or settings else None
    found_bad = command.run(config, command.Options(interface, as_json, fix, yes, topology))
    raise typer.Exit(BAD_NEWS if found_bad else 0)


app.command()(plan)
for chain in registry.names():
    for command in registry.registration(chain).commands:
        app.command()(registry.load(command))


def _print_counters(values: dict[str, dict[str, int]]) -> None:
    for block, names in values.items():
        for name, value in names.items():
            print(f"{block}.{name} = {value}")


@app.command("version")
def show_version() -> None:
    """Prints the package version and what the engine supports on this machine."""
    try:
        print(f"anello {version('anello')}")
    except PackageNotFoundError:
        print("anello, run from its source folder")
    try:
        from anello.engine import _engine
    except EngineMissingError as error:
        print(error)
        raise typer.Exit(FAILED) from None
    print(f"engine {_engine.version()}")
    print(f"instruction sets: {', '.join(_engine.isas())}")
    for lines in registry.parts("versions").values():
        for line in lines():
            print(line)


@config_app.command("show")
def config_show(
    config_file: Annotated[Path | None, typer.Argument(metavar="[CONFIG]", help="None: all defaults.")] = None,
    settings: Settings = None,
) -> None:
    """Prints the effective configuration as a usable file with every key explained."""
    print(as_toml(load(config_file, settings or [])), end="")


@config_app.command("reference")
def config_reference() -> None:
    """Prints docs/reference/configuration.md, generated from the key descriptions."""
    print(reference(), end="")
