# SPDX-License-Identifier: Apache-2.0
"""System benchmarks: what runs are summed up to, and when they pass."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

pytest.importorskip("anello._engine", reason="the compiled engine is not built")

import chain_bench
import memory_bench
import messages_bench
from buffers_bench import settings_of
from chain_run import MIX, Run, meets_deadline, run_once, summarise

from anello.config import load


def run(achieved_hz: float = 500e3, p999_us: float = 400.0, losses: Mapping[str, int] | None = None) -> Run:
    latency_us = {"p50": 200.0, "p99": 300.0, "p99.9": p999_us, "p99.99": 600.0, "max": 700.0}
    return Run(
        offered_hz=500e3, achieved_hz=achieved_hz, n_events=1000, losses=losses or {}, problems=(),
        latency_us=latency_us, legs_us={"sent_to_kernel": 9.0}, deadline_misses=0, source_cores=0.3, node_cores=0.8,
        other_cores=0.1, forgone_s=0.0, mode="sockets",
    )  # fmt: skip


def test_repeats_become_a_median_with_spread_and_all_losses() -> None:
    repeats = [
        run(490e3),
        run(500e3, losses={"overwritten": 2}),
        run(510e3, losses={"overwritten": 3, "never came": 1}),
    ]
    result = summarise(repeats)
    assert (result["median"], result["spread"]) == (500e3, pytest.approx(0.02))
    assert result["losses"] == {"never came": 1, "overwritten": 5}
    assert (result["clean_repeats"], result["n_repeats"], result["balanced"]) == (1, 3, True)


def test_one_loss_fails_and_so_does_a_late_middle_run() -> None:
    assert meets_deadline([run(), run(), run(p999_us=5000.0)])  # one disturbed repeat is not the chain's fault
    assert not meets_deadline([run(), run(p999_us=1001.0), run(p999_us=5000.0)])
    assert not meets_deadline([run(), run(), run(losses={"never came": 1})])
    assert not meets_deadline([run(), run(), replace(run(), forgone_s=0.1)])  # the boards could not keep the pace
    assert not meets_deadline([run(), run(), replace(run(), problems=("ledger: off",))])


def test_losses_and_an_open_ledger_stand_in_the_table() -> None:
    result = {"algorithm": "single", **summarise([run(losses={"overwritten": 2}), replace(run(), problems=("off",))])}
    assert chain_bench.row(result)[-1] == "overwritten 2; LEDGER OFF"


@pytest.mark.parametrize("size", [16, 8192])
def test_settings_of_buffers_are_accepted(size: int) -> None:
    config = load(None, [*MIX, *settings_of(size, 50.0)])
    assert config.receive.events_per_buffer == config.build.batch_events == config.source.max_events_per_packet == size
    assert config.source.flush_us == 50.0


def test_short_run_is_measured_end_to_end() -> None:
    measured = run_once([*MIX, "trigger.algorithm=single"], rate_hz=5000.0, burst_s=0.2)
    assert measured.n_events == pytest.approx(1000, rel=0.2)
    assert measured.problems == ()
    assert 0 < measured.latency_us["p50"] <= measured.latency_us["p99.9"]
    assert measured.achieved_hz <= measured.n_events / 0.2


def test_memory_after_the_warm_up_only() -> None:
    samples = [(0.0, 10.0), (1.0, 50.0), (2.0, 51.0), (3.0, 52.0)]
    result = memory_bench.judge(samples, warm_up_s=1.0)
    assert (result["median"], result["range_mib"], result["n_samples"]) == (51.0, 2.0, 3)
    assert result["trend_kib_per_s"] == pytest.approx(1024)


@pytest.mark.parametrize(("mode", "n_bytes", "wanted"), [("plain", 16, 1), ("offload", 16, 64), ("offload", 4096, 14)])
def test_super_packets_fit_into_a_datagram(mode: str, n_bytes: int, wanted: int) -> None:
    assert messages_bench.segments(messages_bench.Case("loopback", mode, "anello", n_bytes)) == wanted
