# SPDX-License-Identifier: Apache-2.0
"""Text files of real events: read rightly, and refused with file, line and column."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from detector_data import RUN_8548, DetectorData
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anello.errors import InputError
from anello.rich.analysis import events_csv

HITS = "event,pmt_seq,disk,x_mm,y_mm,in_time\n7,3,0,1.5,2,1\n3,1951,1,3,4,0\n7,5,0,5,6,0\n"


@pytest.fixture
def hits(tmp_path: Path) -> Path:
    path = tmp_path / "some_hits.csv"
    path.write_text(HITS)
    return path


def test_hits_of_an_event_come_together_in_the_order_of_the_file(hits: Path) -> None:
    events = events_csv.read_hits(hits)
    assert events.event_key.tolist() == [[7], [3]]
    assert events.event_offset.tolist() == [0, 2, 3]
    assert events.x_mm.tolist() == [1.5, 5, 3]
    assert events.pmt is not None
    assert events.pmt.tolist() == [3, 5, 1951]
    assert events.in_time.tolist() == [True, False, False]


def test_only_in_time_keeps_empty_events(hits: Path) -> None:
    events = events_csv.read_hits(hits).only_in_time()
    assert events.event_offset.tolist() == [0, 1, 1]
    assert events.x_mm.tolist() == [1.5]


def test_columns_that_may_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "hits.csv"
    path.write_text("x_mm,event,y_mm\n1,0,2\n")
    events = events_csv.read_hits(path)
    assert events.pmt is None
    assert events.in_time.all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("event,x_mm\n0,1\n", ":1: there is no column y_mm; the columns are: event, x_mm"),
        ("", ":1: there is no column event, x_mm, y_mm; the columns are: none"),
        ("event,x_mm,y_mm\n", ": there are no lines after the header"),
        ("event,x_mm,y_mm\n0,1,2\n0,a,2\n", ":3: column x_mm: 'a' is not a number"),
        ("event,x_mm,y_mm\n0,nan,2\n", ":2: column x_mm: 'nan' is not finite, or beyond 32 bits"),
        ("event,x_mm,y_mm\n0,1e39,2\n", ":2: column x_mm: '1e39' is not finite, or beyond 32 bits"),
        ("event,x_mm,y_mm\n9223372036854775808,1,2\n", ":2: column event: '9223372036854775808' is beyond 64 bits"),
        ("event,x_mm,y_mm\n0,1\n", ":2: column y_mm: None is not a number"),
        ("event,x_mm,y_mm,pmt_seq\n0,1,2,1952\n", ":2: column pmt_seq: '1952' is no PMT: they are 0 to 1951"),
        ("event,x_mm,y_mm,in_time\n0,1,2,yes\n", ":2: column in_time: 'yes' must be 0 or 1"),
        ("event,x_mm,y_mm\n0.5,1,2\n", ":2: column event: '0.5' is not a whole number"),
    ],
)
def test_wrong_file_is_named_with_line_and_column(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "hits.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=r".") as caught:
        events_csv.read_hits(path)
    assert str(caught.value) == f"{path}{message}"


def test_rings_follow_the_events_and_may_be_absent(hits: Path) -> None:
    path = hits.with_name("some_rings.csv")
    path.write_text("event,particle,ring_x_mm,ring_y_mm,ring_radius_mm,n_hits\n3,e,1,2,180,\n7,mu,,,,\n9,mu,1,2,3,4\n")
    path.write_text(path.read_text().replace("180,\n", "180,12\n"))
    assert events_csv.rings_beside(hits) == path
    rings = events_csv.read_rings(path, events_csv.read_hits(hits))
    assert rings.event_offset.tolist() == [0, 0, 1]
    assert (rings.radius_mm.tolist(), rings.n_hits.tolist()) == ([180], [12])


def numbered(*events: int) -> events_csv.HitEvents:
    """Events of one hit each."""
    n = len(events)
    return events_csv.HitEvents(
        ("event",), np.array(events)[:, None], np.arange(n + 1, dtype=np.uint32), *np.zeros((2, n), np.float32), None,
        None, np.ones(n, bool),
    )  # fmt: skip


# --- What spreadsheets and other programs write ---------------------------------------------------------------------
def test_a_byte_order_mark_and_whole_numbers_with_a_point_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "hits.csv"
    path.write_text("event,x_mm,y_mm,pmt_seq,in_time\n7.0,1,2,3.0,1.0\n", encoding="utf-8-sig")
    events = events_csv.read_hits(path)
    assert events.event_key.tolist() == [[7]]
    assert events.pmt is not None
    assert events.pmt.tolist() == [3]


def test_run_and_burst_tell_events_of_the_same_number_apart(tmp_path: Path) -> None:
    path = tmp_path / "some_hits.csv"
    path.write_text("run,burst,event,x_mm,y_mm\n1,1,7,1,1\n1,2,7,2,2\n1,1,7,3,3\n")
    events = events_csv.read_hits(path)
    assert events.event_key.tolist() == [[1, 1, 7], [1, 2, 7]]
    assert events.x_mm.tolist() == [1, 3, 2]
    assert events.name(1) == "run 1 burst 2 event 7"
    rings = tmp_path / "some_rings.csv"
    rings.write_text("run,burst,event,ring_x_mm,ring_y_mm,ring_radius_mm\n1,2,7,0,0,100\n2,2,7,0,0,150\n")
    assert events_csv.read_rings(rings, events).event_offset.tolist() == [0, 0, 1]
    rings.write_text("event,ring_x_mm,ring_y_mm,ring_radius_mm\n7,0,0,100\n")
    with pytest.raises(InputError, match="there is no column run, burst"):
        events_csv.read_rings(rings, events)


# --- What a ring finder can use -------------------------------------------------------------------------------------
@pytest.mark.parametrize(("column", "left"), [("", [1, 2, 4]), (",pmt_seq", [1, 2, 3])])
def test_a_photomultiplier_counts_once_in_an_event(tmp_path: Path, column: str, left: list[float]) -> None:
    path, pmts = tmp_path / "hits.csv", (",5", ",6", ",7", ",5", ",5")
    places = ("0,1,1", "0,2,2", "0,1,1", "0,4,4", "1,1,1")
    if column:
        places = ("0,1,1", "0,2,2", "0,3,3", "0,4,4", "1,1,1")
    rows = (place + (pmt if column else "") for place, pmt in zip(places, pmts, strict=True))
    path.write_text(f"event,x_mm,y_mm{column}\n" + "\n".join(rows) + "\n")
    events = events_csv.read_hits(path).only_distinct()
    assert events.x_mm.tolist() == [*left, 1]
    assert events.event_offset.tolist() == [0, 3, 4]


def test_of_too_many_hits_those_nearest_in_time_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "hits.csv"
    times = [100, 3, 2, -90, 1]
    path.write_text("event,x_mm,y_mm,time_ns\n" + "".join(f"0,{i},0,{t}\n" for i, t in enumerate(times)) + "1,9,0,5\n")
    events = events_csv.read_hits(path)
    assert events.at_most(3).x_mm.tolist() == [1, 2, 4, 9]
    assert events.at_most(5).x_mm.tolist() == [0, 1, 2, 3, 4, 9]


def test_without_times_nobody_chooses_among_too_many_hits(tmp_path: Path) -> None:
    path = tmp_path / "hits.csv"
    path.write_text("event,x_mm,y_mm\n" + "7,1,2\n" * 4)
    with pytest.raises(InputError, match=r"^event 7: 4 hits, and ring finders take 3 at most\. Give a column time_ns"):
        events_csv.read_hits(path).at_most(3)


WHOLE = (b"event,x_mm,y_mm,pmt_seq,in_time,n_hits,ring_x_mm,ring_y_mm,ring_radius_mm\n"
         b"1,1.5,2.5,3,1,4,1,2,100\n1,2.5,2.5,4,0,4,,,\n2,-1e3,2.5,5,1,7,5,5,120\n")  # fmt: skip
PIECES = [b"9" * 20, b"-1", b"nan", b"1e400", b"1e39", b"\0", b"\xff\xfe", b'"', b"\r", b",", b"\n", b"0x10", b"1_0"]
CHANGE = st.tuples(st.integers(0, len(WHOLE)), st.integers(0, 8), st.sampled_from(PIECES) | st.binary(max_size=4))
CHANGES = st.lists(CHANGE, min_size=1, max_size=5)


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CHANGES)
def test_whatever_a_file_holds_it_is_read_or_refused(tmp_path: Path, changes: list[tuple[int, int, bytes]]) -> None:
    content = bytearray(WHOLE)
    for at, n_lost, piece in changes:
        content[at : at + n_lost] = piece
    path = tmp_path / "any_hits.csv"
    path.write_bytes(content)
    for arguments in ((events_csv.read_hits, path), (events_csv.read_rings, path, numbered(1, 2))):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                read = events_csv.read(*arguments)
            except InputError:
                continue
        assert np.isfinite(read.x_mm).all()
        assert read.event_offset[-1] == len(read.x_mm)


def test_no_rings_beside_a_file_of_another_name(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text(HITS)
    assert events_csv.rings_beside(path) is None


def test_events_of_na62(detector_data: DetectorData) -> None:
    path, truth = detector_data.file(RUN_8548)
    events = events_csv.read_hits(path)
    wanted = tuple(truth[name] for name in ("n_events", "n_hits", "n_in_time"))
    assert (events.n_events, len(events.x_mm), int(events.in_time.sum())) == wanted
    assert events.pmt is not None
    np.testing.assert_allclose([events.pmt[0], events.x_mm[0], events.y_mm[0]], truth["first_hit"], rtol=1e-6)
    beside = events_csv.rings_beside(path)
    assert beside is not None
    rings = events_csv.read_rings(beside, events)
    assert set(rings.n_rings.tolist()) <= {0, 1}
    assert len(rings) == truth["n_rings"]
    np.testing.assert_allclose([rings.x_mm[0], rings.y_mm[0], rings.radius_mm[0]], truth["first_ring"], rtol=1e-6)
