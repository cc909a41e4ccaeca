# SPDX-License-Identifier: Apache-2.0
"""Every key can be set, every wrong value is refused in the user's words."""

from pathlib import Path

import pytest

from anello.config import Config, Key, known_keys, load
from anello.config_text import as_toml, reference
from anello.errors import ConfigError

ROOT = Path(__file__).parents[2]

# Another value than the default, for keys whose rules an automatic choice would break.
OTHER_VALUES = {
    "run.name": "test-beam",
    "source.ports": "[1, 2, 3, 4]",
    "receive.ports": "[1, 2, 3, 4]",
    "source.simulation.ring_shares": "[0, 1]",
    "source.simulation.momentum_min_gev": "16",
    "source.simulation.momentum_max_gev": "60",
    "trigger.primitive_ids": "[0, 256]",
    "trigger.acceptance.radius_min_mm": "90",
    "trigger.acceptance.radius_max_mm": "210",
    "threads.layout": '["receive", "build", "trigger", "emit", "store"]',
    "threads.cores": "[0, 1]",
}


def other_value(key: Key) -> str:
    """Some allowed value that is not the default, as typed after --set."""
    if key.name in OTHER_VALUES:
        return OTHER_VALUES[key.name]
    if key.choices:
        return next(choice for choice in key.choices if choice != key.default)
    if isinstance(key.default, bool):
        return str(not key.default).lower()
    if isinstance(key.default, int):
        return str(key.default + 1)
    if isinstance(key.default, float):
        return str(key.default * 0.5 or 0.25)
    return "something"


@pytest.mark.parametrize("name", known_keys())
def test_every_key_can_be_set(name: str) -> None:
    settings = [f"{name}={other_value(known_keys()[name])}"]
    if name == "receive.backend":
        settings.append("receive.pcap_file=run.pcap")
    before, after = Config().model_dump(), load(None, settings).model_dump()
    for part in name.split("."):
        before, after = before[part], after[part]
    assert after != before


@pytest.mark.parametrize("name", known_keys())
def test_every_key_is_described(name: str) -> None:
    assert known_keys()[name].description.endswith(".")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("receive.polcy=1", "receive.polcy: is not a key of the configuration (given: polcy). "
         "Did you mean receive.policy?"),
        ("noise_hits=3", "noise_hits: is not a key of the configuration (given: noise_hits). "
         "Did you mean source.simulation.noise_hits?"),
        ("receive.policy=drop", "receive.policy: must be one of 'wait', 'drop_new' or 'overwrite_oldest' "
         '(given: "drop"). Did you mean "drop_new"?'),
        ("run.seed=-1", "run.seed: must be at least 0 (given: -1). The default is 1"),
        ("run.seed=1.5", "run.seed: must be a whole number (given: 1.5). The default is 1"),
        ("run.seed=", 'run.seed: must be a whole number (given: ""). The default is 1'),
        ("emit.enabled=1", "emit.enabled: must be true or false (given: 1). The default is true"),
        ("source.rate_hz=nan", "source.rate_hz: must be a finite number (given: nan). The default is 250000"),
        ("source.rate_hz=0", "source.rate_hz: must be above 0.0 (given: 0). The default is 250000"),
        ("source.faults.loss=1.5", "source.faults.loss: must be at most 1.0 (given: 1.5). The default is 0"),
        ("source.ports=[70000, 1, 2, 3]", "source.ports[0]: must be at most 65535 (given: 70000). "
         "The default is [0, 0, 0, 0]"),
        ("source.ports=[1, 2]", "source.ports: the RICH has 4 readout boards, one port each (given: [1, 2]). "
         "The default is [0, 0, 0, 0]"),
        ("receive.ports=[1, 2]", "receive.ports: must name one port per board, 4 (given: [1, 2]). "
         "0 takes any free port"),
        ("receive.backend=pcap", "receive.pcap_file: must name a file when receive.backend is pcap (given: \"\"). "
         'Give the file, or set receive.backend = "socket"'),
        ("trigger.primitive_ids=[0, 7]", "trigger.primitive_ids: must be 0 or from 0x100 (256) on: a word without "
         "high byte would read as a timestamp (given: [0, 7]). The default is [0, 257, 258, 260, 264]"),
        ("source.simulation.momentum_min_gev=80", "source.simulation.momentum_min_gev: must be below momentum_max_gev, "
         "75.0 (given: 80.0). The default is 15"),
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
        ("[recieve]\n", "recieve: is not a key"),
        ("[receive]\nn_bufers = 3\n", "receive.n_bufers: is not a key of the configuration"),
        ("receive = 3\n", "receive: must be a table (given: 3)"),
        ("[receive\n", "{path}: must be TOML (given: "),
        ("[run]\nname = 3\n", "run.name: must be text (given: 3)"),
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
    config = load(ROOT / "configs/na62-rich.toml", ["run.seed=7", 'store.decisions=a "quoted" name.h5'])
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


def test_reference_page_is_up_to_date() -> None:
    page = ROOT / "docs/reference/configuration.md"
    assert page.read_text() == reference(), f"anello config reference > {page.relative_to(ROOT)}"
