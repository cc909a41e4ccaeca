# SPDX-License-Identifier: Apache-2.0
"""The check of the documents finds what is broken."""

from pathlib import Path

import check_docs as check
import pytest


@pytest.fixture
def page(tmp_path: Path) -> Path:
    (tmp_path / "glossary.md").write_text("# Glossary\n\n## Fine time (1/256 tick)\n")
    return tmp_path / "tutorial.md"


@pytest.mark.parametrize(
    "link", ["glossary.md", "glossary.md#fine-time-1256-tick", "#first-steps", "https://example.org/missing"]
)
def test_good_links_pass(page: Path, link: str) -> None:
    page.write_text(f"# First steps\n[there]({link})\n")
    assert list(check.broken_links(page)) == []


@pytest.mark.parametrize("link", ["missing.md", "glossary.md#nowhere", "#nowhere"])
def test_broken_links_are_named_with_their_line(page: Path, link: str) -> None:
    page.write_text(f"# First steps\n[there]({link})\n")
    (problem,) = check.broken_links(page)
    assert problem.startswith(f"{page}:2: {link}: ")


def test_links_inside_code_are_not_links(page: Path) -> None:
    page.write_text("```python\nx = a[0](missing)\n```\n")
    assert list(check.broken_links(page)) == []


def test_python_blocks_share_their_names(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page.write_text("```python\nradius_mm = 190\n```\n\n```python\nassert radius_mm == 190\n```\n")
    assert list(check.page_failures(page, tmp_path)) == []


def test_failing_python_block_shows_its_line_in_the_page(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page.write_text("# Title\n\n```python\nradius_mm = 190\nassert radius_mm == 0\n```\n")
    (problem,) = check.page_failures(page, tmp_path)
    assert "line 5" in problem
    assert "AssertionError" in problem


@pytest.mark.process
def test_a_block_that_is_a_file_is_written_and_not_run(page: Path, tmp_path: Path) -> None:
    page.write_text(
        "*File `build/made/one.py`:*\n```python\nraise SystemExit(1)\n```\n\n```sh\ngrep 1 build/made/one.py\n```\n"
    )
    assert list(check.page_failures(page, tmp_path)) == []
    assert (tmp_path / "build/made/one.py").read_text() == "raise SystemExit(1)\n"


def test_a_file_outside_of_build_is_none(page: Path) -> None:
    page.write_text("*File `anello/cli.py`:*\n```python\n1\n```\n")
    assert [block.file for block in check.blocks(page.read_text())] == [None]


@pytest.mark.process
def test_failing_shell_block_shows_its_output(page: Path, tmp_path: Path) -> None:
    page.write_text("```sh\necho before\nfalse\necho after\n```\n")
    (problem,) = check.page_failures(page, tmp_path)
    assert "exit 1" in problem
    assert "before" in problem
    assert "after" not in problem


def test_runs_wait_longer_for_boards_unless_the_page_says_how_long() -> None:
    run = "anello run detectors/rich/na62-rich.toml --duration 1"
    page = f"```sh\n{run}\n{run} --set build.timeout_ms=5\nanello rings hits.csv\n```\n"
    (block,) = check.blocks(page)
    assert check.shell_code(block).splitlines() == [
        f"{run} --set build.timeout_ms=500 --set trigger.deadline_us=0 ",
        f"{run} --set build.timeout_ms=5 --set trigger.deadline_us=0 ",
        "anello rings hits.csv",
    ]


@pytest.mark.process
def test_what_fails_once_is_reported_and_what_fails_twice_counts(
    page: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page.write_text("```sh\ntest -e tried || { touch tried; echo a stall; exit 5; }\n```\n")
    assert check.lasting_failures(page, tmp_path) == []
    said = capsys.readouterr().out
    assert "a stall" in said
    assert "held the second time" in said
    page.write_text("```sh\nfalse\n```\n")
    assert len(check.lasting_failures(page, tmp_path)) == 1


def test_block_marked_not_run_is_left_out(page: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page.write_text("*Not run by the tests: needs two machines.*\n```sh\nfalse\n```\n")
    assert list(check.page_failures(page, tmp_path)) == []
    assert "needs two machines" in capsys.readouterr().out


def test_block_without_a_language_is_named(page: Path) -> None:
    page.write_text("# Title\n\n```\nfalse\n```\n")
    (problem,) = check.nameless_blocks(page)
    assert problem.startswith(f"{page}:4: ")


def test_added_options_go_to_each_command_of_ours() -> None:
    code = "anello run A \\\n  --set x=1   # why\necho anello\nanello doctor\n"
    (block,) = check.blocks(f"<!-- tests add: --duration 1 -->\n```sh\n{code}```\n")
    assert check.shell_code(block).splitlines() == [
        "anello run A \\", "  --set x=1 --duration 1 # why", "echo anello", "anello doctor --duration 1 ",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("anello run CONFIG --set key=value", ""), ("anello plan --nodes 500", ""), ("anello ... --set key=value", ""),
        ("anello stream bench --cores 0,1", ""), ("anello fly CONFIG", "no command fly"),
        ("anello run CONFIG --sett x=1", "no option --sett"),
    ],
)  # fmt: skip
def test_commands_in_running_text_must_exist(page: Path, command: str, said: str) -> None:
    page.write_text(f"Use `{command}` for it.\n")
    problems = list(check.unknown_commands(page))
    assert [said in problem for problem in problems] == ([True] if said else [])


@pytest.mark.parametrize(
    "code",
    [
        "./dev zmq   # builds the library in build/zmq LD_LIBRARY_PATH=$PWD/build/zmq/lib\nPROGRAM\n",
        "anello doctor   # first anello run detectors/rich/na62-rich.toml\n",
        "# copy the folder ./dev demo\n",
        "anello exchange CONFIG\n--keys farm-keys\n",
    ],
)
def test_a_command_in_a_comment_is_found(page: Path, code: str) -> None:
    page.write_text(f"# Title\n\n```sh\n{code}```\n")
    (problem,) = check.hidden_commands(page)
    assert problem.startswith(f"{page}:{5 if code.startswith('anello exchange') else 4}: ")


@pytest.mark.parametrize(
    "code",
    [
        "anello run CONFIG --duration 1   # of `anello run`; with ANELLO_LONG=1: more\n",
        "anello run CONFIG \\\n  --duration 1\n",
        "python3 program.py  # a python program\n",
    ],
)
def test_plain_comments_pass(page: Path, code: str) -> None:
    page.write_text(f"```sh\n{code}```\n\n```text\n# anello run\n```\n")
    assert list(check.hidden_commands(page)) == []


@pytest.mark.parametrize("first", ["- one", "1. one", "| one | two |"])
def test_a_list_without_an_empty_line_above_it_is_found(page: Path, first: str) -> None:
    page.write_text(f"# Title\n{first}\n\nText:\n{first}\n")
    assert [problem.split(": ")[0] for problem in check.joined_lists(page)] == [f"{page}:5"]


def test_a_list_behind_a_block_is_found(page: Path) -> None:
    page.write_text("```text\n- one\n- two\n```\n- one\n  more of it\n- two\n")
    assert [problem.split(": ")[0] for problem in check.joined_lists(page)] == [f"{page}:5"]
