# SPDX-License-Identifier: Apache-2.0
"""Prints grafana/anello.json, the dashboard: python grafana/make_dashboard.py > grafana/anello.json"""

import json
from typing import Any

SOURCE = {"type": "prometheus", "uid": "${source}"}
WHERE = 'instance=~"$instance"'
WAY = f'{WHERE},leg=~"$leg"'


def target(expression: str, legend: str, ref: str) -> dict[str, Any]:
    return {"datasource": SOURCE, "expr": expression, "legendFormat": legend, "refId": ref}


def panel(
    title: str, about: str, kind: str, place: tuple[int, int, int, int], unit: str, *queries: tuple[str, str],
    **custom: Any,
) -> dict[str, Any]:  # fmt: skip
    """place: x, y, width, height in Grafana's grid of 24."""
    x, y, width, height = place
    targets = [target(expression, legend, chr(ord("A") + n)) for n, (expression, legend) in enumerate(queries)]
    defaults = {"unit": unit, "min": 0, **custom}
    return {"type": kind, "title": title, "description": about, "datasource": SOURCE, "targets": targets,
            "gridPos": {"x": x, "y": y, "w": width, "h": height},
            "fieldConfig": {"defaults": defaults, "overrides": []}, "options": OPTIONS[kind]}  # fmt: skip


OPTIONS: dict[str, dict[str, Any]] = {
    "stat": {"colorMode": "value", "graphMode": "area", "reduceOptions": {"calcs": ["lastNotNull"]}},
    "timeseries": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
    "heatmap": {"calculate": False, "yAxis": {"unit": "s"}, "color": {"scheme": "Blues", "mode": "scheme"}},
}
RED_ABOVE_0 = {"mode": "absolute", "steps": [{"color": "green", "value": None}, {"color": "red", "value": 1e-9}]}
RED_ABOVE_1_MS = {"mode": "absolute", "steps": [{"color": "green", "value": None}, {"color": "red", "value": 1e-3}]}
LINE = {"thresholdsStyle": {"mode": "line"}, "scaleDistribution": {"type": "log", "log": 10}}
RATE = "[$__rate_interval]"


def quantile(q: float) -> str:
    return f"histogram_quantile({q:g}, sum by (instance, leg, le) (rate(anello_latency_seconds_bucket{{{WAY}}}{RATE})))"


def panels() -> list[dict[str, Any]]:
    return [
        panel("State", "1: running", "stat", (0, 0, 4, 4), "none",
              (f'anello_run_state{{{WHERE},state="running"}}', "{{instance}}")),
        panel("Decided", "Events, or what the chain has instead", "stat", (4, 0, 4, 4), "hertz",
              (f"rate(anello_decided_total{{{WHERE}}}{RATE})", "{{instance}}")),
        panel("Ledger: rows off", "0: everything that came in is accounted for", "stat", (8, 0, 4, 4), "none",
              (f"anello_ledger_rows_off{{{WHERE}}}", "{{instance}}"), thresholds=RED_ABOVE_0),
        panel("Lost", "For causes that nobody ordered", "stat", (12, 0, 4, 4), "hertz",
              (f"sum by (instance) (rate(anello_lost_total{{{WHERE}}}{RATE}))", "{{instance}}"),
              thresholds=RED_ABOVE_0),
        panel("p99.9", "Of the latency", "stat", (16, 0, 4, 4), "s", (quantile(0.999), "{{leg}}"),
              thresholds=RED_ABOVE_1_MS),
        panel("Alarms", "Raised and not acknowledged", "stat", (20, 0, 4, 4), "none",
              (f'anello_alarms{{{WHERE},state="new"}}', "{{instance}}"), thresholds=RED_ABOVE_0),
        panel("Rate", "", "timeseries", (0, 4, 12, 8), "hertz",
              (f"rate(anello_built_total{{{WHERE}}}{RATE})", "built"),
              (f"rate(anello_decided_total{{{WHERE}}}{RATE})", "decided"),
              (f"rate(anello_kept_total{{{WHERE}}}{RATE})", "kept")),
        panel("Latency", "The line is 1 ms", "timeseries", (12, 4, 12, 8), "s", (quantile(0.5), "p50 {{leg}}"),
              (quantile(0.99), "p99 {{leg}}"), (quantile(0.999), "p99.9 {{leg}}"), thresholds=RED_ABOVE_1_MS,
              custom=LINE),
        panel("Latency, all of it", "", "heatmap", (0, 12, 12, 8), "s",
              (f"sum by (le) (increase(anello_latency_seconds_bucket{{{WAY}}}{RATE}))", "{{le}}")),
        panel("Above 1 ms", "Share of events", "timeseries", (12, 12, 12, 8), "percentunit",
              (f'1 - sum by (leg) (rate(anello_latency_seconds_bucket{{{WAY},le="0.001"}}{RATE}))'
               f" / sum by (leg) (rate(anello_latency_seconds_count{{{WAY}}}{RATE}))", "{{leg}}")),
        panel("Buffers in use", "Where they fill up, the next stage holds them up", "timeseries",
              (0, 20, 12, 8), "percentunit",
              (f'sum by (stage) (anello_buffers{{{WHERE},state="used"}}) / sum by (stage) (anello_buffers{{{WHERE}}})',
               "{{stage}}"), max=1),
        panel("Lost, by cause", "", "timeseries", (12, 20, 12, 8), "hertz",
              (f"sum by (cause) (rate(anello_lost_total{{{WHERE}}}{RATE}))", "{{cause}}")),
        panel("Stages", "What leaves each", "timeseries", (0, 28, 12, 8), "hertz",
              (f"sum by (stage) (rate(anello_stage_out_total{{{WHERE}}}{RATE}))", "{{stage}}")),
        panel("Boards", "The ten that send least", "timeseries", (12, 28, 12, 8), "hertz",
              (f"bottomk(10, rate(anello_board_received_total{{{WHERE}}}{RATE}))", "board {{board}}")),
        panel("Threads: busy", "Share of the last second", "timeseries", (0, 36, 8, 8), "percentunit",
              (f"anello_thread_busy_ratio{{{WHERE}}}", "{{thread}}"), max=1),
        panel("Threads: longest step", "Of the last second", "timeseries", (8, 36, 8, 8), "s",
              (f"anello_thread_longest_step_seconds{{{WHERE}}}", "{{thread}}")),
        panel("Received, and free on disk", "", "timeseries", (16, 36, 8, 8), "bytes",
              (f"rate(anello_received_bytes_total{{{WHERE}}}{RATE})", "received a second"),
              (f"anello_disk_free_bytes{{{WHERE}}}", "free on disk")),
        panel("Farm: nodes that run", "0: gone or ended", "timeseries", (0, 44, 8, 8), "short",
              (f"anello_node_up{{{WHERE}}}", "node {{node}}"), max=1),
        panel("Farm: built", "By each node", "timeseries", (8, 44, 8, 8), "Bps",
              (f"rate(anello_node_built_bytes_total{{{WHERE}}}{RATE})", "node {{node}}")),
        panel("Farm: packets", "", "timeseries", (16, 44, 8, 8), "hertz",
              (f"rate(anello_node_built_packets_total{{{WHERE}}}{RATE})", "node {{node}}: built"),
              (f"rate(anello_node_sent_parts_total{{{WHERE}}}{RATE})", "node {{node}}: parts sent")),
    ]  # fmt: skip


def variable(name: str, label: str, query: str) -> dict[str, Any]:
    return {"name": name, "label": label, "type": "query", "datasource": SOURCE, "query": query, "refresh": 2,
            "includeAll": True, "multi": True, "current": {"text": "All", "value": "$__all"}}  # fmt: skip


def dashboard() -> dict[str, Any]:
    source = {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    variables = [source, variable("instance", "Control room", "label_values(anello_run_state, instance)"),
                 variable("leg", "Leg", "label_values(anello_latency_seconds_count, leg)")]  # fmt: skip
    numbered = [{"id": n + 1, **one} for n, one in enumerate(panels())]
    return {
        "uid": "anello", "title": "Anello", "tags": ["anello"], "schemaVersion": 39, "version": 1, "refresh": "5s",
        "time": {"from": "now-15m", "to": "now"}, "templating": {"list": variables}, "panels": numbered,
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(dashboard(), indent=1))
