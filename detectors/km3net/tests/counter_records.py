# SPDX-License-Identifier: Apache-2.0
"""Records of this chain that note which counters are read, for tests/python/test_counter_tables.py."""

from collections.abc import Iterator
from typing import Any

from anello.configuration.load import load
from anello.km3net.account.record import Km3netRecord

SOURCE = ("source::GeneratorCounter", "source::SourceCounter")
# fmt: off
NODE = ("receive::PortCounter", "wire::Verdict", "km3net::DomCounter", "km3net::SliceCounter", "km3net::TriggerCounter",
        "km3net::MessageCounter")
# fmt: on

FARM = (*SOURCE, *NODE, "km3net::SlicePackCounter", "km3net::SliceUnpackCounter")


def records(reads: Any) -> Iterator[Km3netRecord]:
    config: Any = load(None, ["chain=km3net", "line.doms=2"])
    for one_host in (True, False):
        for source in (reads.blocks(*SOURCE), None):
            yield Km3netRecord(
                config=config, node=reads.blocks(*NODE), source=source, latency={}, wall_s=1.0, one_host=one_host
            )
