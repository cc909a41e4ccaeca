# SPDX-License-Identifier: Apache-2.0
"""Every key can be set, every wrong value is refused in the user's words."""

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from of_each import of_each
from pydantic import BaseModel

from anello import registry
from anello.camera.configuration.config import CameraConfig
from anello.configuration import keys as config_keys
from anello.configuration.keys import Key, known_keys
from anello.configuration.load import Config, load
from anello.configuration.text import as_toml, expert_reference, reference
from anello.errors import ConfigError
from anello.exchange.configuration.config import ExchangeConfig
from anello.rich.configuration.config import RichConfig

ROOT = Path(__file__).parents[2]

# Another value than the default, for keys whose rules an automatic choice would break.
OTHER_VALUES = {
    "rich": {
        "publish.allow_users": "[1000]",
        "run.name": "test-beam",
        "source.ports": "[1, 2, 3, 4]",
        "source.n_boards": "3",
        "receive.ports": "[1, 2, 3, 4]",
        "receive.sources": '["10.0.0.1", "", "10.0.0.3:4711", ""]',
        "source.simulation.ring_shares": "[0, 1]",
        "source.simulation.momentum_min_gev": "16",
        "source.simulation.momentum_max_gev": "60",
        "trigger.primitive_ids": "[0, 256]",
        "trigger.acceptance.radius_min_mm": "90",
        "trigger.single.window_mm": "[50, 40, 30, 20, 10]",
        "trigger.acceptance.radius_max_mm": "210",
        "trigger.multiring.groups_many": "2",  # the greatest is the default, as with the next
        "trigger.multiring.pool_size": "16",
        "trigger.pass_after": "0.9",
        "trigger.cheaper_after": "0.4",
        "trigger.pass_primitive": "256",
        "threads.layout": '["receive", "build", "trigger", "emit", "store"]',
        "threads.cores": "[0, 1]",
    },
    "camera": {
        "publish.allow_users": "[1000]",
        "run.name": "test-beam",
        "camera_source.ports": "[1]",
        "receive.ports": "[1]",
        "receive.sources": '["10.0.0.1:4711"]',
        "receive.policy": "drop_new",
        "camera.gains": "1",
        "camera_build.window_events": "128",
        "camera_build.event_number_bits": "16",  # the greatest is the default
        "threads.layout": '["receive", "build", "filter", "send"]',
        "threads.cores": "[0, 1]",
    },
    "exchange": {
        "run.name": "test-beam",
        "exchange.roles": '["em", "ru", "bu"]',
        "generator.fragment_mean_bytes": "180",
        "input.from": "rich",
        "input.config": str(ROOT / "detectors/rich/na62-rich.toml"),
        "input.settings": '["source.rate_hz=1e5"]',
        "threads.layout": '["generator", "readout+builder+manager"]',
        "threads.cores": "[0]",
        "farm.nodes": '["here", "rack1"]',
        "publish.allow_users": "[1000]",
    },
}
# Keys that must be set too.
ALONG = {
    "receive.backend": ["receive.pcap_file=run.pcap"],
    "camera.payload_bytes": ["camera_source.payload=pattern", "camera_filter.enabled=false"],
    "camera_build.groups": ["receive.ports=[0, 0]", "camera_source.ports=[0, 0]"],
    "camera_build.in_place": ["receive.gro=false"],
    "camera_send.r1_streams": ["camera.model=LSTCam"],
    "camera_send.r1_pe_per_count": [
        "camera_calibrate.file=coefficients.fits",
        "camera_calibrate.flatfield=true",
        "camera_calibrate.gain_threshold=3500",
    ],
    "camera_send.tcp_host": ["camera_send.tcp_port=1"],
    "source.first_board": ["source.n_boards=2", "source.ports=[0, 0]", "receive.ports=[0, 0]"],
    "source.n_boards": ["source.ports=[0, 0, 0]", "receive.ports=[0, 0, 0]"],
    "publish.to": ["publish.address=@test-config"],
    "input.from": [f"input.config={ROOT / 'detectors/rich/na62-rich.toml'}"],
    "input.config": ["input.from=rich"],
}
for path in (ROOT / "detectors").glob("*/tests/settings.toml"):
    settings = tomllib.loads(path.read_text())
    OTHER_VALUES[path.parents[1].name] = settings["values"]
    ALONG |= settings["along"]
for values in OTHER_VALUES.values():
    values["alarms.rules"] = '["lost_hz > 5"]'
CHOICES = " or ".join(f'"{name}"' for name in registry.names())
KEYS = [(chain, name) for chain in registry.names() for name in known_keys(chain) if name != "chain"]


def other_value(key: Key, chain: str) -> str:
    """Some allowed value that is not the default, as typed after --set."""
    if key.name in OTHER_VALUES[chain]:
        return OTHER_VALUES[chain][key.name]
    if key.choices:
        return next(choice for choice in key.choices if choice != key.default)
    if isinstance(key.default, bool):
        return str(not key.default).lower()
    if isinstance(key.default, int):
        return str(key.default + 1)
    if isinstance(key.default, float):
        return str(key.default * 0.5 or 0.25)
    return "something"


def other_setting(chain: str, name: str) -> list[str]:
    return [f"{name}={other_value(known_keys(chain)[name], chain)}", *ALONG.get(name, [])]


@of_each(("chain", "name"), KEYS)
def test_every_key_can_be_set(chain: str, name: str) -> None:
    before = load(None, [f"chain={chain}"]).as_given()
    after = load(None, [f"chain={chain}", *other_setting(chain, name)]).as_given()
    assert before.keys() == after.keys()
    assert after[name] != before[name]


@of_each(("chain", "name"), KEYS)
def test_every_key_is_described(chain: str, name: str) -> None:
    assert known_keys(chain)[name].description.endswith(".")


def test_settings_of_the_chain_behind_the_exchange_are_added_to_the_file_s() -> None:
    """Otherwise setting a rate would drop the file's trigger.deadline_us=0, and hardly an event would be decided."""
    file = ROOT / "detectors/rich/na62-rich-farm.toml"
    config = load(file, ['input.settings=["source.rate_hz=20000"]', 'input.settings=["run.seed=7"]'])
    assert isinstance(config, ExchangeConfig)
    settings = load(file).flat()["input.settings"]
    assert "trigger.deadline_us=0" in settings
    assert config.input.settings == [*settings, "source.rate_hz=20000", "run.seed=7"]


# --- Several chains-----------------------------------------------------------------------------------------------
def test_a_file_without_chain_is_for_the_rich(tmp_path: Path) -> None:
    path = tmp_path / "old.toml"
    path.write_text("[source]\nrate_hz = 1000.0\n")
    assert isinstance(load(path), RichConfig)
    path.write_text('chain = "camera"\n[camera_source]\nrate_hz = 1000.0\n')
    assert isinstance(load(path), CameraConfig)
    path.write_text('chain = "exchange"\n[generator]\nrate_hz = 1000.0\n')
    assert isinstance(load(path), ExchangeConfig)


def test_the_chain_can_be_set_on_the_command_line() -> None:
    assert isinstance(load(None, ["camera.boards=3", "chain=camera"]), CameraConfig)


def test_keys_of_the_other_chain_are_left_out() -> None:
    rich, camera = load(None).flat(), load(None, ["chain=camera"]).flat()
    assert not [key for key in rich if key.startswith("camera")]
    assert {key.split(".")[0] for key in camera} == {
        "chain", "run", "receive", "threads", "alarms", "camera", "camera_source", "camera_build", "camera_calibrate",
        "camera_filter", "camera_send", "publish",
    }  # fmt: skip
    assert "receive.n_buffers" not in camera


def test_engine_keys_keep_their_names() -> None:
    flat = load(None, ["chain=camera", "camera_build.copy=plain"]).flat()
    assert flat["camera_build.copy"] == "plain"
    source = load(None, ["chain=camera", "run.seed=7", "run.n_events=5"]).source_values()
    assert (source["seed"], source["run.n_events"], source["camera.boards"], source["rate_hz"]) == (7, 5, 265, 300)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["chain=gpu"], f"chain: must be {CHOICES} (given: \"gpu\"). The default is \"rich\""),
        (["camera.boards=3"], "camera.boards: belongs to the chain camera, and this configuration is for the chain "
         'rich (given: boards). Leave it out, or set chain = "camera"'),
        (["chain=camera", "source.rate_hz=3"], "source.rate_hz: belongs to the chain rich, and this configuration is "
         'for the chain camera (given: rate_hz). Leave it out, or set chain = "rich"'),
        (["chain=camera", "receive.n_buffers=3"], "receive.n_buffers: belongs to the chain rich, and this "
         'configuration is for the chain camera (given: n_buffers). Leave it out, or set chain = "rich"'),
        (["chain=camera", "camera.borads=3"], "camera.borads: is not a key of the configuration (given: borads). "
         "Did you mean camera.boards?"),
        (["chain=camera", "camera.boards=0"], "camera.boards: must be at least 1 (given: 0). The default is 265"),
        (["chain=camera", "camera_source.counters=dragon_drs4", "camera.pixels_per_board=6"],
         "camera_source.counters: must not be dragon_drs4 with other than 7 pixels a board, nor with a pattern: the "
         'first cells of its chips follow waveforms (given: "dragon_drs4"). Use "dragon"'),
        (["chain=camera", "camera_source.counters=dragon_drs4", "camera_source.payload=pattern"],
         "camera_source.counters: must not be dragon_drs4 with other than 7 pixels a board, nor with a pattern: the "
         'first cells of its chips follow waveforms (given: "dragon_drs4"). Use "dragon"'),
        (["chain=camera", "camera_source.counters=dragon_drs4", "camera.samples=318"], "camera.samples: make a "
         "fragment of 8920 bytes with these pixels and gains, and a jumbo frame has room for 8908 (given: 318). Take "
         "fewer samples or pixels"),
        (["chain=camera", "camera_source.pedestal_share=0.01"], "camera_source.pedestal_share: must be 0 with a "
         "pattern, else 0 or at least 1 / camera_source.pool_events, 0.015625 (given: 0.01). Raise it, or pool_events"),
        (["chain=camera", "camera_source.pedestal_share=0.5", "camera_source.flatfield_share=0.6"],
         "camera_source.flatfield_share: must be at most 0.5, what pedestal_share leaves (given: 0.6). Lower one of "
         "them"),
        (["chain=camera", "camera_source.first_board=1024"],
         "camera_source.first_board: must be at most 1023 (given: 1024). The default is 0"),
        (["chain=camera", "camera.samples=400"], "camera.samples: make a fragment of 11200 bytes with these pixels and "
         "gains, and a jumbo frame has room for 8908 (given: 400). Take fewer samples or pixels"),
        (["chain=camera", "camera.payload_bytes=8128"], "camera_source.payload: must be pattern where "
         "camera.payload_bytes is neither 0 nor the 1680 of pixels, gains and samples (given: \"waveforms\"). "
         'Set camera_source.payload = "pattern"'),
        (["chain=camera", "camera_build.groups=2"], "camera_build.groups: must not be above the number of ports, 1: "
         "each group has its own (given: 2). Add ports to receive.ports and camera_source.ports"),
        (["chain=exchange", "receive.gro=true"], "receive.gro: belongs to the chain rich, and this configuration is "
         'for the chain exchange (given: gro). Leave it out, or set chain = "rich"'),
        (["chain=exchange", "generator.fragment_max_bytes=4000"], "fabric.max_message_bytes: must be at least 2403656: "
         "600 fragments of 4000 bytes (given: 1048576). Raise it, or lower exchange.packing"),
        (["chain=exchange", 'exchange.roles=["em", "ru"]'], "exchange.roles: must have a builder "
         "(given: ['em', 'ru']). The default is ['all']"),
        (["chain=exchange", 'exchange.roles=["ru+bu"]'], "exchange.roles: must have one event manager "
         "(given: ['ru+bu']). The default is ['all']"),
        (["chain=exchange", 'exchange.roles=["em+builder"]'], 'exchange.roles: must be ["all"], ["all+sb"], or em, sb, '
         "ru, bu, joined by +, for each node (given: ['em+builder']). The default is ['all']"),
        (["chain=camera", "threads.cores=[0, 1, 2]"], "threads.cores: must not name more cores than "
         "threads.layout has threads, times their lanes: 2 (given: [0, 1, 2]). Leave some out"),
        (["chain=camera", 'threads.layout=["receive+build", "trigger+send"]'], "threads.layout: must name receive, "
         'build, filter, send, each once and in this order (given: [\'receive+build\', \'trigger+send\']). The '
         "default is ['receive+build+filter', 'send']"),
    ],
)  # fmt: skip
def test_wrong_setting_of_a_chain_is_one_line(settings: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(None, settings)
    assert str(caught.value) == message


def test_a_section_of_the_other_chain_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mixed.toml"
    path.write_text('chain = "camera"\n[trigger]\nthreads = 2\n')
    with pytest.raises(ConfigError, match=r"mixed.toml:2: trigger: belongs to the chain rich, and this"):
        load(path)


@pytest.mark.parametrize(
    ("settings", "n_events"),
    [
        (["run.duration_s=10", "camera_source.rate_hz=300"], 3000),
        (["run.duration_s=0.001", "camera_source.rate_hz=10"], 1),
        (["run.duration_s=0"], 0),
        (["run.duration_s=100", "run.n_events=3"], 3),
    ],
)
def test_events_follow_from_the_duration(settings: list[str], n_events: int) -> None:
    config = load(None, ["chain=camera", *settings])
    assert config.flat()["run.n_events"] == n_events
    assert config.as_given()["run.n_events"] in (0, 3)


def test_threads_of_the_camera_are_there_once_per_group() -> None:
    many = ["chain=camera", "camera_build.groups=3", "receive.ports=[0, 0, 0]", "camera_source.ports=[0, 0, 0]"]
    assert load(None, many).n_threads == 4
    assert load(None, [*many, 'threads.layout=["receive", "build", "filter", "send"]']).n_threads == 8


def loaded(*settings: str) -> Config | ConfigError:
    try:
        return load(None, settings)
    except ConfigError as error:
        return error


@pytest.mark.parametrize(
    ("n_boards", "n_ports", "n_groups", "sizes"),
    [(265, 1, 1, [265]), (265, 2, 2, [133, 132]), (265, 5, 2, [159, 106]), (5, 5, 5, [1] * 5), (5, 2, 1, [5])],
)
def test_boards_of_each_group(n_boards: int, n_ports: int, n_groups: int, sizes: list[int]) -> None:
    ports = str([0] * n_ports)
    config = load(None, ["chain=camera", f"camera.boards={n_boards}", f"camera_build.groups={n_groups}",
                         f"receive.ports={ports}", f"camera_source.ports={ports}"])  # fmt: skip
    assert isinstance(config, CameraConfig)
    groups = config.boards_by_group()
    assert [len(group) for group in groups] == sizes
    assert [board for group in groups for board in group] == list(range(n_boards))


@given(data=st.data(), chain=st.sampled_from(registry.names()))
def test_any_choice_of_keys_reads_back_as_shown(data: st.DataObject, chain: str) -> None:
    names = data.draw(st.lists(st.sampled_from([name for of, name in KEYS if of == chain]), max_size=6, unique=True))
    config = loaded(f"chain={chain}", *(setting for name in names for setting in other_setting(chain, name)))
    if isinstance(config, ConfigError):  # two of them do not go together
        assert config.field in known_keys(chain)
    else:
        for with_expert_keys in (True, False):
            shown = as_toml(config, with_expert_keys=with_expert_keys)
            assert load(None, values=tomllib.loads(shown)) == config


@given(chain_and_name=st.sampled_from(KEYS), text=st.text(max_size=20))
def test_any_text_as_a_value_is_taken_or_refused_in_one_line(chain_and_name: tuple[str, str], text: str) -> None:
    chain, name = chain_and_name
    result = loaded(f"chain={chain}", f"{name}={text}")
    assert not isinstance(result, ConfigError) or "\n" not in result.rule + result.remedy


# --- Wrong values -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("receive.polcy=1", "receive.polcy: is not a key of the configuration (given: polcy). "
         "Did you mean receive.policy?"),
        ("noise_hits=3", "noise_hits: is not a key of the configuration (given: noise_hits). "
         "Did you mean source.simulation.noise_hits?"),
        ("receive.policy=drop", "receive.policy: must be wait, drop_new or overwrite_oldest "
         '(given: "drop"). Did you mean "drop_new"?'),
        ("run.seed=-1", "run.seed: must be at least 0 (given: -1). The default is 1"),
        ("run.seed=1.5", "run.seed: must be a whole number (given: 1.5). The default is 1"),
        ("run.seed=", 'run.seed: must be a whole number (given: ""). The default is 1'),
        ("emit.enabled=1", "emit.enabled: must be true or false (given: 1). The default is true"),
        ("source.rate_hz=nan", "source.rate_hz: must be a finite number (given: nan). The default is 250000"),
        ("source.rate_hz=0", "source.rate_hz: must be at least 0.001 (given: 0). The default is 250000"),
        ("source.faults.loss=1.5", "source.faults.loss: must be at most 1 (given: 1.5). The default is 0"),
        ("source.ports=[70000, 1, 2, 3]", "source.ports[0]: must be at most 65535 (given: 70000). "
         "The default is [0, 0, 0, 0]"),
        ("source.ports=[1, 2]", "source.ports: the RICH has 4 readout boards, one port each (given: [1, 2]). "
         "The default is [0, 0, 0, 0]"),
        ("receive.ports=[1, 2]", "receive.ports: must name as many ports as source.ports, 4 (given: [1, 2]). "
         "0 takes any free port"),
        ("receive.backend=pcap", "receive.pcap_file: must name a file when receive.backend is pcap (given: \"\"). "
         'Give the file, or set receive.backend = "socket"'),
        ("trigger.primitive_ids=[0, 7]", "trigger.primitive_ids: must be 0 or from 0x100 (256) on: a word without "
         "high byte would read as a timestamp (given: [0, 7]). The default is [0, 257, 258, 260, 264]"),
        ("source.simulation.momentum_min_gev=80", "source.simulation.momentum_min_gev: must not be above "
         "momentum_max_gev, 75.0 (given: 80.0). The default is 15"),
        ("run.seed", "--set: must be key=value (given: run.seed). For example --set run.seed=7"),
    ],
)  # fmt: skip
def test_wrong_setting_is_one_line(setting: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(None, [setting])
    assert str(caught.value) == message


def test_layout_must_name_each_stage_in_order() -> None:
    with pytest.raises(
        ConfigError, match=r"^threads.layout: must name receive, build, trigger, emit, store, each once"
    ):
        load(None, ['threads.layout=["build+receive", "trigger+emit+store"]'])


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("[recieve]\n", "{path}:1: recieve: is not a key"),
        ("[receive]\nn_bufers = 3\n", "{path}:2: receive.n_bufers: is not a key of the configuration"),
        ("receive = 3\n", "{path}:1: receive: must be a table (given: 3)"),
        ("[receive\n", "{path}: must be TOML (given: "),
        ("[run]\nname = 3\n", "{path}:2: run.name: must be text (given: 3)"),
    ],
)
def test_wrong_file(tmp_path: Path, text: str, start: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert str(caught.value).startswith(start.format(path=path))


def test_missing_file_names_the_cause(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"must be a readable file \(given: No such file or directory\)"):
        load(tmp_path / "none.toml")


def test_settings_come_after_the_file(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text("[receive]\nn_buffers = 3\ngro = false\n")
    config = load(path, ["receive.n_buffers=5", "receive.n_buffers=6"])
    assert (config.receive.n_buffers, config.receive.gro) == (6, False)


def test_shown_configuration_reads_back(tmp_path: Path) -> None:
    config = load(ROOT / "detectors/rich/na62-rich.toml", ["run.seed=7", 'store.decisions=a "quoted" name.h5'])
    path = tmp_path / "shown.toml"
    path.write_text(as_toml(config))
    assert load(path) == config


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.toml")), ids=lambda path: path.name)
def test_configurations_of_the_project_are_right(path: Path) -> None:
    load(path)


@pytest.mark.parametrize(
    ("settings", "n_bursts"),
    [
        (["run.duration_s=2.1", "source.burst_ms=2000", "source.gap_ms=100"], 1),
        (["run.duration_s=2.2", "source.burst_ms=2000", "source.gap_ms=100"], 2),
        (["run.duration_s=0.001"], 1),
        (["run.duration_s=0"], 0),
        (["run.duration_s=100", "source.n_bursts=3"], 3),
    ],
)
def test_bursts_follow_from_the_duration(settings: list[str], n_bursts: int) -> None:
    config = load(None, settings)
    assert config.n_bursts == config.flat()["source.n_bursts"] == n_bursts


@pytest.fixture
def described(monkeypatch: pytest.MonkeyPatch) -> list[type[BaseModel]]:
    """The models whose schema is made from now on."""
    listed: list[type[BaseModel]] = []
    make = BaseModel.model_json_schema.__func__  # type: ignore[attr-defined]

    def list_and_make(model: type[BaseModel]) -> dict[str, Any]:
        listed.append(model)
        schema: dict[str, Any] = make(model)
        return schema

    for cached in (config_keys.known_keys, config_keys._schemas):
        cached.cache_clear()
    monkeypatch.setattr(BaseModel, "model_json_schema", classmethod(list_and_make))
    return listed


@pytest.mark.parametrize("chain", registry.names())
def test_the_schema_of_a_model_is_made_once(described: list[type[BaseModel]], chain: str) -> None:
    n_sections = len([name for name in config_keys.sections(chain) if name])
    n_keys = len(known_keys(chain))
    known_keys(chain)
    assert len(described) == len(set(described)) <= n_sections + 1 < n_keys


def test_a_right_configuration_is_read_without_schemas(described: list[type[BaseModel]]) -> None:
    load(ROOT / "detectors/rich/na62-rich.toml", ["run.seed=7", "receive.gro=false"])
    assert described == []


@pytest.mark.parametrize(
    ("page", "made", "option"),
    [("configuration.md", reference, ""), ("expert-keys.md", expert_reference, " --expert")],
)
def test_reference_page_is_up_to_date(page: str, made: Callable[[], str], option: str) -> None:
    path = ROOT / "docs/reference" / page
    assert path.read_text() == made(), f"anello config reference{option} > {path.relative_to(ROOT)}"


def rows_of(page: str) -> set[str]:
    """The keys, whole, that a page has a row for."""
    sections = [part.partition("\n")[::2] for part in page.split("\n## ")[1:]]
    return {f"{section}.{key}" for section, text in sections for key in re.findall(r"^\| `(\w+)` \|", text, re.M)}


def test_each_key_is_on_one_of_the_two_pages() -> None:
    everyone, expert = rows_of(reference()), rows_of(expert_reference())
    assert everyone | expert == {name for _, name in KEYS}
    assert everyone & expert == set()
    assert expert > {f"trigger.multiring.{key}" for key in ("groups", "beam_width")}
    assert "receive.ports" in everyone


def test_keys_for_experts_are_shown_on_request_and_where_they_are_not_as_ever() -> None:
    config = load(None, ["trigger.multiring.max_work=7"])
    for_all, all_of_them = (tomllib.loads(as_toml(config, with_expert_keys=with_them)) for with_them in (False, True))
    assert for_all["trigger"]["multiring"] == {"max_work": 7}
    assert for_all["trigger"].keys() == all_of_them["trigger"].keys() - {
        "isa", "acceptance", "histogram", "almagest", "single"
    }  # fmt: skip
    assert all_of_them == tomllib.loads(as_toml(config))
    n_left_out = sum(key.expert for key in known_keys("rich").values()) - 1
    assert f"# {n_left_out} keys for experts" in as_toml(config, with_expert_keys=False)


def test_all_that_is_wrong_is_reported_at_once_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text("[receive]\ngro = 3\nhosts = 1\nports = [1, -2, 3, 4]\n[build]\ntimeout_ms = 20\n")
    with pytest.raises(ConfigError) as caught:
        load(file, ["build.timeout_ms=0", "build.nothing=1"])
    complaints = [line.partition(" (given")[0] for line in str(caught.value).splitlines()]
    assert complaints == [
        f"{file}:2: receive.gro: must be true or false",
        f"{file}:3: receive.hosts: is not a key of the configuration",
        f"{file}:4: receive.ports[1]: must be at least 0",
        "build.nothing: is not a key of the configuration",
        "build.timeout_ms: must be at least 0.1",
    ]
    assert caught.value.field == "receive.gro"


def test_what_is_no_table_is_reported_once(tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text("receive = 3\n")
    with pytest.raises(ConfigError) as caught:
        load(file, ["receive.gro=false"])
    assert str(caught.value).count("must be a table") == 1
