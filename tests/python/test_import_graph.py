# SPDX-License-Identifier: Apache-2.0
"""The structure of anello/, read from its source: no circles, an order, and nothing generic knows a detector.

Imports inside functions and under TYPE_CHECKING count like any other: they hide a circle, and leave it there.
"""

import ast
import importlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

import anello
from anello import registry

ROOT = Path(__file__).parents[2] / "anello"
DETECTORS = ROOT.parent / "detectors"  # each of its folders is a package in anello
WORDS_OF_DETECTORS = {"na62", "cta", "nectarcam", "km3net"}  # in addition to the names of their packages
# What may look like a detector's name in a generic module: parameters of libraries.
ALLOWED = {"rich_markup_mode"}  # of typer, whose terminal library has the name of a detector

COMMANDS = {"command", "cli"}  # modules of the command line, wherever they lie

Graph = Mapping[str, frozenset[str]]


def modules(root: Path) -> dict[str, Path]:
    """Dotted name -> file, packages by their own name; a stub stands for a compiled module."""
    found = {}
    own = [(path, path.relative_to(root)) for path in [*root.rglob("*.pyi"), *root.rglob("*.py")]]
    for path, inner in own + [(path, path.relative_to(DETECTORS)) for path in _of_detectors() if root == ROOT]:
        parts = (root.name, *inner.with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _of_detectors() -> Iterator[Path]:
    return (path for path in DETECTORS.rglob("*.py") if "tests" not in path.parts)


def order() -> list[str]:
    """Packages and modules of anello/ from below to above, as its README lists them."""
    rows = re.findall(r"^\| (`.+?`) \|", (ROOT / "README.md").read_text(), re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`(\w+)`", row)]


def upward(edges: Graph, order: Sequence[str], detectors: Collection[str]) -> list[str]:
    """Imports of packages above, except by commands; and packages without a place in the order."""

    def place(module: str) -> int | None:
        parts = module.split(".")
        return order.index(parts[1]) if len(parts) > 1 and parts[1] in order else None

    generic = {name: others for name, others in edges.items() if detector_of(name, detectors) is None}
    homeless = [f"{name} has no place" for name in generic if name.count(".") and place(name) is None
                and not name.rpartition(".")[2].startswith("_")]  # fmt: skip
    wrong = [f"{name} imports {other}" for name, others in generic.items()
             if name.rpartition(".")[2] not in COMMANDS and (here := place(name)) is not None
             for other in others if (there := place(other)) is not None and there > here]  # fmt: skip
    return sorted(homeless + wrong)


def imports(tree: ast.AST, known: Iterable[str], package: str) -> Iterator[str]:
    known = set(known)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            base = (
                ".".join(package.split(".")[: 1 - node.level or None]) + "." * bool(node.module) if node.level else ""
            )
            module = base + (node.module or "")
            for alias in node.names:
                inner = f"{module}.{alias.name}"
                yield from [inner] if inner in known else [module] if module in known else []


def graph(root: Path) -> Graph:
    found = modules(root)
    return {name: frozenset(_imports_of(name, path, found)) - {name} for name, path in found.items()}


def _imports_of(name: str, path: Path, known: Iterable[str]) -> Iterator[str]:
    if path.suffix == ".py":  # compiled modules import nothing of ours
        package = name if path.stem == "__init__" else name.rpartition(".")[0]
        yield from imports(ast.parse(path.read_text()), known, package)


def circles(edges: Graph) -> list[list[str]]:
    """Circles: each is a set of modules that reach each other."""
    left = dict(edges)
    while gone := {name for name, others in left.items() if not others & left.keys()}:
        left = {name: others for name, others in left.items() if name not in gone}
    reach = {name: _reached(name, left) for name in left}
    together = {frozenset(other for other in reach[name] if name in reach.get(other, ())) for name in left}
    return sorted(sorted(circle) for circle in together if circle)


def _reached(name: str, edges: Graph) -> set[str]:
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        for other in edges.get(waiting.pop(), frozenset()):
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return seen


def detector_of(module: str, detectors: Iterable[str]) -> str | None:
    """The detector whose package holds the module."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in detectors else None


def wrong_imports(edges: Graph, detectors: Iterable[str]) -> list[str]:
    """Imports of a detector by foreign modules: generic ones, and those of other detectors."""
    return sorted(
        f"{name} imports {other}"
        for name, others in edges.items()
        for other in others
        if detector_of(other, detectors) not in (None, detector_of(name, detectors))
    )


def words(text: str) -> set[str]:
    """Words in lower case, from names in snake case, CamelCase and sentences; also without a final s."""
    pieces = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+[0-9]*[a-z]*|[A-Z]+[0-9]*", text.replace("_", " "))
    plain = {piece.lower() for piece in [*pieces, *re.findall(r"[A-Za-z0-9]+", text.replace("_", " "))]}
    return plain | {word.removesuffix("s") for word in plain}


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, identifier or string) of a module. An absolute import of a library is the library's name, not ours."""
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        match node:
            case ast.Name(id=text) | ast.Attribute(attr=text) | ast.arg(arg=text) | ast.Constant(value=str() as text):
                yield line, text
            case ast.FunctionDef(name=text) | ast.AsyncFunctionDef(name=text) | ast.ClassDef(name=text):
                yield line, text
            case ast.keyword(arg=str() as text):
                yield node.value.lineno, text
            case ast.alias(name=name, asname=asname):
                yield from ((line, text) for text in (asname, name.rpartition(".")[2]) if text)
            case _:
                pass


def named(path: Path, forbidden: set[str]) -> Iterator[str]:
    for line, text in texts(ast.parse(path.read_text())):
        if text not in ALLOWED and words(text) & forbidden:
            yield f"{path.name}:{line}: {text[:60]!r}"


@pytest.fixture(scope="module")
def edges() -> Graph:
    return graph(ROOT)


def test_no_circles(edges: Graph) -> None:
    assert circles(edges) == []


def test_detectors_import_the_generic_and_not_the_other_way(edges: Graph) -> None:
    assert wrong_imports(edges, registry.detectors()) == []


def test_packages_import_only_what_is_below(edges: Graph) -> None:
    assert upward(edges, order(), registry.detectors()) == []


def test_no_generic_module_names_a_detector() -> None:
    forbidden = WORDS_OF_DETECTORS | set(registry.detectors())
    generic = [path for name, path in modules(ROOT).items()
               if not detector_of(name, registry.detectors()) and path.suffix == ".py"]  # fmt: skip
    assert len(generic) > 50
    assert [found for path in generic for found in named(path, forbidden)] == []


def test_names_that_modules_had_before_still_lead_to_them() -> None:
    for old, new in anello.MOVED.items():
        module = importlib.import_module(f"anello.{old}")
        assert module is importlib.import_module(f"anello.{new}")
        assert module.__spec__ is not None
        assert module.__spec__.name == f"anello.{new}"


# --- That these can fail ------------------------------------------------------------------------------------------
def written(root: Path, **files: str) -> Path:
    package = root / "made"
    package.mkdir()
    for name, content in {"__init__": "", **files}.items():
        (package / f"{name}.py").write_text(content)
    return package


@pytest.mark.parametrize(
    "way",
    [
        "from made import one",
        "import made.one",
        "from . import one",
        "from .one import x",
        "def f():\n    from made.one import x",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from made.one import x",
    ],
)
def test_a_circle_is_found_however_it_is_hidden(tmp_path: Path, way: str) -> None:
    package = written(
        tmp_path, one="from made import two\nx = 1", two="import made.three", three=way, four="import made.one"
    )
    assert circles(graph(package)) == [["made.one", "made.three", "made.two"]]


def test_an_import_of_what_is_above_is_found() -> None:
    edges = {"made.low.one": {"made.high.two"}, "made.high.two": {"made.low.one"}, "made.high.cli": {"made.top"},
             "made.det.x": {"made.top"}, "made.new.x": set[str](), "made.top": set[str]()}  # fmt: skip
    graph = {name: frozenset(others) for name, others in edges.items()}
    assert upward(graph, ["low", "high", "top"], {"det"}) == [
        "made.low.one imports made.high.two",
        "made.new.x has no place",
    ]


def test_a_detector_in_a_generic_module_is_found(tmp_path: Path) -> None:
    package = written(
        tmp_path, generic="def f():\n    import made.det", det="import made.other", other="import made.generic"
    )
    assert wrong_imports(graph(package), ["det", "other"]) == [
        "made.det imports made.other",
        "made.generic imports made.det",
    ]


@pytest.mark.parametrize(
    ("text", "is_named"),
    [
        ("detConfig = 1", True),
        ("class DetConfig: ...", True),
        ("DET_NS = 2", True),
        ("x = 'det'", True),
        ("def f(x): '''Of many dets.'''", True),
        ("x.det_source", True),
        ("f(det=1)", True),
        ("from made import det", True),
        ("from det.table import Table", False),
        ("detector = details = 'detached'", False),
    ],
)
def test_a_name_is_found_in_any_dress(tmp_path: Path, text: str, is_named: bool) -> None:
    path = tmp_path / "module.py"
    path.write_text(text)
    assert bool(list(named(path, {"det"}))) is is_named
