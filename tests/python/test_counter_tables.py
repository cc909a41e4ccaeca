# SPDX-License-Identifier: Apache-2.0
"""Each counter has its place: a ledger reads it in the balance that its table names, or the verdict, or neither."""

import importlib.util
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import exchange_synthetic
import pytest

from anello.account.ledger import Row
from anello.account.record import Record
from anello.camera.account.record import CameraRecord
from anello.configuration.load import load
from anello.counters.reference import reference
from anello.engine import _engine
from anello.exchange.account.node_record import NodeRecord
from anello.exchange.account.record import together
from anello.packet_chain.config import PacketBoardsSection, PacketConfig
from anello.packet_chain.record import PacketRecord
from anello.rich.account.record import RichRecord

ROOT = Path(__file__).parents[2]
SOURCE = ("source::GeneratorCounter", "source::SourceCounter")
PUBLISH = ("publish::PublishCounter", "publish::SubscriberCounter", "publish::AdmissionCounter")
RICH = ("receive::CaptureCounter", "receive::ReceiveCounter", "wire::Verdict", "events::BuildCounter",
        "events::BoardCounter", "rich::TriggerCounter", "rich::EmitCounter", "rich::StoreCounter",
        *PUBLISH)  # fmt: skip
CAMERA = ("receive::CaptureCounter", "receive::PortCounter", "wire::Verdict", "camera::CameraBuildCounter",
          "camera::CameraBoardCounter",
          "camera::CameraJoinCounter", "pipeline::SendCounter", "camera::FilterCounter", "camera::CompressCounter",
          "camera::CameraStoreCounter", "camera::CameraStreamCounter", "camera::R1WriterCounter", *PUBLISH)  # fmt: skip
EXCHANGE = ("exchange::ReadoutCounter", "exchange::BuilderCounter", "exchange::ManagerCounter",
            "exchange::StationCounter", "wire::Verdict", "fabric::FabricCounter",
            "store::MepStoreCounter", *PUBLISH)  # fmt: skip
MERGED = ("receive::NanetCounter", "receive::NanetMergeCounter",
          *(table for table in RICH if not table.startswith(("receive::", "wire::"))))  # fmt: skip
PACKETS = ("receive::CaptureCounter", "receive::PortCounter", "receive::PacketCounter", "wire::Verdict")
OF_RICH_FARM = ("rich::FramerCounter", "rich::MepMergeCounter")
OF_CAMERA_FARM = ("camera::CameraPackCounter", "camera::CameraUnpackCounter")

WHOLE = {"not_listed": 0}  # of a list of sequence numbers

Counter = tuple[str, str]  # table, name
Places = dict[Counter, str]


class Block(dict[str, int]):
    """Counters that are all 1; records which of them are read."""

    def __init__(self, table: Mapping[str, Any], look: Callable[[Counter], None]) -> None:
        super().__init__({name: 1 for name, _, _ in table["counters"]})
        self._table, self._look = table["table"], look

    def __getitem__(self, name: str) -> int:
        self._look((self._table, name))
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self._look((self._table, name))
        return super().get(name, default)

    def items(self) -> Any:
        for name in self:
            self._look((self._table, name))
        return super().items()


class Reads:
    """Which rows of ledgers, by their level, and which verdicts read each counter."""

    def __init__(self) -> None:
        self._tables = {table["table"]: table for table in _engine.counter_tables()}
        self.by_rows: set[tuple[Counter, str]] = set()
        self.by_verdicts: set[Counter] = set()
        self._looked_at: list[Counter] = []
        self._is_ledger = False

    def blocks(self, *tables: str) -> dict[str, Any]:
        return {block: Block(self._tables[table], self._looked_at.append) for table in tables
                for pattern in self._tables[table]["blocks"].split(", ")
                for block in {pattern.replace("<i>", str(number)) for number in (0, 1)}}  # fmt: skip

    def row(self, row: Row, level: str, *arguments: Any, **others: Any) -> None:
        """Replaces Row.__init__."""
        if self._is_ledger:
            self.by_rows |= {(counter, level) for counter in self._looked_at}
            self._looked_at.clear()
        self._init(row, level, *arguments, **others)

    _init = staticmethod(Row.__init__)

    def of(self, record: Record) -> None:
        self._looked_at.clear()
        self._is_ledger = True
        record.ledger()
        self._is_ledger = False  # a verdict may look at the ledger too
        self._looked_at.clear()
        record.proof()
        record.flaws()
        self.by_verdicts |= set(self._looked_at)


def of_folders(reads: Reads) -> Iterator[Record]:
    """Records that the detectors' tests/counter_records.py make: records(reads), and nodes of a farm with the tables
    FARM."""
    for path in sorted((ROOT / "detectors").glob("*/tests/counter_records.py")):
        specification = importlib.util.spec_from_file_location(f"counter_records_of_{path.parents[1].name}", path)
        assert specification is not None
        assert specification.loader is not None
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
        yield from module.records(reads)
        yield farm(reads, *module.FARM)


def alone(reads: Reads) -> Iterator[Record]:
    whole: dict[str, Any] = {"latency": {}, "wall_s": 1.0, "cpu": {"wall_s": 1.0}}
    for one_host in (True, False):
        for source in (reads.blocks(*SOURCE), None):
            common = whole | {"source": source, "one_host": one_host}
            for packets in ("mgp", "mep"):
                config: Any = load(None, [f"source.format={packets}"])
                yield RichRecord(config=config, node=reads.blocks(*RICH), **common)
                yield RichRecord(config=config, node=reads.blocks(*MERGED), **common)
            config = load(None, ["chain=camera", "camera.boards=2"])
            yield CameraRecord(config=config, node=reads.blocks(*CAMERA), **common)
            made, came = {"made": [], "withheld": []}, {"expected": [], "missing": []}
            boards = {"made": {0: made | WHOLE, 1: made | WHOLE}, "came": {0: came | WHOLE, 1: came | WHOLE}}
            packets: Any = PacketConfig(chain="rich", boards=PacketBoardsSection(count=2))
            yield PacketRecord(config=packets, node=reads.blocks(*PACKETS), **common, **boards)


def farms(reads: Reads) -> Iterator[Record]:
    yield farm(reads, "exchange::GeneratorCounter")
    yield farm(reads, "exchange::GeneratorCounter", settings=("fabric.transport=udp",))
    yield farm(reads, *RICH, *SOURCE, *OF_RICH_FARM)
    yield farm(reads, *CAMERA, *SOURCE, *OF_CAMERA_FARM)


def farm(reads: Reads, *tables: str, settings: Iterable[str] = ()) -> Record:
    nodes = [
        NodeRecord(rank, "host", roles, reads.blocks(*EXCHANGE, *tables), {}, (), 1.0, 1.0,
                   account=exchange_synthetic.account_of(rank, 2))
        for rank, roles in enumerate(("em+ru+bu", "ru+bu"))
    ]  # fmt: skip
    config: Any = load(None, ["chain=exchange", *settings])
    return together(config, nodes, n_nodes=2, absent={})


@pytest.fixture(scope="module")
def reads() -> Iterator[Reads]:
    found = Reads()
    records = [*alone(found), *farms(found), *of_folders(found)]
    with pytest.MonkeyPatch.context() as patched:

        def init(row: Row, *arguments: Any, **others: Any) -> None:
            found.row(row, *arguments, **others)

        patched.setattr(Row, "__init__", init)
        for record in records:
            found.of(record)
        yield found


def wrong_places(places: Places, by_rows: set[tuple[Counter, str]], by_verdicts: set[Counter]) -> list[str]:
    """Wrong statements of a table about a counter."""
    in_a_row = {counter for counter, _ in by_rows}
    faults = []
    for counter, place in places.items():
        words = f"{'.'.join(counter)}, in its table {place}"
        if place not in ("informative", "verdict") and (counter, place) not in by_rows:
            levels = sorted(level for one, level in by_rows if one == counter)
            faults.append(f"{words}: read in rows of {', '.join(levels) or 'no ledger'}")
        elif place in ("informative", "verdict") and counter in in_a_row:
            faults.append(f"{words}: a ledger reads it")
        elif place == "informative" and counter in by_verdicts:
            faults.append(f"{words}: the verdict reads it")
        elif place == "verdict" and counter not in by_verdicts:
            faults.append(f"{words}: no verdict reads it")
    return faults


def test_each_counter_is_read_where_its_table_says(reads: Reads) -> None:
    places = {(table["table"], name): place for table in _engine.counter_tables()
              for name, _, place in table["counters"]}  # fmt: skip
    assert len(places) > 400
    assert wrong_places(places, reads.by_rows, reads.by_verdicts) == []


A, B = ("Made", "a"), ("Made", "b")


@pytest.mark.parametrize(
    ("place", "by_rows", "by_verdicts", "fault"),
    [
        ("hits", {(A, "hits")}, set(), ""),
        ("hits", {(A, "hits"), (A, "events")}, {A}, ""),
        ("hits", {(B, "hits")}, {A}, "read in rows of no ledger"),
        ("hits", {(A, "events")}, set(), "read in rows of events"),
        ("informative", {(B, "hits")}, {B}, ""),
        ("informative", {(A, "hits")}, set(), "a ledger reads it"),
        ("informative", set(), {A}, "the verdict reads it"),
        ("verdict", set(), {A}, ""),
        ("verdict", set(), {B}, "no verdict reads it"),
        ("verdict", {(A, "hits")}, {A}, "a ledger reads it"),
    ],
)
def test_a_wrong_place_is_found(
    place: str, by_rows: set[tuple[Counter, str]], by_verdicts: set[Counter], fault: str
) -> None:
    found = wrong_places({A: place}, by_rows, by_verdicts)
    assert found == ([f"Made.a, in its table {place}: {fault}"] if fault else [])


def test_every_table_of_engine_and_detectors_is_there() -> None:
    headers = [path for folder in ("engine", "detectors") for path in (ROOT / folder).rglob("*.hpp")]
    table = r"counter_labels<([\w:]+)>(?:\{\{| =\s+exchange::extended\()"
    declared = {name for path in headers for name in re.findall(table, path.read_text())}
    assert {table["table"] for table in _engine.counter_tables()} == declared


def test_a_detectors_table_names_it() -> None:
    by_detector = {table["table"].partition("::")[0]: table["detector"] for table in _engine.counter_tables()}
    folders = {path.parent.name for path in (ROOT / "detectors").glob("*/CMakeLists.txt")}
    assert {name: detector for name, detector in by_detector.items() if detector} == {name: name for name in folders}
    assert all(f"## {name}: " in reference() for name in folders)


def test_a_table_names_each_counter_once_and_says_what_it_means() -> None:
    for table in _engine.counter_tables():
        names = [name for name, _, _ in table["counters"]]
        assert len(set(names)) == len(names)
        assert all(meaning for _, meaning, _ in table["counters"])


def test_reference_page_is_up_to_date() -> None:
    page = ROOT / "docs/reference/counters.md"
    assert page.read_text() == reference(), f"anello counters --reference > {page.relative_to(ROOT)}"
