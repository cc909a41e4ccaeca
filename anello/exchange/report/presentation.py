# SPDX-License-Identifier: Apache-2.0
"""Report of an exchange run: bandwidth, latency, waiting times by cause, and the nodes."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from anello.account.quantiles import microseconds
from anello.exchange.account.record import WHOLE_WAY, ExchangeRecord
from anello.exchange.report import figures as exchange_figures
from anello.exchange.report import summary as exchange_summary
from anello.exchange.report.summary import of_point_to_point, rates, share_moved
from anello.report.html import figure, frequency, latency_section, rows, section, tile
from anello.report.report import plain_table
from anello.report.summary import in_percent

MAX_SHOWN_NODES = 16


class ExchangePresentation:
    """Implements anello.report.presentation.Presentation."""

    def __init__(self, record: ExchangeRecord) -> None:
        self._record = record

    @property
    def legs(self) -> Mapping[str, str]:
        """The legs that the nodes have recorded, the whole way last."""
        names = sorted(self._record.latency, key=lambda name: name == WHOLE_WAY)
        return {name: name.replace("_to_", " → ").replace("_", " ") for name in names}

    def results(self) -> dict[str, Any]:
        return exchange_summary.results(self._record)

    def headlines(self) -> list[str]:
        return exchange_summary.headlines(self._record)

    def tables(self) -> Iterator[RenderableType]:
        yield self._nodes_table()

    def _nodes_table(self) -> Table:
        table = plain_table("Nodes", "node", "roles", "host", "built, Gb/s", "packets", "incomplete", "cores")
        for node in self._record.nodes[:MAX_SHOWN_NODES]:
            builder = node.counters.get("builder", {})
            table.add_row(
                str(node.rank),
                node.roles,
                node.host,
                f"{node.gbit_per_s:.2f}",
                f"{builder.get('meps_complete', 0):,}",
                f"{builder.get('meps_incomplete', 0):,}",
                f"{node.cores:.2f}",
            )
        if len(self._record.nodes) > MAX_SHOWN_NODES:
            table.add_row("...", f"and {len(self._record.nodes) - MAX_SHOWN_NODES} more in summary.json")
        return table

    def about(self) -> str:
        config, record = self._record.config, self._record
        fragments = f"{config.exchange.packing} fragments of about {config.generator.fragment_mean_bytes:g} B"
        hosts = len({node.host for node in record.nodes})
        where = f"{record.n_nodes} nodes on {hosts} host{'s' if hosts > 1 else ''}"
        return f"{where}, {config.fabric.transport}, {config.exchange.protocol}, {fragments}; {record.start}".rstrip(
            "; "
        )

    def tiles(self) -> Iterator[str]:
        record, rate, result = self._record, rates(self._record), self.results()
        whole, share = record.latency.get(WHOLE_WAY, {}), of_point_to_point(record)
        n_lost = sum(result["losses"].values()) + sum(result["node_losses"].values())
        yield tile(f"{rate['built_gbit_per_s']:.2f} Gb/s", "built, all nodes")
        if share is not None:
            yield tile(in_percent(share), "of point to point, each builder")
        yield tile(frequency(rate["events_per_s"]), "event rate")
        yield tile(in_percent(result["complete"]), "complete", "good" if result["complete"] == 1 else "")
        yield tile(in_percent(result["verified"]), "of the fragments verified")
        if whole.get("count"):
            yield tile(f"{microseconds(whole['p50_ns'])} µs", "ready to built, median")
        if record.absent:
            yield tile(", ".join(map(str, record.absent)), "nodes that died", "bad")
        yield tile(f"{n_lost:,}", "lost", "" if n_lost else "good")

    def sections(self) -> Iterator[str]:
        record = self._record
        yield self._bandwidth_section()
        yield latency_section(
            record,
            self.legs,
            "From a fragment's being ready in its readout unit to its packet's being built, by the "
            "clocks of both. Both axes are logarithmic.",
            whole=WHOLE_WAY,
        )
        yield self._credits_section()
        waits = [[escape(words), f"{n:,}"] for words, n in self.results()["waits"].items()]
        yield section(
            "Waiting",
            "What nodes spent their time on, all together, and how often a step found that it had to wait.",
            figure(exchange_figures.waiting(record.nodes), "Time that nodes waited, by what for, as in the table.")
            + rows(["waited for", "s", "of the time"], self._waited())
            + (rows(["waiting", "times"], waits) if waits else ""),
        )
        yield section("Nodes", "CPU time of each node, and what it is.", self._nodes_html())

    def _bandwidth_section(self) -> str:
        record, reference = self._record, self._record.point_to_point
        about = (
            f"What was built, in all and by each node; {in_percent(share_moved(record))} of it came from other nodes."
        )
        if reference.gbit_per_s:
            about += f" Between two idle nodes the transport carries {reference.gbit_per_s:.2f} Gb/s"
            about += f" ({reference.about})." if reference.about else "."
        rate = rates(record)
        content = figure(
            exchange_figures.bandwidth(record.nodes), f"All nodes together built {rate['built_gbit_per_s']:.2f} Gb/s."
        )
        each = f"Each builder {rate['built_gbit_per_s_min']:.2f} to {rate['built_gbit_per_s_max']:.2f} Gb/s."
        content += figure(exchange_figures.by_node(record.nodes, reference.gbit_per_s), each)
        return section("Bandwidth", about, content)

    def _waited(self) -> list[list[str]]:
        whole_s = sum(node.wall_s for node in self._record.nodes)
        return [
            [escape(words), f"{seconds:,.2f}", in_percent(seconds / whole_s if whole_s else None)]
            for words, seconds in self.results()["waited_s"].items()
        ]

    def _credits_section(self) -> str:
        n_credits = self._record.config.exchange.credits
        about = (
            f"Each builder has room for {n_credits} multi-event packets. Packets that were assigned to "
            "it, or of which a part has arrived, use room. A builder whose credits are never free is the limit."
        )
        return section(
            "Credits",
            about,
            figure(exchange_figures.credit(self._record.nodes, n_credits), "Free room of each builder against time."),
        )

    def _nodes_html(self) -> str:
        lines = []
        for node in self._record.nodes:
            builder = node.counters.get("builder", {})
            lines.append(
                [
                    str(node.rank),
                    escape(node.host),
                    escape(node.roles),
                    f"{node.gbit_per_s:.2f}",
                    f"{builder.get('meps_complete', 0):,}",
                    f"{builder.get('meps_incomplete', 0):,}",
                    f"{node.cores:.2f}",
                    escape(node.failure),
                ]
            )
        lines += [[str(rank), "", "", "", "", "", "", escape(why)] for rank, why in self._record.absent.items()]
        head = ["node", "host", "roles", "Gb/s", "packets", "incomplete", "cores", "what happened"]
        cores = f"{sum(node.cores for node in self._record.nodes):.2f} cores by all nodes together."
        return figure(exchange_figures.cpu(self._record.nodes), cores) + rows(head, lines, (0, 1, 2, 7))
