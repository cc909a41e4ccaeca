# SPDX-License-Identifier: Apache-2.0
"""`anello exchange`: its options, checked, and the three ways to start: MPI, a rendezvous, one command."""

import ipaddress
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from anello.account.notices import Notices
from anello.catalogue.entry import Entry
from anello.configuration.load import Config, load
from anello.configuration.section import greatest
from anello.errors import ConfigError
from anello.exchange import left_behind, local, placement
from anello.exchange.configuration.config import (
    ALIGNMENT_BYTES,
    BYTES_BESIDE_FRAGMENT,
    MFP_HEADER_BYTES,
    ExchangeConfig,
)
from anello.exchange.engine_keys import ExchangeKeys, RolesKeys
from anello.exchange.rendezvous import mpi
from anello.exchange.rendezvous.group import Group, Hello, StartError
from anello.exchange.rendezvous.member import RendezvousGroup
from anello.exchange.rendezvous.protocol import Pace
from anello.exchange.rendezvous.server import RendezvousServer
from anello.exchange.report import curve
from anello.exchange.running import Ended, NodeRun, engine_point_to_point
from anello.system import run_directory, secret_keys
from anello.system.exit_codes import FAILED
from anello.system.interruption import interruptible
from anello.system.secret_keys import Keys

POLL_S = 0.2
MAX_TIMEOUT_S = 3600.0
MAX_NODES = greatest(RolesKeys, "roles")


@dataclass(frozen=True)
class Options:
    """Options of the command line. serve: keep the rendezvous and nothing else; False: another process keeps it."""

    local: str | None = None
    rendezvous: str | None = None
    rank: int | None = None
    nodes: int | None = None
    serve: bool | None = None
    keys: Path | None = None
    timeout_s: float = 30.0
    reference: bool = True  # compare bandwidth with point to point
    started_by: str = ""
    message_sizes: str | None = None

    def check(self) -> None:
        """Checks the options. Raises ConfigError."""
        for holds, option, rule, given, remedy in self._checks():
            if not holds:
                raise ConfigError(option, rule, str(given), remedy)

    def _checks(self) -> Iterator[tuple[bool, str, str, object, str]]:
        with_rendezvous = self.rendezvous is not None
        yield (
            not (self.local and with_rendezvous),
            "--local",
            "cannot be given together with --rendezvous",
            self.local,
            "Nodes of one machine need no other rendezvous",
        )
        yield (
            not self.message_sizes or bool(self.local),
            "--message-sizes",
            "belongs to --local",
            self.message_sizes,
            "For example --local 2 --message-sizes 12e3,120e3",
        )
        yield (
            0 < self.timeout_s <= MAX_TIMEOUT_S,
            "--timeout",
            f"must be above 0 and at most {MAX_TIMEOUT_S:g}",
            self.timeout_s,
            "The default is 30",
        )
        for option, value in (
            ("--rank", self.rank),
            ("--nodes", self.nodes),
            ("--keys", self.keys),
            ("--serve", self.serve),
        ):
            yield (
                value is None or with_rendezvous,
                option,
                "belongs to --rendezvous",
                value,
                "--local N and mpirun number nodes themselves",
            )
        if with_rendezvous:
            yield from self._rendezvous_checks()

    def _rendezvous_checks(self) -> Iterator[tuple[bool, str, str, object, str]]:
        endpoint = self.rendezvous or ""
        host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
        right = endpoint.startswith("ipc://") or (endpoint.startswith("tcp://") and host != "" and port != "")
        yield right, "--rendezvous", "must be tcp://HOST:PORT", endpoint, "All nodes need the same"
        nodes = self.nodes or 0
        yield 1 <= nodes <= MAX_NODES, "--nodes", f"must be 1 to {MAX_NODES}", self.nodes, "All nodes need the same"
        if self.serve is not True:
            yield (
                self.rank is not None and 0 <= self.rank < nodes,
                "--rank",
                f"must be 0 to {nodes - 1}",
                self.rank,
                "Each node has its own",
            )

    def local_sizes(self) -> list[int]:
        """The numbers of nodes in a list such as `1,2,4`: one run for each. Raises ConfigError."""
        words = (self.local or "").split(",")
        sizes = [int(word) for word in words if word.strip().isdecimal()]
        if len(sizes) != len(words) or not all(1 <= size <= MAX_NODES for size in sizes):
            rule = f"must be a number of nodes from 1 to {MAX_NODES}, or several: 1,2,4"
            raise ConfigError("--local", rule, str(self.local), "For example --local 2")
        return sizes


def packing_for(config: ExchangeConfig, words: str) -> list[int]:
    """Numbers of events per multi-event packet that give messages of about these bytes: `12e3,120e3`. Raises
    ConfigError."""
    per_event = (
        BYTES_BESIDE_FRAGMENT + math.ceil(config.generator.fragment_mean_bytes / ALIGNMENT_BYTES) * ALIGNMENT_BYTES
    )
    packings, most = [], greatest(ExchangeKeys, "packing")
    for word in words.split(","):
        try:
            packings.append(max(1, round((float(word) - MFP_HEADER_BYTES) / per_event)))
        except (ValueError, OverflowError):  # not a number, or not a finite one
            packings.append(most + 1)
    if max(packings) > most:
        rule = f"must be bytes, at most {most * per_event:,} with fragments of this size, or several"
        raise ConfigError("--message-sizes", rule, words, "For example 12e3,120e3,1.2e6")
    return packings


def exchange_config(config: Config) -> ExchangeConfig:
    """Checks that the configuration is the exchange's. Raises ConfigError where it is of another chain."""
    if not isinstance(config, ExchangeConfig):
        raise ConfigError(
            "chain",
            'must be "exchange" for this command',
            f'"{config.chain}"',
            f"anello run runs the chain {config.chain}",
        )
    return config


def make_keys(folder: Path, console: Console) -> None:
    for path in secret_keys.make(folder):
        console.print(str(path), highlight=False)


# --- Several on one machine ---------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _LocalRun:
    """One of the runs of a command. arguments: as the user gave them, and this run's own."""

    words: str
    folder: str
    n_nodes: int
    config: ExchangeConfig
    arguments: Sequence[str]


def run_local(
    config: ExchangeConfig,
    arguments: Sequence[str],
    options: Options,
    *,
    directory: Path,
    console: Console,
    overwrite: bool = False,
) -> int:
    """Runs several nodes on this machine. arguments: configuration file and --set as the user gave them. Returns the
    exit code."""
    runs, axis = _local_runs(config, arguments, options)
    for one in runs:
        one.config.roles_of(one.n_nodes)
    if config.fabric.port:
        rule = "must be 0 where several nodes share a machine: any free one"
        raise ConfigError("fabric.port", rule, str(config.fabric.port), "Leave it out")
    folders, code = [directory / one.folder if len(runs) > 1 else directory for one in runs], 0
    for folder in folders:
        run_directory.prepare(folder, config.data_files, overwrite=overwrite)
    pace, reference = Pace(timeout_s=options.timeout_s), [] if options.reference else ["--no-reference"]
    with interruptible() as interrupted:
        for one, folder in zip(runs, folders, strict=True):
            if interrupted.is_set():
                break
            if len(runs) > 1:
                console.rule(one.words)
            plan = local.LocalPlan(one.config, [*one.arguments, *reference], one.n_nodes, folder, pace)
            code = local.run(plan, interrupted) or code
    if len(runs) > 1:
        drawn = curve.curve_of(folders)
        page = curve.write(drawn, directory, config.run.name, axis)
        console.print(curve.table(drawn, axis))
        console.print(f"curve: {page}", highlight=False, soft_wrap=True)
    return code


def _local_runs(
    config: ExchangeConfig, arguments: Sequence[str], options: Options
) -> tuple[list[_LocalRun], curve.Axis]:
    """The runs of the command, and the quantity in which they differ. Raises ConfigError."""
    sizes = options.local_sizes()
    if not options.message_sizes:
        return [
            _LocalRun(f"{size} node{'s' if size > 1 else ''}", f"nodes-{size}", size, config, arguments)
            for size in sizes
        ], curve.NODES
    if len(sizes) > 1:
        raise ConfigError(
            "--message-sizes", "goes with one number of nodes", f"--local {options.local}", "Make a command of each"
        )
    packings = packing_for(config, options.message_sizes)
    return [_with_packing(config, arguments, sizes[0], packing) for packing in packings], curve.MESSAGES


def _with_packing(config: ExchangeConfig, arguments: Sequence[str], n_nodes: int, packing: int) -> _LocalRun:
    exchange = config.exchange.model_copy(update={"packing": packing})
    n_bytes = config.model_copy(update={"exchange": exchange}).max_mfp_bytes
    settings = [
        f"exchange.packing={packing}",
        f"fabric.max_message_bytes={max(config.fabric.max_message_bytes, n_bytes)}",
    ]
    own = load(None, settings, config.model_dump(by_alias=True))
    options = [part for setting in settings for part in ("--set", setting)]
    words, folder = f"packets of {packing:,} events", f"packing-{packing}"
    return _LocalRun(words, folder, n_nodes, exchange_config(own), [*arguments, *options])


# --- One node, or the rendezvous alone ----------------------------------------------------------------------------
def serve(options: Options, console: Console) -> int:
    """Keeps the rendezvous until all nodes have left. Returns the exit code."""
    given_keys = Keys.load(options.keys) if options.keys else None
    with interruptible() as interrupted, _server(options, given_keys) as server:
        console.print(f"rendezvous at {server.endpoint}, {options.nodes} nodes", highlight=False)
        while not server.over.is_set() and not interrupted.wait(POLL_S):
            for line in server.take_notices():
                console.print(line, highlight=False, markup=False, soft_wrap=True)
        for line in server.take_notices():
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        counted = ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in server.counters.items())
        console.print(f"over; refused: {counted or 'none'}", highlight=False)
        return FAILED if server.failure and not interrupted.is_set() else 0


def run_node(
    config: ExchangeConfig,
    options: Options,
    *,
    report_dir: Path | None,
    overwrite: bool = False,
    console: Console,
    notices: Notices | None = None,
) -> Ended:
    """Runs this process as a node. report_dir: shared by nodes of a machine; None: run.directory, and the report
    gets a directory of its own below it. Raises StartError, ConfigError, InputError, EngineMissingError."""
    directory = report_dir or Path(config.run.directory)
    by_mpi = options.rendezvous is None
    if by_mpi and not mpi.was_started_by_mpi():
        raise ConfigError(
            "anello exchange",
            "must have an option that says how its nodes start",
            "nothing",
            "--local N on one machine; mpirun -n N; or --rendezvous, --rank and --nodes",
        )
    words = options.started_by or ("mpirun" if by_mpi else "a rendezvous")
    try:
        with ExitStack() as stack:
            where, given = placement.take_place(config).words, config
            config, cores = stack.enter_context(placement.placed(config))
            group, interrupted = stack.enter_context(_group(config, options)), stack.enter_context(interruptible())
            _claim(config, group.rank, report_dir, overwrite=overwrite)
            measure = engine_point_to_point if options.reference else None
            entry = stack.enter_context((Entry.begin if group.rank == 0 else Entry.none)(given, directory))
            placed_at = "; ".join(filter(None, (where, cores)))
            run = NodeRun(config, group, directory, measure=measure, placement=placed_at, notices=notices, entry=entry)
            ended = run.run(console, interrupted, f"started by {words}")
            if ended.alone:
                folder = left_behind.write_own(ended.alone, config, group.size, directory)
                console.print(f"what this node knows: {folder}", soft_wrap=True, highlight=False)
            return ended
    except StartError as error:
        if by_mpi:
            print(f"anello: {error}", file=sys.stderr, flush=True)
            mpi.abort()
        raise


def _claim(config: ExchangeConfig, rank: int, report_dir: Path | None, *, overwrite: bool) -> None:
    """Claims a node's own data files: others may have begun theirs in the same directory. Node 0 writes the report.
    Files of a node that left are no obstacle: it may return."""
    own = [name.replace("{node}", str(rank)) for name in config.data_files]
    results = run_directory.RESULTS if rank == 0 and report_dir else ()
    run_directory.claim(report_dir or Path(config.run.directory), (*own, *results), overwrite=overwrite)
    if report_dir:
        report_dir.mkdir(parents=True, exist_ok=True)


@contextmanager
def _group(config: ExchangeConfig, options: Options) -> Iterator[Group]:
    """The nodes of the run. Node 0 keeps the rendezvous until all have left."""
    pace = Pace(timeout_s=options.timeout_s)
    if options.rendezvous is None:
        world = mpi.world()
        group = mpi.MpiGroup(world, Hello.of(config, world.Get_rank(), world.Get_size()), pace)
        yield group
        group.close()
        return
    assert options.rank is not None
    assert options.nodes is not None
    given_keys = Keys.load(options.keys) if options.keys else None
    with ExitStack() as stack:
        server, endpoint = None, options.rendezvous
        if options.rank == 0 and options.serve is None:
            server = stack.enter_context(_server(options, given_keys))
            endpoint = server.own_endpoint
        hello = Hello.of(config, options.rank, options.nodes)
        with RendezvousGroup(endpoint, hello, pace, given_keys) as joined:
            yield joined
        if server:
            server.over.wait(pace.timeout_s)


def _server(options: Options, given_keys: Keys | None) -> RendezvousServer:
    assert options.nodes is not None
    return RendezvousServer(
        listening_at(options.rendezvous or ""), options.nodes, Pace(timeout_s=options.timeout_s), given_keys
    )


def listening_at(endpoint: str) -> str:
    """The address to listen at so that others reach this endpoint. A name may lead to loopback on its own machine,
    so a rendezvous with a name listens at all addresses."""
    host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
    if endpoint.startswith("ipc://"):
        return endpoint
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return f"tcp://*:{port}"
    return endpoint


def join(
    config: ExchangeConfig, directory: Path, n_nodes: int | None, console: Console, *, overwrite: bool = False
) -> int:
    """Makes one report from the records that nodes left in this directory. Returns the exit code. Raises
    ConfigError."""
    if n_nodes is None or not 1 <= n_nodes <= MAX_NODES:
        raise ConfigError("--nodes", f"must be given with --join, 1 to {MAX_NODES}", str(n_nodes), "As when they ran")
    record = left_behind.join(directory, config, n_nodes, {})
    if record is None:
        raise ConfigError(
            "--join",
            f"must hold what a node left: node0 to node{n_nodes - 1}",
            str(directory),
            "Copy the nodes' folders into one",
        )
    run_directory.claim(directory, run_directory.RESULTS, overwrite=overwrite)
    left_behind.report_joined(record, directory, console)
    return record.verdict().exit_code


def raise_if_failed(ended: Ended) -> None:
    """Raises StartError where the engine ended too early: the report has the details."""
    if ended.failure:
        raise StartError(ended.failure)
