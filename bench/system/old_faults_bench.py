# SPDX-License-Identifier: Apache-2.0
"""How many farms in virtual time it takes to find a fault that the exchange once had: each is put back, and searched
for by `anello simulate`.

    python bench/record.py old_faults [--seeds 10000] [--first 1] [--only TEXT]

The mutated file is compiled as the build does, and linked into an engine of its own before the library that has the
sound one. One JSON line for each fault.
"""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trials import table

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build/release"
SEEDS_AT_A_TIME = 500
HEAD = ["fault, put back", "seeds until it is found", "found by"]


@dataclass(frozen=True)
class Fault:
    """now: what stands there; once: what stood there, or would have the same effect."""

    words: str
    file: str
    now: str
    once: str


FAULTS = (
    Fault("sends in flight when a node fails are not counted", "engine/exchange/readout_unit.cpp",
          "counters_.add(ReadoutCounter::mfps_in_flight_at_end, n_in_flight_);", ""),
    Fault("what came of a node that died at the very end is not written off", "engine/exchange/station.cpp",
          "links_[node].is_up = false;\n        tell_units(static_cast<Node>(node));\n    }\n    if (readout_)",
          "}\n    if (readout_)"),
    Fault("who is silent for 0.6 of the peer timeout is taken for dead", "engine/exchange/station.cpp",
          "now_ns - link.heard_ns > silence_ns()", "now_ns - link.heard_ns > config_.peer_timeout_ns * 6 / 10"),
    Fault("without the manager, what has begun is left", "engine/exchange/station.cpp",
          "if (!has_begun_) return fail(std::move(why));", "return fail(std::move(why));"),
    Fault("numbers of messages go on over a new connection", "engine/exchange/builder_unit.cpp",
          "if (is_up && !readouts_[readout].is_up) readouts_[readout].arrivals.reset();", ""),
    Fault("places of a connection that broke are not free again", "engine/exchange/builder_unit.cpp",
          "if (mine == Part::arriving || mine == Part::abandoned) --slots_[slot].n_places;", ""),
    Fault("late news of a former life take down its successor's connection", "engine/exchange/station.cpp",
          "if (entry.life != link.life) return;", ""),
    Fault("nobody is tried anew whom a node gave up itself", "engine/exchange/station.cpp",
          "transport == PeerState::down || transport == PeerState::absent;", "transport == PeerState::down;"),
    Fault("pull: what a slow builder would still ask for is dropped", "engine/exchange/readout_unit.cpp",
          "if (n_cut_ == 0) end_mep = std::min(end_mep, unasked_end_);", ""),
    Fault("a standby takes over without more than half of the nodes", "engine/exchange/station_takeover.cpp",
          "return 2 * n_following > n_live;", "return n_following > 0 || n_live > 0;"),
    Fault("a standby takes over while the manager may still assign", "engine/exchange/station_takeover.cpp",
          "silent_ns > config_.peer_timeout_ns);", "silent_ns >= 0);"),
    Fault("a manager that has lost its standby asks nobody", "engine/exchange/standby_watch.cpp",
          "return 2 * n_confirmed >= n;", "return n > 0 || n_confirmed > 0;"),
    Fault("who follows another still hears the manager before", "engine/exchange/station_takeover.cpp",
          "before.is_let_go = before.must_disconnect = before.is_up && !is_manager_dead_;",
          "static_cast<void>(before);"),
    Fault("what nobody knows of is assigned again", "engine/exchange/event_manager_takeover.cpp",
          "next_mep_ = std::max(next_mep_, most);", ";"),
    Fault("free slots keep their use when another manager comes", "engine/exchange/builder_unit.cpp",
          "if (slot.state == Slot::State::free) ++slot.use;", ""),
    Fault("shift: a round waits for a slow source", "engine/exchange/readout_unit.cpp",
          "return is_held_long ? n_sent + send_out_of_turn() : n_sent;", "return n_sent;"),
    Fault("what a full disk took of a record stays in the file", "engine/store/record_file.cpp",
          "if (file_ != nullptr && !file_->cut(length_bytes_)) close();", ""),
    Fault("of a write that was taken in part the rest is not written", "engine/store/disk.cpp",
          "n_before = static_cast<std::size_t>(n_taken);", "return true;"),
    Fault("what a file had not come to when a node ends is not written", "engine/store/mep_writer.cpp",
          "while (write_one() > 0)", "while (false)"),
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--only", default="", help="faults whose words hold this")
    options = parser.parse_args()
    results = []
    for fault in FAULTS:
        if options.only in fault.words:
            results.append(measured(fault, options.first, options.seeds))
            print(json.dumps(results[-1]), flush=True)
    print(table(HEAD, [row(result, options.seeds) for result in results]), flush=True)


def row(result: dict[str, Any], n_seeds: int) -> list[str]:
    if result["seeds"] is None:
        return [result["fault"], f"not found by {n_seeds:,}", ""]
    return [result["fault"], f"{result['seeds']:,}", result["finding"]]


def measured(fault: Fault, first: int, n_seeds: int) -> dict[str, Any]:
    """With the faulty engine: after how many seeds the first run was not explained. Raises CalledProcessError."""
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "anello"
        shutil.copytree(ROOT / "anello", package, ignore=shutil.ignore_patterns("_engine*.so", "__pycache__"))
        link(fault, Path(folder), package)
        begun_s = time.monotonic()
        for begin in range(first, first + n_seeds, SEEDS_AT_A_TIME):
            told = searched(Path(folder), begin)
            if told["failed"]:
                seeds, finding = min(told["failed"]) - first + 1, told["shown"][0]["findings"][0]
                break
        else:
            seeds, finding = None, ""
        return {"fault": fault.words, "seeds": seeds, "finding": finding, "wall_s": time.monotonic() - begun_s}


def searched(folder: Path, begin: int) -> dict[str, Any]:
    options = ["--first", str(begin), "--seeds", str(SEEDS_AT_A_TIME), "--ledger", "--json"]
    command = [sys.executable, "-c", "from anello.cli import main; raise SystemExit(main())", "simulate", *options]
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 4):
        raise RuntimeError(done.stderr)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def link(fault: Fault, folder: Path, package: Path) -> None:
    """The engine's extension with this file as it once was."""
    path = ROOT / fault.file
    text = path.read_text()
    if text.count(fault.now) != 1:
        raise RuntimeError(f"{fault.file} holds {text.count(fault.now)} times: {fault.now}")
    mutant = folder / path.name
    mutant.write_text(text.replace(fault.now, fault.once))
    commands = subprocess.run(
        ["ninja", "-t", "commands", "_engine"], cwd=BUILD, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    compiler = next(line for line in commands if line.endswith(f"-c {path}"))
    words = without_dependencies(shlex.split(compiler))
    subprocess.run(
        [*words[: words.index("-o")], "-c", str(mutant), "-o", str(folder / "mutant.o")], cwd=BUILD, check=True
    )
    linker = shlex.split(commands[-1].removeprefix(": && ").partition(" && ")[0])
    place = linker.index("-o")
    name = Path(linker[place + 1]).name
    linker[place + 1 : place + 2] = [str(package / name), str(folder / "mutant.o")]
    subprocess.run(linker, cwd=BUILD, check=True)


def without_dependencies(words: list[str]) -> list[str]:
    """A compiler's command that does not tell the build what it read."""
    kept = [word for word in words if word != "-MD"]
    for option in ("-MT", "-MF"):
        place = kept.index(option)
        del kept[place : place + 2]
    return kept


if __name__ == "__main__":
    main()
