# SPDX-License-Identifier: Apache-2.0
"""Results that nodes write when their records are not collected: a folder each, and how they are combined."""

from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from anello.account.notices import each_once
from anello.exchange.account.node_record import NodeRecord
from anello.exchange.account.record import ExchangeRecord, together
from anello.exchange.configuration.config import ExchangeConfig
from anello.exchange.running import alone, read_records
from anello.report import report

RECORD = "record.json"
MAX_RECORD_BYTES = 64 << 20


def write_own(own: NodeRecord, config: ExchangeConfig, n_nodes: int, directory: Path) -> Path:
    """Writes ledger, summary and report of one node, and its record for join(). Returns the folder."""
    folder = directory / f"node{own.rank}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RECORD).write_bytes(own.as_bytes())
    report.write(alone(own, config, n_nodes), folder)
    return folder


def join(directory: Path, config: ExchangeConfig, n_nodes: int, absent: Mapping[int, str]) -> ExchangeRecord | None:
    """The farm's record from the records that its nodes left in this directory; None where there are none. absent:
    why other records are missing, where that is known."""
    found = []
    for rank in range(n_nodes):
        path = directory / f"node{rank}" / RECORD
        if path.is_file() and path.stat().st_size <= MAX_RECORD_BYTES:
            found.append((rank, path.read_bytes()))
    if not found:
        return None
    nodes, without = read_records(found, n_nodes, absent)
    notices = each_once(one for node in nodes for one in node.notices)
    return together(
        config,
        nodes,
        n_nodes=n_nodes,
        absent=without,
        notices=notices,
        start="the records were not collected: combined from what the nodes left",
    )


def report_joined(record: ExchangeRecord, directory: Path, console: Console) -> None:
    page = report.write(record, directory)
    report.show(record, console)
    console.print(f"report: {page}", soft_wrap=True, highlight=False)
