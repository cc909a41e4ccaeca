# SPDX-License-Identifier: Apache-2.0
"""Keys that the engine declares: what Python makes of its tables, and that both sides refuse the same."""

import importlib
import inspect
import math
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from anello import _engine, simulate
from anello.config import load
from anello.config_keys import CHAINS, known_keys
from anello.errors import ConfigError
from anello.rich import find_rings
from anello.section import Section

ROOT = Path(__file__).resolve().parents[2]
TABLES = _engine.key_tables()
WORDS = "nonsense"


def limits(about: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Each bound of a key, and the nearest value beyond."""
    for bound, way in ((about["least"], -1), (about["most"], 1)):
        if isinstance(bound, int):
            yield bound, bound + way
        elif bound is not None:
            yield bound, math.nextafter(bound, way * math.inf)


def as_value(about: dict[str, Any], entry: Any) -> Any:
    """A list of it, where the key is a list."""
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
    whole = f"{TABLES[table]['section']}.{key}"
    error = refusal(chain_of(whole), whole, value)
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


def chain_of(whole: str) -> str:
    return next(chain for chain in CHAINS if whole in known_keys(chain))


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


@pytest.mark.parametrize(("table", "key"), KEYS)
def test_a_key_stands_in_a_configuration_with_its_default(table: str, key: str) -> None:
    whole = f"{TABLES[table]['section']}.{key}"
    about = TABLES[table]["keys"][key]
    known = known_keys(chain_of(whole))[whole]
    assert known.default == about["default"]
    assert known.choices == tuple(about["words"])
    TABLES[table]["check"]({key: about["default"]})


@pytest.mark.parametrize(("table", "key", "bound", "beyond"), LIMITS)
def test_both_sides_have_the_same_bounds(table: str, key: str, bound: Any, beyond: Any) -> None:
    TABLES[table]["check"]({key: bound})
    field = next(name for name, field in model(table).model_fields.items() if (field.alias or name) == key)
    model(table).__pydantic_validator__.validate_assignment(model(table).model_construct(), field, bound)
    refused = refused_by_engine(table, key, beyond)
    assert refused == refused_by_python(table, key, beyond)
    assert refused[0].removesuffix("[0]") == f"{TABLES[table]['section']}.{key}"


@pytest.mark.parametrize(("table", "key"), [(t, k) for t, k in KEYS if TABLES[t]["keys"][k]["power_of_two"]])
def test_both_sides_refuse_what_is_no_power_of_two(table: str, key: str) -> None:
    assert refused_by_engine(table, key, 48) == refused_by_python(table, key, 48)


@pytest.mark.parametrize(("table", "key"), KEYS)
def test_both_sides_refuse_another_type(table: str, key: str) -> None:
    wrong: Any = 17 if isinstance(TABLES[table]["keys"][key]["default"], str) else WORDS
    assert refused_by_engine(table, key, wrong) == refused_by_python(table, key, wrong)


@pytest.mark.parametrize(("table", "key"), [(t, k) for t, k in KEYS if TABLES[t]["keys"][k]["words"]])
def test_both_sides_know_the_same_words(table: str, key: str) -> None:
    assert refused_by_engine(table, key, WORDS) == refused_by_python(table, key, WORDS)


@pytest.mark.parametrize(
    ("table", "key"), [(t, k) for t, k in KEYS if isinstance(TABLES[t]["keys"][k]["default"], float)]
)
def test_both_sides_refuse_what_is_not_a_number(table: str, key: str) -> None:
    assert refused_by_engine(table, key, math.nan) == refused_by_python(table, key, math.nan)


@pytest.mark.parametrize(("chain", "whole"), [(chain, key) for chain in CHAINS for key in known_keys(chain)])
def test_an_error_names_the_whole_key(chain: str, whole: str) -> None:
    """Of every key of every chain, whether the engine declares it or Python."""
    about = known_keys(chain)[whole]
    wrong: Any = 17 if isinstance(about.default, str | list) else WORDS
    assert refusal(chain, whole, wrong).field == whole


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
