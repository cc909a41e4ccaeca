# SPDX-License-Identifier: Apache-2.0
"""The run in the text format of Prometheus: docs/how-to/metrics.md. The configuration bounds the number of labels:
boards, stages, threads, legs, causes."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import Response
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from anello.account.ledger import count_of
from anello.account.leg import LegLatency
from anello.account.verdict import Word
from anello.control.run_sampler import RunSample
from anello.control.states import State
from anello.control.web.served import Served, served_by
from anello.counters.live import LIVE, SILENT
from anello.counters.page_copy import PageCopy

router = APIRouter(tags=["metrics"])
LIMIT_S = 1e-3
Family = TypeVar("Family", CounterMetricFamily, GaugeMetricFamily)
NODE_COUNTERS = (  # of each node of a farm: name, meaning, counters on its page
    (
        "anello_node_built_packets",
        "packets that a node built, complete or not",
        (("builder", "meps_complete"), ("builder", "meps_incomplete")),
    ),
    ("anello_node_built_bytes", "bytes of the packets that a node built", (("builder", "bytes_built"),)),
    ("anello_node_sent_parts", "parts of packets that a node sent", (("readout", "mfps_sent"),)),
)
BUCKETS_S = (1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, LIMIT_S, 2.5e-3, 5e-3, 1e-2, 0.1, 1.0)


@router.get("/metrics", response_class=Response, responses={401: {"description": "no token"}})
def metrics(request: Request) -> Response:
    """Metrics for Prometheus; its requests carry the viewer's token."""
    return text(request, Metrics(served_by(request)), "anello_control")


def text(request: Request, collector: Collector, own: str) -> Response:
    """The text in the requested form. own: beginning of the names of this process's own metrics."""
    registry = CollectorRegistry()
    registry.register(collector)
    ProcessCollector(namespace=own, registry=registry)
    encode, content_type = choose_encoder(request.headers.get("accept", ""))
    return Response(encode(registry), media_type=content_type)


class Metrics(Collector):
    """The collector interface of prometheus_client."""

    def __init__(self, served: Served) -> None:
        self._served = served

    def collect(self) -> Iterator[Metric]:
        look = self._served.sight.last
        yield from _of_control(look)
        yield _gauge("anello_viewers", "pages that follow the run", self._served.stream.viewers)
        alarms = self._served.memory.alarms(1000)
        raised = [row for row in alarms if row["cleared_ns"] is None]
        n_seen = sum(row["acked_ns"] is not None for row in raised)
        yield _gauges(
            "anello_alarms", "alarms that are raised", "state", {"new": len(raised) - n_seen, "acknowledged": n_seen}
        )
        if look.node is not None and look.flow is not None and look.view is not None:
            yield from of_run(look)


def _of_control(look: RunSample) -> Iterator[Metric]:
    status = look.status
    yield of_software()
    yield of_origin({"run": str(status.run or ""), "chain": status.chain}, status.config_digest)
    yield of_state(State, status.state)


def of_software() -> Metric:
    from anello.configuration import origin

    return _info("anello_build", "the software", {"version": origin.version(), "commit": origin.commit()})


def of_origin(labels: Mapping[str, str], config_digest: str) -> Metric:
    return _info("anello_run", "the run in progress, or the last one", {**labels, "config": config_digest[:12]})


def of_state(states: Iterable[str], state: str) -> Metric:
    return _gauges(
        "anello_run_state",
        "1 for the state, 0 for the others",
        "state",
        {str(one): int(one == state) for one in states},
    )


def of_run(look: RunSample) -> Iterator[Metric]:
    """Metrics of a node, from its chain's view."""
    assert look.node is not None
    assert look.view is not None
    assert look.flow is not None
    flow = look.flow
    yield _counter("anello_received_bytes", "bytes that the node received", flow.n_bytes)
    yield _counter("anello_built", f"{flow.unit} built", flow.built)
    yield _counter("anello_decided", f"{flow.unit} decided", flow.decided)
    yield _counter("anello_kept", f"{flow.unit} {flow.kept_unit}", flow.kept)
    yield _counters("anello_lost", "packets, fragments and events that were lost, by cause", "cause", look.lost)
    word = look.verdict.word if look.verdict else Word.UNKNOWN
    yield _gauges(
        "anello_verdict",
        "1 for the word that says what the run is worth by now, 0 for the others",
        "word",
        {one.value: int(one is word) for one in Word},
    )
    yield from _stages(look)
    yield from _boards(look)
    yield from _nodes(look)
    yield from of_process(look.node, look.t_ns)
    yield _gauge("anello_ledger_rows_off", "rows of the ledger that cannot balance any more", len(look.balance.off))
    on_the_way = "packets, fragments and events that are between input and output"
    yield _gauge("anello_ledger_on_the_way", on_the_way, look.balance.on_the_way)
    if (free_gb := look.figures.get("disk_free_gb")) is not None:
        yield _gauge("anello_disk_free_bytes", "free where the run's directory is", free_gb * 1e9)


def _stages(look: RunSample) -> Iterator[Metric]:
    assert look.node is not None
    assert look.view is not None
    stages = look.view.stages(look.node.counters)
    yield _counters("anello_stage_in", "items that came to a stage", "stage", {one.name: one.came for one in stages})
    yield _counters("anello_stage_out", "items that left a stage", "stage", {one.name: one.went for one in stages})


def _boards(look: RunSample) -> Iterator[Metric]:
    assert look.node is not None
    assert look.view is not None
    boards = look.view.boards(look.node.counters)
    came = {str(board.number): board.came for board in boards}
    lost = {str(board.number): board.lost for board in boards}
    silent = {str(board.number): int(board.state == SILENT) for board in boards}
    yield _counters("anello_board_received", "packets or fragments of a board", "board", came)
    yield _counters("anello_board_not_used", "those of them that were not used, and gaps in them", "board", lost)
    yield _gauges("anello_board_silent", "1: the board is not waited for any more", "board", silent)


def _nodes(look: RunSample) -> Iterator[Metric]:
    """Metrics of a farm; label node: its number."""
    if not look.members:
        return
    of_each = {str(one.member.rank): one for one in look.members}
    yield _gauges(
        "anello_node_up", "1: the node runs", "node", {node: int(one.state == LIVE) for node, one in of_each.items()}
    )
    for name, about, counters in NODE_COUNTERS:
        yield _counters(name, about, "node", {node: _of_page(one.page, counters) for node, one in of_each.items()})


def _of_page(page: PageCopy | None, counters: Iterable[tuple[str, str]]) -> int:
    return sum(count_of(page.counters, block, name) for block, name in counters) if page else 0


def of_process(page: PageCopy, now_ns: int) -> Iterator[Metric]:
    """Metrics of any process that has a counter page."""
    yield _gauges(
        "anello_thread_busy_ratio",
        "share of the last second that a thread worked",
        "thread",
        {thread.name: thread.busy_1s for thread in page.threads},
    )
    yield _gauges(
        "anello_thread_longest_step_seconds",
        "longest step of a thread in the last second",
        "thread",
        {thread.name: thread.longest_1s_ns * 1e-9 for thread in page.threads},
    )
    buffers = GaugeMetricFamily("anello_buffers", "buffers between the stages", labels=("stage", "state"))
    for one in page.buffers:
        buffers.add_metric((one.stage, "free"), one.n_free)
        buffers.add_metric((one.stage, "used"), one.n_buffers - one.n_free)
    yield buffers
    yield _latency(page.legs())
    yield _gauge(
        "anello_heartbeat_age_seconds", "since the process last showed that it lives", page.header.age_s(now_ns)
    )


def _latency(latency: Mapping[str, Mapping[str, LegLatency]]) -> HistogramMetricFamily:
    """The latency over the whole run: Prometheus takes differences itself."""
    family = HistogramMetricFamily("anello_latency_seconds", "latency of each leg of the way", labels=("leg",))
    for leg, windows in latency.items():
        run = windows["run"]
        if run["count"]:
            family.add_metric((leg,), buckets(run), run["mean_ns"] * run["count"] * 1e-9)
    return family


def buckets(leg: LegLatency) -> list[tuple[str, float]]:
    """(upper edge in s, number of events at or below it). A bin that an edge divides counts as above the edge; 1 ms
    is exact."""
    found: list[tuple[str, float]] = []
    edges, counts, n = leg["bins_ns"], leg["bin_counts"], leg["count"]
    for limit_s in BUCKETS_S:
        below = sum(int(counts[i]) for i in range(len(counts)) if i + 1 < len(edges) and edges[i + 1] <= limit_s * 1e9)
        found.append((f"{limit_s:g}", float(n - leg["above_1ms"] if limit_s == LIMIT_S else below)))
    return [*found, ("+Inf", float(n))]


def _gauge(name: str, about: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, about, value=value)


def _gauges(name: str, about: str, label: str, values: Mapping[str, float]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, about, labels=(label,))
    return _filled(family, values.items())


def _counter(name: str, about: str, value: float) -> CounterMetricFamily:
    return CounterMetricFamily(name, about, value=value)


def _counters(name: str, about: str, label: str, values: Mapping[str, float]) -> CounterMetricFamily:
    return _filled(CounterMetricFamily(name, about, labels=(label,)), values.items())


def _filled(family: Family, values: Iterable[tuple[str, float]]) -> Family:
    for label, value in values:
        family.add_metric((label,), value)
    return family


def _info(name: str, about: str, labels: Mapping[str, str]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"{name}_info", about, labels=tuple(labels))
    family.add_metric(tuple(labels.values()), 1)
    return family
