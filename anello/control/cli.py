# SPDX-License-Identifier: Apache-2.0
"""`anello control`: a control room. `anello ctl`: orders to it. `anello metrics`: metrics without one."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from anello.control.states import ORDERS, State, Step
from anello.errors import ConfigError
from anello.system import output

PORT, METRICS_PORT, AGENTS_PORT = 8640, 8641, 8642
Certificate = Annotated[
    Path | None, typer.Option("--tls-cert", metavar="FILE", help="Certificate (PEM), for another host.")
]
CertificateKey = Annotated[Path | None, typer.Option("--tls-key", metavar="FILE", help="Its key.")]
Directory = Annotated[
    Path, typer.Option("--in", "--directory", metavar="DIR", help="The runs' directory, as run.directory has it.")
]


def control(
    config_file: Annotated[
        Path | None, typer.Argument(metavar="[CONFIG]", help="Configured at once; else it is done on the page.")
    ] = None,
    *,
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Repeatable.")] = None,
    directory: Directory = Path("runs"),
    bind: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where the page is; port 0: any.")
    ] = f"127.0.0.1:{PORT}",
    tls_cert: Certificate = None,
    tls_key: CertificateKey = None,
    front_ends: Annotated[
        bool, typer.Option("--front-ends/--no-front-ends", help="Simulated front ends run here; else real ones send.")
    ] = True,
    doctor: Annotated[
        bool, typer.Option("--doctor/--no-doctor", help="Arm only where anello doctor finds nothing bad.")
    ] = True,
    agents: Annotated[
        str | None,
        typer.Option(metavar="tcp://HOST:PORT", help=f"Where agents come to, such as tcp://*:{AGENTS_PORT}."),
    ] = None,
    keys: Annotated[Path | None, typer.Option(metavar="DIR", help="With --agents: the farm's keys, whole.")] = None,
) -> None:
    """The control room: starts runs, which survive it; keeps history and alarms; serves the live page."""
    from anello.control.control_server import ControlOptions, ControlServer
    from anello.control.states import State
    from anello.system.interruption import interruptible

    host, port = _address(bind)
    if bool(agents) != bool(keys):
        rule = "must be given together with --keys: only who has them is heard"
        raise ConfigError("--agents", rule, str(agents), "anello exchange --make-keys DIR makes keys")
    options = ControlOptions(host, port, tls_cert, tls_key, front_ends, doctor, agents or "", keys)
    console = output.console()
    with interruptible() as interrupted, ControlServer(directory, options) as desk:
        if config_file and desk.room.status().state in (State.OFFLINE, State.CONFIGURED):
            desk.room.configure(config_file, settings or [])
        for line in _greeting(desk, is_secret=console.is_terminal):
            console.print(line, highlight=False, soft_wrap=True)
        while not interrupted.wait(3600):
            pass


def agent(
    control_room: Annotated[
        str, typer.Argument(metavar="tcp://HOST:PORT", help="The control room, as anello control --agents has it.")
    ],
    *,
    keys: Annotated[Path, typer.Option(metavar="DIR", help="The farm's keys; those for nodes are enough.")],
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="As farm.nodes calls this machine; default: its host name.")
    ] = None,
    directory: Annotated[
        Path, typer.Option("--in", "--directory", metavar="DIR", help="For what nodes write here.")
    ] = Path("runs"),
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Of this machine, such as fabric.host=ADDRESS. Repeatable."),
    ] = None,
) -> None:
    """Starts and watches the nodes of this machine for a control room elsewhere; they survive it."""
    from anello.control.agent import run as agents
    from anello.control.agent.nodes import AgentPlace
    from anello.system.interruption import interruptible

    console, host = output.console(), agents.control_host(control_room)
    place = AgentPlace(directory.resolve(), host, keys.resolve(), tuple(settings or ()))

    def notify(line: str) -> None:
        console.print(line, highlight=False, markup=False, soft_wrap=True)

    with interruptible() as interrupted:
        agents.run(control_room, agents.checked_name(name), place, interrupted, notify)


def _greeting(desk: Any, *, is_secret: bool) -> list[str]:
    from anello.control.access.tokens import Role

    status = desk.room.status()
    in_progress = [f"run {status.run} is in progress: {status.state}"] if status.node_page else []
    agents = [f"agents come to:        {desk.agents_endpoint}"] if desk.agents_endpoint else []
    roles = (("to operate:", Role.OPERATOR), ("to look:   ", Role.VIEWER))
    pages = [f"live page, {words} {desk.address(role, is_secret=is_secret)}" for words, role in roles]
    return [*pages, *agents, *in_progress]


def metrics(
    *,
    directories: Annotated[
        list[Path] | None,
        typer.Option(
            "--in",
            "--directory",
            metavar="DIR",
            help="Runs' directory, as run.directory has it; repeatable, the first has the tokens. Default: runs.",
        ),
    ] = None,
    bind: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where /metrics is; port 0: any.")
    ] = f"127.0.0.1:{METRICS_PORT}",
    tls_cert: Certificate = None,
    tls_key: CertificateKey = None,
) -> None:
    """Metrics for Prometheus of all processes of this machine, without a control room."""
    from anello.control.access.tokens import FILE, Tokens
    from anello.control.web.exporter import Configurations, Exporter, create_exporter
    from anello.control.web.serve import Tls, WebServer
    from anello.system.interruption import interruptible

    (host, port), tls, runs = _address(bind), Tls.given(tls_cert, tls_key), directories or [Path("runs")]
    exporter = create_exporter(Exporter(Configurations(runs).view), Tokens.of(runs[0]), [] if tls is None else [host])
    with interruptible() as interrupted:
        server = WebServer(exporter, host, port, tls).start()
        output.console().print(
            f"metrics: {server.origin}/metrics, with the viewer's token of {runs[0] / FILE}",
            highlight=False,
            soft_wrap=True,
        )
        while not interrupted.wait(3600):
            pass
        server.stop()


def _address(bind: str) -> tuple[str, int]:
    host, _, port = bind.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise ConfigError("--bind", "must have the form HOST:PORT", bind, f"For example 127.0.0.1:{PORT}")
    return host.strip("[]"), int(port)


ctl_app = typer.Typer(help="Orders to the control room of a directory.", no_args_is_help=True)
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Until it is done.")]
Timeout = Annotated[float, typer.Option(metavar="SECONDS", help="The longest wait.")]
AsJson = Annotated[bool, typer.Option("--json", help="The state as JSON.")]


@ctl_app.command("status")
def show_status(
    directory: Directory = Path("runs"),
    wait: Annotated[float, typer.Option(metavar="SECONDS", help="The longest wait for one that starts.")] = 0.0,
    as_json: AsJson = False,
) -> None:
    """The state of the control room."""
    from anello.control.client import Client

    _show(Client.awaited(directory, wait).status(), as_json)


@ctl_app.command("page")
def page(
    directory: Directory = Path("runs"),
    viewer: Annotated[bool, typer.Option("--viewer", help="For those who only look.")] = False,
) -> None:
    """Prints the page's address with the token that lets its reader operate, or look."""
    from anello.control.access.tokens import Role
    from anello.control.client import page_of

    print(page_of(directory, Role.VIEWER if viewer else Role.OPERATOR))


@ctl_app.command("close")
def close(directory: Directory = Path("runs")) -> None:
    """Ends the control room; a run continues, and the next control room finds it."""
    from anello.control.client import Client

    Client(directory).close_room()


@ctl_app.command("configure")
def configure(
    config_file: Annotated[Path, typer.Argument(metavar="CONFIG", help="On the control room's machine.")],
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Repeatable.")] = None,
    directory: Directory = Path("runs"),
    as_json: AsJson = False,
) -> None:
    """The configuration of the next runs."""
    from anello.control.client import Client

    body = {"file": str(config_file.resolve()), "settings": settings or []}
    _show(Client(directory).order(Step.CONFIGURE, body), as_json)


@ctl_app.command("stop")
def stop(
    directory: Directory = Path("runs"), wait: Wait = True, timeout: Timeout = 120.0, as_json: AsJson = False
) -> None:
    """Ends the run in order: what it has taken in goes to its end."""
    from anello.control.client import Client

    client = Client(directory)
    status = client.order(Step.STOP)
    _show(client.wait(State.CONFIGURED, timeout) if wait else status, as_json)


def _simple(step: Step, about: str) -> None:
    @ctl_app.command(step.value, help=about)
    def order(directory: Directory = Path("runs"), as_json: AsJson = False) -> None:
        from anello.control.client import Client

        _show(Client(directory).order(step), as_json)


_simple(Step.ARM, "Starts the processes of a run: ports are bound, memory is touched, nothing flows yet.")
_simple(Step.START, "Begins the run that is ready.")
_simple(Step.ABORT, "Ends the run at once; it is marked as aborted.")
_simple(Step.RESET, "Back to offline, from an error or from a configuration.")
assert {command.name for command in ctl_app.registered_commands} == {*ORDERS, "status", "page", "close"}


def _show(status: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(status))
        return
    run = f", run {status['run']}" if status.get("run") else ""
    cause = f": {status['cause']}" if status.get("cause") else ""
    print(f"{status['state']}{run}{cause}")
