# SPDX-License-Identifier: Apache-2.0
"""What the benchmark of device code reads from the compiler, and the warps that follow from it."""

from pathlib import Path

import gpu_resources_bench as bench
import pytest
from gpu_resources_bench import Kernel

PTXAS = """ptxas info    : 0 bytes gmem, 1200 bytes cmem[4]
ptxas info    : Compiling entry function '_ZN1a10first_tierILNS0_9AlgorithmE4EEEvNS0_16RingFinderConfigE' for 'sm_90'
ptxas info    : Function properties for _ZN1a10first_tierILNS0_9AlgorithmE4EEEvNS0_16RingFinderConfigE
    2736 bytes stack frame, 344 bytes spill stores, 348 bytes spill loads
ptxas info    : Used 96 registers, used 0 barriers, 2736 bytes cumulative stack size
ptxas info    : Compiling entry function '_ZN1a11second_tierENS0_16RingFinderConfigENS1_11DeviceBatchE' for 'sm_90'
ptxas info    : Function properties for _ZN1a11second_tierENS0_16RingFinderConfigENS1_11DeviceBatchE
    560 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 109 registers, used 0 barriers, 560 bytes cumulative stack size, 18304 bytes smem
"""


def test_kernels_are_read_from_what_the_compiler_says() -> None:
    assert list(bench.kernels_of(PTXAS)) == [
        Kernel("first_tier almagest", "90", registers=96, stack=2736, spilled=344, shared=0),
        Kernel("second_tier multiring", "90", registers=109, stack=560, spilled=0, shared=18304),
    ]


@pytest.mark.parametrize(
    "text", [PTXAS.replace("first_tier", "third_tier"), PTXAS.replace("Used 109 registers", "Used some")]
)
def test_another_output_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"known here|expected"):
        list(bench.kernels_of(text))


# The first two as Nsight Compute told them of an H100: "theoretical occupancy" 56.25 and 18.75 % of 64 warps.
@pytest.mark.parametrize(
    ("kernel", "warps", "limit"),
    [
        (Kernel("first_tier multiring", "90", 55, 1072, 0, 0), 36, "registers"),
        (Kernel("second_tier multiring", "90", 109, 560, 0, 18304), 12, "shared memory"),
        (Kernel("second_tier multiring", "80", 109, 560, 0, 18304), 8, "shared memory"),
        (Kernel("second_tier multiring", "90", 109, 560, 0, 0), 16, "registers"),
        (Kernel("second_tier multiring", "90", 24, 0, 0, 0), 32, "its blocks"),
        (Kernel("first_tier single", "90", 24, 0, 0, 0), 64, "its warps"),
    ],
)
def test_warps_follow_from_what_a_kernel_takes(kernel: Kernel, warps: int, limit: str) -> None:
    assert bench.occupancy(kernel) == bench.Occupancy(warps, limit)


def test_algorithms_are_those_of_the_engine() -> None:
    from anello._engine import rich

    assert list(bench.ALGORITHMS) == rich.algorithms()


def test_blocks_are_as_large_as_the_source_says() -> None:
    source = (bench.ROOT / bench.SOURCE).read_text()
    assert f"first_tier_threads = {bench.THREADS['first_tier']};" in source
    assert "team_threads = 16;" in source
    assert "teams_per_block = 2;" in source


@pytest.mark.process
def test_a_build_without_device_code_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "build.ninja").write_text("")
    with pytest.raises(SystemExit, match="does not compile"):
        bench.nvcc_command(tmp_path)
