# SPDX-License-Identifier: Apache-2.0
"""How many camera events a second the writers of R1v1 files take, and where the time of one goes.

    python bench/record.py r1_files [--events 600] [--repeats 3] [--writers 1,2,4]

Simulated events are given to writers as fast as they take them, without a node: whole events per second of all, and CPU
time of an event in a writer. Then the same steps one by one in this process: the record is decoded, made into a message
of R1v1, that one serialised, and written by protozfits, which compresses; and messages that are bytes already.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from anello import columns
from anello.camera import events as camera_events
from anello.camera.cta import cameras, r1v1
from anello.camera.cta.r1_files import WriterProcess
from anello.camera.cta.r1_writer import WriterOrder

ROOT = Path(__file__).parents[2]
SAMPLES = {"LSTCam": 40, "NectarCam": 60}
POOL = 40  # different events


def main() -> None:
    parser = argparse.ArgumentParser(description="Writers of R1v1 files: events per second, and what one costs.")
    parser.add_argument("--events", type=int, default=600, help="for each writer")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--writers", default="1,2,4")
    parser.add_argument("--cameras", default="LSTCam,NectarCam")
    parser.add_argument("--quick", action="store_true", help="100 events, once")
    options = parser.parse_args()
    if options.quick:
        options.events, options.repeats = 100, 1
    for camera in options.cameras.split(","):
        with tempfile.TemporaryDirectory() as folder:
            records = records_of(camera, Path(folder))
            for n_writers in map(int, options.writers.split(",")):
                samples = [rates(camera, records, n_writers, options.events) for _ in range(options.repeats)]
                print_result(f"{camera}, {n_writers} writers", samples)
            samples = [steps(camera, records, Path(folder) / f"steps{i}") for i in range(options.repeats)]
            print_result(f"{camera}, steps of an event", samples)


def print_result(case: str, samples: Sequence[dict[str, float]]) -> None:
    """Medians, and how far apart the repeats are."""
    median = {key: statistics.median(one[key] for one in samples) for key in samples[0]}
    spread = {key: max(one[key] for one in samples) / min(one[key] for one in samples) - 1 for key in samples[0]}
    print(f"{case}: " + ", ".join(f"{key} {value:.3g}" for key, value in median.items()))
    print(json.dumps({"case": case, **median, "spread": spread, "samples": samples}), flush=True)


def records_of(camera: str, folder: Path) -> list[bytes]:
    """Records as a node sends them to writers: not compressed."""
    settings = [
        f"camera.model={camera}", f"camera.samples={SAMPLES[camera]}", f"run.n_events={POOL}", "run.display=off",
        f"camera_source.pool_events={POOL}", "camera_source.rate_hz=20", "camera_source.first_event=1",
        "receive.ports=[0]", "camera_source.ports=[0]", "camera_filter.enabled=false", "camera_send.zstd_level=0",
        "camera_send.shuffle=none", "camera_send.file=events.h5", "camera_send.file_format=records",
    ]  # fmt: skip
    command = [sys.executable, "-m", "anello", "run", "detectors/camera/cta-camera.toml", "--report-dir",
               str(folder / "run"), *(part for one in settings for part in ("--set", one))]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stdout + done.stderr)
    return list(_records_in(folder / "run/events.h5"))


def _records_in(path: Path) -> Iterator[bytes]:
    for file in columns.files(path):
        places = columns.cut(file, ("record_offset", "record_bytes"))
        for begin, n_bytes in zip(*(rows.tolist() for rows in places.values()), strict=True):
            yield file["records"][begin : begin + n_bytes].tobytes()


# --- Writers ------------------------------------------------------------------------------------------------------
def rates(camera: str, records: Sequence[bytes], n_writers: int, n_events: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        orders = [WriterOrder(0, 0, camera, 1, 1, folder, i + 1, n_writers, 1.0, 0) for i in range(n_writers)]
        writers = [WriterProcess(order) for order in orders]
        for writer in writers:
            writer.wait_ready()
        before_s = children_s() + sum(used_s(writer.process) for writer in writers)
        began_s = time.monotonic()
        feeders = [threading.Thread(target=feed, args=(writer, records, n_events)) for writer in writers]
        for feeder in feeders:
            feeder.start()
        for feeder in feeders:
            feeder.join()
        for writer in writers:
            writer.end(n_events)
        wall_s, cpu_s = time.monotonic() - began_s, children_s() - before_s
        n_written = sum(writer.counts["events_written"] for writer in writers)
        n_bytes = sum(writer.counts["bytes_written"] for writer in writers)
    if n_written != n_writers * n_events:
        raise SystemExit(f"{n_written} events of {n_writers * n_events} were written")
    return {
        "events_per_s": n_written / wall_s, "events_per_s_of_a_writer": n_events / wall_s,
        "cpu_ms_of_an_event": 1e3 * cpu_s / n_written, "bytes_of_an_event": n_bytes / n_written,
    }  # fmt: skip


def feed(writer: WriterProcess, records: Sequence[bytes], n_events: int) -> None:
    with writer.connection as connection:
        for i in range(n_events):
            record = records[i % len(records)]
            connection.sendall(len(record).to_bytes(4, "little") + record)


def used_s(process: int) -> float:
    """CPU time by now: what a writer takes to import its packages."""
    return int(Path(f"/proc/{process}/schedstat").read_text().split()[0]) * 1e-9


def children_s() -> float:
    """CPU time of those that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# --- Steps --------------------------------------------------------------------------------------------------------
class Bytes:
    """A message that has been serialised, in the form that protozfits takes messages in."""

    def __init__(self, message: Any) -> None:
        self.DESCRIPTOR, self._bytes = message.DESCRIPTOR, message.SerializeToString()

    def SerializeToString(self) -> bytes:  # noqa: N802 - Protobuf's
        return self._bytes


def steps(camera: str, records: Sequence[bytes], folder: Path) -> dict[str, float]:
    """ms of CPU time of an event."""
    folder.mkdir()
    messages = r1v1.Messages(cameras.camera(camera), 1)
    first = camera_events.decode(records[0])
    messages.event(first)  # what is imported and made once
    decoded, decode_ms = timed(lambda: [camera_events.decode(record) for record in records])
    made, message_ms = timed(lambda: [messages.event(event) for event in decoded])
    raw, serialise_ms = timed(lambda: [Bytes(message) for message in made])
    return {
        "decode_ms": decode_ms / len(records), "message_ms": message_ms / len(records),
        "serialise_ms": serialise_ms / len(records),
        "write_ms": write_ms(folder / "messages.fits.fz", made, compressed=True),
        "write_serialised_ms": write_ms(folder / "bytes.fits.fz", raw, compressed=True),
        "write_uncompressed_ms": write_ms(folder / "raw.fits.fz", made, compressed=False),
    }  # fmt: skip


def write_ms(path: Path, messages: Sequence[Any], *, compressed: bool) -> float:
    """Time that protozfits takes to write the messages as a file of events, in ms; with our compression or none."""
    file = r1v1.protozfits_of("OUT", "R1v1").FlatProtobufZOFits(
        n_tiles=100, rows_per_tile=r1v1.EVENTS_PER_TILE, compression_block_size_kb=r1v1.BLOCK_KB,
        default_compression="zstd1" if compressed else "raw",
    )  # fmt: skip
    file.open(str(path))
    if compressed:
        file.request_explicit_compression("waveform", "diffman16")
    file.move_to_new_table("Events")

    def write() -> None:
        for message in messages:
            file.write_message(message)
        file.close()

    return timed(write)[1] / len(messages)


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    began_s = time.process_time()
    result = action()
    return result, 1e3 * (time.process_time() - began_s)


if __name__ == "__main__":
    main()
