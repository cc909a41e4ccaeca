# SPDX-License-Identifier: Apache-2.0
"""Writes the modules engine_keys of the chains from the engine's and the detectors' tables of keys:
python bindings/make_engine_keys.py

tests/python/test_engine_keys.py fails when the modules are out of date.
"""

import importlib.machinery
import importlib.util
import json
import keyword
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
HEAD = '''\
# SPDX-License-Identifier: Apache-2.0
# Made by bindings/make_engine_keys.py from the tables of keys in C++; not written by hand.
"""Sections, and parts of sections, whose keys are declared in C++."""
'''
OF_BASE_MODEL = ("copy",)  # names that a field cannot have
TYPES = {bool: "bool", int: "int", float: "float", str: "str"}


def texts(tables: Mapping[str, Any]) -> dict[Path, str]:
    """The modules' texts by their path in the repository."""
    modules: dict[str, list[str]] = {}
    for name, table in tables.items():
        modules.setdefault(table["module"], []).append("\n".join(_section(name, table)))
    return {_place(module): _text("\n\n\n".join(sections)) for module, sections in modules.items()}


def _text(sections: str) -> str:
    typing = [word for word in ("Annotated", "ClassVar", "Literal") if f"{word}[" in sections]
    power_of_two = "PowerOfTwo, " if "PowerOfTwo]" in sections else ""
    imports = [
        *([f"from typing import {', '.join(typing)}\n"] if typing else []),
        "from pydantic import Field\n",
        f"from anello.configuration.section import {power_of_two}Section",
    ]
    return "\n".join([HEAD, *imports, "", "", sections, ""])


def _place(module: str) -> Path:
    """The module's file; a detector's package lies in detectors/ (anello/registry.py)."""
    package, *rest = module.split(".")
    top = "detectors" if (ROOT / "detectors" / rest[0]).is_dir() else package
    return Path(top, *rest).with_suffix(".py")


def _tables() -> Mapping[str, Any]:
    """Loads the extension only, since the package cannot be imported while its engine_keys lack a section."""
    package = importlib.util.find_spec("anello")
    folders = [*(package.submodule_search_locations if package else None or ())]
    spec = importlib.machinery.PathFinder.find_spec("_engine", folders)
    if not spec or not spec.loader:
        raise SystemExit(f"no engine in {folders}: ./dev setup builds it")
    engine = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(engine)
    return dict(engine.key_tables())


def _section(name: str, table: Mapping[str, Any]) -> Iterator[str]:
    yield f'class {name}(Section):\n    """{table["meaning"]}"""\n'
    for key, about in table["keys"].items():
        yield _field(key, about)
        if about["parts"]:
            words = ", ".join(_literal(word) for word in about["parts"])
            yield f"    {key}_parts: ClassVar[tuple[str, ...]] = ({words},)"


def _field(key: str, about: Mapping[str, Any]) -> str:
    is_list = isinstance(about["default"], list)
    limits = _limits(about)
    options = [f"default={_literal(about['default'])}"]
    if about["words"]:
        kind = f"Literal[{', '.join(_literal(word) for word in about['words'])}]"
    elif is_list:
        entry = _entry_type(about)
        kind = f"list[Annotated[{entry}, Field({', '.join(limits)})]]" if limits else f"list[{entry}]"
    else:
        kind = TYPES[type(about["default"])]
        options += limits
    if about["power_of_two"]:
        kind = f"Annotated[{kind}, PowerOfTwo]"
    marks = [f'"{mark}": True' for mark in ("expert", "power_of_two") if about[mark]]
    options += [f"json_schema_extra={{{', '.join(marks)}}}"] if marks else []
    options += _lengths(about)
    is_taken = key in OF_BASE_MODEL or keyword.iskeyword(key)
    options += [f"alias={_literal(key)}"] if is_taken else []
    return f"    {key}{'_' * is_taken}: {kind} = Field({', '.join(options)}, description={_literal(about['meaning'])})"


def _entry_type(about: Mapping[str, Any]) -> str:
    return {"whole number": "int", "number": "float", "text": "str"}[about["entries"]]


def _limits(about: Mapping[str, Any]) -> list[str]:
    return [f"{word}={about[bound]:_}" if isinstance(about[bound], int) else f"{word}={_literal(about[bound])}"
            for word, bound in (("ge", "least"), ("le", "most")) if about[bound] is not None]  # fmt: skip


def _lengths(about: Mapping[str, Any]) -> list[str]:
    lengths = [f"min_length={about['least_entries']}"] if about["least_entries"] else []
    return lengths + ([f"max_length={about['most_entries']}"] if about["most_entries"] is not None else [])


def _literal(value: object) -> str:
    """The value as Python source: 20 for 20.0, texts in double quotes."""
    if isinstance(value, list):
        return f"[{', '.join(_literal(entry) for entry in value)}]"
    if isinstance(value, float) and value.is_integer():
        return f"{int(value):_}"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


if __name__ == "__main__":
    for path, module in texts(_tables()).items():
        (ROOT / path).write_text(module)
