# SPDX-License-Identifier: Apache-2.0
"""Where keys are declared, each once: what Python makes of the engine's tables, and that both sides refuse the same."""

import importlib
import inspect
import math
import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from of_each import of_each
from pydantic import BaseModel, Field

from anello import _engine, registry, simulate
from anello.configuration.base import Config, fields_by_key, section_of
from anello.configuration.keys import config_of, known_keys
from anello.configuration.load import load
from anello.configuration.section import KeyOverride, Section
from anello.errors import ConfigError
from anello.packet_chain.config import PacketConfig
from anello.rich import find_rings

ROOT = Path(__file__).resolve().parents[2]
TABLES = _engine.key_tables()
WORDS = "nonsense"
ENGINES, PYTHONS = "engine_keys", "python_keys"  # the modules that declare keys


class NumberedPackets(PacketConfig):
    """Keys of every detector whose boards number their packets, without its own keys."""

    chain: str = Field(default="numbered packets")


ALL: dict[str, type[Config]] = {chain: config_of(chain) for chain in registry.names()}
ALL["numbered packets"] = NumberedPackets
REGISTERED = {chain: registry.registration(chain) for chain in registry.names()} | {
    "numbered packets": registry.Registration(about="", config=f"{__name__}:NumberedPackets", presentation="")
}
WITH_NUMBERED_PACKETS = patch.object(registry, "_registrations", lambda: REGISTERED)
with WITH_NUMBERED_PACKETS:
    KEYS_OF = {chain: known_keys(chain) for chain in ALL}


@pytest.fixture(autouse=True)
def _all_chains() -> Iterator[None]:
    with WITH_NUMBERED_PACKETS:
        yield


def section_at(config: type[BaseModel], dotted: str) -> type[BaseModel] | None:
    """The section of this name; "" is the whole configuration."""
    section: type[BaseModel] | None = config
    for name in dotted.split(".") if dotted else ():
        field = fields_by_key(section).get(name) if section else None
        section = section_of(field) if field else None
    return section


def limits(about: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Each bound of a key, and the nearest value beyond."""
    for bound, way in ((about["least"], -1), (about["most"], 1)):
        if isinstance(bound, int):
            yield bound, bound + way
        elif bound is not None:
            yield bound, math.nextafter(bound, way * math.inf)


def as_value(about: dict[str, Any], entry: Any) -> Any:
    """The value, in a list if the key is a list."""
    return [entry] * max(1, about["least_entries"]) if about["entries"] else entry


KEYS = [(table, key) for table, one in TABLES.items() for key in one["keys"]]
LIMITS = [
    (table, key, as_value(about, bound), as_value(about, beyond))
    for table, one in TABLES.items() for key, about in one["keys"].items() for bound, beyond in limits(about)
]  # fmt: skip


def refused_by_engine(table: str, key: str, value: Any) -> tuple[str, str]:
    with pytest.raises(_engine.ConfigError) as caught:
        TABLES[table]["check"]({key: value})
    return caught.value.field, caught.value.rule


def refused_by_python(table: str, key: str, value: Any) -> tuple[str, str]:
    error = refusal(chain_of(table), f"{TABLES[table]['section']}.{key}", value)
    return error.field, error.rule


def refusal(chain: str, whole: str, value: Any) -> ConfigError:
    values: dict[str, Any] = {"chain": chain}
    *sections, name = whole.split(".")
    inner = values
    for section in sections:
        inner = inner.setdefault(section, {})
    inner[name] = value
    with pytest.raises(ConfigError) as caught:
        load(None, values=values)
    return caught.value


def chain_of(table: str) -> str:
    """The first chain whose configuration has its keys from this table."""
    sections = {chain: section_at(config, TABLES[table]["section"]) for chain, config in ALL.items()}
    return next(chain for chain, section in sections.items() if section and issubclass(section, model(table)))


def model(table: str) -> type[BaseModel]:
    found: type[BaseModel] = getattr(importlib.import_module(TABLES[table]["module"]), table)
    return found


def test_the_sections_are_made_from_the_tables() -> None:
    made = runpy.run_path(str(ROOT / "bindings/make_engine_keys.py"))
    for path, module in made["texts"](TABLES).items():
        assert (ROOT / path).read_text() == module, "python bindings/make_engine_keys.py"


def sections_below(above: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for section in above.__subclasses__():
        yield section
        yield from sections_below(section)


def declared_again(section: type[BaseModel], table: type[BaseModel]) -> set[str]:
    """Keys of the table that a section which has it, or another of its bases, declares too."""
    others = [one for one in section.__mro__ if one is not table and table in section.__mro__]
    return {key for one in others for key in inspect.get_annotations(one)} & table.model_fields.keys()


@pytest.mark.parametrize("table", TABLES)
def test_no_bound_or_default_of_a_table_stands_in_a_section_too(table: str) -> None:
    own = [section for section in sections_below(Section) if section.__module__.startswith("anello.")]
    assert {section.__name__: again for section in own if (again := declared_again(section, model(table)))} == {}


def test_a_key_that_is_declared_again_is_found() -> None:
    class Table(BaseModel):
        port: int = 1

    class Beside(BaseModel):
        port: int = 2

    class Below(Table):
        port: int = 3

    class Both(Table, Beside):
        host: str = ""

    assert [declared_again(section, Table) for section in (Table, Beside, Below, Both)] == [
        set(),
        set(),
        {"port"},
        {"port"},
    ]


def declaring(section: type[BaseModel], key: str) -> list[str]:
    """The modules, without their packages, in which this key of the section stands."""
    name = next(name for name, field in section.model_fields.items() if (field.alias or name) == key)
    return [one.__module__.rpartition(".")[2] for one in section.__mro__ if name in inspect.get_annotations(one)]


@of_each(("chain", "whole"), [(chain, key) for chain, keys in KEYS_OF.items() for key in keys])
def test_every_key_is_declared_once(chain: str, whole: str) -> None:
    """The engine's table declares it or, where no C++ code reads it, Python's; `chain` names the configuration."""
    if whole == "chain":
        return
    where, _, key = whole.rpartition(".")
    section = section_at(ALL[chain], where)
    assert section
    assert declaring(section, key) in ([ENGINES], [PYTHONS])
    in_a_table = any(key in one["keys"] for one in TABLES.values() if one["section"] == where)
    assert declaring(section, key) == [ENGINES if in_a_table else PYTHONS]


def test_all_keys_are_accounted_for() -> None:
    keys = {key for keys in KEYS_OF.values() for key in keys}
    of_engine = {f"{one['section']}.{key}" for one in TABLES.values() for key in one["keys"]}
    assert of_engine <= keys
    assert len(of_engine) >= 300
    assert len(keys - of_engine) <= 30, "no C++ code reads these"


def packages() -> list[Path]:
    """All models except those of the web, whose fields belong to requests."""
    found = [path for folder in ("anello", "detectors") for path in (ROOT / folder).rglob("*.py")]
    return [path for path in found if "web" not in path.parts]


def hand_written(path: Path) -> bool:
    return path.stem not in (ENGINES, PYTHONS) and bool(re.search(r"\bField\(|\bField as\b", path.read_text()))


def test_fields_are_written_in_the_modules_of_keys_alone(tmp_path: Path) -> None:
    assert [path for path in packages() if hand_written(path)] == []
    (tmp_path / "sections.py").write_text("    rate_hz: float = Field(default=5, le=9)\n")
    assert hand_written(tmp_path / "sections.py")


def test_what_a_chain_has_otherwise_is_of_keys_of_python() -> None:
    """The engine has a table of its own for such a chain."""
    for section in sections_below(Section):
        for key in section.own if section.__module__.startswith("anello.") else ():
            assert declaring(section, key) == [PYTHONS], (section, key)


def test_what_a_chain_has_otherwise_is_checked_as_all_else() -> None:
    class Base(Section):
        share: float = Field(default=0.5, ge=0, le=1, description="A share.")

    class Mine(Base):
        own = {"share": KeyOverride(0.25, "My share.")}  # noqa: RUF012

    class Below(Mine):
        pass

    assert (Base().share, Mine().share, Below().share) == (0.5, 0.25, 0.25)
    assert Below.model_fields["share"].description == "My share."
    with pytest.raises(ValueError, match="less than or equal to 1"):
        Below(share=1.5)


def test_the_engine_reads_no_key_with_a_default_beside_its_table() -> None:
    """ConfigReader.take() and get_or() bring a default of their own, or that of a struct without a table."""
    read = re.compile(r"""\.(?:take|get_or(?:<[^>]*>)?)\(\s*"([\w.]+)"(?!, "")""")
    names = {key.rpartition(".")[2] for keys in KEYS_OF.values() for key in keys} - {"duration_s"}  # of a measurement
    sources = [path for folder in ("bindings", "detectors") for path in (ROOT / folder).rglob("*.[ch]pp")]
    found = [(path.name, key) for path in sources for key in read.findall(path.read_text())]
    assert [(path, key) for path, key in found if key.rpartition(".")[2] in names] == []
    assert read.findall('boards.take("count", n); all.get_or<int>("rate", 5)') == ["count", "rate"]


@of_each(("table", "key"), KEYS)
def test_a_key_stands_in_a_configuration_with_its_default(table: str, key: str) -> None:
    whole = f"{TABLES[table]['section']}.{key}"
    about = TABLES[table]["keys"][key]
    known = KEYS_OF[chain_of(table)][whole]
    assert known.default == about["default"]
    assert known.choices == tuple(about["words"])
    TABLES[table]["check"]({key: about["default"]})


@of_each(("table", "key", "bound", "beyond"), LIMITS)
def test_both_sides_have_the_same_bounds(table: str, key: str, bound: Any, beyond: Any) -> None:
    TABLES[table]["check"]({key: bound})
    field = next(name for name, field in model(table).model_fields.items() if (field.alias or name) == key)
    model(table).__pydantic_validator__.validate_assignment(model(table).model_construct(), field, bound)
    refused = refused_by_engine(table, key, beyond)
    assert refused == refused_by_python(table, key, beyond)
    assert refused[0].removesuffix("[0]") == f"{TABLES[table]['section']}.{key}"


@of_each(("table", "key"), [(t, k) for t, k in KEYS if TABLES[t]["keys"][k]["power_of_two"]])
def test_both_sides_refuse_what_is_no_power_of_two(table: str, key: str) -> None:
    assert refused_by_engine(table, key, 48) == refused_by_python(table, key, 48)


@of_each(("table", "key"), KEYS)
def test_both_sides_refuse_another_type(table: str, key: str) -> None:
    wrong: Any = 17 if isinstance(TABLES[table]["keys"][key]["default"], str) else WORDS
    assert refused_by_engine(table, key, wrong) == refused_by_python(table, key, wrong)


@of_each(("table", "key"), [(t, k) for t, k in KEYS if TABLES[t]["keys"][k]["words"]])
def test_both_sides_know_the_same_words(table: str, key: str) -> None:
    assert refused_by_engine(table, key, WORDS) == refused_by_python(table, key, WORDS)


@of_each(("table", "key"), [(t, k) for t, k in KEYS if isinstance(TABLES[t]["keys"][k]["default"], float)])
def test_both_sides_refuse_what_is_not_a_number(table: str, key: str) -> None:
    assert refused_by_engine(table, key, math.nan) == refused_by_python(table, key, math.nan)


@of_each(("chain", "whole"), [(chain, key) for chain, keys in KEYS_OF.items() for key in keys])
def test_an_error_names_the_whole_key(chain: str, whole: str) -> None:
    """This holds for every key of every chain, whether the engine declares it or Python."""
    about = KEYS_OF[chain][whole]
    wrong: Any = 17 if isinstance(about.default, str | list) else WORDS
    assert refusal(chain, whole, wrong).field == whole


def test_an_entry_that_is_wrong_is_named() -> None:
    error = refusal("rich", "receive.sources", ["10.0.0.1", "10.0.0"])
    assert (error.field, error.given) == ("receive.sources[1]", '"10.0.0"')


def test_tables_are_found() -> None:
    assert len(KEYS) > 150
    assert len(LIMITS) > 200


def test_an_unknown_parameter_of_a_finder_is_refused() -> None:
    hits = np.zeros(0, np.float32), np.zeros(0, np.float32), [0]
    with pytest.raises(
        ConfigError, match=r"^trigger\.almagest\.sigma: is not a parameter .* mean almagest\.sigma_mm\?"
    ):
        find_rings(*hits, params={"almagest.sigma": 1})
    with pytest.raises(ConfigError, match=r"^trigger\.nonsense: is not a parameter of the ring finders"):
        find_rings(*hits, params={"nonsense": 1})
    with pytest.raises(ConfigError, match=r"^trigger\.algorithm: is not a parameter"):
        find_rings(*hits, params={"algorithm": 1})


@pytest.mark.parametrize(
    ("algorithm", "params"),
    [("single", {"single.min_ring_hits": 64}), ("multiring", {"single.max_hits": 0, "multiring.min_hits": 64})],
)
def test_parameters_of_all_finders_are_keys(algorithm: str, params: dict[str, float]) -> None:
    events = simulate.rich(200, seed=3)
    hits = events.hit_x_mm, events.hit_y_mm, events.event_offset
    assert len(find_rings(*hits, algorithm=algorithm)) > 100
    assert len(find_rings(*hits, algorithm=algorithm, params=params)) < 20  # events of 64 hits are left
    assert {f"trigger.{key}" for key in params} <= known_keys("rich").keys()


def test_the_simulated_rings_have_the_calibrated_number_of_hits() -> None:
    """docs/reference/rich-simulation.md: rings of tracks have 11.6 hits."""
    events = simulate.rich(5000, seed=1)
    assert events.rings.n_hits[events.ring_in_time].mean() == pytest.approx(11.6, abs=0.2)
