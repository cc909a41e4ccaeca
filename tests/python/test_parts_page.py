# SPDX-License-Identifier: Apache-2.0
"""The page of the tests' parts is made from a run's times, and keeps the rows of parts that this run left out."""

import parts_page

FIRST = "cpp\tdefault\t\t200\t2290 passed, 0 failed, 7 skipped\tC++ tests"
AGAIN = "cpp\tdefault\tagain\t60\t2290 passed, 0 failed, 7 skipped\tC++ tests"
OTHER = "asan\tall\t\t900\t2290 passed, 0 failed, 7 skipped\tsanitizer"


def test_first_and_again_are_columns_of_one_row() -> None:
    text = parts_page.page(parts_page.page("", [FIRST, OTHER]), [AGAIN])
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert rows == [
        "| `cpp` | default | 2290 passed, 0 failed, 7 skipped | 200 | 60 | C++ tests |",
        "| `asan` | all | 2290 passed, 0 failed, 7 skipped | 900 |  | sanitizer |",
    ]


def test_a_page_of_a_page_is_the_same() -> None:
    text = parts_page.page("", [FIRST, AGAIN, OTHER])
    assert parts_page.page(text, []) == text
